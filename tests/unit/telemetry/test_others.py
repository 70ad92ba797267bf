"""Who used the CPUs: from stat files as Linux 6.18 prints them, between two passes over a proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.telemetry.others import cpu_use, most_io, read_processes, viewers_among

KERNEL_THREAD, PROCESS = 2129984, 4194304
"""Flags of kthreadd, and of a shell: PF_KTHREAD is 0x00200000 (include/linux/sched.h)."""
LINE = (
    "{pid} ({name}) S {parent} 0 0 0 -1 {flags} 0 0 0 0 {user} {system} {child_user} {child_system} 20 0 1 0 {started}"
    " 2703360 1664 18446744073709551615 1 1 0 0 0 0 0 0 65536 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
)
ENGINE = 50


def add(
    proc: Path, pid: int, name: str, parent: int = 1, used: int = 0, *, reaped: int = 0,
    started: int = 7, flags: int = PROCESS, moved: int = 0, argv: str = "",
) -> None:  # fmt: skip
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(LINE.format(
        pid=pid, name=name, parent=parent, flags=flags, user=used, system=0, child_user=0, child_system=reaped,
        started=started,
    ))  # fmt: skip
    (folder / "io").write_text(
        f"rchar: 1\nsyscr: 1\nread_bytes: {moved}\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"
    )
    (folder / "cmdline").write_text(argv)


@pytest.fixture
def passes(tmp_path: Path) -> tuple[Path, Path]:
    """The same machine before and after: an engine with a worker, a kernel thread, a shell that runs programs."""
    before, after = tmp_path / "before", tmp_path / "after"
    for proc, used in ((before, 100), (after, 300)):
        add(proc, 1, "init", 0, started=0)
        add(proc, 2, "kthreadd", 0, flags=KERNEL_THREAD)
        add(proc, 9, "kworker/u8:1+flush-7:0", 2, used // 2, flags=KERNEL_THREAD)
        add(proc, ENGINE, "python3", 40, used)
        add(proc, 51, "python3", ENGINE, used)
        add(proc, 60, "(odd) name", 1, used // 10, moved=used << 20)
    return before, after


def test_kernel_threads_and_others_are_told_apart_and_what_the_engine_started_is_neither(
    passes: tuple[Path, Path],
) -> None:
    before, after = map(read_processes, map(str, passes))
    use = cpu_use(before, after, ENGINE)
    assert (use.kernel_s, use.viewers_s, use.others_s) == (1.0, 0.0, 0.2)
    assert str(use.biggest) == "(odd) name (process 60)"
    assert most_io(before, after, ENGINE) == ("(odd) name (process 60)", 200 << 20)


def test_programs_that_ended_in_between_count_by_who_waited_for_them_without_what_they_had_used_before(
    passes: tuple[Path, Path],
) -> None:
    before, after = passes
    # A shell whose make ended, with a compiler that had ended before: 40 + 5 ticks were known, 95 is all that they used.
    add(before, 70, "bash", 1, 10, reaped=1000)
    add(after, 70, "bash", 1, 10, reaped=1095)
    add(before, 71, "make", 70, 5, reaped=10)
    add(before, 72, "cc1", 71, 30)
    # Its pid was given again; that one is new, and all of its own.
    add(after, 72, "sleep", 1, 3, started=900)
    use = cpu_use(read_processes(str(before)), read_processes(str(after)), ENGINE)
    assert use.others_s == pytest.approx(0.2 + 0.5 + 0.03)
    assert use.biggest is not None
    assert (use.biggest.name, use.biggest.pid, use.biggest.used_s) == ("bash", 70, 0.5)


def test_a_long_life_that_nobody_waited_for_takes_nothing_from_what_the_others_used(passes: tuple[Path, Path]) -> None:
    before, after = passes
    add(before, 80, "daemon", 1, 5, reaped=7)
    add(after, 80, "daemon", 1, 45, reaped=7)
    add(before, 81, "child", 80, 360_000)
    assert cpu_use(*map(read_processes, map(str, passes)), ENGINE).others_s == pytest.approx(0.2 + 0.4)


def test_of_an_orphan_s_life_only_what_it_used_in_between_is_the_first_process_s(passes: tuple[Path, Path]) -> None:
    before, after = passes
    # A terminal is closed: its shell is waited for by sshd, then the compilation that ran below it by init.
    add(before, 80, "sshd", 1, reaped=1)
    add(before, 81, "bash", 80, 30, started=8)
    add(before, 82, "make", 81, 400_000, started=9)
    add(after, 80, "sshd", 1, reaped=1 + 30)
    add(after, 1, "init", 0, reaped=400_000 + 25, started=0)
    use = cpu_use(*map(read_processes, map(str, passes)), ENGINE)
    assert use.others_s == pytest.approx(0.2 + 0.25)


def test_viewers_are_fsconsole_s_own_and_no_engine_generator_or_other_program(passes: tuple[Path, Path]) -> None:
    _, after = passes
    add(after, 90, "python3", argv="/usr/bin/python3\0/usr/bin/fsconsole\0attach\0")
    add(after, 91, "python3", argv="python3\0-m\0fsconsole\0console\0")
    add(after, 92, "python3", argv="python3\0-I\0-m\0fsconsole.engine\0/var/lib/fsconsole/runs/1\0")
    add(after, 93, "grep", argv="grep\0fsconsole\0")
    add(after, 94, "python3", argv="python3\0burn.py\0one\0two\0fsconsole\0")
    found = viewers_among(read_processes(str(after)), str(after))
    assert found == {90, 91}
    add(passes[0], 90, "python3")
    add(after, 90, "python3", used=30)
    use = cpu_use(*map(read_processes, map(str, passes)), ENGINE, {90})
    assert (use.viewers_s, use.others_s) == (0.3, 0.2)
