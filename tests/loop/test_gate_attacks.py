"""Ways by which a device could be wiped that nobody agreed to, each tried on real devices."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.claims import lock_whole_disk
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run
from fsconsole.model.plan import StepKind
from fsconsole.model.run import RunRequest
from tests.conftest import MakeLoopDevice, run
from tests.loop.gate_cases import (
    MIB,
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    partitions,
    refusals,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, fsconsole, new_run
from tests.loop.test_kill_engine import hanging, kill_engine

pytestmark = pytest.mark.root

SIZE = 64 * MIB


@pytest.mark.parametrize(
    "copy",
    [
        ("cp", "--archive", "{mine}", "{yours}"),
        ("cp", "--attributes-only", "--preserve=all", "{mine}", "{yours}"),
        ("cp", "--archive", "--reflink=auto", "--sparse=always", "{mine}", "{yours}"),
    ],
    ids=" ".join,
)
def test_a_mark_that_was_copied_with_a_file_makes_no_scratch_device(
    tmp_path: Path, copy: tuple[str, ...]
) -> None:
    made = scratch.create(16 * MIB, str(tmp_path / "scratch"))
    yours = str(tmp_path / "yours.img")
    try:
        run(*(word.format(mine=made.path, yours=yours) for word in copy))
        assert b'"id"' in os.getxattr(yours, "trusted.fsconsole.scratch")
        os.truncate(yours, 16 * MIB)
        with loop_over(yours) as device:
            assert inspect(device).needs_consent
        assert not inspect(made.device).needs_consent
    finally:
        scratch.remove(made)


def killed_between_cells(device: str, directory: Path) -> str:
    """Leave a run whose first cell is done and whose engine died before the second; return its runs folder."""
    runs_dir = str(directory / "runs")
    folder = new_run(TINY_PLAN, device, runs_dir)
    kill_engine(hanging(folder, StepKind.GATE, "before", directory / "marker"))
    return runs_dir


def test_a_run_that_is_resumed_wipes_nothing_that_came_onto_the_device_in_between(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    runs_dir = killed_between_cells(device, tmp_path)
    # A raw database, or plain dm-crypt: no tool sees a signature in it.
    run("wipefs", "--all", device)
    write(device, 0, os.urandom(MIB))
    with unchanged(device):
        done = fsconsole("resume", "--runs", runs_dir)
    assert done.returncode == ExitCode.CONSENT_MISSING
    assert "is no longer there" in done.stderr


def test_a_partition_that_a_run_holds_can_not_be_moved(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30)) as (one,):
        with lock_whole_disk(find_device(one)):
            moved = subprocess.run(["delpart", disk, "1"], check=False, capture_output=True, text=True)
        assert moved.returncode != 0
        assert "busy" in moved.stderr


def test_a_loop_whose_file_another_process_has_open_is_refused(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    other_name = tmp_path / "disk of a virtual machine.img"
    os.link(file_below(device), other_name)
    assert refusals(inspect(device)) == {}
    with held_by_another_process(str(other_name), "os.O_RDWR") as pid:
        assert f"file that is open in process {pid}" in refusals(inspect(device))["open-elsewhere"]
        with loop_over(device) as top:
            assert f"file that is open in process {pid}" in refusals(inspect(top))["open-elsewhere"]
    assert refusals(inspect(device)) == {}


def with_command(kind: StepKind, *argv: str) -> Callable[[RunRequest, str], RunRequest]:
    """Return the edit that puts another command into a step of the second cell; OTHER is a second device."""

    def edit(request: RunRequest, other: str) -> RunRequest:
        first, second = request.plan.cells
        words = tuple(word.replace("OTHER", other) for word in argv)
        steps = tuple(replace(s, commands=(words,)) if s.kind is kind else s for s in second.steps)
        return replace(request, plan=replace(request.plan, cells=(first, replace(second, steps=steps))))

    return edit


def with_word(request: RunRequest, other: str) -> RunRequest:
    """Put a second device among the words of a variant, and so into the commands that follow from them."""
    first, second = request.plan.cells
    words = (*second.variant.mkfs_words, "-J", f"device={other}")
    variant = replace(second.variant, mkfs_words=words)
    mkfs = ("mkfs.ext4", "-F", "-U", second.uuid, *words, second.target)
    steps = tuple(replace(s, commands=(mkfs,)) if s.kind is StepKind.MKFS else s for s in second.steps)
    cell = replace(second, variant=variant, steps=steps)
    return replace(request, plan=replace(request.plan, cells=(first, cell)))


def with_target(request: RunRequest, other: str) -> RunRequest:
    first, second = request.plan.cells
    return replace(request, plan=replace(request.plan, cells=(first, replace(second, target=other))))


def with_uuid(request: RunRequest, _other: str) -> RunRequest:
    first, second = request.plan.cells
    return replace(request, plan=replace(request.plan, cells=(first, replace(second, uuid="clear"))))


def without_consent(request: RunRequest, _other: str) -> RunRequest:
    return replace(request, targets=tuple(replace(target, consent="") for target in request.targets))


EDITS: dict[str, tuple[Callable[[RunRequest, str], RunRequest], ExitCode]] = {
    "mkfs of a second device": (
        with_command(StepKind.MKFS, "mkfs.ext4", "-F", "OTHER"), ExitCode.JOURNAL_UNUSABLE),
    "a discard of a second device": (
        with_command(StepKind.EQUALISE, "blkdiscard", "-f", "OTHER"), ExitCode.JOURNAL_UNUSABLE),
    "a mount of a second device": (
        with_command(StepKind.MOUNT, "mount", "OTHER", "/run/fsconsole/mnt"), ExitCode.JOURNAL_UNUSABLE),
    "a removal elsewhere": (
        with_command(StepKind.DELETE, "rm", "-rf", "--", "/nonexistent"), ExitCode.JOURNAL_UNUSABLE),
    "any program": (
        with_command(StepKind.FEATURES, "dd", "if=/dev/zero", "of=OTHER"), ExitCode.JOURNAL_UNUSABLE),
    "a journal on a second device": (with_word, ExitCode.JOURNAL_UNUSABLE),
    "another target": (with_target, ExitCode.JOURNAL_UNUSABLE),
    "another word for the UUID": (with_uuid, ExitCode.JOURNAL_UNUSABLE),
    "no consent": (without_consent, ExitCode.CONSENT_MISSING),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "code"), EDITS.values(), ids=EDITS)
def test_a_run_folder_that_was_edited_makes_no_engine_do_what_fsconsole_would_not(
    loop_device: MakeLoopDevice,
    tmp_path: Path,
    edit: Callable[[RunRequest, str], RunRequest],
    code: ExitCode,
) -> None:
    device, other = loop_device(SIZE), loop_device(SIZE)
    request = read_state(new_run(TINY_PLAN, device, str(tmp_path / "honest"))).request
    create_run(str(tmp_path / "edited"), edit(request, other))
    with unchanged(device), unchanged(other):
        done = fsconsole("resume", "--runs", str(tmp_path / "edited"))
    assert done.returncode == code, done.stderr
