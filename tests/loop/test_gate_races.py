"""Contents and changes that the gate finds before and after consent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.devices.gate import check_consent, consent_code, re_prove, require
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentMissing, ConsentStale, DeviceChanged, DeviceRefused
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.text import MIB
from tests.conftest import run
from tests.loop.commands import each
from tests.loop.gate_cases import (
    agreed,
    file_below,
    held_by_another_process,
    inspect,
    questions,
    refusals,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end
from tests.loop.test_kill_engine import CELL, hanging

NONE: frozenset[str] = frozenset()
UUID = "3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11"


def test_an_empty_device_raises_no_question_and_still_needs_a_code_that_ends_with_its_first_write(
    blank: str,
) -> None:
    with unchanged(blank):
        report = inspect(blank)
    assert questions(report) == {}
    assert report.content is not None
    assert (report.content.blocks_read, report.content.blocks_nonzero) == (64, 0)
    assert report.loss == "nothing that a probe and a sample of its blocks show"
    with pytest.raises(ConsentMissing):
        check_consent("", [report])
    code = consent_code([report])
    check_consent(code.lower(), [inspect(blank)])
    write(blank, 32 * MIB, os.urandom(2 * MIB))
    with pytest.raises(ConsentStale):
        check_consent(code, [inspect(blank)])
    with pytest.raises(DeviceChanged, match="what is written on it has changed"):
        re_prove(inspect(blank), agreed(report), NONE)


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


def test_before_each_mkfs_only_what_was_shown_or_made_by_this_run_passes(blank: str) -> None:
    run("mkfs.ext4", "-q", blank)
    shown = agreed(inspect(blank))
    re_prove(inspect(blank), shown, NONE)
    run("mkfs.ext4", "-q", "-F", "-U", UUID, blank)
    re_prove(inspect(blank, content_is_ours=True), shown, frozenset({UUID}))
    with pytest.raises(DeviceChanged):
        re_prove(inspect(blank), shown, frozenset({UUID}))
    run("mkfs.ext4", "-q", "-F", blank)
    with unchanged(blank), pytest.raises(DeviceChanged, match=r"holds ext4, UUID .* was not there"):
        re_prove(inspect(blank, content_is_ours=True), shown, frozenset({UUID}))


def test_a_scratch_device_needs_no_consent_whatever_is_on_it_and_is_refused_while_it_is_open(
    device: str,
) -> None:
    run("mkfs.ext4", "-q", device)
    report = inspect(device)
    assert set(questions(report)) == {"filesystem", "data"}
    assert not report.needs_consent
    check_consent("", [report])
    re_prove(report, agreed(report), NONE)
    with held_by_another_process(device, "os.O_RDONLY"):
        assert set(refusals(inspect(device))) == {"open-elsewhere"}


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
    "mounted": (mounts_it, {ExitCode.DEVICE_MOUNTED, ExitCode.DEVICE_CHANGED}),
    "formatted": (formats_it, {ExitCode.DEVICE_CHANGED}),
    "opened": (opens_it, {ExitCode.DEVICE_REFUSED}),
}


@pytest.mark.parametrize(("act", "codes"), RACES.values(), ids=RACES)
def test_what_happened_since_the_gate_is_seen_before_the_wipe(
    blank: str, tmp_path: Path, act: Callable[..., object], codes: set[ExitCode]
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
    assert after.cells[CELL].status is CellStatus.STOPPED


def test_a_disk_that_can_not_be_read_is_refused_also_in_the_middle_of_a_run(
    blank: str, tmp_path: Path
) -> None:
    def refused(left_bytes: int, is_ours: bool) -> None:
        # With direct I/O a loop device answers reads beyond the end of its file with EIO (drivers/block/loop.c).
        os.truncate(file_below(blank), left_bytes)
        report = inspect(blank, content_is_ours=is_ours)
        (hazard,) = report.refusals
        assert hazard.reason == f"could not be proved free: the signatures on {blank}: Input/output error"
        assert "`smartctl --all DEVICE`" in hazard.hint
        with pytest.raises(DeviceRefused):
            require(report)

    each({"to the end": (4 * MIB, False), "in a run": (4 * MIB, True), "at all": (0, False)}, refused)
