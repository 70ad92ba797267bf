"""Foreign parts of a run folder and foreign journals: named as such, never waited for, never followed."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.client.children import ask
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import RunOver
from fsconsole.journal import last_word
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import is_alive
from fsconsole.model.events import ControlAnswer, Outcome, RunFinished, Verb
from fsconsole.model.wire import to_line
from fsconsole.system.locks import FileLock
from tests.fuzz.cage import Said, assert_harmless, caged, say
from tests.tui.recorded import recorded

ACTING = "\x1b]0;x\x07\u202e"
AS_DATA = r"\x1b]0;x\x07\u202e"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose engine was killed."""
    return recorded("killed", tmp_path / "runs")


def on(folder: RunFolder, *words: str) -> Said:
    """Carry a command out in a cage, which ends it where it would wait for ever."""
    runs = os.path.dirname(folder.path)
    with caged(Path(runs)):
        said = say(*words, "--runs", runs)
    assert_harmless(said, words)
    return said


def pipe(path: str) -> None:
    os.mkfifo(path)


def link_to_nothing(path: str) -> None:
    os.symlink(path, path)


def link_to_another(path: str) -> None:
    os.symlink("/proc/self/status", path)


AS_ROOT_CLEANUP = pytest.param(("cleanup",), marks=pytest.mark.root)
AS_ROOT_RENAME = pytest.param(("runs", "rename", "killed", "x"), marks=pytest.mark.root)
STRANGE = [pipe, link_to_nothing, link_to_another]


def test_a_list_of_runs_tells_what_is_wrong_with_one_and_still_shows_the_others(folder: RunFolder) -> None:
    recorded("grid", Path(folder.path).parent)
    for path in (folder.lock, folder.last_word):
        for put in STRANGE:
            os.unlink(path)
            put(path)
            said = on(folder, "runs")
            assert said.code == ExitCode.OK, (path, put)
            assert "ext4 and xfs: a hundred files" in said.out, (path, put)
            assert "killed" in said.out, (path, put)


@pytest.mark.parametrize(
    "part", ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"]
)
@pytest.mark.parametrize("words", [("runs",), ("results",), AS_ROOT_CLEANUP, AS_ROOT_RENAME], ids=" ".join)
def test_a_pipe_in_the_place_of_the_journal_is_not_waited_for(
    folder: RunFolder, words: tuple[str, ...], part: str
) -> None:
    path = os.path.join(folder.path, part)
    if os.path.lexists(path):
        os.unlink(path)
    pipe(path)
    said = on(folder, *words)
    assert folder.name in said.out + said.err


def test_a_lock_that_is_a_link_and_a_last_word_that_is_no_file_are_errors_with_hints(
    folder: RunFolder,
) -> None:
    for put in STRANGE:
        os.unlink(folder.last_word)
        put(folder.last_word)
        with caged(Path(folder.path)), pytest.raises(FsconsoleError) as caught:
            last_word.read(folder)
        assert folder.last_word in str(caught.value)
        assert caught.value.hint
    for put in (link_to_nothing, link_to_another):
        os.unlink(folder.lock)
        put(folder.lock)
        with pytest.raises(FsconsoleError, match="symbolic link"):
            is_alive(folder)


def test_a_journal_that_lies_elsewhere_is_not_read(folder: RunFolder, tmp_path: Path) -> None:
    for part in ("journal.sqlite", "journal.sqlite-wal"):
        path = os.path.join(folder.path, part)
        os.rename(path, tmp_path / "elsewhere")
        os.symlink(tmp_path / "elsewhere", path)
        said = on(folder, "results")
        assert said.code == ExitCode.JOURNAL_UNUSABLE
        assert f"{part} is a symbolic link" in said.err
        os.rename(tmp_path / "elsewhere", path)


def test_an_engines_last_word_is_printed_as_data_by_cleanup(folder: RunFolder) -> None:
    last_word.leave(folder, RunFinished(Outcome.FAILED, f"reason {ACTING}", f"hint {ACTING}"))
    said = on(folder, "cleanup")
    if os.geteuid() == 0:
        assert f"reason {AS_DATA}" in said.out


@contextlib.contextmanager
def another_engine(path: str) -> Iterator[list[bytes]]:
    """Listen as an engine would, and keep what was heard; its answer is meant to act on a terminal."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(os.path.relpath(path))
        ear.listen()
        ear.settimeout(0.1)
        done = threading.Event()
        answering = threading.Thread(target=_answer, args=(ear, done, heard))
        answering.start()
        try:
            yield heard
        finally:
            done.set()
            answering.join()


def _answer(ear: socket.socket, done: threading.Event, heard: list[bytes]) -> None:
    while not done.is_set():
        with contextlib.suppress(TimeoutError):
            connection, _ = ear.accept()
            with connection:
                heard.append(connection.recv(1000))
                connection.sendall(to_line(ControlAnswer(accepted=True, step=f"step {ACTING}", why="")))


def test_a_request_goes_through_no_link_to_the_engine_of_another_run(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with another_engine(str(tmp_path / "other")) as heard:
        os.symlink(tmp_path / "other", folder.control)
        with pytest.raises(RunOver):
            ask(folder, Verb.STOP_NOW)
    assert heard == []


def test_an_answer_is_printed_as_data(folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with another_engine(folder.control) as heard, FileLock.acquire(folder.lock):
        said = on(folder, "stop")
    assert heard
    assert f"step {AS_DATA}" in said.out


def test_a_version_before_the_first_one_is_refused(tmp_path: Path) -> None:
    folder, words = recorded("grid", tmp_path), ("results", "--runs", str(tmp_path))
    for version in (0, -5, -(2**31)):
        with contextlib.closing(sqlite3.connect(folder.journal)) as journal:
            journal.execute(f"PRAGMA user_version = {version}")
        said = say(*words)
        assert_harmless(said, words)
        assert said.code == ExitCode.JOURNAL_UNUSABLE
        assert f"no journal has the version {version}" in said.err
