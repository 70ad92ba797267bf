from __future__ import annotations

import os
import select
import signal
import sys

import pytest

from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command
from fsconsole.system.run import spawn

LIMIT_S = 60.0


def test_lines_go_in_and_come_out_while_it_runs() -> None:
    with spawn(Command(("sed", "-u", "s/^/> /"))) as running:
        running.send("one")
        assert running.receive(LIMIT_S) == "> one"
        running.send("two")
        assert running.receive(LIMIT_S) == "> two"
        result = running.wait(LIMIT_S)
    assert (result.exit_code, result.stdout) == (0, b"")
    assert result.usage.max_rss_bytes > 0


def test_what_was_not_received_is_in_the_result_with_the_errors() -> None:
    running = spawn(Command(("/bin/sh", "-c", "echo one; echo two; echo why >&2; exit 4")))
    assert running.receive(LIMIT_S) == "one"
    result = running.wait(LIMIT_S)
    assert (result.exit_code, result.stdout, result.stderr) == (4, b"two\n", b"why\n")
    assert running.wait() is result


def test_input_of_the_command_is_sent_first() -> None:
    with spawn(Command(("cat",), stdin=b"job\n")) as running:
        assert running.receive(LIMIT_S) == "job"


def test_a_program_that_ends_before_its_input_is_sent_is_an_error_that_leaves_nothing() -> None:
    with spawn(Command(("true",))):
        pass
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(BrokenPipeError):
        spawn(Command(("true",), stdin=bytes(2**20)))
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_closed_output_is_the_end_of_the_lines() -> None:
    with spawn(Command(("/bin/sh", "-c", "exec >&-; cat >/dev/null"))) as running, pytest.raises(EOFError):
        running.receive(LIMIT_S)


def test_silence_is_a_timeout() -> None:
    with spawn(Command(("cat",))) as running, pytest.raises(TimeoutError):
        running.receive(0.01)


def test_a_program_that_does_not_end_is_killed_at_the_limit_with_its_children() -> None:
    held, inherited = os.pipe()
    try:
        script = "sleep 600 & sleep 600"
        running = spawn(Command(("/bin/sh", "-c", script), inherit_fds=(inherited,)))
        os.close(inherited)
        result = running.wait(0.1)
        assert (result.exit_code, result.timed_out) == (-9, True)
        assert select.select([held], [], [], LIMIT_S)[0]
    finally:
        os.close(held)


def test_kill_ends_it() -> None:
    running = spawn(Command(("sleep", "600")))
    running.kill()
    result = running.wait(LIMIT_S)
    assert (result.exit_code, result.timed_out) == (-signal.SIGKILL, False)
    running.kill()


def test_leaving_the_block_ends_it_and_leaves_no_descriptor() -> None:
    with spawn(Command(("true",))):
        pass
    before = set(os.listdir("/proc/self/fd"))
    with spawn(Command(("sleep", "600"))) as running:
        pass
    assert running.wait().exit_code == -signal.SIGKILL
    with pytest.raises(ToolMissing):
        spawn(Command(("not-here",)))
    assert set(os.listdir("/proc/self/fd")) == before


def test_its_cpu_time_counts_waited_for_workers() -> None:
    burn = (
        "import os, time\nif os.fork() == 0:\n while time.process_time() < .1: pass\n os._exit(0)\nos.wait()"
    )
    with spawn(Command((sys.executable, "-c", burn))) as running:
        usage = running.wait(LIMIT_S).usage
    assert usage.user_s + usage.system_s >= 0.1
