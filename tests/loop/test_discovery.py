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
from fsconsole.devices.marker import write_marker
from fsconsole.devices.snapshot import discover, find_device
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NotRoot
from fsconsole.errors.targets import DeviceMissing
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system import block
from fsconsole.system.block import open_exclusive
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import OwnLoop, each, fails
from tests.loop.gate_cases import file_below
from tests.loop.runs import fsconsole, succeed

SIZE = 16 * 2**20


def mark(path: str) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        write_marker(fd, "0a1b2c3d")
    finally:
        os.close(fd)


@pytest.mark.skipif(shutil.which("mkfs.btrfs") is None, reason="btrfs-progs is not installed")
def test_both_devices_of_a_btrfs_show_its_mount(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    first, second = loop_device(128 * 2**20), loop_device(128 * 2**20)
    run("mkfs.btrfs", "--quiet", first, second)
    point = mounted(first, options=f"nosuid,nodev,device={second}")
    for path in (first, second):
        assert {use.mount_point for use in find_device(path).mounts} == {str(point)}


def test_the_listing_has_every_field_and_a_hostile_label_as_data(loop_device: MakeLoopDevice) -> None:
    path = loop_device(SIZE)
    label = "[/x]\x1b[31m"
    run("mkfs.ext4", "-q", "-L", label, path)
    listed = fsconsole("devices", "--json", path)
    assert listed.returncode == 0, listed.stderr
    (found,) = json.loads(listed.stdout)["devices"]
    assert set(Device.__struct_fields__) <= set(found)
    assert (found["kind"], found["is_scratch"]) == ("loop", False)
    assert found["state"] == {"claim": "hazardous", "text": r"holds ext4 '[/x]\x1b[31m'"}
    assert "\x1b" not in listed.stdout
    shown = fsconsole("devices", path)
    assert r"holds ext4 '[/x]\x1b[31m'" in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr


def test_an_empty_device_is_free_and_a_mounted_one_in_use(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    free, used = loop_device(SIZE), loop_device(SIZE)
    run("mkfs.ext4", "-q", used)
    point = mounted(used)
    listed = {found["path"]: found for found in json.loads(fsconsole("devices", "--json").stdout)["devices"]}
    # Where a process hides what it has open, the gate asks, and the listing says so.
    questions = [hazard["reason"] for hazard in listed[free]["hazards"]]
    assert {hazard["verdict"] for hazard in listed[free]["hazards"]} <= {"asked"}
    assert listed[free]["state"]["text"] == ("; ".join(questions) or "free")
    assert listed[used]["state"] == {"claim": "in use", "text": f"ext4 mounted on {point}"}


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
    (found,) = json.loads(ended.stdout)["devices"]
    assert found["state"]["claim"] == "unknown"
    assert "without root" in ended.stderr


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
    os.truncate(file_below(device), 4 * MIB)
    told = f"Reading {device} failed 4.0 MiB from its beginning: Input/output error."
    fails(ExitCode.DEVICE_UNREADABLE, "readtest", device, names=(told, f"smartctl --all {device}"))


def test_what_is_no_device_is_told_in_a_sentence() -> None:
    def told(words: tuple[str, ...], code: ExitCode, said: str) -> None:
        fails(code, "readtest", *words, names=(said,))
        if code is not ExitCode.USAGE:
            fails(code, "devices", *words, names=(said,))

    each(NO_DEVICES, told)


def test_a_read_test_tells_the_figure_and_the_read_ahead_in_force(loop_device):
    device = loop_device(3 * MIB + 512)
    Path(f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb").write_text("256")
    said = succeed("readtest", device, "--seconds", "0.2")
    assert said.startswith(f"{device}: ")
    assert " MB/s read through the page cache (" in said
    assert said.endswith("; read-ahead 256.0 KiB, scheduler none\n")
    # A small device is read again from its beginning.
    found = json.loads(succeed("readtest", device, "--seconds", "0.3", "--json"))
    assert found["passes"] > 1
    assert found["read_bytes"] > 3 * MIB
    assert found["bytes_per_s"] == pytest.approx(found["read_bytes"] / found["elapsed_s"])
    assert 0.3 <= found["elapsed_s"] < 30


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


def test_a_loop_device_is_found_by_any_name_with_what_it_stands_on_and_its_mount(
    blank: str, mounted: Mount, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(blank)
    device = find_device(str(tmp_path / "link"))
    assert (device.path, device.kind, device.size_bytes) == (blank, DeviceKind.LOOP, 64 * MIB)
    assert device.loop is not None
    backing = os.stat(file_below(blank))
    assert device.loop.path == file_below(blank)
    assert (device.loop.file_device, device.loop.inode) == (backing.st_dev, backing.st_ino)
    assert not device.loop.autoclear
    assert device.diskseq > 0
    run("mkfs.ext4", "-q", blank)
    point = mounted(blank)
    uses = find_device(blank).mounts
    assert [(use.mount_point, use.filesystem, use.seen_in) for use in uses] == [(str(point), "ext4", "self")]


def test_only_a_mark_on_the_very_file_below_makes_a_scratch_device(blank: str, tmp_path: Path) -> None:
    file, keep = file_below(blank), tmp_path / "keep"
    mark(str(tmp_path / "forged"))
    assert not find_device(blank).is_scratch
    run("mount", "--bind", str(tmp_path / "forged"), file)
    try:
        assert not find_device(blank).is_scratch
    finally:
        run("umount", file)
    os.link(file, keep)
    os.unlink(file)
    try:
        assert file_below(blank).endswith("(deleted)")
        mark(f"{file} (deleted)")
        assert not find_device(blank).is_scratch
    finally:
        # The fixture knows its device by the file's name, which the kernel does not give back.
        block.detach(blank)
        shutil.move(keep, file)


def test_an_unattached_loop_is_missing(own_loop: OwnLoop) -> None:
    with pytest.raises(DeviceMissing):
        find_device(own_loop.path, discover())


NO_DEVICES = {
    "nothing": (("/dev/no-such-disk",), ExitCode.DEVICE_MISSING, "There is no /dev/no-such-disk."),
    "a terminal": (("/dev/null",), ExitCode.NOT_A_BLOCK_DEVICE, "/dev/null is a character device"),
    "a directory": (("/tmp",), ExitCode.NOT_A_BLOCK_DEVICE, "a directory"),
    "no time": (("/dev/null", "--seconds", "0"), ExitCode.USAGE, "--seconds"),
    "no number": (("/dev/null", "--seconds", "nan"), ExitCode.USAGE, "--seconds"),
}
