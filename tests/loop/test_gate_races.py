"""Contents and changes that the gate finds before and after consent."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.gate import GateReport, check_consent, consent_code, require, require_same
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentMissing, ConsentStale, DeviceChanged, DeviceRefused
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.system import block
from fsconsole.system.files import opened
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import each
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
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end
from tests.loop.test_kill_engine import CELL, hanging

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
    assert report.loss == "nothing that a probe and a sample of its blocks show"
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

    each(FILLED if filesystem == "ext4" else {name: FILLED[name] for name in ("a file",)}, told)


def test_a_scratch_device_is_wiped_unasked_only_while_nobody_keeps_anything_on_it(
    device: str, tmp_path: Path
) -> None:
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


RACES = {
    "mounted": (mounts_it, {ExitCode.DEVICE_MOUNTED, ExitCode.DEVICE_CHANGED}, CellStatus.STOPPED),
    "formatted": (formats_it, {ExitCode.DEVICE_CHANGED}, CellStatus.STOPPED),
    # Who only has it open is waited for, and costs a cell, not the run.
    "opened": (opens_it, {ExitCode.CELLS_FAILED}, CellStatus.FAILED),
}


@pytest.mark.parametrize(("act", "codes", "status"), RACES.values(), ids=RACES)
def test_what_happened_since_the_gate_is_seen_before_the_wipe(
    blank: str, tmp_path: Path, act: Callable[..., object], codes: set[ExitCode], status: CellStatus
) -> None:
    folder = new_run(TINY_PLAN, blank, str(tmp_path / "runs"))
    engine = hanging(folder, StepKind.EQUALISE, "before", tmp_path / "marker")
    with act(blank, tmp_path), unchanged(blank):  # type: ignore[attr-defined]
        # Longer than one proof holds.
        run("sleep", "1.2")
        (tmp_path / "marker").unlink()
        engine.wait(timeout=60)
        wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code in codes
    assert after.cells[0].status is CellStatus.DONE
    assert after.cells[CELL].status is status


def test_a_disk_that_can_not_be_read_is_refused_also_in_the_middle_of_a_run(
    blank: str, tmp_path: Path
) -> None:
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
