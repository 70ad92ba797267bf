"""Stat lines, holders of devices, and sleeping processes (real ones, shown in a proc of links)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.system import processes
from fsconsole.system.mounts import MountEntry
from fsconsole.system.processes import (
    ProcessStat,
    Sleepers,
    holders_of,
    is_at_work,
    own_pid_in_host_proc,
    parse_stat,
    read_stat,
)
from tests.conftest import wait_until


def test_outside_of_a_namespace_the_own_pid_is_the_visible_one() -> None:
    assert own_pid_in_host_proc() == int(os.readlink("/proc/self"))


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])),
    state=st.sampled_from("RSDZTtI"),
    parent=st.integers(0),
)
def test_a_process_may_be_called_anything(name: str, state: str, parent: int) -> None:
    line = f"42 ({name}) {state} {parent} 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 777 0 0\n"
    assert parse_stat(line) == ProcessStat(name, state, parent, 3, 777)


@pytest.mark.parametrize("text", ["", "42 cat S 1", "42 (cat)", ")42(", "42 (cat) S 1 2"])
def test_another_text_is_no_stat_line(text: str) -> None:
    with pytest.raises(ValueError, match="stat line"):
        parse_stat(text)


def test_no_process_holds_a_device_that_does_not_exist() -> None:
    assert holders_of(frozenset({os.makedev(4095, 77)}), frozenset()) == ()


def is_asleep(pid: int) -> bool:
    stat = read_stat(f"/proc/{pid}")
    return (stat.name, stat.state) == ("sleep", "S")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESRCH, errno.EINVAL, errno.EACCES])
def test_a_process_that_ends_while_its_broken_files_are_looked_at_holds_nothing(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Its descriptors are on a filesystem that shut itself down, and its mount table goes before it is read."""

    def on_a_broken_filesystem(path: str, *, dir_fd: int | None = None) -> os.stat_result:
        if dir_fd is not None or "/map_files/" in path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return stat(path)

    def gone(pid: str) -> tuple[MountEntry, ...]:
        raise OSError(number, os.strerror(number), f"/proc/{pid}/mountinfo")

    stat = os.stat
    with subprocess.Popen(SLEEPS) as sleeps:
        try:
            wait_until(lambda: is_asleep(sleeps.pid), "sleep is loaded and sleeps")
            monkeypatch.setattr(processes, "read_mounts", gone)
            monkeypatch.setattr(os, "stat", on_a_broken_filesystem)
            look = partial(holders_of, frozenset({os.makedev(4095, 77)}), frozenset(), (sleeps.pid,))
            if number == errno.EACCES:
                with pytest.raises(PermissionError):
                    # Only a process that has ended has none: one that hides them may.
                    list(processes._matching_mappings(sleeps.pid, lambda _: 0, set()))
            else:
                assert look() == ()
        finally:
            monkeypatch.undo()
            sleeps.kill()


Start = Callable[..., "subprocess.Popen[bytes]"]
SLEEPS = ("sleep", "1000")
WORKS = (sys.executable, "-Ic", "while True: pass")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start processes that the proc shows."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(*argv: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(argv))
        (tmp_path / str(started[-1].pid)).symlink_to(f"/proc/{started[-1].pid}")
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.wait()


def state_is(process: subprocess.Popen[bytes], letter: str) -> bool:
    return f") {letter} " in Path(f"/proc/{process.pid}/stat").read_text()


def test_who_has_slept_since_the_last_look_is_named_until_it_is_stopped(start: Start, tmp_path: Path) -> None:
    process = start(*SLEEPS)
    wait_until(lambda: state_is(process, "S"), "it sleeps")
    sleepers = Sleepers(str(tmp_path))
    assert sleepers.asleep() == ()
    wait_until(lambda: sleepers.asleep() != (), "it still sleeps")
    (named,) = sleepers.asleep()
    assert (named.pid, named.name, named.is_asleep) == (process.pid, "sleep", True)
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_is(process, "T"), "it is stopped")
    assert sleepers.asleep() == ()


def test_all_that_live_must_sleep_and_one_that_has_ended_hides_no_other(start: Start, tmp_path: Path) -> None:
    sleepers = Sleepers(str(tmp_path))
    assert (sleepers.asleep(), sleepers.asleep()) == ((), ())
    ended, process = start("true"), start(*SLEEPS)
    wait_until(lambda: state_is(ended, "Z"), "it has ended and nobody waited for it")
    wait_until(lambda: sleepers.asleep() != (), "the other sleeps")
    assert [named.pid for named in sleepers.asleep()] == [process.pid]
    works = start(*WORKS)
    wait_until(lambda: state_is(works, "R"), "it works")
    assert [sleepers.asleep() for _ in range(3)] == [(), (), ()]


def test_who_waits_for_another_of_them_is_named_after_it(start: Start, tmp_path: Path) -> None:
    parent = start("sh", "-c", "sleep 1000; true")
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    wait_until(lambda: children.read_text() != "", "it has a child")
    child = int(children.read_text())
    (tmp_path / str(child)).symlink_to(f"/proc/{child}")
    sleepers = Sleepers(str(tmp_path))
    wait_until(lambda: sleepers.asleep() != (), "both sleep")
    assert [named.name for named in sleepers.asleep()] == ["sleep", "sh"]
    subprocess.run(["kill", str(child)], check=True)


def test_who_counts_is_at_work_and_who_sleeps_or_has_ended_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as counts:
        try:
            assert is_at_work(counts.pid)
        finally:
            counts.kill()
    assert not is_at_work(counts.pid)
    with subprocess.Popen(["sleep", "60"]) as sleeps:
        try:
            wait_until(lambda: read_stat(f"/proc/{sleeps.pid}").state == "S", "sleep sleeps")
            assert not is_at_work(sleeps.pid)
        finally:
            sleeps.kill()
