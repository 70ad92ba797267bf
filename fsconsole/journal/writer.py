"""The journal's one writer: a thread that owns the connection, so that a blocked disk stalls only who must wait.

Intent and results are committed at synchronous=FULL: record() returns when they are on the disk. Samples go at
NORMAL, where a commit waits for no disk and a crash of the machine (not of the program) may lose the last of
them. The pragma may change only between transactions, and a FULL commit syncs the whole write-ahead log, so
whatever was committed before it is safe too (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from urllib.parse import quote

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import JournalFull, JournalUnusable
from fsconsole.journal.events import EventRow, event_row
from fsconsole.journal.folder import RunFolder, has_no_room, journal_fault, require_no_super_journal
from fsconsole.journal.samples import SampleRow, add_columns, sample_row
from fsconsole.journal.schema import SCHEMA_VERSION, require_schema
from fsconsole.model.events import Observation
from fsconsole.model.sample import Sample

SAMPLE_ROOM = 4096
"""Samples that wait for a blocked disk before the oldest are dropped: half an hour at 2 Hz."""

WAIT_FOR_LOCK_S = 10.0


@dataclass(slots=True)
class _Pending:
    """An observation on its way to the disk, and what became of it."""

    row: EventRow
    durable: bool
    settled: threading.Event = field(default_factory=threading.Event)
    fault: FsconsoleError | None = None


class JournalWriter:
    """Appends to one run's journal, from any thread.

    Opening raises JournalFull, JournalUnusable or JournalNewer.
    """

    def __init__(self, folder: RunFolder, *, sample_room: int = SAMPLE_ROOM) -> None:
        self._path = folder.journal
        self._connection = _open(self._path)
        self._synchronous = ""
        self._sample_room = sample_room
        self._changed = threading.Condition()
        self._records: deque[_Pending] = deque()
        self._samples: deque[SampleRow] = deque()
        self._dropped = 0
        self._fault: FsconsoleError | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._write_until_closed, name="journal", daemon=True)
        self._thread.start()

    @property
    def dropped_samples(self) -> int:
        """Samples that were lost because the disk took none for too long, or refused them."""
        return self._dropped

    def record(self, observation: Observation, *, durable: bool = True) -> None:
        """Append an observation, stamped with this instant; a durable one is on the disk on return.

        Raises JournalFull or JournalUnusable, also for an earlier write that nobody waited for; in that case
        this observation is not written.
        """
        pending = _Pending(event_row(observation, time.time_ns(), time.monotonic_ns()), durable)
        with self._changed:
            self._raise_earlier_fault()
            if self._closing:
                raise self._ended()
            self._records.append(pending)
            self._changed.notify()
        if durable:
            pending.settled.wait()
            if pending.fault is not None:
                raise pending.fault

    def note(self, observation: Observation) -> None:
        """Append an observation without waiting or failing: a fault is raised at the next record().

        For threads that can do nothing about it; told to one of them, it would be lost on the one that can.
        """
        pending = _Pending(event_row(observation, time.time_ns(), time.monotonic_ns()), durable=False)
        with self._changed:
            if not self._closing:
                self._records.append(pending)
                self._changed.notify()

    def sample(self, sample: Sample) -> None:
        """Append a sample; never waits, and drops the oldest where too many wait for the disk."""
        row = sample_row(sample)
        with self._changed:
            if len(self._samples) >= self._sample_room:
                self._samples.popleft()
                self._dropped += 1
            self._samples.append(row)
            self._changed.notify()

    def close(self, *, finished: bool) -> None:
        """Write what waits and release the journal; a second call does nothing.

        A finished journal leaves WAL mode, so that a reader without write access can open it. A reader that
        is in the middle of a poll for too long can prevent that, which loses nothing. Raises JournalFull or
        JournalUnusable when the journal has been released.
        """
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify()
        self._thread.join()
        if self._is_full():
            _leave_open(self._connection)
            self._fault = self._fault or JournalFull(path=self._path)
        else:
            with closing(self._connection):
                try:
                    self._set_synchronous("FULL")
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                    if finished:
                        self._connection.execute("PRAGMA journal_mode = DELETE").fetchall()
                except sqlite3.Error as error:
                    if str(error) != "database is locked":
                        self._fault = self._fault or journal_fault(error, self._path)
        self._raise_earlier_fault()

    def _raise_earlier_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _write_until_closed(self) -> None:
        try:
            while self._write_what_waits():
                pass
        finally:
            # Release all who wait, should the thread end otherwise than by close().
            with self._changed:
                self._closing = True
                for pending in self._records:
                    pending.fault = self._ended()
                    pending.settled.set()
                self._records.clear()

    def _write_what_waits(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._records or self._samples or self._closing)
            records, self._records = list(self._records), deque()
            samples, self._samples = list(self._samples), deque()
        if records:
            self._write_records(records)
        if samples and (fault := self._commit(samples, "NORMAL")) is not None:
            self._keep(fault)
            self._dropped += len(samples)
        return bool(records or samples) or not self._closing

    def _write_records(self, records: list[_Pending]) -> None:
        awaited = any(pending.durable for pending in records)
        fault: FsconsoleError | None = self._ended()
        try:
            fault = self._commit([pending.row for pending in records], "FULL" if awaited else "NORMAL")
        finally:
            for pending in records:
                pending.fault = fault
                pending.settled.set()
        if fault is not None and not awaited:
            self._keep(fault)

    def _commit(self, rows: Sequence[EventRow | SampleRow], synchronous: str) -> FsconsoleError | None:
        if self._is_full():
            return JournalFull(path=self._path)
        try:
            self._set_synchronous(synchronous)
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                for row in rows:
                    row.insert(self._connection)
        except sqlite3.Error as error:
            return journal_fault(error, self._path)
        return None

    def _is_full(self) -> bool:
        return has_no_room(os.path.dirname(self._path))

    def _set_synchronous(self, level: str) -> None:
        if level != self._synchronous:
            self._connection.execute(f"PRAGMA synchronous = {level}")
            self._synchronous = level

    def _keep(self, fault: FsconsoleError) -> None:
        with self._changed:
            self._fault = fault

    def _ended(self) -> JournalUnusable:
        return JournalUnusable(path=self._path, why="its writer has ended")


def record_all(folder: RunFolder, observations: Iterable[Observation]) -> None:
    """Commit observations durably to the journal of a run whose lock the caller holds, and close it."""
    journal = JournalWriter(folder)
    try:
        for observation in observations:
            journal.record(observation)
    finally:
        journal.close(finished=True)


def _leave_open(connection: sqlite3.Connection) -> None:
    """Keep a connection from ever being closed: closing checkpoints, which a full disk may answer with SIGBUS.

    All that was committed is in the write-ahead log. A thread that never ends keeps the connection through the
    interpreter's own end, too.
    """
    parked = threading.Event()
    threading.Thread(target=lambda _: parked.wait(), args=(connection,), daemon=True).start()


def _open(path: str) -> sqlite3.Connection:
    uri = f"file:{quote(path)}?mode=rw"
    require_no_super_journal(path, path)
    with ExitStack() as undo:
        try:
            connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False, timeout=WAIT_FOR_LOCK_S
            )
            undo.callback(connection.close)
            require_schema(connection, path)
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            _bring_up_to_date(connection)
        except sqlite3.Error as error:
            raise journal_fault(error, path) from error
        if mode != "wal":
            raise JournalUnusable(path=path, why="its filesystem can't hold a write-ahead log")
        undo.pop_all()
    return connection


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Migrate a journal of an older version; a run that is resumed may have one. Raises sqlite3.Error."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < SCHEMA_VERSION:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            add_columns(connection, version)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
