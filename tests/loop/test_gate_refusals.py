"""Refusals of the wipe gate that hang on who asks, relatives and locks; each hazard by itself is in tests/lab/hazards.py."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.devices import gather, scratch, snapshot, sysfs
from fsconsole.devices.claims import (
    TOOLS_WITH_O_EXCL,
    held_exclusively,
    is_busy,
    lock_disks,
    needs_hold,
)
from fsconsole.devices.gate import require
from fsconsole.devices.marker import Marker, proven_marker
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.errors.targets import DeviceChanged, DeviceLocked, DeviceOpen, DeviceRefused
from fsconsole.journal.past import read_state
from fsconsole.model.plan import Cell
from fsconsole.system import block
from fsconsole.system.block import LoopStatus, open_exclusive
from fsconsole.system.locks import FileLock, is_locked
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, unmount, wait_until
from tests.loop.commands import AS_NOBODY, each
from tests.loop.gate_cases import (
    held_by_another_process,
    inspect,
    loop_over,
    outdate,
    partitioned,
    refusals,
    sparse,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, new_run
from tests.loop.wiping import wiped
from tests.unit.gate.made import proved_state


def test_a_free_device_has_no_refusal_by_any_name_and_inspecting_it_changes_nothing(blank: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(blank)
    with unchanged(blank):
        report = inspect(str(tmp_path / "link"))
    assert report.device.path == blank
    assert refusals(report) == {}
    require(report)


def test_who_has_a_device_open_or_locked_counts_unless_it_is_the_run_itself(
    blank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_by_another_process(blank, "os.O_RDWR") as pid, unchanged(blank):
        assert f"process {pid} (" in refusals(inspect(blank))["open-elsewhere"]
    with held_by_another_process(blank, "os.O_RDWR | os.O_EXCL"), monkeypatch.context() as unseen:
        unseen.setattr(gather, "open_uses", lambda *_: ())
        assert set(refusals(inspect(blank))) == {"busy"}
    with FileLock.acquire(blank):
        assert set(refusals(inspect(blank))) == {"locked"}
        assert refusals(inspect(blank, holds_lock=True)) == {}


REGISTERED = """
import ctypes, os, sys
IO_URING_SETUP, IO_URING_REGISTER, IORING_REGISTER_FILES = 425, 427, 2
device = os.open(sys.argv[1], os.O_RDWR)
call = ctypes.CDLL(None, use_errno=True).syscall
ring = call(IO_URING_SETUP, 4, ctypes.create_string_buffer(120))
registered = call(IO_URING_REGISTER, ring, IORING_REGISTER_FILES, (ctypes.c_int * 1)(device), 1)
os.close(device)
print(registered or "registered", flush=True)
sys.stdin.read()
"""


def test_who_has_a_device_among_the_registered_files_of_an_io_uring_is_told(blank: str) -> None:
    argv = [sys.executable, "-c", REGISTERED, blank]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if process.stdout.readline() != b"registered\n":
            pytest.skip("THE KERNEL REFUSES io_uring HERE (sysctl kernel.io_uring_disabled)")
        assert not any(blank in os.readlink(fd) for fd in Path(f"/proc/{process.pid}/fd").iterdir())
        assert f"process {process.pid} (" in refusals(inspect(blank))["open-elsewhere"]
        process.communicate()
    # The kernel closes the files of a ring some time after its last descriptor.
    wait_until(lambda: refusals(inspect(blank)) == {}, "nobody has it open")


def test_a_mount_in_another_namespace_is_told_with_its_place_and_a_process_that_has_it(
    blank: str, tmp_path: Path
) -> None:
    run("mkfs.ext4", "-q", blank)
    script = 'mount -o ro "$0" "$1" && echo mounted && read -r _'
    argv = ["unshare", "--mount", "sh", "-c", script, blank, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mounted\n"
        report = inspect(blank)
        process.communicate()
    told = f"is mounted on {tmp_path} in another mount namespace, of process {process.pid} (sh)"
    assert refusals(report) == {"busy": told}
    with pytest.raises(DeviceOpen):
        require(report)


def test_a_process_that_only_passes_by_is_no_refusal(blank: str) -> None:
    passing_by = ["sh", "-c", f"exec 3<{blank}; echo open; exec sleep 0.1"]
    with subprocess.Popen(passing_by, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        assert refusals(inspect(blank)) == {}


def test_what_is_done_to_a_relative_is_told_and_a_free_partition_beside_a_mounted_one_is_free(
    tmp_path: Path, mounted: Mount
) -> None:
    with partitioned(tmp_path, (1, 30), (32, 30)) as (disk, one, two):
        with held_by_another_process(disk, "os.O_RDONLY"):
            told = refusals(inspect(one))["open-elsewhere"]
            assert told.startswith(f"is a partition of {disk}, which is open in")
        with loop_over(disk) as loop:
            assert refusals(inspect(one))["under-loop"].endswith(f"is what the loop device {loop} stands on")
        with FileLock.acquire(disk):
            assert refusals(inspect(one))["locked"] == f"is on {disk}, which is locked by another run or tool"
        run("mkfs.ext4", "-q", one)
        point = mounted(one)
        told = refusals(inspect(disk))["mounted"]
        assert told == f"has the partition {one}, which is mounted on {point} (ext4)"
        assert refusals(inspect(two)) == {}
        unmount(point)


def test_in_a_chain_of_loops_only_the_topmost_is_free(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with loop_over(blank) as middle, loop_over(middle) as top:
        assert refusals(inspect(blank))["under-loop"] == f"is what the loop device {middle} stands on"
        assert refusals(inspect(middle))["under-loop"] == f"is what the loop device {top} stands on"
        assert refusals(inspect(top)) == {}
        with held_by_another_process(blank, "os.O_RDWR | os.O_EXCL"):
            told = refusals(inspect(top))["open-elsewhere"]
            assert told.startswith(f"stands on {blank}, which is open in")
            monkeypatch.setattr(gather, "open_uses", lambda *_: ())
            told = refusals(inspect(top))["busy"]
            assert told.startswith(f"stands on {blank}, which is claimed")


UNREADABLE = {
    "read_mounts": "its mounts",
    "read_swaps": "the swap areas",
    "read_btrfs_members": "the mounted btrfs",
    "status": "what /dev/loop",
    "read_arrays": "the md arrays",
    "export_uses": "the exports",
    "open_uses": "open descriptors",
    "lock_uses": "locks",
    "busy_uses": "an exclusive open",
    "reservation_uses": "reservations",
    "read_ends": "the signatures on",
    "sample_content": "its content",
}


def test_whatever_cant_be_read_is_a_refusal(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "unreadable")

    def refused(reader: str, told: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(gather if hasattr(gather, reader) else snapshot, reader, fail)
            report = inspect(blank)
        reasons = [hazard.reason for hazard in report.refusals if hazard.check == "undetermined"]
        assert any(reason.startswith(f"could not be proved free: {told}") for reason in reasons), reasons
        with pytest.raises(DeviceRefused, match="could not be proved free"):
            require(report)

    each({reader: (reader, told) for reader, told in UNREADABLE.items()}, refused)


def test_a_loop_device_that_goes_or_whose_node_is_a_file_is_no_matter_to_others(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loop_over(sparse(tmp_path / "other")) as other:
        for number in (errno.ENXIO, errno.ENOENT, errno.ENOTTY):

            def status(path: str, number: int = number) -> LoopStatus:
                if path == other:
                    raise OSError(number, os.strerror(number))
                return block.status(path)

            monkeypatch.setattr(snapshot, "status", status)
            assert refusals(inspect(blank)) == {}, os.strerror(number)


def test_a_loop_device_whose_files_disk_fails_leaves_others_the_devices_that_they_are(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loop_over(sparse(tmp_path / "other")) as other:

        def status(path: str) -> LoopStatus:
            if path == other:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return block.status(path)

        before = inspect(blank).device
        monkeypatch.setattr(snapshot, "status", status)
        report = inspect(blank)
        assert report.device == before
        assert f"what {other} stands on" in refusals(report)["undetermined"]


def test_a_scratch_file_that_is_deleted_just_after_its_mark_was_read_is_no_matter_to_others(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scratch.create(MIB, str(tmp_path / "scratch"))

    def read_and_gone(path: str, file_device: int, inode: int) -> Marker:
        marker = proven_marker(path, file_device, inode)
        if path == other.path:
            Path(path).unlink()
        return marker

    monkeypatch.setattr(sysfs, "proven_marker", read_and_gone)
    try:
        assert refusals(inspect(blank)) == {}
        assert not Path(other.path).exists()
    finally:
        block.detach(other.device)


def test_an_unprivileged_user_gets_a_refusal_and_no_traceback(blank: str) -> None:
    script = "import sys; from tests.loop.gate_cases import inspect, refusals; print(*refusals(inspect(sys.argv[1])))"
    checkout = Path(__file__).parents[2]
    argv = (*AS_NOBODY, sys.executable, "-c", script, blank)
    done = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=checkout)
    assert "undetermined" in done.stdout.split()


SIZE = 144 * MIB
"""mkfs.nilfs2 makes nothing below 128 MiB and a block."""
XFS_SIZE = 330 * MIB
"""mkfs.xfs makes nothing below 300 MiB."""

CLAIMS_FOR_A_SECOND = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
print("claimed", flush=True)
time.sleep(1)
"""
KEEPS_A_FILE = 'mount "$1" "$2" && echo kept >"$2/file" && cat "$2/file" && exec sleep 1'
OTHER_UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"

REFUSING = {
    "mkfs.ext2": ("-q", "-F"),
    "mkfs.ext3": ("-q", "-F"),
    "mkfs.ext4": ("-q", "-F"),
    "mke2fs": ("-q", "-F"),
    "mkfs.xfs": ("-q", "-f"),
    "mkfs.btrfs": ("-q", "-f"),
    "mkfs.f2fs": ("-q", "-f"),
    "mkfs.jfs": ("-q",),
    "mkreiserfs": ("-q", "-f"),
    "mkswap": ("-f",),
    "mount": (),
}
GOING_AHEAD = {
    "blkdiscard": ("-f", "DEVICE"),
    "wipefs": ("-a", "-f", "DEVICE"),
    "dd": ("if=/dev/zero", "of=DEVICE", "bs=4096", "count=1", "conv=notrunc"),
    "fio": ("--name=x", "--filename=DEVICE", "--rw=write", "--bs=4k", "--size=4k", "--output=/dev/null"),
    "mkfs.nilfs2": ("-f", "DEVICE"),
    "nilfs-tune": ("-U", OTHER_UUID, "DEVICE"),
    "jfs_tune": ("-U", OTHER_UUID, "DEVICE"),
    "fsck.jfs": ("-f", "DEVICE"),
}
MADE_FIRST = {"nilfs-tune": "mkfs.nilfs2", "jfs_tune": "mkfs.jfs", "fsck.jfs": "mkfs.jfs"}
"""What such a tool works on; the others overwrite anything."""


@pytest.fixture
def large(loop_device: MakeLoopDevice) -> str:
    return loop_device(SIZE)


def test_the_tables_hold_what_is_tried_here() -> None:
    assert set(REFUSING) | {"mdadm"} == TOOLS_WITH_O_EXCL
    assert not set(GOING_AHEAD) & TOOLS_WITH_O_EXCL


@pytest.mark.parametrize("tool", sorted(REFUSING))
def test_tools_with_o_excl_refuse_a_claimed_device(loop_device: MakeLoopDevice, tmp_path: Path, tool: str) -> None:
    need(tool)
    large = loop_device(XFS_SIZE if tool == "mkfs.xfs" else SIZE)
    run("mkfs.ext4", "-q", large)
    where = [str(tmp_path)] if tool == "mount" else []
    held = open_exclusive(large)
    try:
        with unchanged(large):
            done = subprocess.run([tool, *REFUSING[tool], large, *where], check=False, capture_output=True)
    finally:
        os.close(held)
    assert done.returncode != 0
    assert not needs_hold((tool, *REFUSING[tool], large))


@pytest.mark.parametrize("tool", sorted(GOING_AHEAD))
def test_tools_without_o_excl_overwrite_a_claimed_device(large: str, tool: str) -> None:
    need(tool)
    need(MADE_FIRST.get(tool, tool))
    run(MADE_FIRST.get(tool, "mkswap"), *(["-q"] if tool in MADE_FIRST else []), large)
    argv = [tool, *(word.replace("DEVICE", large) for word in GOING_AHEAD[tool])]
    held = open_exclusive(large)
    try:
        done = subprocess.run(argv, check=False, capture_output=True)
        os.fsync(held)
    finally:
        os.close(held)
    assert done.returncode == 0, done.stderr
    assert head(large)[4086:] != b"SWAPSPACE2"
    assert needs_hold(tuple(argv))


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} IS NOT INSTALLED HERE")


def head(large: str) -> bytes:
    with open(large, "rb") as file:
        return file.read(4096)


def test_a_device_that_is_held_lets_a_tool_work_and_nobody_else_claim_it(large: str, tmp_path: Path) -> None:
    run("mkfs.ext4", "-q", large)
    with held_exclusively(large):
        for argv in (("mount", large, str(tmp_path)), ("mkswap", large), ("mkfs.ext4", "-q", large)):
            assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
        run("blkdiscard", "-f", large)
    assert head(large) == bytes(4096)
    with (
        held_by_another_process(large, "os.O_RDONLY | os.O_EXCL"),
        pytest.raises(DeviceRefused, match="O_EXCL"),
        held_exclusively(large),
    ):
        pass
    with pytest.raises(DeviceChanged), held_exclusively(str(tmp_path / "gone")):
        pass


def test_one_run_locks_the_whole_disk_its_own_tools_work_and_a_second_is_refused(blank: str) -> None:
    with lock_disks(find_device(blank)):
        assert is_locked(blank)
        with pytest.raises(DeviceLocked):
            lock_disks(find_device(blank))
        run("mkfs.ext4", "-q", blank)
        write(blank, 0, b"x")
    lock_disks(find_device(blank)).close()


def test_a_partition_locks_its_disk_and_a_loop_the_device_below_all_or_none(tmp_path: Path) -> None:
    with partitioned(tmp_path, (1, 30), (32, 30)) as (disk, one, two), loop_over(two) as top:
        with lock_disks(find_device(one)):
            assert [is_locked(path) for path in (disk, one)] == [True, True]
            for other in (two, top):
                with pytest.raises(DeviceLocked):
                    lock_disks(find_device(other))
            assert not is_locked(top)
            assert not is_locked(two)
        with lock_disks(find_device(top)):
            assert [is_locked(path) for path in (disk, two, top, one)] == [True, True, True, False]


def test_a_short_claim_is_waited_for_when_a_cell_ends_and_between_proof_and_wipe_but_no_mount(
    blank: str, tmp_path: Path, mounted: Mount
) -> None:
    state = read_state(new_run(TINY_PLAN, blank, str(tmp_path / "runs")))
    cell, prover = state.request.plan.cells[0], Prover(RealExecutor(), state, str(tmp_path / "runs" / "one"))
    claims = [sys.executable, "-c", CLAIMS_FOR_A_SECOND, blank]
    prover.is_patient = True
    with lock_disks(find_device(blank)):
        prover.prove_cell(cell)
        with subprocess.Popen(claims, stdout=subprocess.PIPE) as passing:
            assert passing.stdout is not None
            assert passing.stdout.readline() == b"claimed\n"
            wiped(prover, cell, ("blkdiscard", "-f", blank))
            assert passing.poll() == 0
        run("mkfs.ext4", "-q", blank)
        with subprocess.Popen(claims, stdout=subprocess.PIPE) as passing:
            assert passing.stdout is not None
            assert passing.stdout.readline() == b"claimed\n"
            assert prover.note_left(blank) is not None
        wiped(prover, cell, ("blkdiscard", "-f", blank))
        run("mkfs.ext4", "-q", blank)
        keeps = ("unshare", "--mount", "sh", "-c", KEEPS_A_FILE, "", blank, str(tmp_path))
        with subprocess.Popen(keeps, stdout=subprocess.PIPE) as elsewhere:
            assert elsewhere.stdout is not None
            assert elsewhere.stdout.readline() == b"kept\n"
            with pytest.raises(DeviceChanged, match="written to while"):
                prover.note_left(blank)
        with pytest.raises(DeviceChanged, match="somebody wrote"):
            prover.prove_cell(cell)
        prover.note_writing((blank,))
        mounted(blank)
        with pytest.raises(DeviceOpen):
            prover.note_left(blank)


def test_no_claim_is_waited_for_where_nobody_counts_what_it_writes(tmp_path: Path) -> None:
    point = tmp_path / "mount"
    point.mkdir()
    with partitioned(tmp_path, (1, 62)) as (disk, one), ExitStack() as stack:
        counting = Path(f"/sys/block/{Path(disk).name}/queue/iostats")
        stack.callback(counting.write_text, "1")
        counting.write_text("0")
        state = read_state(new_run(TINY_PLAN, one, str(tmp_path / "runs")))
        cell, prover = state.request.plan.cells[0], Prover(RealExecutor(), state, str(tmp_path / "runs/one"))
        prover.is_patient, prover.is_interrupted = True, lambda: pytest.fail("it is waited for")
        looks: tuple[Callable[[], object], ...] = (
            lambda: prover.prove_cell(cell),
            lambda: prover.note_left(one),
        )
        for look in looks:
            wiped(prover, cell, ("mkfs.ext4", "-q", "-F", one))
            script = KEEPS_A_FILE.replace("sleep 1", "cat")
            keeps = ("unshare", "--mount", "sh", "-c", script, "", one, str(point))
            with subprocess.Popen(keeps, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as elsewhere:
                assert elsewhere.stdin is not None
                assert elsewhere.stdout is not None
                assert elsewhere.stdout.readline() == b"kept\n"
                with pytest.raises(DeviceOpen):
                    look()
                elsewhere.stdin.close()
            # Its mount ends some time after it.
            with held_exclusively(one, lambda: True):
                pass


def test_a_member_is_held_from_its_own_proof_until_all_are_proved_and_free_for_the_tool_then(
    loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = tuple(loop_device(64 * MIB) for _ in range(3))
    folder = new_run(TINY_PLAN, members[0], str(tmp_path / "runs"))
    state = read_state(folder)
    seen: list[tuple[bool, ...]] = []

    def prove(prover: Prover, _cell: Cell, path: str) -> None:
        prover._states[path] = proved_state(time.monotonic())
        seen.append(tuple(is_busy(member) for member in members))

    monkeypatch.setattr(Prover, "prove_place", prove)
    monkeypatch.setattr(Prover, "require_as_proved", lambda *_: None)
    monkeypatch.setattr(Prover, "is_written", lambda *_: False)
    monkeypatch.setattr(Prover, "absence", lambda *_: "")
    prover = Prover(RealExecutor(), state, folder.path)
    for is_held in (False, True):
        outdate(prover)
        with prover.proved(state.request.plan.cells[0], members, is_held=is_held):
            seen.append(tuple(is_busy(member) for member in members))
    free, first, both, all_of_them = (False,) * 3, (True, False, False), (True, True, False), (True,) * 3
    assert seen == [free, first, both, free, free, first, both, all_of_them]
