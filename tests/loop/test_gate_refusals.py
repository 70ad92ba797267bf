"""Refusals of the wipe gate, one case each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import gate, snapshot
from fsconsole.devices.claims import (
    TOOLS_WITH_O_EXCL,
    TOOLS_WITHOUT_O_EXCL,
    held_exclusively,
    is_busy,
    is_reserved,
    lock_whole_disk,
    needs_hold,
)
from fsconsole.devices.gate import require
from fsconsole.devices.scratch import create, remove
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.errors.targets import (
    DeviceChanged,
    DeviceLocked,
    DeviceMissing,
    DeviceMounted,
    DeviceRefused,
    DeviceTooSmall,
    NotABlockDevice,
)
from fsconsole.journal.past import read_state
from fsconsole.model.plan import Cell
from fsconsole.system.block import open_exclusive
from fsconsole.system.locks import FileLock, is_locked
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.gate_cases import (
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    partitions,
    refusals,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, new_run

SMALL = 64 * MIB
QUIET = "ro,noload,nosuid,nodev"
"""A mount that writes nothing by itself, so that a changed byte would be the gate's."""


@pytest.fixture
def device(loop_device: MakeLoopDevice) -> str:
    return loop_device(SMALL)


@pytest.fixture
def ext4(device: str) -> str:
    run("mkfs.ext4", "-q", device)
    return device


def test_a_free_device_has_no_refusal_and_inspecting_it_changes_nothing(device: str) -> None:
    with unchanged(device):
        report = inspect(device)
    assert refusals(report) == {}
    require(report)


def test_a_mounted_device_is_refused(ext4: str, mounted: Mount) -> None:
    point = mounted(ext4, options=QUIET)
    with unchanged(ext4):
        report = inspect(ext4)
        with pytest.raises(DeviceMounted, match=f"is mounted on {point}"):
            require(report)
    assert [signature.type for signature in report.signatures] == ["ext4"]


def test_a_bind_mount_that_is_left_over_is_refused(ext4: str, mounted: Mount, tmp_path: Path) -> None:
    point, bind = mounted(ext4, options=QUIET), tmp_path / "bind"
    bind.mkdir()
    run("mount", "--bind", str(point / "lost+found"), str(bind))
    try:
        run("umount", str(point))
        with unchanged(ext4):
            assert refusals(inspect(ext4))["mounted"] == f"is mounted on {bind} (ext4)"
    finally:
        run("umount", str(bind))


def test_a_mount_that_is_only_detached_lazily_is_refused(ext4: str, mounted: Mount) -> None:
    point = mounted(ext4, options=QUIET)
    fd = os.open(point, os.O_PATH | os.O_CLOEXEC)
    try:
        run("umount", "--lazy", str(point))
        with unchanged(ext4):
            assert set(refusals(inspect(ext4))) == {"busy"}
    finally:
        os.close(fd)


def test_a_mount_in_another_namespace_only_is_refused(ext4: str, tmp_path: Path) -> None:
    script = f"mount {ext4} {tmp_path} && echo mounted && read wait && umount {tmp_path}"
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mounted\n"
        assert ext4 not in Path("/proc/self/mounts").read_text()
        report = inspect(ext4)
        process.communicate(b"\n")
    assert set(refusals(report)) == {"busy"}
    with pytest.raises(DeviceRefused, match="O_EXCL says busy"):
        require(report)


def test_a_swap_device_is_refused(device: str) -> None:
    run("mkswap", device)
    on = subprocess.run(["swapon", device], capture_output=True, text=True, check=False)
    if on.returncode:
        pytest.skip(f"THIS MACHINE LETS NOBODY SWAP ON: {on.stderr.strip()}")
    try:
        assert refusals(inspect(device))["swap"] == "is in use as swap"
    finally:
        run("swapoff", device)


@pytest.mark.parametrize("flags", ["os.O_RDONLY", "os.O_RDWR"])
def test_a_device_that_another_process_has_open_is_refused(device: str, flags: str) -> None:
    with held_by_another_process(device, flags) as pid, unchanged(device):
        assert f"process {pid} (" in refusals(inspect(device))["open-elsewhere"]
        assert refusals(inspect(device, own_pids=frozenset({pid}))) == {}


def test_a_process_that_only_passes_by_is_no_refusal(device: str) -> None:
    with subprocess.Popen(
        ["sh", "-c", f"exec 3<{device}; echo open; exec sleep 0.1"], stdout=subprocess.PIPE
    ) as p:
        assert p.stdout is not None
        assert p.stdout.readline() == b"open\n"
        assert refusals(inspect(device)) == {}


def test_o_excl_held_by_a_process_that_counts_as_ours_is_still_refused(device: str) -> None:
    with held_by_another_process(device, "os.O_RDWR | os.O_EXCL") as pid:
        assert set(refusals(inspect(device, own_pids=frozenset({pid})))) == {"busy"}


def test_a_device_that_another_run_has_locked_is_refused(device: str) -> None:
    with FileLock.acquire(device):
        report = inspect(device)
        assert set(refusals(report)) == {"locked"}
        assert refusals(inspect(device, holds_lock=True)) == {}
        with pytest.raises(DeviceLocked):
            require(report)


def test_a_read_only_device_is_refused(loop_device: MakeLoopDevice) -> None:
    assert refusals(inspect(loop_device(SMALL, read_only=True))) == {"read-only": "is read-only"}


@pytest.mark.parametrize(
    ("limits", "check"), [({"min_bytes": SMALL + 1}, "too-small"), ({"max_bytes": SMALL - 1}, "too-large")]
)
def test_a_device_of_the_wrong_size_is_refused(device: str, limits: dict[str, int], check: str) -> None:
    report = inspect(device, **limits)
    assert set(refusals(report)) == {check}
    with pytest.raises(DeviceTooSmall if check == "too-small" else DeviceRefused):
        require(report)
    assert refusals(inspect(device, min_bytes=SMALL, max_bytes=SMALL)) == {}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[str]:
    """A loop device that shows partitions, over a file of its own."""
    file = tmp_path / "partitioned"
    file.touch()
    os.truncate(file, SMALL)
    with loop_over(str(file), "--partscan") as device:
        yield device


def test_a_disk_with_a_mounted_partition_is_refused_and_a_free_partition_beside_it_is_not(
    disk: str, mounted: Mount
) -> None:
    with partitions(disk, (1, 30), (32, 30)) as (one, two):
        run("mkfs.ext4", "-q", one)
        point = mounted(one)
        assert (
            refusals(inspect(disk))["mounted"]
            == f"has the partition {one}, which is mounted on {point} (ext4)"
        )
        assert refusals(inspect(one))["mounted"] == f"is mounted on {point} (ext4)"
        assert refusals(inspect(two)) == {}
        run("umount", str(point))


def test_a_partition_of_a_disk_that_is_open_as_a_whole_is_refused(disk: str) -> None:
    with partitions(disk, (1, 30), (32, 30)) as (one, _):
        with held_by_another_process(disk, "os.O_RDONLY"):
            assert refusals(inspect(one))["open-elsewhere"].startswith(
                f"is a partition of {disk}, which is open in"
            )
        with loop_over(disk) as loop:
            assert refusals(inspect(one))["under-loop"].endswith(f"is what the loop device {loop} stands on")
        with FileLock.acquire(disk):
            assert refusals(inspect(one))["locked"] == f"is on {disk}, which is locked by another run or tool"


def test_a_device_below_a_loop_is_refused_and_so_is_a_loop_over_one_in_use(ext4: str, mounted: Mount) -> None:
    with loop_over(ext4) as upper, unchanged(ext4):
        assert set(refusals(inspect(ext4))) == {"under-loop"}
        assert refusals(inspect(upper)) == {}
        point = mounted(ext4, options=QUIET)
        assert refusals(inspect(upper))["mounted"] == f"stands on {ext4}, which is mounted on {point} (ext4)"
        run("umount", str(point))


def test_in_a_chain_of_loops_only_the_topmost_is_free(device: str) -> None:
    with loop_over(device) as middle, loop_over(middle) as top:
        assert refusals(inspect(device))["under-loop"] == f"is what the loop device {middle} stands on"
        assert refusals(inspect(middle))["under-loop"] == f"is what the loop device {top} stands on"
        assert refusals(inspect(top)) == {}
        with held_by_another_process(device, "os.O_RDONLY"):
            assert refusals(inspect(top))["open-elsewhere"].startswith(
                f"stands on {device}, which is open in"
            )
        with held_by_another_process(device, "os.O_RDWR | os.O_EXCL") as pid:
            ours = inspect(top, own_pids=frozenset({pid}))
            assert refusals(ours)["busy"].startswith(f"stands on {device}, which is claimed")


def test_a_second_loop_over_the_same_device_or_file_is_refused(device: str) -> None:
    with loop_over(file_below(device)) as other:
        assert refusals(inspect(device)) == {"shared-backing-file": f"shares its backing file with {other}"}
    with loop_over(device) as one, loop_over(device) as two:
        assert set(refusals(inspect(one))) == set(refusals(inspect(two))) == {"under-loop"}


def test_a_device_that_holds_the_file_of_a_loop_is_refused(ext4: str, mounted: Mount) -> None:
    point = mounted(ext4)
    image = point / "image"
    image.touch()
    os.truncate(image, 16 * MIB)
    with loop_over(str(image)) as loop:
        assert refusals(inspect(ext4))["under-loop"] == f"holds the file below the loop device {loop}"
        assert refusals(inspect(loop)) == {}


def test_every_device_of_a_mounted_btrfs_is_refused_and_of_an_unmounted_one_asked_about(
    loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    one, two = loop_device(128 * MIB), loop_device(128 * MIB)
    run("mkfs.btrfs", "-q", one, two)
    run("btrfs", "device", "scan", one, two)
    point = mounted(one)
    for device in (one, two):
        report = inspect(device)
        assert refusals(report)["mounted-btrfs"].startswith("belongs to the mounted btrfs ")
        with pytest.raises(DeviceMounted):
            require(report)
    run("umount", str(point))
    for device in (one, two):
        report = inspect(device)
        assert refusals(report) == {}
        assert [signature.type for signature in report.signatures] == ["btrfs"]
    run("btrfs", "device", "scan", "--forget", one, two)


def test_the_log_device_of_a_mounted_xfs_is_refused(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    data, log = loop_device(330 * MIB), loop_device(SMALL)
    run("mkfs.xfs", "-q", "-l", f"logdev={log}", data)
    point = mounted(data, options=f"nosuid,nodev,logdev={log}")
    assert refusals(inspect(log))["mounted"] == f"is mounted on {point} (xfs)"
    run("umount", str(point))


def test_the_disk_that_holds_the_root_is_refused_by_tables_alone() -> None:
    root = os.stat("/").st_dev
    if os.major(root) == 0:
        pytest.skip("/ LIES ON NO BLOCK DEVICE HERE")
    node = os.path.realpath(f"/dev/block/{os.major(root)}:{os.minor(root)}")
    if not os.path.exists(node):
        node = "/dev/" + os.path.basename(
            os.path.realpath(f"/sys/dev/block/{os.major(root)}:{os.minor(root)}")
        )
    report = inspect(node)
    assert {"mounted", "system-disk"} <= set(refusals(report))
    assert not {"busy", "open-elsewhere", "undetermined"} & set(refusals(report))
    with pytest.raises(DeviceMounted):
        require(report)


def test_the_disk_that_holds_the_run_folder_is_refused_with_all_its_partitions(
    disk: str, mounted: Mount
) -> None:
    with partitions(disk, (1, 30), (32, 30)) as (one, two):
        run("mkfs.ext4", "-q", one)
        point = mounted(one)
        for device in (disk, one, two):
            found = refusals(inspect(device, runs_dir=str(point / "runs" / "not-yet")))
            assert found["system-disk"] == "is on the disk that holds the run folder"
        assert "system-disk" not in refusals(inspect(two))
        run("umount", str(point))


def test_a_forged_node_is_refused(ext4: str, tmp_path: Path) -> None:
    device = ext4
    forged = tmp_path / "sdz"
    os.mknod(forged, 0o600 | 0o060000, os.stat(device).st_rdev)
    report = inspect(str(forged))
    assert refusals(report)["strange-node"] == f"is what {forged} leads to, a node with another device's name"
    assert report.device.path == device
    assert report.signatures == ()


def test_a_symbolic_link_leads_to_the_device(device: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(device)
    assert inspect(str(link)).device.path == device


def test_what_is_no_block_device_or_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotABlockDevice):
        inspect(str(tmp_path))
    with pytest.raises(DeviceMissing):
        inspect(str(tmp_path / "nothing"))


def test_refusals_hold_for_scratch_devices_too(tmp_path: Path) -> None:
    scratch = create(SMALL, str(tmp_path))
    try:
        report = inspect(scratch.device)
        assert (refusals(report), report.needs_consent) == ({}, False)
        with held_by_another_process(scratch.device, "os.O_RDONLY"):
            assert set(refusals(inspect(scratch.device))) == {"open-elsewhere"}
    finally:
        remove(scratch)


UNREADABLE = {
    "read_mounts": "its mounts",
    "read_swaps": "the swap areas",
    "read_btrfs_members": "the mounted btrfs",
    "read_loops": "what the loop devices stand on",
    "read_arrays": "the md arrays",
    "export_uses": "the exports",
    "open_uses": "open descriptors",
    "lock_uses": "locks",
    "busy_uses": "an exclusive open",
    "reservation_uses": "reservations",
    "read_ends": "the signatures on",
    "sample_content": "its content",
}


@pytest.mark.parametrize("reader", UNREADABLE)
def test_whatever_cant_be_read_is_a_refusal(
    device: str, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "unreadable")

    monkeypatch.setattr(gate if hasattr(gate, reader) else snapshot, reader, fail)
    report = inspect(device)
    reasons = [hazard.reason for hazard in report.refusals if hazard.check == "undetermined"]
    assert any(reason.startswith(f"could not be proved free: {UNREADABLE[reader]}") for reason in reasons)
    with pytest.raises(DeviceRefused, match="could not be proved free"):
        require(report)


def test_an_unprivileged_user_gets_a_refusal_and_no_traceback(device: str) -> None:
    script = (
        "import sys; from tests.loop.gate_cases import inspect, refusals; "
        "print(*refusals(inspect(sys.argv[1])))"
    )
    checkout = Path(__file__).parents[2]
    as_nobody = ("setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c")
    if subprocess.run(
        (*as_nobody, "import fsconsole, tests"), cwd=checkout, check=False, capture_output=True
    ).returncode:
        pytest.skip(f"NOBODY MAY READ {checkout} HERE: put the checkout outside of a private directory")
    done = subprocess.run(
        (*as_nobody, script, device), check=True, capture_output=True, text=True, cwd=checkout
    )
    assert "undetermined" in done.stdout.split()


def test_a_device_without_reservations_is_not_reserved(device: str) -> None:
    assert not is_reserved(device)


SIZE = 144 * MIB
"""mkfs.nilfs2 makes nothing below 128 MiB and a block."""
XFS_SIZE = 330 * MIB
"""mkfs.xfs makes nothing below 300 MiB."""

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
    assert set(REFUSING) == TOOLS_WITH_O_EXCL
    assert set(GOING_AHEAD) == TOOLS_WITHOUT_O_EXCL


@pytest.mark.parametrize("tool", sorted(REFUSING))
def test_tools_with_o_excl_refuse_a_claimed_device(
    loop_device: MakeLoopDevice, tmp_path: Path, tool: str
) -> None:
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
    run("mkfs.ext4", "-q", large)


def test_a_claimed_device_is_not_held(large: str) -> None:
    with (
        held_by_another_process(large, "os.O_RDONLY | os.O_EXCL"),
        pytest.raises(DeviceRefused, match="O_EXCL"),
        held_exclusively(large),
    ):
        pass


def test_a_device_that_is_gone_is_not_held(tmp_path: Path) -> None:
    with pytest.raises(DeviceChanged), held_exclusively(str(tmp_path / "gone")):
        pass


def test_one_run_locks_the_whole_disk_and_a_second_is_refused(large: str) -> None:
    with lock_whole_disk(find_device(large)) as locks:
        assert locks.paths == (large,)
        with pytest.raises(DeviceLocked):
            lock_whole_disk(find_device(large))
    assert not is_locked(large)
    lock_whole_disk(find_device(large)).release()


def test_the_lock_lets_the_run_s_own_tools_work(large: str) -> None:
    with lock_whole_disk(find_device(large)):
        run("mkfs.ext4", "-q", large)
        write(large, 0, b"x")


def test_a_partition_locks_its_disk_and_a_loop_the_device_below(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, 64 * MIB)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30), (32, 30)) as (one, two):
        with lock_whole_disk(find_device(one)) as locks:
            assert set(locks.paths) == {disk, one}
            with pytest.raises(DeviceLocked):
                lock_whole_disk(find_device(two))
        with loop_over(two) as top, lock_whole_disk(find_device(top)) as locks:
            assert set(locks.paths) == {disk, two, top}


def test_a_lock_that_is_refused_halfway_leaves_none(loop_device: MakeLoopDevice) -> None:
    below = loop_device(64 * MIB)
    with loop_over(below) as top:
        with lock_whole_disk(find_device(below)), pytest.raises(DeviceLocked):
            lock_whole_disk(find_device(top))
        assert not is_locked(top)
        assert not is_locked(below)


CREATE = ("mdadm", "--create", "/dev/md400")


def test_a_member_is_held_from_its_own_proof_until_all_are_proved_and_free_for_the_tool_then(
    loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = tuple(loop_device(64 * MIB) for _ in range(3))
    folder = new_run(TINY_PLAN, members[0], str(tmp_path / "runs"))
    state = read_state(folder)
    seen: list[tuple[bool, ...]] = []

    def prove(_prover: Prover, _cell: Cell, _path: str) -> None:
        seen.append(tuple(is_busy(member) for member in members))

    monkeypatch.setattr(Prover, "prove_place", prove)
    prover = Prover(RealExecutor(), state, folder.path)
    assert not needs_hold(CREATE)
    with prover.wiping(state.request.plan.cells[0], CREATE, members):
        seen.append(tuple(is_busy(member) for member in members))
    free, first, both = (False,) * 3, (True, False, False), (True, True, False)
    assert seen == [free, first, both, free]
