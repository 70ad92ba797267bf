from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from fsconsole.client import children
from fsconsole.client.children import RealChildren
from fsconsole.errors import ChildFailed


class Other(RealChildren):
    """Starts a program of the test's instead of a command."""

    def __init__(self, before: str, pid_file: Path) -> None:
        told = f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))"
        self._program = f"import os, signal, time\n{before}\n{told}\ntime.sleep(600)"

    async def _start(self, words: object) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", self._program, stdout=pipe, stderr=pipe
        )


async def cancelled_twice(before: str, pid_file: Path) -> None:
    waiting = asyncio.ensure_future(Other(before, pid_file).run("any"))
    while not (pid_file.exists() and pid_file.read_text()):
        await asyncio.sleep(0.01)
    waiting.cancel()
    # Some turns of the loop later it waits for the end of the child.
    for _ in range(20):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_child_is_gone_when_the_waiting_was_cancelled_twice(tmp_path: Path) -> None:
    asyncio.run(cancelled_twice("", tmp_path / "pid"))


def test_a_child_that_will_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_PATIENCE_S", 0.2)
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    asyncio.run(cancelled_twice(stubborn, tmp_path / "pid"))


def test_an_interpreter_that_is_gone_is_a_command_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(ChildFailed, match="`fsconsole devices` can't be started: No such file") as caught:
        asyncio.run(RealChildren().run("devices", "--json"))
    assert caught.value.hint
    with pytest.raises(ChildFailed, match="can't be started"):
        asyncio.run(RealChildren().run_or_end(asyncio.Event(), "run"))
