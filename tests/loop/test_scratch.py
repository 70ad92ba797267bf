"""Scratch devices, loop devices, and the fixtures that make them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import resource
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from fsconsole.devices import marker, records, scratch
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import Scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.steps import equalise
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NoSpace
from fsconsole.errors.targets import BadQuantity, ScratchImpossible, ScratchInUse, ScratchMissing
from fsconsole.journal.past import read_state
from fsconsole.preflight import device_survey
from fsconsole.preflight.prepare import target_spec
from fsconsole.system import block
from fsconsole.system.block import device_size_bytes, diskseq, is_read_only
from fsconsole.system.locks import FileLock
from fsconsole.text import GIB, MIB
from tests.conftest import MakeLoopDevice, Mount, loops_under, lose_power, run, unmount, wait_until
from tests.lab.soak import tried
from tests.loop.commands import APART, OwnLoop
from tests.loop.gate_cases import file_below, held_by_another_process, sparse
from tests.loop.runs import carry_out, fsconsole

SIZE = 16 * MIB


def test_a_scratch_device_is_allocated_marked_and_goes_past_the_page_cache(scratch_folder: Path) -> None:
    made = scratch.create(SIZE, str(scratch_folder), purpose="test")
    device = find_device(made.device)
    assert device.is_scratch
    # The console ticks it by that.
    assert made.identity == listed_identity(device)
    assert device.size_bytes == made.size_bytes == SIZE
    assert device.loop is not None
    assert device.loop.scratch_id == made.scratch_id
    assert device.loop.direct_io
    assert made.direct_io
    assert not device.loop.autoclear
    file = os.stat(made.path)
    assert file.st_blocks * 512 >= SIZE
    assert stat.S_IMODE(file.st_mode) == 0o600
    assert stat.S_IMODE(scratch_folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_scratch_file_equals_its_record_after_a_power_cut(
    loop_device: MakeLoopDevice, mounted: Mount, filesystem: str
) -> None:
    disk = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", disk)
    before = mounted(disk)
    file = before / "scratch.img"
    with file.open("wb") as made:
        marker.write_marker(made.fileno(), "0123abcd")
    os.sync()
    with file.open("r+b") as kept:
        kept.write(b"what a run left")
    record = records.observe(str(file), "0123abcd")
    lose_power(before)
    unmount(before)
    after = mounted(disk) / "scratch.img"
    assert after.read_bytes() == b"what a run left"
    assert replace(records.observe(str(after), "0123abcd"), path=record.path) == record


def test_a_scratch_file_is_written_in_full_once_and_its_device_punches_no_holes(
    scratch_folder: Path, tmp_path: Path
) -> None:
    told: list[int] = []
    made = scratch.create(SIZE, str(scratch_folder), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == SIZE
    said = run("filefrag", "-v", made.path)
    assert "unwritten" not in said
    assert os.stat(made.path).st_blocks * 512 >= SIZE
    limit = Path(f"/sys/block/{os.path.basename(made.device)}/queue/discard_max_bytes")
    assert limit.read_text() == "0\n"
    # Plans for it reckon with the rate at which it was written.
    with open(made.path, "rb") as file:
        spec = target_spec(find_device(made.device))
        assert spec.bytes_per_s == marker.marker_of(file.fileno()).bytes_per_s > 0
    # The console counts a draft with what the listing says, `fsconsole plan` and Confirm with the same.
    (listed,) = device_survey.take((made.device,), str(tmp_path)).devices
    shown = (listed.written_bytes_per_s, listed.can_discard, listed.keeps_blocks)
    assert shown == (spec.bytes_per_s, spec.can_discard, spec.keeps_blocks)
    scratch.remove(made)
    # The next user of that number has discard again, where nobody else has taken it by now.
    sparse(tmp_path / "next", SIZE)
    if subprocess.run(["losetup", made.device, str(tmp_path / "next")], check=False).returncode == 0:
        found = limit.read_text()
        block.detach(made.device)
        assert int(found) > 0


@pytest.mark.parametrize("kind", tried(["ext4", "xfs", "btrfs", "tmpfs"], ["ext4", "tmpfs"]))
def test_every_cell_starts_from_the_same_blocks_of_the_file_or_is_labelled(
    kind: str, scratch_folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind != "ext4":
        mounted, loop_device = (request.getfixturevalue(name) for name in ("mounted", "loop_device"))
        point = mounted("tmpfs", filesystem="tmpfs", options="size=2g")
        if kind != "tmpfs":
            disk = loop_device(2 * GIB)
            run(f"mkfs.{kind}", "-q", disk)
            point = mounted(disk)
        scratch_folder = point / "scratch"
    made = scratch.create(128 * MIB, str(scratch_folder))
    try:
        before = blocks_of(made.path)
        done, folder = carry_out(TWO_KINDS, made.device, tmp_path)
        assert done.returncode == 0, done.stderr
        cells = read_state(folder).cells
        moved = ["got other blocks" in " ".join(w.reason for w in cell.warnings) for cell in cells]
        assert moved == [kind in ("btrfs", "tmpfs")] * 2
        assert (before == blocks_of(made.path)) is (kind != "btrfs")
        (argv,) = {command.argv for cell in cells for step in cell.steps[1:2] for command in step.commands}
        assert argv[:3] == (("blkdiscard", "-z", "-f") if kind == "ext4" else ("shred", "-n", "0"))
    finally:
        scratch.remove(made)


def test_reads_of_a_device_are_timed_past_the_page_cache(scratch_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scratch.create(SIZE, str(scratch_folder))
    stat = Path(f"/sys/block/{os.path.basename(made.device)}/stat")
    monkeypatch.setattr(equalise, "_WINDOW_S", 0.05)
    work = SimpleNamespace(run=SimpleNamespace(requests=SimpleNamespace(interrupting=False)))
    reads, preadv = [], os.preadv
    monkeypatch.setattr(os, "preadv", lambda *call: reads.append(preadv(*call)))
    before = [int(word) for word in stat.read_text().split()]
    assert 0 < equalise.read_p99_s(work, made.device) < 10
    after = [int(word) for word in stat.read_text().split()]
    # Each of 8 sectors (Documentation/block/stat.rst); at least, since tests beside this one look at all devices.
    assert reads == [4096] * len(reads) != []
    assert after[0] - before[0] >= len(reads)
    assert after[2] - before[2] >= 8 * len(reads)


TWO_KINDS = """
schema = 1
repeats = 1
order = "as-listed"
variant = [{ type = "btrfs" }, { type = "ext4", mkfs = "-E discard" }]
workload = [{ kind = "create", threads = 2, file_size = "8MiB" }]
"""


def blocks_of(path: str) -> list[int]:
    """Return where every 4 KiB of a file lies, by filefrag; nothing where its filesystem doesn't tell."""
    said = subprocess.run(["filefrag", "-v", "-b4096", path], check=False, capture_output=True, text=True).stdout
    spans = re.findall(r"^ +\d+: +\d+\.\. +\d+: +(\d+)\.\. +(\d+):", said, re.MULTILINE)
    return [block for first, last in spans for block in range(int(first), int(last) + 1)]


def test_the_last_of_a_disk_is_refused_and_nothing_is_made(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    disk = loop_device(4 * SIZE)
    run("mkfs.ext4", "-q", disk)
    point = mounted(disk)
    before = os.listdir(point)
    with pytest.raises(NoSpace) as refused:
        scratch.create(MIB, str(point))
    assert "1.0 GiB left free" in refused.value.needed
    assert os.listdir(point) == before


def test_a_size_that_makes_no_device_is_refused(scratch_folder: Path) -> None:
    for size_bytes in (0, 4096, MIB + 512, -SIZE):
        with pytest.raises(BadQuantity):
            scratch.create(size_bytes, str(scratch_folder))
    assert list(scratch_folder.iterdir()) == []


def test_a_directory_that_can_not_be_is_refused_in_words(scratch_folder: Path) -> None:
    file = scratch_folder / "a file"
    file.touch()
    with pytest.raises(ScratchImpossible):
        scratch.create(SIZE, str(file))
    with pytest.raises(ScratchImpossible):
        scratch.create(SIZE, "/proc/fsconsole")


def test_a_scratch_device_is_found_by_any_of_its_names(scratch_folder: Path) -> None:
    made = scratch.create(SIZE, str(scratch_folder))
    paths = (made.device, made.path)
    for name in (*paths, *map(os.path.basename, paths), made.scratch_id):
        assert scratch.find(name, str(scratch_folder)) == made
    with pytest.raises(ScratchMissing):
        scratch.find("no-such", str(scratch_folder))


def test_what_is_not_ours_is_not_removed(scratch_folder: Path, loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZE)
    with pytest.raises(ScratchMissing):
        scratch.find(device, str(scratch_folder))
    file = file_below(device)
    made, other = (scratch.create(SIZE, str(scratch_folder)) for _ in range(2))
    for strange in (
        Scratch(device, file, SIZE, "0a1b2c3d"),
        Scratch(made.device, other.path, SIZE, made.scratch_id),
    ):
        with pytest.raises(ScratchMissing):
            scratch.remove(strange)
        assert os.path.exists(strange.path)


def test_the_commands_make_list_and_remove(scratch_folder: Path) -> None:
    made = fsconsole("scratch", "create", "--size", "16MiB", "--dir", str(scratch_folder))
    assert made.returncode == 0, made.stderr
    device = made.stdout.strip()
    assert find_device(device).is_scratch
    assert "fsconsole scratch remove" in made.stderr
    listed = json.loads(fsconsole("scratch", "list", "--dir", str(scratch_folder), "--json").stdout)["scratch"]
    assert device in [one["device"] for one in listed]
    assert fsconsole("scratch", "remove", device, "--dir", str(scratch_folder)).returncode == 0
    assert os.listdir(scratch_folder) == []
    again = fsconsole("scratch", "remove", device, "--dir", str(scratch_folder))
    assert again.returncode == ExitCode.SCRATCH_MISSING
    assert "Traceback" not in again.stderr


def is_attached(device: str) -> bool:
    try:
        block.status(device)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


def test_what_was_attached_tells_its_file_and_goes_when_detached(tmp_path: Path) -> None:
    path = sparse(tmp_path / "disk")
    device = block.attach(path)
    try:
        status, file = block.status(device), os.stat(path)
        assert (status.device_number_of_file, status.inode) == (file.st_dev, file.st_ino)
        assert device == f"/dev/loop{status.number}"
        assert status.file_name == path[:63]
        assert (status.autoclear, status.read_only, status.offset_bytes) == (False, False, 0)
        with block.attach_held(device) as upper:
            assert block.status(upper.path).backing_device_number == os.stat(device).st_rdev
            assert block.status(upper.path).autoclear
        assert not is_attached(upper.path)
        upper.close()
    finally:
        block.detach(device)
    assert not is_attached(device)
    with pytest.raises(OSError, match="No such device"):
        block.detach(device)


def test_direct_io_is_on_where_the_filesystem_below_has_it_and_off_where_not(
    tmp_path: Path, mounted: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_direct_io(directory: Path, *, asked: bool) -> bool:
        path = sparse(directory / "disk")
        device = block.attach(path, direct_io=asked)
        try:
            assert block.status(device).inode == os.stat(path).st_ino
            return block.status(device).direct_io
        finally:
            block.detach(device)

    # ramfs has no direct I/O (fs/ramfs/file-mmu.c).
    assert not has_direct_io(mounted("ramfs", filesystem="ramfs"), asked=True)
    assert [has_direct_io(tmp_path, asked=asked) for asked in (True, False)] == [True, False]
    # A kernel without LOOP_CONFIGURE.
    monkeypatch.setattr(block, "_LOOP_CONFIGURE", 0x4CFF)
    assert [has_direct_io(tmp_path, asked=asked) for asked in (True, False)] == [True, False]


def test_a_read_only_mark_left_on_its_number_does_not_reach_a_new_device(
    own_loop: OwnLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ioctl(fd: int, request: int, *argument: object) -> object:
        if request == block._LOOP_CTL_GET_FREE:
            return int(own_loop.path.removeprefix("/dev/loop"))
        return fcntl.ioctl(fd, request, *argument)  # type: ignore[call-overload]

    # A number that no other test is given, with the mark that one of its devices left.
    monkeypatch.setattr(block, "fcntl", SimpleNamespace(ioctl=ioctl))
    path = sparse(tmp_path / "disk")
    own_loop.attach(path)
    run("blockdev", "--setro", own_loop.path)
    own_loop.detach()
    with block.attach_held(path) as held:
        fd = os.open(held.path, os.O_RDONLY)
        assert not is_read_only(fd)
        os.close(fd)
        assert held.path == own_loop.path


def test_many_at_once_get_each_their_own_device_and_a_missing_file_none(tmp_path: Path) -> None:
    paths = [sparse(tmp_path / f"disk{number}") for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        devices = list(pool.map(block.attach, paths))
    try:
        inodes = [block.status(device).inode for device in devices]
        assert inodes == [os.stat(path).st_ino for path in paths]
        assert len(set(devices)) == 12
    finally:
        for device in devices:
            block.detach(device)
    for path, error in (("missing", FileNotFoundError), ("/dev/null", OSError)):
        with pytest.raises(error):
            block.attach(str(tmp_path / path))


def test_size_number_and_read_only_state_are_the_devices(loop_device: MakeLoopDevice) -> None:
    first, second = loop_device(8 * MIB), loop_device(16 * MIB, read_only=True)
    fds = [os.open(path, os.O_RDONLY) for path in (first, second)]
    try:
        assert [device_size_bytes(fd) for fd in fds] == [8 * MIB, 16 * MIB]
        assert [is_read_only(fd) for fd in fds] == [False, True]
        assert 0 < diskseq(fds[0]) < diskseq(fds[1])
        sysfs = Path(f"/sys/class/block/{os.path.basename(first)}/diskseq").read_text()
        assert diskseq(fds[0]) == int(sysfs)
        os.fsync(fds[0])
    finally:
        for fd in fds:
            os.close(fd)


CHECKOUT = Path(__file__).parents[2]


def pytest_inside(tmp_path: Path, test_text: str) -> subprocess.CompletedProcess[str]:
    test_file = tmp_path / "test_inside.py"
    test_file.write_text(test_text)
    base = tmp_path / "base"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={tmp_path}", f"--basetemp={base}",
         "-c", os.devnull, "-o", "markers=root", "-p", "no:cacheprovider", str(test_file)],
        cwd=CHECKOUT, check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_a_session_that_leaves_a_loop_device_fails(tmp_path):
    inside = pytest_inside(
        tmp_path,
        "import subprocess\n"
        "def test_leaves(tmp_path):\n"
        "    file = tmp_path / 'left'\n"
        f"    file.write_bytes(bytes({8 * MIB}))\n"
        "    subprocess.run(['losetup', '--find', str(file)], check=True)\n",
    )
    assert inside.returncode == 1, inside.stdout + inside.stderr
    assert "tests left loop devices: ['/dev/loop" in inside.stdout


def test_a_failed_test_leaves_no_mount_and_no_loop_device(tmp_path):
    inside = pytest_inside(
        tmp_path,
        "import subprocess\n"
        "def test_fails(loop_device, mounted):\n"
        f"    device = loop_device({8 * MIB})\n"
        "    subprocess.run(['mkfs.ext4', '-q', device], check=True)\n"
        "    mounted(device)\n"
        "    assert False\n",
    )
    assert inside.returncode == 1
    assert "1 failed in" in inside.stdout, inside.stdout + inside.stderr
    assert "error" not in inside.stdout.rsplit("\n", 2)[-2]


def make_and_detach(scratch_folder: Path) -> Scratch:
    """Return a scratch file that is attached to no device."""
    made = scratch.create(SIZE, str(scratch_folder))
    block.detach(made.device)
    wait_until(lambda: not loops_under(str(scratch_folder)), "the scratch device is detached")
    return made


def test_a_detached_scratch_file_is_listed_attached_again_or_removed(scratch_folder: Path) -> None:
    made = make_and_detach(scratch_folder)
    (found,) = (one for one in scratch.listing(str(scratch_folder)) if one.scratch_id == made.scratch_id)
    assert (found.attached, found.device) == (False, "")
    again = scratch.attach(found.path)
    assert (again.scratch_id, again.attached) == (made.scratch_id, True)
    assert scratch.attach(found.path) == again
    scratch.remove(again)
    scratch.remove(scratch.find(make_and_detach(scratch_folder).scratch_id, str(scratch_folder)))
    assert os.listdir(scratch_folder) == []


def test_a_scratch_device_that_is_in_use_is_not_removed(scratch_folder: Path, mounted: Mount) -> None:
    made = scratch.create(SIZE, str(scratch_folder))

    def refused(why: str) -> None:
        with pytest.raises(ScratchInUse) as error:
            scratch.remove(made)
        assert why in str(error.value)
        assert find_device(made.device).is_scratch

    with held_by_another_process(made.device, "os.O_RDONLY") as pid:
        refused(str(pid))
    second = block.attach(made.path)
    for device in (made.device, second):
        with FileLock.acquire(device):
            refused("locked")
    block.detach(second)
    run("mkfs.ext4", "-q", made.device)
    point = mounted(made.device)
    refused(str(point))
    unmount(point)
    script = 'mount "$0" /mnt && echo mounted && read line'
    argv = (*APART, script, made.device)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"mounted\n"
        refused("")
        held.communicate(b"\n")
    scratch.remove(made)
    wait_until(lambda: not loops_under(str(scratch_folder)), "both loop devices are detached")


def test_a_failure_while_or_after_it_is_made_leaves_neither_file_nor_loop(
    scratch_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, hard))
    try:
        with pytest.raises(ScratchImpossible):
            scratch.create(SIZE, str(scratch_folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(scratch_folder) == []
    monkeypatch.setattr(scratch, "attached_loops", tuple)
    with pytest.raises(ScratchMissing):
        scratch.create(SIZE, str(scratch_folder))
    assert os.listdir(scratch_folder) == []
    wait_until(lambda: not loops_under(str(scratch_folder)), "the scratch device is detached")
