"""Reads a journal, also while it is written, after its writer was killed, and without write permission.

Every poll opens the journal and closes it again: a connection that stays open, even without a transaction,
keeps the engine from switching the finished journal to a mode that readers without write access can open
(sqlite.org/wal.html, "Read-Only Databases").
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from urllib.parse import quote

from fsconsole.errors.runs import JournalUnusable, NotRoot
from fsconsole.journal.events import NAMES, Batch, Cursor, read_entries
from fsconsole.journal.folder import BESIDE_JOURNAL, journal_fault, require_no_super_journal, require_room
from fsconsole.journal.limits import (
    MAX_COMMAS,
    MAX_SAMPLE_COUNT,
    MAX_SAMPLE_ROWS,
    MAX_SAMPLE_ROWS_READ,
    TOO_LARGE,
    TOO_SLOW,
    restrict,
)
from fsconsole.journal.samples import read_samples
from fsconsole.journal.schema import require_schema
from fsconsole.model.events import RequestRenewed
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import Mismatch, decode, encode
from fsconsole.text import error_reason

WAIT_FOR_LOCK_S = 5.0
_WAL_HEADER_BYTES = 32
"""sqlite.org/fileformat2.html#walformat: what stands before the first frame."""
_BATCH_EVENTS = 4096
MAX_SAMPLES = 2000
"""Samples in one batch: a run of a day at 2 Hz has 170,000, each with a row per CPU."""


_ASKS_FOR = """SELECT EXISTS (SELECT 1 FROM run WHERE instr(request, :word))
    OR EXISTS (SELECT 1 FROM event WHERE kind = :renewed AND instr(body, :word))"""

_MOST_ROWS = {
    "sample": MAX_SAMPLE_COUNT,
    "sample_cpu": MAX_SAMPLE_ROWS,
    "sample_device": MAX_SAMPLE_ROWS,
    "gauged_device": MAX_SAMPLE_ROWS_READ,
}


class JournalReader:
    """Reads one journal; holds no descriptor and no transaction between calls.

    Every call raises JournalNewer, JournalUnusable, or NotRoot where the file may not be read.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def request(self) -> RunRequest:
        """Return what the run was asked to do."""
        with open_journal(self.path) as connection:
            row = connection.execute("SELECT request FROM run").fetchone()
        if row is None or not isinstance(row[0], str):
            raise JournalUnusable(path=self.path, why="it holds no run request")
        if row[0].count(",") > MAX_COMMAS:
            raise JournalUnusable(path=self.path, why="the run request has too many values")
        with self._fitting("run request"):
            return decode(RunRequest, row[0])

    def asks_for(self, words: Collection[str]) -> bool:
        """Return whether the run's request, or one that renewed it, has one of these texts whole; nothing is decoded."""
        with open_journal(self.path) as connection:
            return any(
                connection.execute(_ASKS_FOR, {"word": encode(word), "renewed": NAMES[RequestRenewed]}).fetchone()[0]
                for word in words
            )

    def request_seal(self) -> str:
        """Return the seal of that request; empty where it has none."""
        with open_journal(self.path) as connection:
            row = connection.execute("SELECT seal FROM run").fetchone()
        return str(row[0]) if row is not None else ""

    def read_since(self, cursor: Cursor, *, max_samples: int = MAX_SAMPLES, without: tuple[str, ...] = ()) -> Batch:
        """Return all observations, and up to max_samples samples, that were committed after cursor.

        Observations of the kinds in without are left out. A journal that doesn't exist yet gives an empty batch.
        """
        if not os.path.lexists(self.path):
            return Batch(cursor)
        with open_journal(self.path) as connection, self._fitting("journal"):
            entries = tuple(read_entries(connection, cursor.event, without))
            last_sample, samples = read_samples(connection, cursor.sample, max_samples)
        last_event = entries[-1].id if entries else cursor.event
        more = 0 < max_samples == len(samples)
        return Batch(Cursor(last_event, last_sample), entries, samples, more)

    def batches(self, *, without: tuple[str, ...] = ()) -> Iterator[Batch]:
        """Give all observations in batches, none of which need be kept, and with the last batch the last sample.

        Observations of the kinds in without are left out.
        """
        cursor = self.recent(1)
        with open_journal(self.path) as connection, self._fitting("journal"):
            entries = read_entries(connection, 0, without)
            while several := tuple(islice(entries, _BATCH_EVENTS)):
                cursor = replace(cursor, event=several[-1].id)
                yield Batch(cursor, several)
            last_sample, samples = read_samples(connection, cursor.sample, 1)
            yield Batch(Cursor(cursor.event, last_sample), samples=samples)

    def recent(self, samples: int) -> Cursor:
        """Return a cursor from which all observations but only so many of the latest samples are read."""
        with open_journal(self.path) as connection:
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM sample").fetchone()
        return Cursor(event=0, sample=max(0, int(last) - samples))

    def require_whole(self) -> None:
        """Raise unless every event can be decoded, and there are no more samples than a journal may have."""
        for _ in self.batches():
            pass
        with open_journal(self.path) as connection:
            for table, most in _MOST_ROWS.items():
                # Not count(*) of the table: that is one instruction, which no progress handler ends.
                query = f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most + 1})"  # noqa: S608
                if connection.execute(query).fetchone()[0] > most:
                    raise JournalUnusable(path=self.path, why=f"its table {table} has more than {most} rows")

    @contextmanager
    def _fitting(self, what: str) -> Iterator[None]:
        try:
            yield
        except Mismatch as mismatch:
            raise JournalUnusable(path=self.path, why=f"the {what} does not fit: {mismatch}") from mismatch


@contextmanager
def open_journal(path: str) -> Iterator[sqlite3.Connection]:
    """Open a journal for reading, all queries seeing the same instant.

    Raises JournalNewer, JournalUnusable, NotRoot.
    """
    try:
        with closing(_connect_read_only(path)) as connection:
            require_schema(connection, path)
            yield connection
    except UnicodeDecodeError as error:
        # Of the words in which SQLite itself complains, where they quote what is damaged.
        raise JournalUnusable(path=path, why="database disk image is malformed") from error
    except MemoryError as error:
        raise JournalUnusable(path=path, why=TOO_LARGE) from error
    except sqlite3.Error as error:
        if str(error) == _INTERRUPTED:
            raise JournalUnusable(path=path, why=TOO_SLOW) from error
        raise _read_fault(error, path) from error


_INTERRUPTED = "interrupted"
"""SQLITE_INTERRUPT, as a progress handler brings it about (sqlite.org/c3ref/progress_handler.html)."""


def _connect_read_only(path: str) -> sqlite3.Connection:
    """Open a journal for reading. Raises sqlite3.Error, and JournalUnusable where a link leads elsewhere.

    The -shm file is not written to either, where it lies there: on a full btrfs a store into it is answered
    with SIGBUS. Who reads so must not begin to write in the same process meanwhile: SQLite has both share that view of it
    (os_unix.c, unixOpenSharedMemory). A journal that was left in WAL mode without a -wal file beside it has no writer (each keeps one
    as long as it lives) and nothing that isn't in the file itself, so it may be read as immutable: that is the
    only way in a directory where SQLite can't make a -shm file. So may one whose writer ended when the -wal file
    had its header and nothing else yet: SQLite (3.40) tries that for 10 s and then says "locking protocol".
    """
    for part in (path, *(path + suffix for suffix in BESIDE_JOURNAL)):
        if os.path.islink(part):
            raise JournalUnusable(path=path, why=f"{os.path.basename(part)} is a symbolic link")
        if _is_special(part):
            # A pipe would be waited for.
            raise sqlite3.OperationalError(f"{os.path.basename(part)} is no regular file")
    if _bytes(path + "-wal") == _WAL_HEADER_BYTES:
        return _connect(path, "mode=ro&immutable=1")
    try:
        return _connect(path, "mode=ro&readonly_shm=1")
    except sqlite3.OperationalError as error:
        if str(error) == _INTERRUPTED:
            raise
        if _bytes(path + "-journal"):
            return _rolled_back(path)
        if os.path.exists(path + "-wal"):
            return _connect(path, "mode=ro")
        return _connect(path, "mode=ro&immutable=1")


def _is_special(path: str) -> bool:
    """Return whether something lies there that is no regular file; looked at once, since a writer removes what lies beside it."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _rolled_back(path: str) -> sqlite3.Connection:
    """Return a copy of a journal as it was before the transaction that its writer left half done.

    At its end a run leaves WAL mode, by a transaction of the other kind: who dies just then, by a power cut as well,
    leaves a rollback journal, which only a writer may play back. A reader has it done in a copy.
    """
    with tempfile.TemporaryDirectory(prefix="fsconsole-") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        try:
            require_room(path, sum(_bytes(path + suffix) for suffix in ("", *BESIDE_JOURNAL)))
            for suffix in ("", *BESIDE_JOURNAL):
                if os.path.exists(path + suffix):
                    shutil.copyfile(path + suffix, copy + suffix)
            # Of the copy: nobody else can write that one.
            require_no_super_journal(path, copy)
        except OSError as error:
            raise JournalUnusable(path, f"it can't be copied: {error_reason(error)}") from error
        # Its files are open, and stay so when the directory is gone.
        return _connect(copy, "mode=rw")


def _connect(path: str, parameters: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.path.abspath(path))}?{parameters}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=WAIT_FOR_LOCK_S)
    try:
        restrict(connection)
        # From this query on the engine can't switch to or from WAL mode, which may need another way to open.
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except (sqlite3.Error, MemoryError):
        connection.close()
        raise
    return connection


def _read_fault(error: sqlite3.Error, path: str) -> Exception:
    if not os.path.lexists(path):
        return JournalUnusable(path=path, why="it does not exist, or is still being made")
    if not os.access(path, os.R_OK, effective_ids=True):
        return NotRoot(what=f"Reading {path}")
    may_write = os.access(os.path.dirname(path), os.W_OK, effective_ids=True)
    if str(error) == "unable to open database file" and not may_write:
        why = "its engine was killed and SQLite must write beside it to read on; copy the folder first"
        return JournalUnusable(path=path, why=why)
    return journal_fault(error, path)
