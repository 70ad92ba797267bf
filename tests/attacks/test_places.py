"""Names, nodes and processes by which a device is reached that the gate must see through."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fsconsole.devices.claims import lock_disks
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.text import MIB
from tests.conftest import run
from tests.lab.soak import tried
from tests.loop.commands import Bench, command, each, fails, nothing_changes, replacing
from tests.loop.gate_cases import (
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    partitioned,
    refusals,
    unchanged,
    write_gpt,
)
from tests.loop.runs import TINY_PLAN, written

SIZE = 64 * MIB

_IN_A_THREAD = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
def hold():
    {first}
    os.open(sys.argv[1], os.O_RDWR)
    print("open", flush=True)
    time.sleep(999)
threading.Thread(target=hold, daemon=True).start()
{then}
time.sleep(999)
"""
_OPEN_TREE = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
tree = libc.syscall(428, -100, sys.argv[2].encode(), 1)
assert tree >= 0, os.strerror(ctypes.get_errno())
os.system("umount " + sys.argv[2])
print("open", flush=True)
time.sleep(999)
"""
"""open_tree(AT_FDCWD, point, OPEN_TREE_CLONE): a mount that is in no mount table (man 2 open_tree)."""


@contextmanager
def running(script: str, *words: str) -> Iterator[int]:
    """Have a script do what it does, from its line "open" on."""
    with subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            yield process.pid
        finally:
            process.kill()


@contextmanager
def detached_mount(device: str, directory: Path) -> Iterator[int]:
    run("mkfs.ext4", "-q", "-F", device)
    (directory / "mnt").mkdir()
    run("mount", device, str(directory / "mnt"))
    with running(_OPEN_TREE, device, str(directory / "mnt")) as pid:
        yield pid


@contextmanager
def stopped(device: str, _: Path) -> Iterator[int]:
    with held_by_another_process(device, "os.O_RDONLY") as pid:
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)


HOLDERS: dict[str, tuple[Callable[..., Iterator[int]], str]] = {
    "a thread with descriptors of its own": (
        lambda device, _: running(_IN_A_THREAD.format(first="libc.unshare(0x400)", then=""), device), "open-elsewhere"),
    "a process whose first thread has ended": (
        lambda device, _: running(_IN_A_THREAD.format(first="", then="libc.syscall(60, 0)"), device), "open-elsewhere"),
    "a process that is stopped": (stopped, "open-elsewhere"),
    "a mount that is in no mount table": (detached_mount, "busy"),
}  # fmt: skip


def test_who_holds_a_device_in_an_odd_way_is_seen(blank: str, tmp_path: Path) -> None:
    def seen(hold: Callable[..., Iterator[int]], check: str) -> None:
        with hold(blank, tmp_path) as pid, unchanged(blank):  # type: ignore[attr-defined]
            told = refusals(inspect(blank))
        assert set(told) == {check}
        assert check == "busy" or f"process {pid} (" in told[check]

    each(HOLDERS, seen)


def test_in_a_container_it_is_told_that_the_hosts_processes_are_not_seen(bench: Bench) -> None:
    apart = ("unshare", "--pid", "--fork", "--mount-proc")
    with held_by_another_process(bench.device, "os.O_RDONLY"):
        fails(ExitCode.DEVICE_REFUSED, *bench.words("plan", bench.plan()), names=("is open in process",))
        done = command(*bench.words("plan", bench.plan()), "--json", under=apart)
    (target,) = json.loads(done.stdout)["targets"]
    assert "may be open in a process outside of this container" in json.dumps(target)


UUID = "3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11"
NAMES = {
    "by UUID, in fstab": ("/etc/fstab", f"UUID={UUID} /srv ext4 noauto 0 0\n", True),
    "by label, in quotes": ("/etc/fstab", '\tLABEL="photos" /srv ext4 noauto 0 0\n', True),
    "by path": ("/etc/fstab", "DEVICE\t/srv\text4\n", True),
    "by a link of udev's": ("/etc/fstab", f"/dev/disk/by-uuid/{UUID} none swap sw\n", True),
    "to be resumed from": ("/proc/cmdline", f"root=/dev/x quiet resume=UUID={UUID}\n", True),
    "in a comment": ("/etc/fstab", f"# UUID={UUID} /srv ext4 defaults 0 0\n", False),
    "that is another one": ("/etc/fstab", f"UUID={UUID[:-1]}2 /srv ext4\nLABEL=photos2 /x ext4\n", False),
}
CHOSEN = ("by label, in quotes", "by a link of udev's", "to be resumed from", "that is another one")


def test_a_device_that_nothing_uses_now_and_something_expects_later_is_asked_about(bench: Bench) -> None:
    run("mkfs.ext4", "-q", "-U", UUID, "-L", "photos", bench.device)
    table = bench.directory / "table"

    def told(path: str, text: str, is_named: bool) -> None:
        table.write_text(text.replace("DEVICE", bench.device))
        done = command(*bench.words("plan", bench.plan()), under=replacing(path, str(table)))
        assert done.returncode == 0, done.stderr
        assert (f"is named in {path}" in done.stdout) is is_named, done.stdout

    with nothing_changes(bench):
        each({name: NAMES[name] for name in tried(tuple(NAMES), CHOSEN)}, told)


PARTUUID = "0f00d0aa-cf13-4cfe-90e2-8b54c80b19f0"
PARTITION_NAMES = {
    "by its label": ("/etc/fstab", "PARTLABEL=my\\040data/é /srv ext4 noauto 0 0", True),
    "by a link of udev's that is not there": ("/etc/fstab", "/dev/disk/by-partlabel/my\\x20data\\x2fé /srv ext4", True),
    "by its UUID": ("/proc/cmdline", f"root=PARTUUID={PARTUUID.upper()} quiet", True),
    "by its distance from another one": ("/proc/cmdline", f"root=PARTUUID={PARTUUID[:-1]}1/PARTNROFF=1 quiet", True),
    "that is another one": ("/etc/fstab", f"PARTLABEL=my /srv ext4\nPARTUUID={PARTUUID[:-1]}1 /x ext4", False),
}
CHOSEN_PARTITION_NAMES = ("by its label", "by its distance from another one", "that is another one")


def test_partition_named_by_its_table_is_noted(bench: Bench) -> None:
    table, size = bench.directory / "table", 96 * MIB
    with partitioned(bench.directory, (1, 40), (41, 40), size_bytes=size) as (disk, _, two):
        write_gpt(disk, size, (1, 40, PARTUUID[:-1] + "1", "my"), (41, 40, PARTUUID, "my data/é"))

        def told(path: str, text: str, is_named: bool) -> None:
            table.write_text(text + "\n")
            done = command(*bench.words("plan", bench.plan(), two), under=replacing(path, str(table)))
            assert done.returncode == 0, done.stderr
            assert (f"is named in {path}" in done.stdout) is is_named, done.stdout

        with unchanged(disk):
            each({n: PARTITION_NAMES[n] for n in tried(tuple(PARTITION_NAMES), CHOSEN_PARTITION_NAMES)}, told)


def test_one_device_by_two_names_is_one(bench: Bench) -> None:
    link, name = bench.directory / "link", os.path.basename(bench.device)
    link.symlink_to(bench.device)
    names = {
        "twice": bench.device,
        "by a link": str(link),
        "by a way about": f"/dev/../dev//./{name}",
        "by a link of this process": f"/proc/self/root{bench.device}",
    }

    def one(other: str) -> None:
        done = command(*bench.words("plan", bench.plan()), "--device", other, "--json")
        assert len(json.loads(done.stdout)["targets"]) == 1

    with nothing_changes(bench):
        each({name: (other,) for name, other in names.items()}, one)


def test_a_partition_that_a_run_holds_can_not_be_moved(tmp_path: Path) -> None:
    with partitioned(tmp_path, (1, 30)) as (disk, one), lock_disks(find_device(one)):
        moved = subprocess.run(["delpart", disk, "1"], check=False, capture_output=True, text=True)
        assert moved.returncode != 0
        assert "busy" in moved.stderr


def test_a_loop_whose_file_another_process_has_open_is_refused(blank: str, tmp_path: Path) -> None:
    other_name = tmp_path / "disk of a virtual machine.img"
    os.link(file_below(blank), other_name)
    assert refusals(inspect(blank)) == {}
    with held_by_another_process(str(other_name), "os.O_RDWR") as pid:
        told = f"file that is open in process {pid}"
        assert told in refusals(inspect(blank))["open-elsewhere"]
        with loop_over(blank) as top:
            assert told in refusals(inspect(top))["open-elsewhere"]
    assert refusals(inspect(blank)) == {}


def test_two_targets_on_one_disk_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with (
        partitioned(tmp_path, (1, 64), (70, 64), size_bytes=3 * SIZE) as (_, one, two),
        loop_over(one) as first,
        loop_over(two) as second,
    ):
        plan, runs = written(tmp_path, TINY_PLAN), str(tmp_path / "runs")
        for devices in ((one, two), (first, second)):
            words = ("plan", plan, "--device", devices[0], "--device", devices[1], "--runs", runs)
            fails(ExitCode.DEVICE_REFUSED, *words, names=("on the same disk",))
