"""Contents and changes that the gate finds before and after consent."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import check_consent, consent_code, inspect_device, re_prove, require
from fsconsole.devices.scratch import create, remove
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentMissing, ConsentStale, DeviceChanged, DeviceMissing, DeviceRefused
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.loop.gate_cases import (
    agreed,
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    partitions,
    questions,
    refusals,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end
from tests.loop.test_kill_engine import CELL, hanging

SIZE = 64 * MIB
NONE: frozenset[str] = frozenset()
UUID = "3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11"


def made_by(*argv: str) -> Callable[[str], None]:
    return lambda device: run(*argv, device) and None


def luks(device: str) -> None:
    write(device, 0, b"LUKS\xba\xbe" + struct.pack(">H", 1) + bytes(160) + UUID.encode())


def lvm(device: str) -> None:
    label = struct.pack("<8sQII8s", b"LABELONE", 1, 0, 32, b"LVM2 001")
    write(device, 512, label + b"hF2kVh3zqN9rGmPzPu2cQyl1vEZb7dTn")


def md_1_2(device: str) -> None:
    head = struct.pack("<IIII16s32sQIIQ", 0xA92B4EFC, 1, 0, 0, b"\7" * 16, b"box:0", 0, 1, 0, 2048)
    write(device, 4096, head + bytes(128 - len(head)) + struct.pack("<QQQ", 2048, 2048, 8) + bytes(360))


def zfs(device: str) -> None:
    uberblock = struct.pack("<QQ", 0x00BAB10C, 5000) + bytes(1008)
    for label in (0, 256 * 1024, SIZE - 512 * 1024, SIZE - 256 * 1024):
        write(device, label + 128 * 1024, uberblock * 128)


def dos_table(device: str) -> None:
    entry = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\3\4\5", 2048, 20480)
    write(device, 446, entry + bytes(48) + b"\x55\xaa")


PLANTED = {
    "ext2": (
        made_by("mkfs.ext2", "-q", "-U", UUID, "-L", "photos"),
        "filesystem",
        f"ext2 'photos', UUID {UUID}",
    ),
    "ext4": (
        made_by("mkfs.ext4", "-q", "-U", UUID, "-L", "photos"),
        "filesystem",
        f"ext4 'photos', UUID {UUID}",
    ),
    "swap": (made_by("mkswap", "-U", UUID), "other-signature", f"swap area, UUID {UUID}"),
    "luks": (luks, "encryption", f"LUKS, UUID {UUID}"),
    "lvm": (lvm, "raid-signature", "LVM physical volume, UUID hF2kVh"),
    "md": (md_1_2, "raid-signature", "Linux md member 'box:0', UUID 07070707"),
    "zfs": (zfs, "filesystem", "ZFS pool member"),
    "dos": (dos_table, "partition-table", "DOS partition table"),
}


@pytest.fixture
def device(loop_device: MakeLoopDevice) -> str:
    return loop_device(SIZE)


def test_an_empty_device_raises_no_question_and_still_needs_consent(device: str) -> None:
    with unchanged(device):
        report = inspect(device)
    assert questions(report) == {}
    assert report.content is not None
    assert (report.content.blocks_read, report.content.blocks_nonzero) == (64, 0)
    assert report.loss == "nothing that a probe and a sample of its blocks show"
    with pytest.raises(ConsentMissing):
        check_consent("", [report])


@pytest.mark.parametrize("kind", PLANTED)
def test_each_signature_is_asked_about_with_what_would_be_lost(device: str, kind: str) -> None:
    plant, check, words = PLANTED[kind]
    plant(device)
    with unchanged(device):
        report = inspect(device)
    assert refusals(report) == {}
    assert questions(report)[check].startswith(f"holds {words}")
    assert questions(report)[check].endswith("64.0 MiB")
    assert words in report.loss
    require(report)


@pytest.mark.parametrize(("tool", "size_mib"), [("xfs", 300), ("btrfs", 128)])
def test_larger_filesystems_are_asked_about(loop_device: MakeLoopDevice, tool: str, size_mib: int) -> None:
    device = loop_device(size_mib * MIB)
    run(f"mkfs.{tool}", "-q", device)
    assert questions(inspect(device))["filesystem"].startswith(f"holds {tool}, UUID ")


def test_random_data_without_any_signature_is_asked_about(device: str) -> None:
    write(device, 0, os.urandom(SIZE // 4))
    with unchanged(device):
        report = inspect(device)
    assert report.signatures == ()
    assert questions(report) == {"data": "holds data: 16 of 64 sampled blocks are not zero"}


@pytest.mark.parametrize("offset", [0, SIZE - 1])
def test_a_single_byte_at_either_end_is_seen(device: str, offset: int) -> None:
    write(device, offset, b"\1")
    assert questions(inspect(device)) == {"data": "holds data: 1 of 64 sampled blocks are not zero"}


def test_a_label_that_is_a_trick_stays_a_label(device: str) -> None:
    run("mkfs.ext4", "-q", "-L", '"}]\n[/x]\x1b[31m', device)
    assert report_label(device) == '"}]\n[/x]\x1b[31m'


def report_label(device: str) -> str:
    return inspect(device).signatures[0].label


def test_a_stale_page_cache_is_not_believed(device: str) -> None:
    file = file_below(device)
    held = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # While somebody keeps the device open its cached pages stay, here the empty ones.
        assert os.pread(held, MIB, 0) == bytes(MIB)
        run("mkfs.ext4", "-q", "-F", file)
        run("sync", file)
        assert os.pread(held, 2, 0x438) == b"\0\0"
        assert set(questions(inspect(device))) == {"filesystem", "data"}
    finally:
        os.close(held)


def test_partitions_and_what_is_on_them_are_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30), (32, 30)) as (one, two):
        run("mkfs.ext4", "-q", "-U", UUID, one)
        report = inspect(disk)
        assert refusals(report) == {}
        said = {(hazard.device, hazard.reason) for hazard in report.questions}
        assert (one, f"holds ext4, UUID {UUID}, 30.0 MiB") in said
        assert (disk, f"has the partition {two} of 30.0 MiB at byte {32 * MIB}") in said
        assert f"on {one}" in report.loss


def test_a_partition_made_again_elsewhere_is_another_device(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file), "--partscan") as disk:
        with partitions(disk, (1, 20)) as (part,):
            before = inspect(part)
        with partitions(disk, (30, 20)) as (part,):
            after = inspect(part)
        assert (before.identity.diskseq, before.identity.size_bytes) == (
            after.identity.diskseq,
            after.identity.size_bytes,
        )
        with pytest.raises(DeviceChanged, match="partition start: 1MiB, now 30MiB"):
            re_prove(after, agreed(before), NONE)
        with pytest.raises(ConsentStale):
            check_consent(consent_code([before]), [after])


def test_a_loop_number_with_another_file_is_another_device(device: str, tmp_path: Path) -> None:
    before = inspect(device)
    other = tmp_path / "other"
    other.touch()
    os.truncate(other, SIZE)
    run("losetup", "--detach", device)
    run("losetup", device, str(other))
    try:
        after = inspect(device)
    finally:
        run("losetup", "--detach", device)
    with pytest.raises(DeviceChanged, match=r"diskseq.*inode of the backing file"):
        re_prove(after, agreed(before), NONE)


def test_a_device_that_was_swapped_or_written_to_since_consent_makes_the_code_stale(device: str) -> None:
    shown = inspect(device)
    code = consent_code([shown])
    check_consent(code.lower(), [inspect(device)])
    write(device, SIZE // 2 - SIZE // 2 % 4096, os.urandom(2 * MIB))
    with pytest.raises(ConsentStale):
        check_consent(code, [inspect(device)])
    with pytest.raises(DeviceChanged, match="what is written on it has changed"):
        re_prove(inspect(device), agreed(shown), NONE)


def test_before_each_mkfs_only_what_was_shown_or_made_by_this_run_passes(device: str) -> None:
    run("mkfs.ext4", "-q", device)
    shown = agreed(inspect(device))
    re_prove(inspect(device), shown, NONE)
    run("mkfs.ext4", "-q", "-F", "-U", UUID, device)
    re_prove(inspect(device, content_is_ours=True), shown, frozenset({UUID}))
    with pytest.raises(DeviceChanged):
        re_prove(inspect(device), shown, frozenset({UUID}))
    run("mkfs.ext4", "-q", "-F", device)
    with unchanged(device), pytest.raises(DeviceChanged, match=r"holds ext4, UUID .* was not there"):
        re_prove(inspect(device, content_is_ours=True), shown, frozenset({UUID}))


def test_a_device_that_came_into_use_after_consent_is_refused(device: str, tmp_path: Path) -> None:
    shown = agreed(inspect(device))
    with loop_over(device), pytest.raises(DeviceRefused, match="is what the loop device"):
        re_prove(inspect(device), shown, NONE)


def test_a_scratch_device_needs_no_consent_whatever_is_on_it(tmp_path: Path) -> None:
    scratch = create(SIZE, str(tmp_path))
    try:
        run("mkfs.ext4", "-q", scratch.device)
        report = inspect(scratch.device)
        assert set(questions(report)) == {"filesystem", "data"}
        assert not report.needs_consent
        check_consent("", [report])
        re_prove(inspect(scratch.device), agreed(report), NONE)
    finally:
        remove(scratch)


def test_a_copy_of_the_mark_on_another_file_is_another_device(tmp_path: Path, device: str) -> None:
    scratch = create(SIZE, str(tmp_path))
    try:
        target = agreed(inspect(scratch.device))
        mark = os.getxattr(scratch.path, "trusted.fsconsole.scratch")
        os.setxattr(file_below(device), "trusted.fsconsole.scratch", mark)
        with pytest.raises(DeviceChanged, match="inode of the backing file"):
            re_prove(inspect(device), target, NONE)
    finally:
        remove(scratch)


def test_a_device_that_went_away_is_no_longer_inspected(loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZE)
    subprocess.run(["losetup", "--detach", device], check=True)
    with pytest.raises(DeviceMissing):
        inspect(device)


Act = Callable[[str, Path], "contextmanager[None]"]


@contextmanager
def mounts_it(device: str, directory: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", "-F", device)
    (directory / "mnt").mkdir()
    run("mount", device, str(directory / "mnt"))
    try:
        yield
    finally:
        run("umount", str(directory / "mnt"))


@contextmanager
def formats_it(device: str, _directory: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", "-F", "-L", "photos", device)
    yield


@contextmanager
def opens_it(device: str, _directory: Path) -> Iterator[None]:
    with held_by_another_process(device, "os.O_RDWR"):
        yield


@contextmanager
def writes_over_the_filesystem(device: str, _directory: Path) -> Iterator[None]:
    run("wipefs", "--all", device)
    write(device, 0, os.urandom(MIB))
    yield


RACES = {
    "mounted": (mounts_it, {ExitCode.DEVICE_MOUNTED, ExitCode.DEVICE_CHANGED}),
    "formatted": (formats_it, {ExitCode.DEVICE_CHANGED}),
    "opened": (opens_it, {ExitCode.DEVICE_REFUSED}),
    "overwritten": (writes_over_the_filesystem, {ExitCode.DEVICE_CHANGED}),
}


@pytest.mark.parametrize(("act", "codes"), RACES.values(), ids=RACES)
def test_what_happened_since_the_gate_is_seen_before_the_wipe(
    loop_device: MakeLoopDevice, tmp_path: Path, act: Callable[..., object], codes: set[ExitCode]
) -> None:
    device = loop_device(64 * MIB)
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    engine = hanging(folder, StepKind.EQUALISE, "before", tmp_path / "marker")
    with act(device, tmp_path), unchanged(device):  # type: ignore[attr-defined]
        # Longer than one proof holds.
        run("sleep", "1.2")
        (tmp_path / "marker").unlink()
        engine.wait(timeout=60)
        wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code in codes
    assert after.cells[0].status is CellStatus.DONE
    assert after.cells[CELL].status is CellStatus.STOPPED


@pytest.mark.parametrize("is_ours", [False, True])
@pytest.mark.parametrize("left", [0, 4 * MIB])
def test_a_disk_that_can_not_be_read_is_refused_also_in_the_middle_of_a_run(
    loop_device: MakeLoopDevice, tmp_path: Path, left: int, is_ours: bool
):
    device = loop_device(8 * MIB)
    # With direct I/O a loop device answers reads beyond the end of its file with EIO (drivers/block/loop.c).
    os.truncate(tmp_path / "disk0", left)
    context = GateContext(RealExecutor(), str(tmp_path), content_is_ours=is_ours)
    report = inspect_device(device, context)
    (hazard,) = report.refusals
    assert hazard.reason == f"could not be proved free: the signatures on {device}: Input/output error"
    assert "`smartctl --all DEVICE`" in hazard.hint
    with pytest.raises(DeviceRefused):
        require(report)
