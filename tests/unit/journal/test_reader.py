from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalNewer, JournalUnusable, NotRoot
from fsconsole.journal.events import Batch, Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader, open_journal
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellFinished, CellStarted, FeatureSeen, Outcome
from tests.unit.journal.journals import a_sample, child_that_writes, written

NOBODY = 65534


def fill(folder: RunFolder) -> None:
    writer = JournalWriter(folder)
    for cell in range(3):
        writer.record(CellStarted(cell, 1), durable=False)
        writer.record(FeatureSeen(cell, 1, "mkfs", "crc", "1"), durable=False)
        writer.sample(a_sample(cell))
        writer.record(CellFinished(cell, 1, Outcome.DONE))
    writer.close(finished=True)


@pytest.fixture
def filled(folder: RunFolder) -> RunFolder:
    fill(folder)
    return folder


@pytest.fixture
def change(filled: RunFolder) -> Iterator[Callable[[str], None]]:
    """Do to a journal what no writer of ours does."""

    def execute(statement: str) -> None:
        with closing(sqlite3.connect(filled.journal, isolation_level=None)) as connection:
            connection.execute(statement)

    return execute


def test_the_request_comes_back_as_it_was_given(tmp_path, make_request) -> None:
    request = make_request(cells=20)
    assert JournalReader(create_run(str(tmp_path), request).journal).request() == request


def test_each_poll_brings_only_what_is_new(folder) -> None:
    reader = JournalReader(folder.journal)
    writer = JournalWriter(folder)
    cursor, seen = Cursor(), []
    for cell in range(5):
        writer.record(CellStarted(cell, 1))
        batch = reader.read_since(cursor)
        cursor, seen = batch.cursor, [*seen, batch.observations]
    assert seen == [(CellStarted(cell, 1),) for cell in range(5)]
    assert reader.read_since(cursor) == Batch(cursor)
    writer.close(finished=True)


def test_an_engine_that_begins_or_ends_waits_for_a_reader_to_finish(filled) -> None:
    with open_journal(filled.journal) as reading, closing(sqlite3.connect(filled.journal)) as engine:
        engine.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            engine.execute("PRAGMA journal_mode = WAL")
        assert reading.execute("SELECT count(*) FROM run").fetchone() == (1,)


def test_readers_hold_nothing_between_polls_and_change_no_byte(filled) -> None:
    before = Path(filled.journal).read_bytes()
    descriptors = set(os.listdir("/proc/self/fd"))
    first, second = (JournalReader(filled.journal).read_since(Cursor()) for _ in range(2))
    assert first == second
    assert len(first.entries) == 9
    assert set(os.listdir("/proc/self/fd")) == descriptors
    assert Path(filled.journal).read_bytes() == before


def test_a_long_run_is_read_in_pieces_without_samples_or_from_the_latest_on(filled) -> None:
    reader = JournalReader(filled.journal)
    first = reader.read_since(Cursor(), max_samples=2)
    second = reader.read_since(first.cursor, max_samples=2)
    assert (len(first.samples), first.more, len(second.samples), second.more) == (2, True, 1, False)
    assert len(first.entries) == 9
    assert second.entries == ()
    batch = reader.read_since(Cursor(), max_samples=0)
    assert (len(batch.entries), batch.samples, batch.more) == (9, (), False)
    latest = reader.read_since(reader.recent(1))
    assert (len(latest.entries), latest.samples) == (9, (a_sample(2),))


def test_a_journal_that_is_still_to_be_made_is_empty(tmp_path) -> None:
    reader = JournalReader(str(tmp_path / "journal.sqlite"))
    assert reader.read_since(Cursor(3, 4)) == Batch(Cursor(3, 4))
    with pytest.raises(JournalUnusable, match="still being made"):
        reader.request()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE event SET kind = 'os.system' WHERE id = 4", "not a kind of event"),
        ("UPDATE event SET body = json_set(body, '$.cell', 'one') WHERE id = 4", "cell: Expected `int"),
        ("UPDATE event SET body = json_set(body, '$.cell', 1.5) WHERE id = 4", "cell: Expected `int"),
        ("UPDATE event SET body = json_set(body, '$.more', 1) WHERE id = 4", "unknown field `more`"),
        ("UPDATE event SET body = json_remove(body, '$.cell') WHERE id = 4", "missing required field `cell`"),
        ("UPDATE event SET body = x'ff00' WHERE id = 4", "no text"),
        ("UPDATE event SET body = '{' WHERE id = 4", "cell_started 4: is not JSON"),
        ("UPDATE event SET wall_ns = x'00' WHERE id = 4", "not a whole number"),
        (
            "UPDATE event SET body = json_set(body, '$.outcome', 'great') WHERE kind = 'cell_finished'",
            "outcome: Invalid enum value",
        ),
        ("DROP TABLE event", "has no table event"),
        ("UPDATE sample SET cpu_user_centi = 'much'", "cpu.user: Expected `float`"),
        ("UPDATE sample_cpu SET user_centi = 'much'", r"per_cpu\[0\].shares.user: Expected `float`"),
        ("CREATE VIEW v AS SELECT 1", "its view v is not that of a journal"),
        ("PRAGMA application_id = 0", "not a journal"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(filled, change, statement: str, why: str) -> None:
    change(statement)
    with pytest.raises(JournalUnusable, match=why):
        JournalReader(filled.journal).read_since(Cursor())


@pytest.mark.parametrize("text", ["x'00'", "'{}'", "'[1'", "7"])
def test_a_request_that_does_not_fit_is_refused(filled, change, text: str) -> None:
    change(f"UPDATE run SET request = {text}")  # noqa: S608
    with pytest.raises(JournalUnusable, match="run request"):
        JournalReader(filled.journal).request()


def test_missing_request_is_refused(filled, change) -> None:
    change("DELETE FROM run")
    with pytest.raises(JournalUnusable, match="no run request"):
        JournalReader(filled.journal).request()


def test_words_of_the_schema_that_are_no_text_are_an_error_in_words(filled) -> None:
    path = Path(filled.journal)
    damaged = path.read_bytes().replace(b"NOT NULL", b"NOT NUL\xc5", 1)
    path.write_bytes(damaged)
    with pytest.raises(JournalUnusable):
        JournalReader(filled.journal).request()


def test_a_pipe_is_no_journal_and_nobody_waits_for_it(tmp_path) -> None:
    os.mkfifo(tmp_path / "journal.sqlite")
    with pytest.raises(JournalUnusable, match="regular file"):
        JournalReader(str(tmp_path / "journal.sqlite")).request()


def test_whatever_is_damaged_is_an_error_and_never_a_traceback(filled) -> None:
    whole = Path(filled.journal).read_bytes()
    chance = random.Random(20080520)  # noqa: S311 - damage, not a secret
    for _ in range(60):
        damaged = bytearray(whole)
        start = chance.randrange(len(damaged))
        damaged[start : start + 64] = chance.randbytes(64)
        Path(filled.journal).write_bytes(damaged[: chance.choice([len(damaged), start, None])])
        try:
            JournalReader(filled.journal).read_since(Cursor())
            JournalReader(filled.journal).request()
        except (JournalUnusable, JournalNewer):
            continue


def write_and_be_killed(folder: RunFolder) -> None:
    script = "writer.record(CellStarted(0, 1))\nprint(flush=True)\nsys.stdin.readline()"
    with child_that_writes(folder, script) as child:
        child.stdout.readline()
        child.kill()


@pytest.fixture
def shared(make_request) -> Iterator[RunFolder]:
    """A run that others may read and not write, on a path that they may walk."""
    runs = Path("/tmp") / f"fsconsole-test-runs-{os.getpid()}"
    folder = create_run(str(runs), make_request())
    for path in (str(runs), folder.path):
        os.chmod(path, 0o755)  # noqa: S103 - that is the case
    os.chmod(folder.journal, 0o644)
    yield folder
    shutil.rmtree(runs)


@pytest.fixture
def as_nobody() -> Iterator[Callable[[RunFolder], Batch]]:
    """Read with the rights of a user who owns nothing, as far as the kernel's checks go."""
    groups = os.getgroups()

    def read(folder: RunFolder) -> Batch:
        os.setgroups([])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            return JournalReader(folder.journal).read_since(Cursor())
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)

    return read


@pytest.mark.root
def test_who_may_not_write_reads_while_the_writer_lives_and_after_its_end(shared, as_nobody) -> None:
    writer = JournalWriter(shared)
    writer.record(CellStarted(0, 1))
    assert len(as_nobody(shared).entries) == 1
    writer.close(finished=False)
    assert Path(shared.journal).read_bytes()[18] == 2
    assert len(as_nobody(shared).entries) == 1
    fill(shared)
    assert len(as_nobody(shared).entries) == 10


@pytest.mark.root
def test_who_may_not_write_reads_what_a_killed_writer_left_but_for_a_run_without_its_index(shared, as_nobody) -> None:
    write_and_be_killed(shared)
    assert os.path.getsize(shared.journal + "-wal") > 0
    assert len(as_nobody(shared).entries) == 1
    os.unlink(shared.journal + "-shm")
    with pytest.raises(JournalUnusable, match="copy the folder"):
        as_nobody(shared)


@pytest.mark.root
def test_who_may_not_read_is_told_so(shared, as_nobody) -> None:
    os.chmod(shared.journal, 0o600)
    with pytest.raises(NotRoot, match="Reading"):
        as_nobody(shared)


def test_a_killed_writers_run_is_read_and_left_as_it_is(folder) -> None:
    write_and_be_killed(folder)
    before = Path(folder.journal).read_bytes(), Path(folder.journal + "-wal").read_bytes()
    assert written(folder) == [CellStarted(0, 1)]
    assert (Path(folder.journal).read_bytes(), Path(folder.journal + "-wal").read_bytes()) == before


def test_a_rollback_journal_that_its_writer_removes_while_it_is_looked_at_is_no_fault(filled, monkeypatch) -> None:
    beside, look, before = filled.journal + "-journal", os.stat, written(filled)
    Path(beside).touch()

    def looked_at(path, **how):
        found = look(path, **how)
        if path == beside:
            os.unlink(beside)
        return found

    monkeypatch.setattr(os, "stat", looked_at)
    assert written(filled) == before
