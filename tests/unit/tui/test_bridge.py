from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fsconsole.client import follow
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import JournalNewer, JournalUnusable
from fsconsole.journal import last_word
from fsconsole.journal.events import Batch, Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import Observation, Outcome, RunFinished
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.show.history import RunSnapshot
from fsconsole.system.locks import FileLock
from fsconsole.tui import bridge as module
from fsconsole.tui.bridge import Bridge, Taken, Watch
from tests.conftest import wait_until
from tests.tui.recorded import recorded
from tests.unit.cli import recorded as recorded_runs
from tests.unit.cli.recorded import CELL_DONE, IN_MKFS, STARTED, make_run

S_NS = 10**9


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.01)
    monkeypatch.setattr(module, "_IDLE_S", 0.01)


_TURN = threading.Lock()


@pytest.fixture(autouse=True)
def _in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a bridge look while nothing is written here: an engine writes in a process of its own.

    Within one process SQLite has its connections share one view of a log's index (os_unix.c, unixOpenSharedMemory): where a
    reader has opened that first, for reading only, a writer is told "attempt to write a readonly database".
    """

    def in_turn(look: Callable[[Watch], object]) -> Callable[[Watch], object]:
        def wait_and_look(watch: Watch) -> object:
            with _TURN:
                return look(watch)

        return wait_and_look

    for look in (Watch.look, Watch.look_back):
        monkeypatch.setattr(Watch, look.__name__, in_turn(look))


def write(folder: RunFolder, observations: Iterable[Observation], *, finished: bool = True) -> None:
    with _TURN:
        recorded_runs.write(folder, observations, finished=finished)


@contextmanager
def looking(folder: RunFolder) -> Iterator[Callable[[Callable[[Taken], bool]], Taken]]:
    """Give a function that takes from a bridge until something is as wanted, and returns it."""
    bridge = Bridge(folder, lambda: None)
    bridge.start()

    def until(wanted: Callable[[Taken], bool]) -> Taken:
        found: list[Taken] = []

        def has_come() -> bool:
            taken = bridge.take()
            if taken is not None and wanted(taken):
                found.append(taken)
            return bool(found)

        wait_until(has_come, "the bridge gives what is wanted")
        return found[0]

    try:
        yield until
    finally:
        bridge.stop()
        wait_until(lambda: not bridge._thread.is_alive(), "the bridge ends")


def is_snapshot(taken: Taken) -> bool:
    return isinstance(taken, RunSnapshot)


def test_a_growing_run_is_followed_to_its_end(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED, *IN_MKFS), finished=False)
    with looking(folder) as until:
        with FileLock.acquire(folder.lock):
            until(lambda taken: is_snapshot(taken) and taken.alive and taken.state.current_cell == 1)
            write(folder, CELL_DONE, finished=False)
            until(lambda taken: is_snapshot(taken) and taken.state.cells[0].status is CellStatus.DONE)
            write(folder, (RunFinished(Outcome.DONE),))
        until(lambda taken: is_snapshot(taken) and taken.finished and not taken.alive)


def test_a_journal_is_read_only_after_it_was_written_and_else_nothing_is_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED, *IN_MKFS), finished=False)
    reads: list[Cursor] = []
    read_since = JournalReader.read_since

    def noted(reader: JournalReader, cursor: Cursor, **options: int) -> Batch:
        reads.append(cursor)
        return read_since(reader, cursor, **options)

    monkeypatch.setattr(JournalReader, "read_since", noted)
    monkeypatch.setattr(follow, "_READ_AGAIN_S", 3600.0)
    put: list[Taken] = []
    monkeypatch.setattr(Bridge, "_put", lambda _bridge, found: put.append(found))
    with FileLock.acquire(folder.lock):
        watch = Watch(folder)
        first = watch.look()
        assert watch.look() is first
        assert len(reads) == 1
        write(folder, CELL_DONE, finished=False)
        assert watch.look().state.cells[0].status is CellStatus.DONE
        assert len(reads) == 2
        with looking(folder):
            wait_until(lambda: len(put) > 0, "the bridge looks")
            time.sleep(0.1)
            assert len(put) == 1
        # A commit changes the files before it can be read: so they are read again though they are as they were.
        watch.look()
        reads.clear()
        monkeypatch.setattr(follow, "_READ_AGAIN_S", 0.0)
        watch.look()
        assert len(reads) == 1
    assert watch.look().dead


def test_a_word_left_beside_the_journal_ends_the_run(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    last_word.leave(folder, RunFinished(Outcome.FAILED, "its disk is full", "Free some room.", 42))
    snapshot = Watch(folder).look()
    assert snapshot.finished
    assert snapshot.state.reason == "its disk is full"


def test_a_run_whose_engine_is_gone_without_a_word_is_dead_and_taken_up_again_comes_back_to_life(
    tmp_path: Path,
) -> None:
    folder = recorded("killed", tmp_path)
    with looking(folder) as until:
        taken = until(is_snapshot)
        assert taken.dead
        assert taken.state.status is RunStatus.RUNNING
        with FileLock.acquire(folder.lock):
            until(lambda taken: is_snapshot(taken) and taken.alive)


def test_a_journal_that_goes_and_comes_back_is_told_of_and_followed_again(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    hidden = Path(folder.journal + ".away")
    with looking(folder) as until:
        until(is_snapshot)
        Path(folder.journal).rename(hidden)
        until(lambda taken: isinstance(taken, JournalUnusable))
        hidden.rename(folder.journal)
        assert until(is_snapshot).finished


def test_a_journal_that_is_not_there_damaged_or_newer_is_an_error_in_words(tmp_path: Path) -> None:
    damaged, newer = recorded("grid", tmp_path), recorded("raw", tmp_path)
    Path(damaged.journal).write_bytes(b"no database at all" * 1000)
    with closing(sqlite3.connect(newer.journal)) as connection:
        connection.execute("PRAGMA user_version = 999")
    missing = RunFolder(str(tmp_path / "none"))
    for folder, kind in ((missing, FsconsoleError), (damaged, JournalUnusable), (newer, JournalNewer)):
        with looking(folder) as until:
            until(lambda taken, kind=kind: isinstance(taken, kind))


def test_at_most_one_snapshot_waits_and_it_is_the_newest(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED,), finished=False)
    told: list[int] = []
    looks = threading.Semaphore(0)
    bridge = Bridge(folder, lambda: told.append(1))
    former_put = bridge._put

    def put(found: Taken) -> None:
        former_put(found)
        looks.release()

    bridge._put = put  # type: ignore[method-assign]
    bridge.start()
    try:
        for _ in range(5):
            looks.acquire()
        write(folder, CELL_DONE, finished=False)
        while looks.acquire(blocking=False):
            """What was seen before that was written."""
        # One look may have begun before, the next one has not.
        for _ in range(2):
            looks.acquire()
        assert len(told) == 1
        newest = bridge.take()
        assert isinstance(newest, RunSnapshot)
        assert newest.state.cells[0].status is CellStatus.DONE
        wait_until(lambda: len(told) == 2, "it tells again once that was taken")
    finally:
        bridge.stop()
        wait_until(lambda: not bridge._thread.is_alive(), "the bridge ends")


def test_a_bridge_that_was_stopped_tells_nothing_more(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    told: list[int] = []
    bridge = Bridge(folder, lambda: told.append(1))
    bridge.stop()
    bridge.start()
    wait_until(lambda: not bridge._thread.is_alive(), "the bridge ends")
    assert told == []
