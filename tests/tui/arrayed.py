"""A recorded run as it would be on arrays: its cells in turn on a raid5 and a raid10 of four devices."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from tests.tui.recorded import recorded

MEMBERS = ("/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde")
_LEVELS = ("raid5", "raid10")


def on_arrays(name: str, runs_dir: Path, *, assume_clean: bool = True) -> RunFolder:
    """Return a copy of a recorded run with arrays in its plan; cells of one variant are on both."""
    folder = recorded(name, runs_dir)
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        ((text,),) = journal.execute("SELECT request FROM run")
        request = json.loads(text)
        for cell in request["plan"]["cells"]:
            level = _LEVELS[cell["repeat"] % 2]
            cell["array"] = {"level": level, "chunk_bytes": 524288, "assume_clean": assume_clean}
            cell["members"] = list(MEMBERS)
        journal.execute("UPDATE run SET request = ?", (json.dumps(request),))
    return folder
