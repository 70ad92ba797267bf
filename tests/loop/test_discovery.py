"""Discovery of devices, and the read test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsconsole.devices.ask import read_test
from fsconsole.devices.marker import proven_marker, write_marker
from fsconsole.devices.snapshot import discover, find_device
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NotRoot
from fsconsole.errors.targets import DeviceMissing
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system import block
from fsconsole.system.block import open_exclusive
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.runs import fsconsole, succeed

SIZE = 16 * 2**20


def backing_of(device: str) -> str:
    return run("losetup", "--noheadings", "--output", "BACK-FILE", device).strip()


def mark(path: str) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        write_marker(fd, "0a1b2c3d")
    finally:
        os.close(fd)


def test_a_loop_device_is_found_with_what_it_stands_on(loop_device: MakeLoopDevice) -> None:
    path = loop_device(SIZE)
    device = find_device(path)
    assert (device.path, device.kind, device.size_bytes) == (path, DeviceKind.LOOP, SIZE)
    assert device.loop is not None
    backing = os.stat(backing_of(path))
    assert device.loop.path == backing_of(path)
    assert (device.loop.file_device, device.loop.inode) == (backing.st_dev, backing.st_ino)
    assert not device.loop.autoclear
    assert device.diskseq > 0


def test_a_loop_over_an_unmarked_file_is_no_scratch_device(loop_device: MakeLoopDevice) -> None:
    assert not find_device(loop_device(SIZE)).is_scratch


def test_a_loop_over_a_marked_file_is_a_scratch_device(loop_device: MakeLoopDevice) -> None:
    path = loop_device(SIZE)
    mark(backing_of(path))
    assert find_device(path).is_scratch


def test_a_marked_file_mounted_over_the_backing_file_is_not_believed(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    path = loop_device(SIZE)
    forged = str(tmp_path / "forged")
    mark(forged)
    run("mount", "--bind", forged, backing_of(path))
    try:
        found = os.stat(backing_of(path))
        assert proven_marker(backing_of(path), found.st_dev, found.st_ino).scratch_id == "0a1b2c3d"
        assert not find_device(path).is_scratch
    finally:
        run("umount", backing_of(path))


def test_a_marked_file_with_the_name_of_a_deleted_one_is_not_believed(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    path = loop_device(SIZE)
    file = backing_of(path)
    keep = tmp_path / "keep"
    os.link(file, keep)
    os.unlink(file)
    try:
        assert backing_of(path).endswith("(deleted)")
        mark(f"{file} (deleted)")
        assert not find_device(path).is_scratch
    finally:
        # The fixture knows its device by the file's name, which the kernel does not give back.
        block.detach(path)
        shutil.move(keep, file)


def test_a_mounted_loop_device_shows_where(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    path = loop_device(SIZE)
    run("mkfs.ext4", "-q", path)
    point = mounted(path)
    uses = find_device(path).mounts
    assert [(use.mount_point, use.filesystem, use.seen_in) for use in uses] == [(str(point), "ext4", "self")]


@pytest.mark.skipif(shutil.which("mkfs.btrfs") is None, reason="btrfs-progs is not installed")
def test_both_devices_of_a_btrfs_show_its_mount(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    first, second = loop_device(128 * 2**20), loop_device(128 * 2**20)
    run("mkfs.btrfs", "--quiet", first, second)
    point = mounted(first, options=f"nosuid,nodev,device={second}")
    for path in (first, second):
        assert {use.mount_point for use in find_device(path).mounts} == {str(point)}


def test_a_link_to_a_device_finds_it_and_an_unattached_loop_is_missing(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    path = loop_device(SIZE)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert find_device(str(link)).path == path
    unattached = [
        name for name in os.listdir("/sys/block") if name.startswith("loop") and not is_attached(name)
    ]
    if unattached:
        with pytest.raises(DeviceMissing):
            find_device(f"/dev/{unattached[0]}", discover())


def is_attached(name: str) -> bool:
    return os.path.exists(f"/sys/block/{name}/loop/backing_file")


def test_the_listing_has_every_field_and_a_hostile_label_as_data(loop_device: MakeLoopDevice) -> None:
    path = loop_device(SIZE)
    label = "[/x]\x1b[31m"
    run("mkfs.ext4", "-q", "-L", label, path)
    listed = fsconsole("devices", "--json", path)
    assert listed.returncode == 0, listed.stderr
    (found,) = json.loads(listed.stdout)
    assert set(Device.__struct_fields__) <= set(found)
    assert (found["kind"], found["is_scratch"]) == ("loop", False)
    assert found["state"] == {"claim": "hazardous", "text": r"holds ext4 '[/x]\x1b[31m'"}
    assert "\x1b" not in listed.stdout
    shown = fsconsole("devices", path)
    assert r"holds ext4 '[/x]\x1b[31m'" in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr


def test_an_empty_device_is_free_and_a_mounted_one_in_use(
    loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    free, used = loop_device(SIZE), loop_device(SIZE)
    run("mkfs.ext4", "-q", used)
    point = mounted(used)
    listed = {found["path"]: found for found in json.loads(fsconsole("devices", "--json").stdout)}
    # Where a process hides what it has open, the gate asks, and the listing says so.
    questions = [hazard["reason"] for hazard in listed[free]["hazards"]]
    assert {hazard["verdict"] for hazard in listed[free]["hazards"]} <= {"asked"}
    assert listed[free]["state"]["text"] == ("; ".join(questions) or "free")
    assert listed[used]["state"] == {"claim": "in use", "text": f"ext4 mounted on {point}"}


def test_a_path_that_is_no_device_ends_in_a_sentence_and_its_code(tmp_path: Path) -> None:
    for path, code in (
        (str(tmp_path), ExitCode.NOT_A_BLOCK_DEVICE),
        ("/dev/no-such", ExitCode.DEVICE_MISSING),
    ):
        ended = fsconsole("devices", path)
        assert ended.returncode == code
        assert ended.stderr.startswith("fsconsole: ")
        assert "Traceback" not in ended.stderr


def test_without_root_the_listing_says_what_is_missing(loop_device: MakeLoopDevice) -> None:
    path = loop_device(SIZE)
    # Once as root, which imports all: the interpreter itself may lie where nobody else can read it.
    script = (
        "import contextlib, io, os, sys\n"
        "from fsconsole.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    main.main()\n"
        "os.setuid(65534)\n"
        "sys.exit(main.main())\n"
    )
    ended = subprocess.run(
        (sys.executable, "-c", script, "devices", "--json", path), check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)
    assert found["state"]["claim"] == "unknown"
    assert "without root" in ended.stderr


def test_a_line_tells_the_figure_and_the_read_ahead_in_force(loop_device):
    device = loop_device(64 * MIB)
    Path(f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb").write_text("256")
    said = succeed("readtest", device, "--seconds", "0.2")
    assert said.startswith(f"{device}: ")
    assert " MB/s read through the page cache (" in said
    assert said.endswith("; read-ahead 256.0 KiB, scheduler none\n")


def test_a_small_device_is_read_again_from_its_beginning(loop_device):
    device = loop_device(3 * MIB + 512)
    found = json.loads(succeed("readtest", device, "--seconds", "0.3", "--json"))
    assert found["passes"] > 1
    assert found["read_bytes"] > 3 * MIB
    assert found["bytes_per_s"] == pytest.approx(found["read_bytes"] / found["elapsed_s"])
    assert 0.3 <= found["elapsed_s"] < 30


def test_each_pass_reads_the_device_and_not_the_cache(loop_device):
    device = loop_device(16 * MIB)
    before = sectors_read(device)
    result = read_test(find_device(device), 0.3)
    assert (sectors_read(device) - before) * 512 >= result.read_bytes


def sectors_read(device: str) -> int:
    """Return the third field of a block device's stat (Documentation/block/stat.rst)."""
    return int(Path(f"/sys/block/{os.path.basename(device)}/stat").read_text().split()[2])


def test_a_device_in_use_is_read_and_left_as_it_is(loop_device, mounted):
    device = loop_device(32 * MIB)
    run("mkfs.ext4", "-q", device)
    point = mounted(device)
    (point / "kept").write_bytes(b"kept")
    succeed("readtest", device, "--seconds", "0.2")
    assert (point / "kept").read_bytes() == b"kept"
    other = loop_device(8 * MIB)
    held = open_exclusive(other)
    try:
        succeed("readtest", other, "--seconds", "0.2")
    finally:
        os.close(held)


def test_a_device_that_can_not_be_read_is_told_with_the_place(loop_device):
    device = loop_device(16 * MIB)
    backing_file = Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file").read_text().strip()
    os.truncate(backing_file, 4 * MIB)
    done = fsconsole("readtest", device)
    assert done.returncode == ExitCode.DEVICE_UNREADABLE
    assert f"Reading {device} failed 4.0 MiB from its beginning: Input/output error." in done.stderr
    assert f"smartctl --all {device}" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("/dev/no-such-disk",), ExitCode.DEVICE_MISSING, "There is no /dev/no-such-disk."),
        (("/dev/null",), ExitCode.NOT_A_BLOCK_DEVICE, "/dev/null is a character device"),
        (("/tmp",), ExitCode.NOT_A_BLOCK_DEVICE, "a directory"),
        (("/dev/null", "--seconds", "0"), ExitCode.USAGE, "--seconds"),
        (("/dev/null", "--seconds", "nan"), ExitCode.USAGE, "--seconds"),
        ((), ExitCode.USAGE, ""),
    ],
)
def test_what_is_no_device_is_told_in_a_sentence(words, code, said):
    done = fsconsole("readtest", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_root_that_is_what_is_said(loop_device):
    found = find_device(loop_device(4 * MIB))
    child = os.fork()
    if child == 0:
        os.setresuid(65534, 65534, 65534)
        try:
            read_test(found, 0.1)
        except NotRoot:
            os._exit(30)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ExitCode.NOT_ROOT
