"""What somebody keeps on a device, and the gate's look at it before and after consent."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fsconsole.devices import records, scratch
from fsconsole.devices.consent import check_consent, consent_code
from fsconsole.devices.gate import GateReport, require, require_same
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentMissing, ConsentStale, DeviceChanged, DeviceRefused
from fsconsole.system import block
from fsconsole.system.files import opened
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, loops_under, run, wait_until
from tests.lab.soak import tried
from tests.loop.commands import each, fails
from tests.loop.gate_cases import (
    agreed,
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    questions,
    refusals,
    sparse,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, succeed, written

UUID = "3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11"


def proved(device: str, shown: GateReport) -> None:
    """Pass the gate where the device is as it was shown."""
    require_same(inspect(device), agreed(shown), shown.fingerprint)


def test_an_empty_device_raises_no_question_and_still_needs_a_code_that_ends_with_its_first_write(
    blank: str,
) -> None:
    with unchanged(blank):
        report = inspect(blank)
    assert questions(report) == {}
    assert re.fullmatch(r"nothing \(looks empty, [0-9]+ blocks read\)", report.loss)
    assert report.is_blank
    with pytest.raises(ConsentMissing):
        check_consent("", [report])
    code = consent_code([report])
    check_consent(code.lower(), [inspect(blank)])
    write(blank, 32 * MIB, os.urandom(2 * MIB))
    with pytest.raises(ConsentStale):
        check_consent(code, [inspect(blank)])
    with pytest.raises(DeviceChanged, match="somebody wrote to it"):
        proved(blank, report)


def test_what_would_be_lost_is_told_by_type_name_and_uuid(blank: str) -> None:
    run("mkfs.ext4", "-q", "-U", UUID, "-L", "photos", blank)
    with unchanged(blank):
        report = inspect(blank)
    assert refusals(report) == {}
    assert questions(report)["filesystem"] == f"holds ext4 'photos', UUID {UUID}, 64.0 MiB"
    assert f"ext4 'photos', UUID {UUID}" in report.loss


def test_a_stale_page_cache_is_not_believed(blank: str) -> None:
    file = file_below(blank)
    held = os.open(blank, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # While somebody keeps the device open its cached pages stay, here the empty ones.
        assert os.pread(held, MIB, 0) == bytes(MIB)
        run("mkfs.ext4", "-q", "-F", file)
        run("sync", file)
        assert os.pread(held, 2, 0x438) == b"\0\0"
        assert set(questions(inspect(blank))) == {"filesystem", "data"}
    finally:
        os.close(held)


def test_before_each_mkfs_only_what_was_shown_passes(blank: str) -> None:
    run("mkfs.ext4", "-q", blank)
    shown = inspect(blank)
    proved(blank, shown)
    run("mkfs.ext4", "-q", "-F", "-U", UUID, blank)
    with unchanged(blank), pytest.raises(DeviceChanged, match=f"ext4 UUID {UUID} is new on it"):
        proved(blank, shown)


def test_a_loop_device_that_shows_another_part_of_its_file_by_now_is_another_device(tmp_path: Path) -> None:
    file = sparse(tmp_path / "disk")
    with loop_over(file, "--offset", "0", "--sizelimit", str(16 * MIB)) as device, opened(device) as fd:
        shown = inspect(device)
        status = bytearray(fcntl.ioctl(fd, block._LOOP_GET_STATUS64, bytes(block._INFO.size)))
        # lo_offset of struct loop_info64: size, node, sequence number and file stay what they were.
        status[24:32] = (32 * MIB).to_bytes(8, sys.byteorder)
        fcntl.ioctl(fd, block._LOOP_SET_STATUS64, bytes(status))
        with (
            unchanged(device),
            pytest.raises(DeviceChanged, match="offset in the backing file: 0B, now 32MiB"),
        ):
            proved(device, shown)
        with pytest.raises(ConsentStale):
            check_consent(consent_code([shown]), [inspect(device)])


FILLED: dict[str, tuple[Callable[[str, str], object]]] = {
    "a file": (lambda _, point: Path(point, "letters").write_text("dear"),),
    "nothing but a mount": (lambda *_: None,),
    "16 KiB past the filesystem": (lambda device, _: write(device, 40 * MIB + 4096, os.urandom(16384)),),
    # What 64 spread blocks of a large disk would not see.
    "data in the first MiBs": (lambda device, _: write(device, MIB, os.urandom(14 * MIB)),),
}


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_filesystem_that_was_mounted_and_written_is_not_what_was_shown(
    loop_device: MakeLoopDevice, mounted: Mount, filesystem: str
) -> None:
    blank = loop_device(512 * MIB)
    run(f"mkfs.{filesystem}", "-q", "-F" if filesystem == "ext4" else "-f", blank)

    def told(change: Callable[[str, str], object]) -> None:
        shown = inspect(blank)
        code = consent_code([shown])
        proved(blank, inspect(blank))
        point = mounted(blank)
        change(blank, str(point))
        run("umount", str(point))
        with pytest.raises(DeviceChanged):
            proved(blank, shown)
        with pytest.raises(ConsentStale):
            check_consent(code, [inspect(blank)])

    chosen = tuple(FILLED) if filesystem == "ext4" else ("a file",)
    each({name: FILLED[name] for name in tried(chosen, (chosen[0], chosen[-1]))}, told)


KIB = 1024
KEPT: dict[str, tuple[int, bytes]] = {
    "an LVM label in the fourth sector": (3 * 512, b"LABELONE"),
    "Oracle ASM": (32, b"ORCLDISKDATA"),
    "Stratis, the second copy": (9 * 512, b"!Stra0tis\x86\xff\x02^\x41rh"),
    "bcache": (4 * KIB + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    "f2fs, the second superblock": (5 * KIB, b"\x10\x20\xf5\xf2"),
    "LUKS2, the second header": (16 * KIB, b"SKUL\xba\xbe"),
    "ISO 9660": (32 * KIB + 1, b"CD001"),
    "UDF": (34 * KIB + 1, b"NSR03"),
    "btrfs": (64 * KIB + 64, b"_BHRfS_M"),
    "ZFS, the second label": (384 * KIB, b"\x0c\xb1\xba\x00"),
    "a raw database": (1000 * KIB + 1, b"x"),
    "VMFS": (MIB, b"\x0d\xd0\x01\xc0"),
    "ext, the second superblock, blocks of 1 KiB": (8193 * KIB + 56, b"\x53\xef"),
    "ext, the second superblock, blocks of 2 KiB": (32 * MIB + 56, b"\x53\xef"),
    "xfs, the second superblock": (40 * MIB, b"XFSB"),
    "btrfs, the second superblock": (64 * MIB + 64, b"_BHRfS_M"),
    "ext, the second superblock, blocks of 4 KiB": (128 * MIB + 56, b"\x53\xef"),
    "bcachefs, the last superblock": (24 - MIB, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    "what DRBD keeps before its superblock": (-600 * KIB, b"x"),
    "ZFS, the last label": (-128 * KIB, b"\x0c\xb1\xba\x00"),
    "md 0.90": (-64 * KIB, b"\xfc\x4e\x2b\xa9"),
    "Promise RAID": (-63 * 512, b"Promise Technology, Inc."),
    "md 1.0": (-8 * KIB, b"\xfc\x4e\x2b\xa9"),
    "DRBD": (60 - 4 * KIB, b"\x83\x74\x02\x6b"),
    "Intel RAID": (-1024, b"Intel Raid ISM Cfg Sig. "),
    "a GPT's second header": (-512, b"EFI PART"),
    "NTFS, the second boot sector": (3 - 512, b"NTFS    "),
    "DDF": (-512, b"\x11\xde\x11\xde"),
}
"""Where formats keep what a wipe of the rest leaves, from the start or the end (util-linux, libblkid/src/superblocks)."""
AT_PLACES = (
    "an LVM label in the fourth sector", "LUKS2, the second header", "a raw database", "ext, the second superblock, blocks of 4 KiB",
    "bcachefs, the last superblock", "what DRBD keeps before its superblock", "md 1.0", "a GPT's second header", "DDF",
)  # fmt: skip
"""One of each region, for the test command."""


def test_nothing_that_a_format_keeps_at_an_odd_place_of_a_scratch_device_is_wiped_unasked(
    scratch_folder: Path,
) -> None:
    made = scratch.create(160 * MIB, str(scratch_folder))

    def asked(place: int, kept: bytes) -> None:
        at = place % made.size_bytes
        write(made.device, at, kept)
        with unchanged(made.device):
            told = questions(inspect(made.device))
        assert "holds what no run" in told["scratch-kept"], told
        write(made.device, at, bytes(len(kept)))

    each({name: KEPT[name] for name in tried(tuple(KEPT), AT_PLACES)}, asked)


def test_a_scratch_device_is_asked_about_also_where_no_sample_shows_what_was_written(
    scratch_folder: Path,
) -> None:
    made = scratch.create(256 * MIB, str(scratch_folder))
    assert not inspect(made.device).needs_consent
    write(made.device, 75 * MIB + 4096, b"dear")
    assert "was written to since it was made" in questions(inspect(made.device))["scratch-kept"]
    block.detach(made.device)
    wait_until(lambda: not loops_under(str(scratch_folder)), "it is detached")
    assert inspect(scratch.attach(made.path).device).needs_consent


LETTERS, UNSAMPLED = b"dear", 75 * MIB + 4096


def mapped(path: str) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[UNSAMPLED : UNSAMPLED + len(LETTERS)] = LETTERS


def by_dd(path: str) -> None:
    place = (f"seek={UNSAMPLED}", "oflag=seek_bytes", "conv=notrunc", "status=none")
    subprocess.run(["dd", f"of={path}", *place], input=LETTERS, check=True)


def through_another_loop(path: str) -> None:
    with loop_over(path) as second:
        write(second, UNSAMPLED, LETTERS)


def by_cp(path: str) -> None:
    yours = f"{path}.yours"
    run("cp", "--preserve=all", path, yours)
    by_dd(yours)
    run("touch", "--reference", path, yours)
    run("cp", "--preserve=timestamps", yours, path)


WRITES: dict[str, tuple[Callable[[str], object], bool]] = {
    "by dd": (by_dd, True),
    "by dd, detached": (by_dd, False),
    "through a mapping": (mapped, True),
    "through a second loop": (through_another_loop, True),
    "by cp into its place": (by_cp, False),
}


def test_scratch_file_with_restored_mtime_is_asked_about(scratch_folder: Path) -> None:
    """A backup tool restores what it finds in a file and then its mtime; no sample shows what was written here."""

    def asked(put: Callable[[str], object], is_attached: bool) -> None:
        made = scratch.create(128 * MIB, str(scratch_folder))
        assert not inspect(made.device).needs_consent
        if not is_attached:
            block.detach(made.device)
            wait_until(lambda: not scratch.find(made.path).attached, "it is detached")
        before = os.stat(made.path)
        put(made.path)
        os.utime(made.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        device = scratch.attach(made.path).device
        with unchanged(device):
            told = questions(inspect(device))
        assert told == {"scratch-kept": "is a scratch device, but it was written to since it was made"}
        scratch.remove(scratch.find(made.path))

    each(WRITES, asked)


def test_scratch_file_without_record_is_asked_about_until_run(scratch_folder: Path, tmp_path: Path) -> None:
    made = scratch.create(64 * MIB, str(scratch_folder))
    records.remove_record(made.scratch_id)
    plan, runs = written(tmp_path, TINY_PLAN), ("--runs", str(tmp_path / "runs"))
    words = ("run", plan, "--device", made.device, *runs)
    with unchanged(made.device):
        fails(ExitCode.CONSENT_MISSING, *words)
    assert "no record of how fsconsole left it" in questions(inspect(made.device))["scratch-kept"]
    offer = json.loads(succeed("plan", plan, "--device", made.device, *runs, "--json"))
    succeed(*words, "--consent", offer["consent"])
    # What is on it now, and that nothing came after it, is on record, also for another boot.
    succeed(*words)
    block.detach(made.device)
    wait_until(lambda: not scratch.find(made.path).attached, "it is detached")
    made = scratch.attach(made.path)
    assert not inspect(made.device).needs_consent
    record = records.read_record(made.scratch_id)
    for changes in ({"generation": record.generation + 1}, {"inode": 1}, {"ctime_ns": 1}, {"left": "d0"}):
        records.write_record(replace(record, **changes))
        assert inspect(made.device).needs_consent, changes
    scratch.remove(made)
    assert records.read_record(made.scratch_id) == records.NO_RECORD


def test_a_scratch_device_is_wiped_unasked_only_while_nobody_keeps_anything_on_it(device: str, tmp_path: Path) -> None:
    assert not inspect(device).needs_consent
    with held_by_another_process(device, "os.O_RDONLY"):
        assert set(refusals(inspect(device))) == {"open-elsewhere"}
    run("mkfs.ext4", "-q", device)
    report = inspect(device)
    assert set(questions(report)) == {"filesystem", "data", "scratch-kept"}
    with pytest.raises(ConsentMissing):
        check_consent("", [report])


def test_a_scratch_file_that_was_renamed_or_copied_is_no_scratch_file_to_wipe_unasked(tmp_path: Path) -> None:
    made = scratch.create(64 * MIB, str(tmp_path / "scratch"))
    try:
        block.detach(made.device)
        renamed, copy = tmp_path / "vm-disk.img", tmp_path / "copy.img"
        run("cp", "--archive", made.path, str(copy))
        os.rename(made.path, renamed)
        with loop_over(str(renamed)) as device:
            assert questions(inspect(device)).keys() == {"scratch-kept"}
        with loop_over(str(copy)) as device:
            assert inspect(device).needs_consent
            assert not inspect(device).device.is_scratch
    finally:
        shutil.rmtree(tmp_path / "scratch")


COPYING = (
    ("cp", "--archive"),
    ("cp", "--attributes-only", "--preserve=all"),
    ("cp", "--archive", "--reflink=auto", "--sparse=always"),
)


def test_a_mark_that_was_copied_with_a_file_makes_no_scratch_device(
    own_scratch: scratch.Scratch, tmp_path: Path
) -> None:
    for number, copy in enumerate(COPYING):
        yours = tmp_path / f"yours{number}.img"
        run(*copy, own_scratch.path, str(yours))
        assert b'"id"' in os.getxattr(yours, "trusted.fsconsole.scratch")
        os.truncate(yours, 16 * MIB)
        with loop_over(str(yours)) as device:
            assert inspect(device).needs_consent, copy
    assert not inspect(own_scratch.device).needs_consent


def test_a_disk_that_can_not_be_read_is_refused_also_in_the_middle_of_a_run(blank: str, tmp_path: Path) -> None:
    def refused(left_bytes: int, is_ours: bool) -> None:
        # With direct I/O a loop device answers reads beyond the end of its file with EIO (drivers/block/loop.c).
        os.truncate(file_below(blank), left_bytes)
        report = inspect(blank, content_is_ours=is_ours)
        (hazard,) = report.refusals
        assert hazard.reason == f"could not be proved free: the signatures on {blank}: Input/output error"
        assert f"`smartctl --all {blank}`" in hazard.hint
        with pytest.raises(DeviceRefused):
            require(report)

    each({"to the end": (4 * MIB, False), "in a run": (4 * MIB, True), "at all": (0, False)}, refused)
