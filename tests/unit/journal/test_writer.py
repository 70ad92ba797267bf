from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalFull, JournalNewer, JournalUnusable
from fsconsole.journal import writer as writer_module
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellFinished, CellStarted, ControlRequested, Outcome, RunInterrupted, Verb
from tests.conftest import wait_until
from tests.unit.journal.journals import a_sample, child_that_writes, write, written


@pytest.fixture
def journal(folder: RunFolder):
    writer = JournalWriter(folder)
    yield writer
    writer.close(finished=False)


def test_a_durable_record_is_there_on_return_with_those_before_it_in_order(folder, journal) -> None:
    for cell in range(3):
        journal.record(CellStarted(cell, 1))
        assert written(folder)[-1] == CellStarted(cell, 1)
    for cell in range(3, 50):
        journal.record(CellStarted(cell, 1), durable=False)
    journal.record(CellFinished(50, 1, Outcome.DONE))
    assert written(folder) == [*(CellStarted(n, 1) for n in range(50)), CellFinished(50, 1, Outcome.DONE)]


def test_many_threads_lose_nothing(folder, journal) -> None:
    def work(cell: int) -> None:
        for attempt in range(10):
            journal.record(CellStarted(cell, attempt), durable=attempt % 3 == 0)
            journal.sample(a_sample(attempt))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    journal.close(finished=True)
    seen = written(folder)
    for cell in range(6):
        assert [s.attempt for s in seen if s.cell == cell] == list(range(10))
    assert len(JournalReader(folder.journal).read_since(Cursor()).samples) == 60


def test_durable_records_and_samples_have_their_own_synchronous_level(folder, journal) -> None:
    journal.record(CellStarted(0, 1))
    assert journal._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    journal.sample(a_sample(1))
    journal.record(CellStarted(0, 2), durable=False)
    journal.close(finished=False)
    assert journal._synchronous == "FULL"


def test_stamps_are_those_of_the_call(folder, journal) -> None:
    before = (writer_module.time.time_ns(), writer_module.time.monotonic_ns())
    journal.record(CellStarted(0, 1))
    after = (writer_module.time.time_ns(), writer_module.time.monotonic_ns())
    (entry,) = JournalReader(folder.journal).read_since(Cursor()).entries
    assert before[0] <= entry.wall_ns <= after[0]
    assert before[1] <= entry.monotonic_ns <= after[1]


def test_a_later_writer_goes_on_and_a_finished_journal_is_one_file_in_no_wal_mode(folder) -> None:
    write(folder, CellStarted(0, 1), finished=False)
    writer = JournalWriter(folder)
    writer.record(CellStarted(0, 2))
    assert os.path.exists(folder.journal + "-wal")
    writer.close(finished=True)
    assert written(folder) == [CellStarted(0, 1), CellStarted(0, 2)]
    assert {name for name in os.listdir(folder.path) if name.startswith("journal")} == {"journal.sqlite"}
    # Offsets 18 and 19 of the header: 1 for a rollback journal, 2 for WAL (sqlite.org/fileformat2.html).
    assert Path(folder.journal).read_bytes()[18:20] == b"\x01\x01"


def test_a_closed_writer_takes_nothing_more_and_closes_twice(folder, journal) -> None:
    journal.close(finished=True)
    journal.close(finished=True)
    with pytest.raises(JournalUnusable, match="has ended"):
        journal.record(RunInterrupted("late"))
    journal.note(ControlRequested(Verb.SKIP))
    assert written(folder) == []


def test_a_full_database_is_told_as_such_and_keeps_what_was_reported(folder, journal) -> None:
    journal.record(CellFinished(0, 1, Outcome.DONE))
    full(journal)
    with pytest.raises(JournalFull) as caught:
        journal.record(RunInterrupted("x" * 100_000))
    assert caught.value.path == folder.journal
    assert written(folder) == [CellFinished(0, 1, Outcome.DONE)]
    journal._connection.execute("PRAGMA max_page_count = 1000000")
    journal.record(RunInterrupted("room again"))
    assert len(written(folder)) == 2


def full(journal: JournalWriter) -> None:
    (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")


def test_an_error_that_nobody_waited_for_is_raised_at_the_next_record_past_all_notes(folder, journal) -> None:
    full(journal)
    journal.record(RunInterrupted("x" * 100_000), durable=False)
    journal.note(ControlRequested(Verb.PAUSE))
    wait_until(lambda: journal._fault is not None, "the writer has met the error")
    journal.note(ControlRequested(Verb.CONTINUE))
    with pytest.raises(JournalFull):
        journal.record(CellStarted(1, 1))


def test_a_note_is_written_in_its_turn(folder, journal) -> None:
    journal.note(ControlRequested(Verb.SKIP))
    journal.record(CellStarted(0, 1))
    assert written(folder) == [ControlRequested(Verb.SKIP), CellStarted(0, 1)]


def test_an_error_of_the_last_samples_is_raised_by_close(folder, journal) -> None:
    full(journal)
    journal.sample(replace(a_sample(1), step="x" * 100_000))
    with pytest.raises(JournalFull):
        journal.close(finished=True)
    assert journal.dropped_samples == 1


def test_a_locked_journal_is_unusable_and_says_so(folder, monkeypatch) -> None:
    monkeypatch.setattr(writer_module, "WAIT_FOR_LOCK_S", 0.05)
    writer = JournalWriter(folder)
    with closing(sqlite3.connect(folder.journal, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnusable, match="locked"):
            writer.record(CellStarted(0, 1))
        other.execute("ROLLBACK")
    writer.record(CellStarted(0, 2))
    writer.close(finished=True)
    assert written(folder) == [CellStarted(0, 2)]


def test_a_reader_in_the_middle_of_a_poll_does_not_fail_the_end(folder, monkeypatch) -> None:
    monkeypatch.setattr(writer_module, "WAIT_FOR_LOCK_S", 0.05)
    writer = JournalWriter(folder)
    writer.record(CellStarted(0, 1))
    with closing(sqlite3.connect(f"file:{folder.journal}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM event").fetchall()
        writer.close(finished=True)
    assert written(folder) == [CellStarted(0, 1)]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a journal"),
        (b"not a database at all" * 100, "not a database"),
        (b"SQLite format 3\0" + bytes(4080), "not a database"),
    ],
)
def test_what_is_no_journal_is_not_written_to(folder, content: bytes, why: str) -> None:
    Path(folder.journal).write_bytes(content)
    with pytest.raises(JournalUnusable, match=why):
        JournalWriter(folder)
    assert Path(folder.journal).read_bytes() == content


def test_a_newer_journal_is_not_written_to_and_a_missing_one_not_made_anew(folder) -> None:
    with closing(sqlite3.connect(folder.journal)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalNewer):
        JournalWriter(folder)
    os.unlink(folder.journal)
    with pytest.raises(JournalUnusable):
        JournalWriter(folder)
    assert not os.path.exists(folder.journal)


def test_should_the_thread_end_nobody_waits_for_ever(folder, monkeypatch) -> None:
    writer = JournalWriter(folder)
    ended = threading.Event()

    def fail(*_: object) -> None:
        ended.set()
        raise MemoryError

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(writer, "_commit", fail)
    with pytest.raises(JournalUnusable, match="has ended"):
        writer.record(CellStarted(0, 1))
    assert ended.is_set()
    writer.close(finished=False)
    writer._connection.close()


WRITE_UNTIL_KILLED = """
number = 0
while True:
    number += 1
    cpu = CpuShares(1, 0, 1, 0, 0, 0, 98)
    writer.sample(Sample(number, number, 0.5, 0, "s" * 3000, cpu, (), Writeback(0, 0)))
    writer.record(CellStarted(number, 1), durable=number % 4 != 0)
    if number % 4 != 0:
        print(number, flush=True)
"""


@pytest.mark.parametrize("lines", [0, 1, 7, 40, 150])
def test_what_a_killed_writer_had_reported_is_there(folder, lines: int) -> None:
    with child_that_writes(folder, WRITE_UNTIL_KILLED) as child:
        reported = [child.stdout.readline() for _ in range(lines)]
        child.kill()
        reported += child.stdout.readlines()
    numbers = [int(line) for line in reported if line.endswith("\n")]
    cells = [seen.cell for seen in written(folder)]
    assert cells == list(range(1, len(cells) + 1))
    assert set(numbers) <= set(cells)
    assert len(numbers) >= lines
