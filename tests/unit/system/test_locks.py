from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from fsconsole.model.command import Command
from fsconsole.system.files import opened
from fsconsole.system.locks import FileLock, is_locked, lock_descriptor
from fsconsole.system.run import RunningCommand, spawn

LIMIT_S = 60.0
HOLDER = """
import sys
from fsconsole.system.locks import FileLock
with FileLock.acquire(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
sys.stdin.readline()
"""


def holder(path: Path) -> RunningCommand:
    running = spawn(Command((sys.executable, "-c", HOLDER, str(path)), environment=(("PYTHONPATH", os.getcwd()),)))
    assert running.receive(LIMIT_S) == "held"
    return running


def test_a_second_process_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(str(path))
    assert not path.exists()
    with holder(path) as other:
        with pytest.raises(BlockingIOError):
            FileLock.acquire(str(path))
        assert is_locked(str(path))
        other.send("")
        assert other.receive(LIMIT_S) == "released"
        assert not is_locked(str(path))
        FileLock.acquire(str(path)).release()


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as other:
        other.kill()
        assert other.wait(LIMIT_S).exit_code == -signal.SIGKILL
        with FileLock.acquire(str(path)):
            assert is_locked(str(path))


def test_a_reader_may_ask_about_a_file_it_can_only_read_which_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch(mode=0o444)
    assert not is_locked(str(path))
    with opened(str(path)) as fd:
        lock_descriptor(fd)
        assert is_locked(str(path))


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock = FileLock.acquire(path)
    with spawn(Command(("cat",))):
        lock.release()
        lock.release()
        assert not is_locked(path)


def test_a_lock_on_a_replaced_file_is_not_taken_for_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    replaced: list[int] = []

    def lock_and_replace(fd: int) -> None:
        lock_descriptor(fd)
        if not replaced:
            replaced.append(fd)
            path.unlink()

    monkeypatch.setattr("fsconsole.system.locks.lock_descriptor", lock_and_replace)
    with FileLock.acquire(str(path)):
        assert replaced
        assert is_locked(str(path))


def test_a_missing_device_node_is_never_made_a_file() -> None:
    with pytest.raises(FileNotFoundError):
        FileLock.acquire("/dev/fsconsole-not-here")
    assert not Path("/dev/fsconsole-not-here").exists()
