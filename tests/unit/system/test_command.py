from __future__ import annotations

import os
import select
import shlex
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fsconsole.errors.runs import ToolFailed, ToolMissing
from fsconsole.model.command import Command, CommandResult
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.run import RealExecutor, find_program

LIMIT_S = 60.0
MIB = 2**20


def shell(script: str, **more: object) -> CommandResult:
    return RealExecutor().run(Command(("/bin/sh", "-c", script), timeout_s=LIMIT_S, **more))  # type: ignore[arg-type]


def test_exit_code_and_both_outputs_are_kept_apart() -> None:
    result = shell("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out


def test_a_signal_is_a_negative_exit_code() -> None:
    assert shell("kill -SEGV $$").exit_code == -signal.SIGSEGV


def test_input_of_many_megabytes_passes_through_without_deadlock() -> None:
    data = os.urandom(3 * MIB)
    result = RealExecutor().run(Command(("cat",), stdin=data, timeout_s=LIMIT_S))
    assert result.stdout == data


def test_both_outputs_may_be_large_at_once() -> None:
    result = shell("head -c 2000000 /dev/zero >&2 & head -c 2000000 /dev/zero; wait")
    assert (len(result.stdout), len(result.stderr)) == (2_000_000, 2_000_000)


def test_a_program_that_does_not_read_its_input_is_no_error() -> None:
    result = RealExecutor().run(Command(("true",), stdin=bytes(MIB), timeout_s=LIMIT_S))
    assert result.exit_code == 0


def test_without_input_a_program_reads_the_end_at_once() -> None:
    assert RealExecutor().run(Command(("cat",), timeout_s=LIMIT_S)).stdout == b""


def test_output_beyond_the_limit_is_cut_and_says_so() -> None:
    executor = RealExecutor(output_limit_bytes=1000)
    result = executor.run(Command(("head", "-c", "5000", "/dev/zero"), timeout_s=LIMIT_S))
    assert result.stdout == bytes(1000) + b"\n[fsconsole: 4000 more bytes cut]\n"


def test_a_timeout_kills_the_program_and_its_children() -> None:
    held, inherited = os.pipe()
    try:
        script = "sleep 600 & echo started; sleep 600"
        command = Command(("/bin/sh", "-c", script), timeout_s=0.3, inherit_fds=(inherited,))
        result = RealExecutor().run(command)
        os.close(inherited)
        assert (result.exit_code, result.timed_out, result.stdout) == (-9, True, b"started\n")
        # The end of the pipe is seen when the last process that inherited its other side is gone.
        assert select.select([held], [], [], LIMIT_S)[0]
        assert os.read(held, 1) == b""
    finally:
        os.close(held)


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
        "FIO_X=1",
        "LANG=C",
        "LC_ALL=C",
        "PATH=/usr/bin:/bin:/usr/sbin:/sbin",
    ]


def test_only_named_descriptors_are_inherited() -> None:
    passed, kept = os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
    try:
        os.set_inheritable(kept, True)
        script = f"[ -e /proc/self/fd/{passed} ] && [ ! -e /proc/self/fd/{kept} ]"
        assert shell(script, inherit_fds=(passed,)).exit_code == 0
    finally:
        os.close(passed)
        os.close(kept)


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(ToolMissing) as caught:
        RealExecutor().run(Command(("mkfs.nilfs2-not-here",)))
    assert caught.value.tool == "mkfs.nilfs2-not-here"
    with pytest.raises(ToolMissing):
        RealExecutor().run(Command(("/nowhere/mkfs.xfs",)))


def test_a_file_that_the_kernel_cannot_execute_is_a_tool_failure(tmp_path: Path) -> None:
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


def test_cpu_time_is_the_programs_own_and_its_childrens() -> None:
    burn = f"{shlex.quote(sys.executable)} -c 'import time\nwhile time.process_time() < 0.2: pass'"
    usage = shell(f"{burn}; true").usage
    assert usage.user_s + usage.system_s >= 0.2
    assert usage.elapsed_s >= 0.2


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
    seen: list[tuple[int, int, bytes]] = []

    def work(number: int) -> None:
        for _ in range(5):
            result = executor.run(Command(("/bin/sh", "-c", f"echo {number}; exit {number}")))
            seen.append((number, result.exit_code, result.stdout))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 40
    assert all(code == number and out == b"%d\n" % number for number, code, out in seen)


def test_no_descriptor_is_left_behind() -> None:
    shell("true")
    before = set(os.listdir("/proc/self/fd"))
    shell("echo; echo >&2", stdin=b"x")
    with pytest.raises(ToolMissing):
        RealExecutor().run(Command(("not-here",)))
    RealExecutor().run(Command(("sleep", "600"), timeout_s=0.05))
    assert set(os.listdir("/proc/self/fd")) == before


def test_without_access_to_the_kernel_log_results_have_no_lines(tmp_path: Path) -> None:
    with KernelLog(str(tmp_path / "no-kmsg")) as log:
        assert not log.readable
        assert RealExecutor(log).run(Command(("true",))).kernel_log == ()
