"""Where the parts of one run lie."""

from __future__ import annotations

import os
from dataclasses import dataclass

BESIDE_JOURNAL = ("-wal", "-shm", "-journal")
"""How SQLite calls what it reads and writes beside a database (sqlite.org/tempfiles.html)."""
LATEST = "latest"
"""The word for the newest run."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run; its name is the run's id."""

    path: str

    @property
    def name(self) -> str:
        """The run's id."""
        return os.path.basename(self.path)

    @property
    def journal(self) -> str:
        """The SQLite database; while the run lives, -wal and -shm lie beside it (sqlite.org/wal.html)."""
        return os.path.join(self.path, "journal.sqlite")

    @property
    def lock(self) -> str:
        """The file whose flock says that an engine lives."""
        return os.path.join(self.path, "lock")

    @property
    def last_word(self) -> str:
        """The file that takes the engine's last word where the journal can't."""
        return os.path.join(self.path, "last-word")

    @property
    def engine_log(self) -> str:
        """The file that takes what an engine says on its standard outputs."""
        return os.path.join(self.path, "engine.log")

    @property
    def control(self) -> str:
        """The Unix socket on which a living engine takes requests."""
        return os.path.join(self.path, "control")

    @property
    def raw(self) -> str:
        """The directory of the tools' own outputs."""
        return os.path.join(self.path, "raw")
