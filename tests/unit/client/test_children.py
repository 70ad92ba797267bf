from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsconsole.client import children
from fsconsole.client.children import Children
from fsconsole.errors import ChildFailed


class Other(Children):
    """Starts a program of the test's instead of a command."""

    def __init__(self, before: str, pid_file: Path) -> None:
        told = f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))"
        self._program = f"import os, signal, time\n{before}\n{told}\ntime.sleep(600)"

    async def _start(self, words: object) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(sys.executable, "-c", self._program, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize("before", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_a_child_is_gone_or_killed_when_the_waiting_was_cancelled_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.setattr(children, "_PATIENCE_S", 0.2)
    pid_file = tmp_path / "pid"

    async def cancelled_twice() -> None:
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

    asyncio.run(cancelled_twice())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


UNKILLABLE = """
import asyncio, subprocess, sys
from fsconsole.client import children

# What a child in state D makes of signals.
subprocess.Popen.send_signal = lambda *_: None
children._PATIENCE_S = children._PATIENCE_AFTER_KILL_S = 0.2


class Other(children.Children):
    async def _start(self, words):
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec("sleep", "60", stdout=pipe, stderr=pipe)
        print(child.pid, flush=True)
        return child


async def leave():
    # asyncio.run cancels it when this has returned.
    waiting.append(asyncio.create_task(Other().run("any")))
    await asyncio.sleep(0.2)


waiting = []
asyncio.run(leave())
"""


def test_a_child_that_no_signal_ends_holds_up_neither_the_loop_nor_the_interpreter() -> None:
    began_s = time.monotonic()
    left = subprocess.run([sys.executable, "-c", UNKILLABLE], capture_output=True, text=True, check=True, timeout=120)
    took_s = time.monotonic() - began_s
    os.kill(int(left.stdout), signal.SIGKILL)
    assert took_s < 30
    assert left.stderr == ""


def test_an_interpreter_that_is_gone_is_a_command_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(ChildFailed, match="`fsconsole devices` can't be started: No such file") as caught:
        asyncio.run(Children().run("devices", "--json"))
    assert caught.value.hint
    with pytest.raises(ChildFailed, match="can't be started"):
        asyncio.run(Children().run_or_end(asyncio.Event(), "run"))
