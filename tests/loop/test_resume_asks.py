"""A run taken up again: what is proved to be its own goes on unasked, anything else is asked about anew."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.state import CellStatus
from fsconsole.system import block
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import assert_told, command, fails
from tests.loop.gate_cases import MIB, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run
from tests.loop.test_kill_engine import hanging, kill_engine

pytestmark = pytest.mark.root

SIZE = 64 * MIB
IN_ANOTHER_BOOT = (
    "unshare", "--mount", "--propagation", "private",
    "sh", "-c", 'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"', "sh",
)  # fmt: skip
"""Starts a command that reads another boot_id, from a file; what it starts reads the same."""


def killed(device: str, directory: Path, kind: StepKind, position: str = "after") -> RunFolder:
    """Leave a run whose first cell is done and whose engine died in a step of the second."""
    folder = new_run(TINY_PLAN, device, str(directory / "runs"))
    kill_engine(hanging(folder, kind, position, directory / "marker"))
    return folder


def runs_of(folder: RunFolder) -> tuple[str, str]:
    return ("--runs", str(Path(folder.path).parent))


def shown(folder: RunFolder, under: tuple[str, ...] = ()) -> dict[str, object]:
    done = command("resume", folder.name, "--show", "--json", *runs_of(folder), under=under)
    assert done.returncode == 0, done.stderr
    value: dict[str, object] = json.loads(done.stdout)
    return value


def finish(folder: RunFolder, *words: str, under: tuple[str, ...] = ()) -> None:
    done = command("resume", folder.name, *words, *runs_of(folder), under=under)
    assert done.returncode == 0, done.stderr
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}


@pytest.fixture
def other_boot(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "boot_id").write_text(f"{uuid.uuid4()}\n")
    return (*IN_ANOTHER_BOOT, str(tmp_path / "boot_id"))


@pytest.mark.parametrize("kind", [StepKind.EQUALISE, StepKind.MKFS], ids=lambda kind: kind.value)
def test_a_device_whose_wipe_was_cut_short_is_asked_about_again(
    loop_device: MakeLoopDevice, tmp_path: Path, kind: StepKind
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, kind)
    with unchanged(device):
        names = (device, "ended while it wiped", f"fsconsole resume {folder.name} --show")
        fails(ExitCode.CONSENT_MISSING, "resume", *runs_of(folder), names=names)
        consent = str(shown(folder)["consent"])
    finish(folder, "--consent", consent)


def test_no_code_of_before_fits_data_that_came_onto_the_device_since(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.EQUALISE)
    first, before = read_state(folder).request.targets[0].consent, str(shown(folder)["consent"])
    # A raw database, or plain dm-crypt: no tool sees a signature in it.
    write(device, 0, os.urandom(MIB))
    with unchanged(device):
        fails(ExitCode.CONSENT_MISSING, "resume", *runs_of(folder))
        for code in (first, before):
            fails(ExitCode.CONSENT_STALE, "resume", "--consent", code, *runs_of(folder), names=(device,))
        now = shown(folder)
    (target,) = now["targets"]  # type: ignore[misc]
    assert "data in" in target["loss"]
    finish(folder, "--consent", str(now["consent"]))


@pytest.mark.parametrize(
    "kind", [StepKind.GATE, StepKind.WORKLOAD, StepKind.CHECK], ids=lambda kind: kind.value
)
def test_a_device_with_the_filesystem_of_the_run_is_not_asked_about_again(
    loop_device: MakeLoopDevice, tmp_path: Path, kind: StepKind
) -> None:
    folder = killed(loop_device(SIZE), tmp_path, kind)
    assert shown(folder)["consent"] == ""
    finish(folder)


def test_show_prints_what_is_left_what_is_lost_and_the_command_that_agrees(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.MKFS)
    run("mkfs.ext4", "-q", "-F", "-L", "[/photos]", device)
    with unchanged(device):
        done = command("resume", "--show", *runs_of(folder))
    assert "ext4 data=writeback" in done.stdout
    assert "ext4 data=ordered" not in done.stdout
    assert "would be LOST" in done.stdout
    assert "[/photos]" in done.stdout
    in_one_line = " ".join(done.stdout.replace("\\\n", " ").split())
    assert f" fsconsole resume {folder.name} --runs {runs_of(folder)[1]} --consent " in in_one_line
    assert "Nothing was touched." in done.stdout


def test_a_mounted_device_is_refused_whatever_code_is_given(
    loop_device: MakeLoopDevice, tmp_path: Path, mounted: Mount
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.EQUALISE)
    consent = str(shown(folder)["consent"])
    run("mkfs.ext4", "-q", "-F", device)
    # For reading: ext4 itself would write a few seconds later.
    mounted(device, options="ro")
    with unchanged(device):
        for words in ((), ("--show",), ("--consent", consent)):
            fails(ExitCode.DEVICE_MOUNTED, "resume", *words, *runs_of(folder), names=(device,))


def test_another_disk_under_the_same_name_is_no_matter_of_consent(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.GATE)
    block.detach(device)
    (tmp_path / "another").touch()
    os.truncate(tmp_path / "another", 2 * SIZE)
    run("losetup", device, str(tmp_path / "another"))
    try:
        with unchanged(device):
            for words in ((), ("--show",), ("--consent", "00000-00000-00000")):
                fails(ExitCode.DEVICE_CHANGED, "resume", *words, *runs_of(folder), names=(device, "size"))
    finally:
        block.detach(device)


@pytest.fixture
def scratch_device(tmp_path: Path) -> Iterator[scratch.Scratch]:
    made = scratch.create(SIZE, str(tmp_path / "scratch"))
    yield made
    scratch.remove(scratch.find(made.path))


def test_after_a_reboot_a_scratch_device_is_attached_again_and_the_run_goes_on_unasked(
    scratch_device: scratch.Scratch,
    loop_device: MakeLoopDevice,
    tmp_path: Path,
    other_boot: tuple[str, ...],
) -> None:
    folder = killed(scratch_device.device, tmp_path, StepKind.MKFS)
    block.detach(scratch_device.device)
    taken = tmp_path / "taken"
    taken.touch()
    os.truncate(taken, MIB)
    run("losetup", scratch_device.device, str(taken))
    try:
        finish(folder, under=other_boot)
    finally:
        block.detach(scratch_device.device)
    after = read_state(folder)
    (target,) = after.request.targets
    assert target.path != scratch_device.device
    commands = [argv for step in after.cells[1].steps for known in step.commands for argv in known.argv]
    assert target.path in commands
    assert scratch_device.device not in commands


def test_after_a_reboot_a_device_without_a_lasting_name_is_asked_about(
    loop_device: MakeLoopDevice, tmp_path: Path, other_boot: tuple[str, ...]
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.GATE)
    with unchanged(device):
        done = command("resume", *runs_of(folder), under=other_boot)
        assert_told(done, ExitCode.CONSENT_MISSING, device, "no WWN, serial number or marker")
        here, there = shown(folder), shown(folder, under=other_boot)
    assert here["consent"] == ""
    finish(folder, "--consent", str(there["consent"]), under=other_boot)


def test_a_scratch_file_that_is_gone_is_told(tmp_path: Path) -> None:
    made = scratch.create(SIZE, str(tmp_path / "scratch"))
    folder = killed(made.device, tmp_path, StepKind.GATE)
    scratch.remove(made)
    fails(ExitCode.DEVICE_CHANGED, "resume", *runs_of(folder), names=(made.path, "is gone"))


def without_gates(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.kind is not StepKind.GATE)


def mkfs_first(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.kind is not StepKind.MKFS))


def check_twice(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return (*steps, *(step for step in steps if step.kind is StepKind.CHECK))


@pytest.mark.parametrize("edit", [without_gates, mkfs_first, check_twice], ids=lambda edit: edit.__name__)
def test_a_run_folder_whose_steps_were_left_out_or_turned_round_is_not_carried_out(
    loop_device: MakeLoopDevice, tmp_path: Path, edit: Callable[[tuple[Step, ...]], tuple[Step, ...]]
) -> None:
    device = loop_device(SIZE)
    request = read_state(new_run(TINY_PLAN, device, str(tmp_path / "honest"))).request
    folder = create_run(str(tmp_path / "edited"), with_steps(request, edit))
    with unchanged(device):
        fails(ExitCode.JOURNAL_UNUSABLE, "resume", *runs_of(folder), names=("has other steps",))


def with_steps(request: RunRequest, edit: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> RunRequest:
    first, second = request.plan.cells
    cells = (first, replace(second, steps=edit(second.steps)))
    return replace(request, plan=replace(request.plan, cells=cells))
