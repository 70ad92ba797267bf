"""Resume after a kill, a reboot or an exchange of devices, and runs that came from elsewhere."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.client.engine import create_request
from fsconsole.devices import scratch
from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.devices.gate import inspect_device
from fsconsole.engine.proof import Prover, UnprovenTarget, look_again, renew
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentOutdated, DeviceChanged
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.device import Identity
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    MemberLeft,
    Observation,
    Outcome,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import CellStatus
from fsconsole.model.wire import decode, encode
from fsconsole.plan.arrays import EVERY_LEVEL
from fsconsole.preflight import prepare as preparing
from fsconsole.system import block
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import assert_plain, assert_told, command, fails
from tests.loop.gate_cases import context, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run
from tests.loop.test_kill_engine import hanging, kill_engine
from tests.tui.recorded import recorded

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
        names = (device, "killed while it wiped", f"fsconsole resume {folder.name} --show")
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


PLAN = """
schema = 1
order = "as-listed"
[[array]]
level = ["raid1", "raid0"]
[[variant]]
type = "ext4"
[[workload]]
kind = "create"
file_size = "1MiB"
"""
ARRAY_STEP = 2


@pytest.fixture
def devices(loop_device: MakeLoopDevice) -> tuple[str, str]:
    return loop_device(SIZE), loop_device(SIZE)


@pytest.fixture
def folder(devices: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two cells on arrays of both devices, agreed to, on which remains of the first array lie."""
    monkeypatch.setattr(preparing, "array_support", lambda: EVERY_LEVEL)
    (tmp_path / "plan.toml").write_text(PLAN)
    run_id, runs = make_run_id(), str(tmp_path / "runs")
    os.mkdir(runs)
    prepared = preparing.prepare(
        str(tmp_path / "plan.toml"), devices, executor=RealExecutor(), runs_dir=runs, run_id=run_id
    )
    folder = create_run(runs, create_request(run_id, prepared.plan, prepared.targets))
    for device in devices:
        for offset in sample_offsets(SIZE)[1:]:
            write(device, offset, os.urandom(BLOCK_BYTES))
    return folder


def tell(folder: RunFolder, *observations: Observation) -> None:
    journal = JournalWriter(folder)
    for observation in observations:
        journal.record(observation)
    journal.close(finished=True)


def array_made(cell: int, attempt: int, outcome: Outcome | None = Outcome.DONE) -> tuple[Observation, ...]:
    begun = (
        RunStarted(attempt, "0.1.0", "boot", "6.1", "box"),
        CellStarted(cell, attempt),
        StepStarted(cell, attempt, ARRAY_STEP, StepKind.ARRAY, "make it"),
    )
    ended = () if outcome is None else (StepFinished(cell, attempt, ARRAY_STEP, outcome, 1.0),)
    return (*begun, *ended)


def ended_cleanly(folder: RunFolder, cell: int = 0, attempt: int = 1) -> None:
    """Let the journal tell of a cell whose array was taken apart, and that its members were looked at then."""
    prover = Prover(RealExecutor(), read_state(folder), folder.path)
    members = read_state(folder).request.plan.cells[cell].members
    left = (MemberLeft(cell, attempt, n, prover.note_left(path)) for n, path in enumerate(members))
    tell(folder, *array_made(cell, attempt), *left, CellFinished(cell, attempt, Outcome.DONE))


def unproven(folder: RunFolder) -> tuple[UnprovenTarget, ...]:
    return look_again(folder, RealExecutor()).unproven


def why(doubt: UnprovenTarget) -> str:
    return str(doubt.why)


def test_after_a_clean_end_nothing_is_asked(folder: RunFolder) -> None:
    ended_cleanly(folder)
    renewal = look_again(folder, RealExecutor())
    assert (renewal.unproven, renewal.consent) == ((), "")
    renew(folder, renewal, "")


def raw_data(device: str) -> None:
    write(device, sample_offsets(SIZE)[7], b"a raw database, which no tool sees")


def nothing_any_more(device: str) -> None:
    write(device, sample_offsets(SIZE)[7], bytes(BLOCK_BYTES))


def a_filesystem(device: str) -> None:
    run("mkfs.ext4", "-q", "-F", device)


@pytest.mark.parametrize("came", [raw_data, nothing_any_more, a_filesystem], ids=lambda came: came.__name__)
def test_what_came_onto_a_member_since_a_clean_end_is_asked_about_and_of_that_member_alone(
    folder: RunFolder, devices: tuple[str, str], came: Callable[[str], None]
) -> None:
    ended_cleanly(folder)
    came(devices[1])
    (doubt,) = unproven(folder)
    assert doubt.target.path == devices[1]
    with pytest.raises(ConsentOutdated, match=devices[1]):
        renew(folder, look_again(folder, RealExecutor()), "")


def test_a_change_of_content_alone_is_told_as_such(folder: RunFolder, devices: tuple[str, str]) -> None:
    ended_cleanly(folder)
    raw_data(devices[0])
    (doubt,) = unproven(folder)
    assert "has changed since this run stopped its array" in why(doubt)


def test_of_an_engine_that_died_within_the_cell_all_members_are_asked_about(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    tell(folder, *array_made(0, 1))
    found = unproven(folder)
    assert [doubt.target.path for doubt in found] == list(devices)
    assert all("nothing on it distinguishes" in why(doubt) for doubt in found)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [(None, "was killed while it wiped"), (Outcome.FAILED, "was interrupted, or failed")],
)
def test_a_clean_end_counts_for_nothing_once_the_next_array_was_begun(
    folder: RunFolder, outcome: Outcome | None, words: str
) -> None:
    ended_cleanly(folder)
    tell(folder, *array_made(1, 1, outcome))
    assert len(unproven(folder)) == 2
    assert all(words in why(doubt) for doubt in unproven(folder))


def test_a_clean_end_counts_for_nothing_after_an_attempt_of_which_the_writes_are_not_known(
    folder: RunFolder,
) -> None:
    ended_cleanly(folder)
    # The second attempt made an array in cell 1; the third began the cell anew, so that its journal forgets it.
    tell(folder, *array_made(1, 2), CellStarted(1, 3))
    assert len(unproven(folder)) == 2


def test_one_member_that_could_not_be_looked_at_is_asked_about_alone(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    prover = Prover(RealExecutor(), read_state(folder), folder.path)
    left = MemberLeft(0, 1, 0, prover.note_left(devices[0]))
    tell(folder, *array_made(0, 1), left, CellFinished(0, 1, Outcome.FAILED, "workload: it failed"))
    assert [doubt.target.path for doubt in unproven(folder)] == [devices[1]]


def test_between_two_cells_of_one_engine_just_what_was_left_has_to_stay(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    state = read_state(folder)
    first, second = state.request.targets
    cell = state.request.plan.cells[0]
    tell(folder, *array_made(0, 1))
    prover = Prover(RealExecutor(), state, folder.path, holds_lock=False)
    for device in devices:
        prover.note_left(device)
        raw_data(device)
    with pytest.raises(DeviceChanged, match="has changed since this run stopped its array"):
        prover.prove_target(first)
    raw_data(devices[1])
    prover.note_left(devices[1])
    prover.prove_target(second)
    prover.note_left(devices[0])
    with prover.wiping(cell, ("mdadm", "--create"), cell.members):
        raw_data(devices[0])
    write(devices[0], sample_offsets(SIZE)[9], b"what the next array writes")
    prover.prove_target(first)


DISK_BYTES = 1024 * MIB
"""As the recorded run's device."""
REFUSED = {
    ExitCode.DEVICE_MISSING, ExitCode.DEVICE_CHANGED, ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE,
    ExitCode.JOURNAL_UNUSABLE, ExitCode.SCRATCH_MISSING,
}  # fmt: skip


def of_its_name(target: Target, _identity: Identity) -> Target:
    return target


def of_its_name_and_no_scratch_device(target: Target, _identity: Identity) -> Target:
    return replace(target, backing_file="", identity=replace(target.identity, scratch_id=""), consent="CODE")


def of_its_name_size_and_serial(target: Target, identity: Identity) -> Target:
    known = replace(identity, boot_id=target.identity.boot_id, serial="ONE")
    return replace(target, backing_file="", identity=known, consent="CODE")


def copied(directory: Path, device: str, edit: Callable[[Target, Identity], Target]) -> RunFolder:
    """Return a recorded run, whose engine was killed, with this device where it had its own."""
    folder = recorded("killed", directory)
    identity = inspect_device(device, context()).identity
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        (text,) = journal.execute("SELECT request FROM run").fetchone()
        request = decode(RunRequest, text)
        (target,) = request.targets
        document = encode(replace(request, targets=(edit(target, identity),)))
        moved = document.replace(target.path, device)
        journal.execute("UPDATE run SET request = ?", (moved,))
        journal.execute(
            "UPDATE event SET body = json_set(body, '$.path', ?) WHERE kind = 'target_accepted'", (device,)
        )
    return folder


@pytest.mark.parametrize(
    "edit", [of_its_name, of_its_name_and_no_scratch_device, of_its_name_size_and_serial]
)
def test_a_copied_run_wipes_nothing_that_has_its_devices_name(
    loop_device: MakeLoopDevice, tmp_path: Path, edit: Callable[[Target, Identity], Target]
) -> None:
    device = loop_device(DISK_BYTES)
    write(device, 0, b"letters" * 1000)
    folder = copied(tmp_path / "runs", device, edit)
    with unchanged(device):
        for words in ((), ("--consent", "CODE")):
            done = command("resume", folder.name, *words, "--runs", str(tmp_path / "runs"))
            assert done.returncode in REFUSED, done.stderr
            assert_plain(done.stdout + done.stderr)
        engine = engine_argv((sys.executable, "-I", "-m", "fsconsole.engine", folder.path))
        ended = subprocess.run(engine, check=False, capture_output=True, text=True)
        assert ended.returncode in REFUSED, ended.stderr


def test_a_copied_run_can_be_read_and_cleaned_up(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path / "runs")
    kept = ("--runs", str(tmp_path / "runs"))
    assert command("results", folder.name, *kept).returncode == 0
    assert "the engine died" in command("cleanup", *kept).stdout
    assert "engine died in workload" in command("runs", *kept).stdout


def test_a_folder_that_others_can_write_has_no_scratch_device_removed(tmp_path: Path) -> None:
    name = "20261121-104500-k7qf"
    made = scratch.create(64 * MIB, str(tmp_path / "scratch"), purpose=f"run {name}")
    try:
        folder = new_run(TINY_PLAN, made.device, str(tmp_path / "runs"), owned_scratch=made.path)
        request = replace(read_state(folder).request, run_id=name)
        with closing(sqlite3.connect(folder.journal)) as journal, journal:
            journal.execute("UPDATE run SET request = ?", (encode(request),))
        end(folder)
        os.chown(folder.path, 1000, 1000)
        assert "left as it is" in command("cleanup", "--runs", str(tmp_path / "runs")).stdout
        assert os.path.exists(made.path)
        os.chown(folder.path, 0, 0)
        assert "removed its scratch device" in command("cleanup", "--runs", str(tmp_path / "runs")).stdout
        assert not os.path.exists(made.path)
    finally:
        if os.path.exists(made.path):
            scratch.remove(made)


def end(folder: RunFolder) -> None:
    """Have a journal say that all of the run's cells are done."""
    journal = JournalWriter(folder)
    journal.record(RunStarted(1, "0.1.0", "boot", "6.18.0", "box"))
    for cell in read_state(folder).request.plan.cells:
        journal.record(CellStarted(cell.index, 1))
        journal.record(CellFinished(cell.index, 1, Outcome.DONE))
    journal.record(RunFinished(Outcome.DONE))
    journal.close(finished=True)
