"""Programs run to their end, and programs talked with."""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import ToolFailed, ToolMissing
from fsconsole.model.command import Command, CommandResult
from fsconsole.system.files import opened
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.run import RealExecutor, error_words, find_program, spawn

LIMIT_S = 60.0
MIB = 2**20


def shell(script: str, **more: object) -> CommandResult:
    return RealExecutor().run(Command(("/bin/sh", "-c", script), timeout_s=LIMIT_S, **more))  # type: ignore[arg-type]


def test_exit_code_and_both_outputs_are_kept_apart() -> None:
    result = shell("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out
    assert shell("kill -SEGV $$").exit_code == -signal.SIGSEGV


def test_much_input_and_output_pass_through_without_deadlock() -> None:
    data = os.urandom(3 * MIB)
    assert RealExecutor().run(Command(("cat",), stdin=data, timeout_s=LIMIT_S)).stdout == data
    result = shell("head -c 2000000 /dev/zero >&2 & head -c 2000000 /dev/zero; wait")
    assert (len(result.stdout), len(result.stderr)) == (2_000_000, 2_000_000)
    # Neither unread input nor none at all stops a program.
    assert RealExecutor().run(Command(("true",), stdin=bytes(MIB), timeout_s=LIMIT_S)).exit_code == 0
    assert RealExecutor().run(Command(("cat",), timeout_s=LIMIT_S)).stdout == b""


def test_output_beyond_the_limit_is_cut_and_says_so() -> None:
    executor = RealExecutor(output_limit_bytes=1000)
    result = executor.run(Command(("head", "-c", "5000", "/dev/zero"), timeout_s=LIMIT_S))
    assert result.stdout == bytes(1000) + b"\n[fsconsole: 4000 more bytes cut]\n"


def is_closed(reading: int) -> bool:
    """Wait for the end of a pipe, which comes when the last process that inherited its other side is gone."""
    return bool(select.select([reading], [], [], LIMIT_S)[0]) and os.read(reading, 1) == b""


def test_a_timeout_kills_a_program_and_its_children_however_it_was_started() -> None:
    for run in (
        lambda command: RealExecutor().run(replace(command, timeout_s=0.3)),
        lambda command: spawn(command).wait(0.3),
    ):
        held, inherited = os.pipe()
        with open(held, "rb"):
            script = "sleep 600 & echo started; sleep 600"
            result = run(Command(("/bin/sh", "-c", script), inherit_fds=(inherited,)))
            os.close(inherited)
            assert (result.exit_code, result.timed_out, result.stdout) == (-9, True, b"started\n")
            assert is_closed(held)


def test_who_inherits_the_output_and_lives_on_is_not_waited_for() -> None:
    result = shell("sleep 600 & echo $!")
    os.kill(int(result.stdout), signal.SIGKILL)
    assert (result.exit_code, result.timed_out) == (0, False)


def test_the_environment_is_clean_and_takes_additions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKE2FS_CONFIG", "/tmp/surprise")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = RealExecutor().run(Command(("env",), environment=(("FIO_X", "1"),)))
    assert sorted(result.out.split("\n"))[1:] == [
        "BLKID_FILE=/dev/null",
        "FIO_X=1",
        "LANG=C",
        "LC_ALL=C",
        "PATH=/usr/bin:/bin:/usr/sbin:/sbin",
    ]


def test_only_named_descriptors_are_inherited() -> None:
    with opened("/dev/null") as passed, opened("/dev/null") as kept:
        os.set_inheritable(kept, True)
        script = f"[ -e /proc/self/fd/{passed} ] && [ ! -e /proc/self/fd/{kept} ]"
        assert shell(script, inherit_fds=(passed,)).exit_code == 0


def test_a_program_that_is_missing_or_can_not_be_executed_is_an_error(tmp_path: Path) -> None:
    for name in ("mkfs.nilfs2-not-here", "/nowhere/mkfs.xfs"):
        with pytest.raises(ToolMissing) as caught:
            RealExecutor().run(Command((name,)))
        assert caught.value.tool == name
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF broken")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(ToolFailed, match="Exec format error"):
        RealExecutor().run(Command((str(path),)))


def test_programs_of_the_system_directories_are_found_with_a_users_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = find_program("losetup")
    assert found in {"/usr/sbin/losetup", "/sbin/losetup"}


def test_cpu_time_is_the_programs_own_and_its_waited_for_childrens() -> None:
    burn = "import os, time\nif os.fork() == 0:\n while time.process_time() < .1: pass\n os._exit(0)\nos.wait()"
    command = Command((sys.executable, "-c", burn))
    with spawn(command) as running:
        usages = (RealExecutor().run(command).usage, running.wait(LIMIT_S).usage)
    for usage in usages:
        assert usage.user_s + usage.system_s >= 0.1
        assert usage.elapsed_s >= 0.1


PEAK_OF_A_LARGE_PROGRAM = f"""
import sys
from fsconsole.model.command import Command
from fsconsole.system.run import RealExecutor

print(RealExecutor().run(Command((sys.executable, "-c", "b = bytearray({400 * MIB})"))).usage.max_rss_bytes)
"""


def test_the_peak_memory_of_a_program_larger_than_its_starter_is_exact() -> None:
    # From a process of its own: this one may have been larger in a test before.
    said = subprocess.run([sys.executable, "-c", PEAK_OF_A_LARGE_PROGRAM], check=True, capture_output=True)
    assert 400 * MIB < int(said.stdout) < 500 * MIB


def test_the_peak_memory_of_a_small_program_is_not_ours() -> None:
    ballast = bytearray(os.urandom(MIB)) * 40
    result = shell("sleep 0.1")
    assert 0 < result.usage.max_rss_bytes < len(ballast)


def test_many_threads_get_each_their_own_result() -> None:
    executor = RealExecutor()

    def work(number: int) -> tuple[int, bytes]:
        result = executor.run(Command(("/bin/sh", "-c", f"echo {number}; exit {number}")))
        return result.exit_code, result.stdout

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(40)))
    assert seen == [(number, b"%d\n" % number) for number in range(40)]


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    # Warm up: the first program that is started opens what stays.
    shell("true")
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert set(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_is_left_behind() -> None:
    with no_descriptor_left():
        shell("echo; echo >&2", stdin=b"x")
        with pytest.raises(ToolMissing):
            RealExecutor().run(Command(("not-here",)))
        with pytest.raises(ToolMissing):
            spawn(Command(("not-here",)))
        # A program that ends before its input is sent.
        with pytest.raises(BrokenPipeError):
            spawn(Command(("true",), stdin=bytes(2**20)))
        RealExecutor().run(Command(("sleep", "600"), timeout_s=0.05))


def test_without_access_to_the_kernel_log_results_have_no_lines(tmp_path: Path) -> None:
    with KernelLog(str(tmp_path / "no-kmsg")) as log:
        assert not log.readable
        assert RealExecutor(log).run(Command(("true",))).kernel_log == ()


def test_lines_go_in_and_come_out_while_it_runs_after_the_commands_own_input() -> None:
    with spawn(Command(("sed", "-u", "s/^/> /"), stdin=b"one\n")) as running:
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


def test_a_closed_output_is_the_end_of_the_lines_and_silence_a_timeout() -> None:
    with spawn(Command(("/bin/sh", "-c", "exec >&-; cat >/dev/null"))) as running, pytest.raises(EOFError):
        running.receive(LIMIT_S)
    with spawn(Command(("cat",))) as running, pytest.raises(TimeoutError):
        running.receive(0.01)


def test_killing_it_or_leaving_its_block_ends_it_and_leaves_no_descriptor() -> None:
    with no_descriptor_left():
        with spawn(Command(("sleep", "600"))) as left, spawn(Command(("sleep", "600"))) as killed:
            killed.kill()
            result = killed.wait(LIMIT_S)
            killed.kill()
        assert (result.exit_code, result.timed_out) == (-signal.SIGKILL, False)
        assert left.wait().exit_code == -signal.SIGKILL


def test_the_words_of_an_error_name_each_file_that_it_has() -> None:
    why = os.strerror(errno.ENOENT)
    assert error_words(FileNotFoundError(errno.ENOENT, why, "/x")) == f"/x: {why}"
    assert error_words(FileNotFoundError(errno.ENOENT, why, b"/x\xff", None, "/y")) == f"/x\\udcff: /y: {why}"
    assert (
        error_words(FileNotFoundError(errno.ENOENT, why)) == error_words(FileNotFoundError(errno.ENOENT, why, 7)) == why
    )
