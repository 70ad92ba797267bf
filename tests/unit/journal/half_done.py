"""A journal whose writer died in the middle of a transaction outside of WAL mode, as at the end of a run."""

from __future__ import annotations

import os
import subprocess
import sys

_CHANGE_AND_DIE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("CREATE TABLE much (text TEXT)")
connection.executemany("INSERT INTO much VALUES (?)", [("x" * 4000,)] * 200)
connection.execute("DELETE FROM event")
os.kill(os.getpid(), 9)
"""


def change_and_die(journal_path: str) -> None:
    """Change a finished journal and die before the commit: its rollback journal stays beside it."""
    subprocess.run([sys.executable, "-c", _CHANGE_AND_DIE, journal_path], check=False)
    assert os.path.getsize(f"{journal_path}-journal") > 512
