"""Scratch devices, loop devices, and the fixtures that make them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.scratch import Scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NoSpace
from fsconsole.errors.targets import BadQuantity, ScratchImpossible, ScratchInUse, ScratchMissing
from fsconsole.model.command import Command
from fsconsole.system import block
from fsconsole.system.block import device_size_bytes, diskseq, is_read_only, open_exclusive
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, loops_under, run, wait_until

SIZE = 16 * MIB
COMMAND = (sys.executable, "-c", "import sys; from fsconsole.cli.main import main; sys.exit(main())")


def fsconsole(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*COMMAND, *words), check=False, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory for scratch files; loop devices over them are gone after the test."""
    path = tmp_path / "scratch"
    yield path
    for device in loops_under(str(path)):
        block.detach(device)
    wait_until(lambda: not loops_under(str(path)), "scratch devices are detached")


def test_a_scratch_device_is_allocated_marked_and_goes_past_the_page_cache(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder), purpose="test")
    device = find_device(made.device)
    assert device.is_scratch
    assert device.size_bytes == made.size_bytes == SIZE
    assert device.loop is not None
    assert device.loop.scratch_id == made.scratch_id
    assert device.loop.direct_io
    assert made.direct_io
    assert not device.loop.autoclear
    file = os.stat(made.path)
    assert file.st_blocks * 512 >= SIZE
    assert stat.S_IMODE(file.st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_create_and_remove_leave_nothing(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    assert scratch.listing(str(folder)) == (made,) or made in scratch.listing(str(folder))
    scratch.remove(made)
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")
    assert os.listdir(folder) == []
    assert made.path not in [one.path for one in scratch.listing(str(folder))]


def test_the_last_of_a_disk_is_refused_and_nothing_is_made(
    loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    disk = loop_device(4 * SIZE)
    run("mkfs.ext4", "-q", disk)
    point = mounted(disk)
    before = os.listdir(point)
    with pytest.raises(NoSpace) as refused:
        scratch.create(MIB, str(point))
    assert "1.0 GiB left free" in refused.value.needed
    assert os.listdir(point) == before


@pytest.mark.parametrize("size_bytes", [0, 4096, MIB + 512, -SIZE])
def test_a_size_that_makes_no_device_is_refused(folder: Path, size_bytes: int) -> None:
    with pytest.raises(BadQuantity):
        scratch.create(size_bytes, str(folder))
    assert not folder.exists()


def test_a_failure_while_allocating_leaves_nothing(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, hard))
    try:
        with pytest.raises(ScratchImpossible):
            scratch.create(SIZE, str(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(folder) == []


def test_a_failure_after_attaching_leaves_neither_file_nor_loop(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "attached_loops", tuple)
    with pytest.raises(ScratchMissing):
        scratch.create(SIZE, str(folder))
    assert os.listdir(folder) == []
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")


def test_a_directory_that_can_not_be_is_refused_in_words(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(ScratchImpossible):
        scratch.create(SIZE, str(folder))
    with pytest.raises(ScratchImpossible):
        scratch.create(SIZE, "/proc/fsconsole")


def test_a_detached_scratch_file_is_listed_and_can_be_attached_again(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    block.detach(made.device)
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")
    (found,) = (one for one in scratch.listing(str(folder)) if one.scratch_id == made.scratch_id)
    assert (found.attached, found.device) == (False, "")
    again = scratch.attach(found.path)
    assert (again.scratch_id, again.attached) == (made.scratch_id, True)
    assert scratch.attach(found.path) == again
    scratch.remove(again)
    assert os.listdir(folder) == []


def test_a_detached_scratch_file_can_be_removed(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    block.detach(made.device)
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")
    scratch.remove(scratch.find(made.scratch_id, str(folder)))
    assert os.listdir(folder) == []


def test_a_scratch_device_is_found_by_any_of_its_names(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    names = (
        made.device,
        os.path.basename(made.device),
        made.path,
        os.path.basename(made.path),
        made.scratch_id,
    )
    assert {scratch.find(name, str(folder)) for name in names} == {made}
    with pytest.raises(ScratchMissing):
        scratch.find("no-such", str(folder))


def test_what_is_not_ours_is_not_removed(folder: Path, loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZE)
    with pytest.raises(ScratchMissing):
        scratch.find(device, str(folder))
    file = run("losetup", "--noheadings", "--output", "BACK-FILE", device).strip()
    with pytest.raises(ScratchMissing):
        scratch.remove(Scratch(device, file, SIZE, "0a1b2c3d"))
    assert os.path.exists(file)


def test_another_file_in_the_place_of_a_scratch_file_is_not_removed(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    other = scratch.create(SIZE, str(folder))
    with pytest.raises(ScratchMissing):
        scratch.remove(Scratch(made.device, other.path, SIZE, made.scratch_id))
    assert os.path.exists(other.path)


def test_a_mounted_scratch_device_is_not_removed(folder: Path, mounted: Mount) -> None:
    made = scratch.create(SIZE, str(folder))
    run("mkfs.ext4", "-q", made.device)
    point = mounted(made.device)
    with pytest.raises(ScratchInUse) as refused:
        scratch.remove(made)
    assert str(point) in str(refused.value)
    run("umount", str(point))
    assert find_device(made.device).is_scratch


def test_a_scratch_device_mounted_in_another_namespace_is_not_removed(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    run("mkfs.ext4", "-q", made.device)
    script = 'mount "$0" /mnt && echo mounted && read line'
    held = subprocess.Popen(
        ("unshare", "--mount", "sh", "-c", script, made.device), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert held.stdout is not None
        assert held.stdout.readline() == b"mounted\n"
        with pytest.raises(ScratchInUse):
            scratch.remove(made)
    finally:
        held.communicate(b"\n")
    assert os.path.exists(made.path)


@pytest.mark.parametrize("lock", [True, False])
def test_a_locked_or_opened_scratch_device_is_not_removed(folder: Path, lock: bool) -> None:
    made = scratch.create(SIZE, str(folder))
    script = "import fcntl, sys; f = open(sys.argv[1], 'rb')\nif sys.argv[2] == 'True': fcntl.flock(f, fcntl.LOCK_EX)\nprint('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        (sys.executable, "-c", script, made.device, str(lock)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(ScratchInUse) as refused:
            scratch.remove(made)
        assert ("locked" if lock else str(holder.pid)) in refused.value.why
    finally:
        holder.communicate()
    scratch.remove(made)


def test_a_second_loop_over_the_file_must_be_free_too(folder: Path) -> None:
    made = scratch.create(SIZE, str(folder))
    second = block.attach(made.path)
    with open(second, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        holder = subprocess.run(
            (sys.executable, "-c", f"from fsconsole.devices import scratch; scratch.remove(scratch.find({made.scratch_id!r}, {str(folder)!r}))"),
            check=False, capture_output=True, text=True,
        )  # fmt: skip
    assert "ScratchInUse" in holder.stderr
    assert os.path.exists(made.path)
    scratch.remove(made)
    wait_until(lambda: not loops_under(str(folder)), "both loop devices are detached")


def test_the_commands_make_list_and_remove(folder: Path) -> None:
    made = fsconsole("scratch", "create", "--size", "16MiB", "--dir", str(folder))
    assert made.returncode == 0, made.stderr
    device = made.stdout.strip()
    assert find_device(device).is_scratch
    assert "fsconsole scratch remove" in made.stderr
    listed = json.loads(fsconsole("scratch", "list", "--dir", str(folder), "--json").stdout)
    assert device in [one["device"] for one in listed]
    assert fsconsole("scratch", "remove", device, "--dir", str(folder)).returncode == 0
    assert os.listdir(folder) == []
    again = fsconsole("scratch", "remove", device, "--dir", str(folder))
    assert again.returncode == ExitCode.SCRATCH_MISSING
    assert "Traceback" not in again.stderr


def test_the_commands_refuse_bad_sizes_with_their_codes(folder: Path) -> None:
    assert (
        fsconsole("scratch", "create", "--size", "many", "--dir", str(folder)).returncode
        == ExitCode.PLAN_BAD_VALUE
    )
    assert (
        fsconsole("scratch", "create", "--size", "4096TiB", "--dir", str(folder)).returncode
        == ExitCode.NO_SPACE
    )


def backing_file(directory: Path, name: str = "disk") -> Path:
    path = directory / name
    with path.open("wb") as file:
        file.truncate(8 * MIB)
    return path


def is_attached(device: str) -> bool:
    try:
        block.status(device)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


def test_what_was_attached_tells_its_file_and_goes_when_detached(tmp_path: Path) -> None:
    path = backing_file(tmp_path)
    device = block.attach(str(path))
    try:
        status, file = block.status(device), path.stat()
        assert (status.device_number_of_file, status.inode) == (file.st_dev, file.st_ino)
        assert device == f"/dev/loop{status.number}"
        assert status.file_name == str(path)[:63]
        assert (status.autoclear, status.read_only, status.offset_bytes) == (False, False, 0)
    finally:
        block.detach(device)
    assert not is_attached(device)
    with pytest.raises(OSError, match="No such device"):
        block.detach(device)


def test_direct_io_is_on_where_the_filesystem_below_has_it_and_off_where_not(
    tmp_path: Path, mounted: Mount
) -> None:
    ram = tmp_path / "ram"
    ram.mkdir()
    executor = RealExecutor()
    assert executor.run(Command(("mount", "-t", "ramfs", "ramfs", str(ram)))).exit_code == 0
    try:
        # ramfs has no direct I/O (fs/ramfs/file-mmu.c).
        device = block.attach(str(backing_file(ram)))
        try:
            assert not block.status(device).direct_io
        finally:
            block.detach(device)
    finally:
        executor.run(Command(("umount", str(ram))))
    for asked in (True, False):
        device = block.attach(str(backing_file(tmp_path)), direct_io=asked)
        try:
            assert block.status(device).direct_io is asked
        finally:
            block.detach(device)


@pytest.mark.parametrize("asked", [True, False])
def test_a_kernel_without_loop_configure_gives_the_same_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    monkeypatch.setattr(block, "_LOOP_CONFIGURE", 0x4CFF)
    path = backing_file(tmp_path)
    device = block.attach(str(path), direct_io=asked)
    try:
        status = block.status(device)
        assert (status.direct_io, status.inode) == (asked, path.stat().st_ino)
    finally:
        block.detach(device)


def test_a_held_device_goes_with_its_holder(tmp_path: Path) -> None:
    with block.attach_held(str(backing_file(tmp_path))) as held:
        assert block.status(held.path).autoclear
        device = held.path
    assert not is_attached(device)
    held.close()


def test_a_read_only_mark_left_on_its_number_does_not_reach_a_new_device(tmp_path: Path) -> None:
    device = block.attach(str(backing_file(tmp_path)))
    subprocess.run(["blockdev", "--setro", device], check=True)
    block.detach(device)
    again = block.attach(str(backing_file(tmp_path, "other")))
    fd = os.open(again, os.O_RDONLY)
    try:
        assert again == device
        assert not is_read_only(fd)
    finally:
        os.close(fd)
        block.detach(again)


def test_many_at_once_get_each_their_own_device(tmp_path: Path) -> None:
    paths = [str(backing_file(tmp_path, f"disk{number}")) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        devices = list(pool.map(block.attach, paths))
    try:
        inodes = [block.status(device).inode for device in devices]
        assert inodes == [os.stat(path).st_ino for path in paths]
        assert len(set(devices)) == 12
    finally:
        for device in devices:
            block.detach(device)


def test_a_missing_file_is_an_error_and_attaches_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        block.attach(str(tmp_path / "missing"))
    with pytest.raises(OSError, match=r".+"):
        block.attach("/dev/null")


def test_a_loop_over_a_device_names_the_device_below(loop_device: MakeLoopDevice) -> None:
    lower = loop_device(8 * MIB)
    with block.attach_held(lower) as upper:
        assert block.status(upper.path).backing_device_number == os.stat(lower).st_rdev


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


def test_what_is_no_block_device_has_no_size(tmp_path: Path) -> None:
    fd = os.open(backing_file(tmp_path), os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="Inappropriate ioctl"):
            device_size_bytes(fd)
    finally:
        os.close(fd)


def test_a_mounted_device_cannot_be_had_exclusively(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    device = loop_device(16 * MIB)
    assert RealExecutor().run(Command(("mkfs.ext4", "-q", device))).exit_code == 0
    os.close(open_exclusive(device))
    mounted(device)
    with pytest.raises(OSError, match="busy"):
        open_exclusive(device)


SIZE_BYTES = 8 * 2**20
CHECKOUT = Path(__file__).parents[2]


def test_a_loop_device_has_the_size_asked_for(loop_device):
    device = loop_device(SIZE_BYTES)
    with open(device, "rb") as file:
        assert file.seek(0, os.SEEK_END) == SIZE_BYTES


def test_an_allocated_backing_file_has_its_blocks(loop_device, tmp_path):
    loop_device(SIZE_BYTES, allocate=True)
    (backing_file,) = tmp_path.glob("disk*")
    assert backing_file.stat().st_blocks * 512 >= SIZE_BYTES


def test_a_mounted_device_can_be_written_to(loop_device, mounted):
    device = loop_device(SIZE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    file = mounted(device) / "file"
    file.write_text("here")
    assert file.read_text() == "here"


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
        f"    file.write_bytes(bytes({SIZE_BYTES}))\n"
        "    subprocess.run(['losetup', '--find', str(file)], check=True)\n",
    )
    assert inside.returncode == 1, inside.stdout + inside.stderr
    assert "tests left loop devices: ['/dev/loop" in inside.stdout


def test_a_failed_test_leaves_no_mount_and_no_loop_device(tmp_path):
    inside = pytest_inside(
        tmp_path,
        "import subprocess\n"
        "def test_fails(loop_device, mounted):\n"
        f"    device = loop_device({SIZE_BYTES})\n"
        "    subprocess.run(['mkfs.ext4', '-q', device], check=True)\n"
        "    mounted(device)\n"
        "    assert False\n",
    )
    assert inside.returncode == 1
    assert "1 failed in" in inside.stdout, inside.stdout + inside.stderr
    assert "error" not in inside.stdout.rsplit("\n", 2)[-2]
