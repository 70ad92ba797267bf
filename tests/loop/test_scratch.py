from __future__ import annotations

import fcntl
import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.scratch import Scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NoSpace
from fsconsole.errors.targets import BadQuantity, ScratchImpossible, ScratchInUse, ScratchMissing
from fsconsole.system import block
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, loops_under, run, wait_until

pytestmark = pytest.mark.root

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
