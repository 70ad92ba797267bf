"""Resume after a kill, a reboot or an exchange of devices, and runs that came from elsewhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.client.engine import remove_owned_scratch
from fsconsole.devices import scratch
from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.devices.gate import inspect_device
from fsconsole.devices.hazards import SCRATCH_KEPT
from fsconsole.engine.proof import Prover, look_again, renew
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import ConsentOutdated, DeviceChanged
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.seal import check_seals
from fsconsole.model.device import Fingerprint, Identity
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    DeviceLeft,
    Observation,
    Outcome,
    RunStarted,
    StepFinished,
    StepStarted,
)
from fsconsole.model.plan import StepKind
from fsconsole.model.run import Target
from fsconsole.model.state import CellStatus
from fsconsole.model.wire import encode
from fsconsole.plan.arrays import EVERY_LEVEL
from fsconsole.preflight import prepare as preparing
from fsconsole.system import block
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, unmount
from tests.lab.soak import tried
from tests.loop.commands import OwnLoop, assert_plain, assert_told, command, each, fails
from tests.loop.gate_cases import context, sparse, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run, tell, tell_the_end
from tests.loop.test_kill_engine import hanging, kill_engine
from tests.tui.recorded import recorded
from tests.unit.cli.contract import checked

SIZE = 64 * MIB


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
    (value,) = checked("resume", done.stdout)
    return value


def consent_of(folder: RunFolder, under: tuple[str, ...] = ()) -> str:
    """Return the code that agrees to what resuming a run would wipe; empty where nothing is asked."""
    return str(shown(folder, under)["consent"])


def finish(folder: RunFolder, *words: str, under: tuple[str, ...] = ()) -> None:
    """Resume a run to its end, agreeing to what it asks about where no words say otherwise."""
    consent = "" if words else consent_of(folder, under)
    words = ("--consent", consent) if consent else words
    done = command("resume", folder.name, *words, *runs_of(folder), under=under)
    assert done.returncode == 0, done.stderr
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}


def test_a_device_whose_wipe_was_cut_short_is_asked_about_again(blank: str, tmp_path: Path, mounted: Mount) -> None:
    folder = killed(blank, tmp_path, StepKind.EQUALISE)
    resume, again = ("resume", *runs_of(folder)), f"fsconsole resume {folder.name}"
    with unchanged(blank):
        names = (blank, "the engine was killed in the middle of cell ", f"{again} --show")
        fails(ExitCode.CONSENT_MISSING, *resume, names=names)
        told = consent_of(folder)
        codes = tried((told, read_state(folder).request.targets[0].consent, "00000-00000-00000"), (told,))
    # A raw database, or plain dm-crypt: no tool sees a signature in it.
    write(blank, 0, os.urandom(MIB))
    with unchanged(blank):
        fails(ExitCode.CONSENT_MISSING, *resume)
        names = (blank, f"{again} --runs {runs_of(folder)[1]} --show")
        for code in codes:
            fails(ExitCode.CONSENT_STALE, *resume, "--consent", code, names=names)
        (target,) = shown(folder)["targets"]  # type: ignore[misc]
        assert "data in" in target["loss"]
    run("mkfs.ext4", "-q", "-F", "-L", "[/photos]", blank)
    consent = consent_of(folder)
    # For reading: ext4 itself would write a few seconds later.
    point = mounted(blank, options="ro")
    with unchanged(blank):
        for words in tried(((), ("--show",), ("--consent", consent)), (("--consent", consent),)):
            fails(ExitCode.DEVICE_MOUNTED, *resume, *words, names=(blank,))
        unmount(point)
        printed = command(*resume, "--show").stdout
    for words in ("ext4 data=writeback", "would be LOST", "[/photos]", "Nothing was touched."):
        assert words in printed
    assert "ext4 data=ordered" not in printed
    in_one_line = " ".join(printed.replace("\\\n", " ").split())
    assert f" {again} --runs {runs_of(folder)[1]} --consent {consent}" in in_one_line
    finish(folder, "--consent", consent)


@pytest.mark.parametrize("kind", ["scratch", "other"])
def test_resume_after_kill_tells_one_story(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """What was interrupted, what is on the device, what is lost, and the code: nothing of it contradicts the rest."""
    made = request.getfixturevalue("own_scratch" if kind == "scratch" else "blank")
    device = made.device if kind == "scratch" else made
    folder = killed(device, tmp_path, StepKind.WORKLOAD)
    with unchanged(device):
        answer = shown(folder)
        printed = " ".join(command("resume", *runs_of(folder), "--show").stdout.split())
    ending, kept = (
        "Interrupted: cell 2 of 2, ext4 data=writeback, in its workload: the engine died.",
        "Kept: 1 of 2 cells.",
    )
    made_by = "the engine was killed in the middle of cell 2, which made the ext4 that is on it now"
    (target,) = answer["targets"]  # type: ignore[misc]
    assert answer["resumes"][0] == ending  # type: ignore[index]
    assert target["changed"].startswith(made_by)
    assert SCRATCH_KEPT not in {hazard["check"] for hazard in target["hazards"]}
    for words in (ending, kept, "would be LOST: ext4", made_by, f"--consent {answer['consent']}"):
        assert words in printed
    assert "no run of fsconsole" not in printed
    fails(ExitCode.CONSENT_MISSING, "resume", *runs_of(folder), names=(device, made_by))
    # Another filesystem is not called the cell's.
    run("mkfs.ext4", "-q", "-F", device)
    (target,) = shown(folder)["targets"]  # type: ignore[misc]
    assert "what is on it now is not known to be that cell's" in target["changed"]
    finish(folder)


@pytest.mark.soak
def test_a_device_as_a_cell_left_it_is_not_asked_about_again_and_one_whose_cell_was_killed_is(
    blank: str, tmp_path: Path
) -> None:
    folder = new_run(TINY_PLAN, blank, str(tmp_path / "runs"))
    whole = read_state(folder).request.plan
    for kind in (StepKind.GATE, StepKind.WORKLOAD):
        kill_engine(hanging(folder, kind, "after", tmp_path / "marker"))
        (tmp_path / "marker").unlink()
        left = shown(folder)
        # Only the end of a cell tells what it left.
        assert (left["consent"] == "", left["cell_count"]) == (kind is StepKind.GATE, 1), kind
        told = " ".join(command("resume", "--show", *runs_of(folder)).stdout.split())
        again = f"Devices to wipe again, each as the run left it: {blank} 64.0 MiB; loop over "
        assert (again in told) == (kind is StepKind.GATE), told
        # The two cells are alike.
        assert left["bytes_to_write"] == whole.estimate.bytes_to_write // 2
        assert left["estimate_s"] == pytest.approx(whole.estimate.elapsed_s / 2)
    finish(folder)


def test_a_device_without_a_lasting_name_is_no_other_disk_of_its_name_and_asked_about_after_a_reboot(
    own_loop: OwnLoop, tmp_path: Path, other_boot: tuple[str, ...]
) -> None:
    file, another = sparse(tmp_path / "disk"), sparse(tmp_path / "another", 2 * SIZE)
    own_loop.attach(file)
    folder = killed(own_loop.path, tmp_path, StepKind.GATE)
    resume = ("resume", *runs_of(folder))
    with unchanged(own_loop.path):
        done = command(*resume, under=other_boot)
        assert_told(done, ExitCode.CONSENT_MISSING, own_loop.path, "no WWN, serial number or marker")
        assert consent_of(folder) == ""
    run("wipefs", "--quiet", "--all", own_loop.path)
    write(own_loop.path, 0, os.urandom(MIB))
    with unchanged(own_loop.path):
        fails(ExitCode.CONSENT_MISSING, *resume, names=("is gone from it",))
    own_loop.attach(another)
    with unchanged(own_loop.path):
        for words in tried(((), ("--show",), ("--consent", "00000-00000-00000")), ((),)):
            fails(ExitCode.DEVICE_CHANGED, *resume, *words, names=(own_loop.path, "size"))
    own_loop.attach(file)
    finish(folder, "--consent", consent_of(folder, other_boot), under=other_boot)


def test_after_a_reboot_a_scratch_device_is_attached_again_and_the_run_goes_on(
    own_scratch: scratch.Scratch, tmp_path: Path, other_boot: tuple[str, ...]
) -> None:
    folder = killed(own_scratch.device, tmp_path, StepKind.MKFS)
    block.detach(own_scratch.device)
    taken = sparse(tmp_path / "scratch" / "taken", MIB)
    # Where another test was quicker, its device has the name.
    subprocess.run(["losetup", own_scratch.device, taken], check=False, capture_output=True)
    finish(folder, under=other_boot)
    after = read_state(folder)
    (target,) = after.request.targets
    assert target.path != own_scratch.device
    commands = [argv for step in after.cells[1].steps for known in step.commands for argv in known.argv]
    assert target.path in commands
    assert own_scratch.device not in commands


def test_a_scratch_file_that_is_gone_is_told(own_scratch: scratch.Scratch, tmp_path: Path) -> None:
    folder = new_run(TINY_PLAN, own_scratch.device, str(tmp_path / "runs"))
    scratch.remove(own_scratch)
    fails(ExitCode.DEVICE_CHANGED, "resume", *runs_of(folder), names=(own_scratch.path, "is gone"))


PLAN = """
schema = 1
repeats = 1
order = "as-listed"
array = [{ level = ["raid1", "raid0"] }]
variant = [{ type = "ext4" }]
workload = [{ kind = "create", file_size = "1MiB" }]
"""
ARRAY_STEP = 2


@pytest.fixture
def devices(loop_device: MakeLoopDevice) -> tuple[str, str]:
    return loop_device(SIZE), loop_device(SIZE)


@pytest.fixture
def folder(devices: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two cells on arrays of both devices, agreed to, on which remains of the first array lie."""
    monkeypatch.setattr(preparing, "array_support", lambda: EVERY_LEVEL)
    folder = new_run(PLAN, devices, str(tmp_path / "runs"))
    for device in devices:
        for offset in sample_offsets(SIZE)[1:]:
            write(device, offset, os.urandom(BLOCK_BYTES))
    return folder


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
    seals, _ = check_seals(folder)
    left = [seals.put_on(left_on(prover, cell, attempt, n, path)) for n, path in enumerate(members)]
    tell(folder, *array_made(cell, attempt), *left, CellFinished(cell, attempt, Outcome.DONE))


def left_on(prover: Prover, cell: int, attempt: int, number: int, path: str) -> DeviceLeft:
    """Let a cell have written to a device, and look at what it left."""
    prover.note_writing((path,))
    found = prover.note_left(path)
    assert found is not None
    return DeviceLeft(cell, attempt, number, found)


def unproven(folder: RunFolder) -> dict[str, str]:
    """Return why each target has to be asked about."""
    found = look_again(folder, RealExecutor()).unproven
    return {doubt.report.device.path: str(doubt.why) for doubt in found}


def test_after_a_clean_end_nothing_is_asked(folder: RunFolder) -> None:
    ended_cleanly(folder)
    renewal = look_again(folder, RealExecutor())
    assert (renewal.unproven, renewal.consent) == ((), "")
    renew(folder, renewal, "")


def raw_data(device: str) -> None:
    write(device, sample_offsets(SIZE)[7], b"a raw database, which no tool sees")


CAME: dict[str, tuple[Callable[[str], object], str]] = {
    "raw data": (raw_data, "somebody wrote to it"),
    "nothing any more": (lambda device: write(device, sample_offsets(SIZE)[7], bytes(BLOCK_BYTES)), ""),
    "a filesystem": (lambda device: run("mkfs.ext4", "-q", "-F", device), ""),
}


@pytest.mark.parametrize("name", tried(tuple(CAME), ("raw data",)))
def test_what_came_onto_a_member_since_a_clean_end_is_asked_about_and_of_that_member_alone(
    folder: RunFolder, devices: tuple[str, str], name: str
) -> None:
    came, words = CAME[name]
    ended_cleanly(folder)
    came(devices[1])
    (why,) = unproven(folder).items()
    assert (why[0], words in why[1]) == (devices[1], True)
    with pytest.raises(ConsentOutdated, match=devices[1]):
        renew(folder, look_again(folder, RealExecutor()), "")


@pytest.mark.soak
def test_of_an_engine_that_died_within_the_cell_all_members_are_asked_about(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    tell(folder, *array_made(0, 1))
    found = unproven(folder)
    assert list(found) == list(devices)
    assert all("killed in the middle of a cell" in why for why in found.values())


NEXT_ARRAY = {
    "it was not finished": (array_made(1, 1, None), "killed in the middle of a cell"),
    "it failed": (
        (*array_made(1, 1, Outcome.FAILED), CellFinished(1, 1, Outcome.FAILED)),
        "could not be read",
    ),
    # The second attempt made an array in cell 1; the third began the cell anew, so that its journal forgets it.
    "its writes are not known": ((*array_made(1, 2), CellStarted(1, 3)), ""),
}


@pytest.mark.parametrize("name", tried(tuple(NEXT_ARRAY), ("its writes are not known",)))
def test_a_clean_end_counts_for_nothing_once_the_next_array_was_begun(folder: RunFolder, name: str) -> None:
    made, words = NEXT_ARRAY[name]
    ended_cleanly(folder)
    tell(folder, *made)
    found = unproven(folder)
    assert len(found) == 2
    assert all(words in why for why in found.values())


def test_one_member_that_could_not_be_looked_at_is_asked_about_alone(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    prover = Prover(RealExecutor(), read_state(folder), folder.path)
    left = check_seals(folder)[0].put_on(left_on(prover, 0, 1, 0, devices[0]))
    tell(folder, *array_made(0, 1), left, CellFinished(0, 1, Outcome.FAILED, "workload: it failed"))
    assert list(unproven(folder)) == [devices[1]]


def test_between_two_cells_of_one_engine_just_what_was_left_has_to_stay(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    state = read_state(folder)
    first, second = state.request.targets
    cell = state.request.plan.cells[0]
    tell(folder, *array_made(0, 1))
    prover = Prover(RealExecutor(), state, folder.path, holds_lock=False)
    for device in devices:
        left_on(prover, 0, 1, 0, device)
        raw_data(device)
    with pytest.raises(DeviceChanged, match="somebody wrote to it"):
        prover.prove_target(first)
    left_on(prover, 0, 1, 1, devices[1])
    prover.prove_target(second)
    left_on(prover, 0, 1, 0, devices[0])
    with prover.proved(cell, cell.members, is_held=False):
        prover.note_writing(cell.members)
        raw_data(devices[0])
        prover.note_written(cell.members, ("mdadm", "--create"), 0)
    prover.prove_target(first)
    # Before the next command that wipes, the kernel's counters tell of somebody else's write.
    run("mkfs.ext4", "-q", "-F", "-L", "photos", devices[0])
    with pytest.raises(DeviceChanged, match=r"somebody wrote to it .*; it holds ext4 'photos'"):
        prover.prove_target(first)


DISK_BYTES = 1024 * MIB
"""As the recorded run's device."""
REFUSED = {
    ExitCode.DEVICE_MISSING, ExitCode.DEVICE_CHANGED, ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE,
    ExitCode.JOURNAL_UNUSABLE, ExitCode.SCRATCH_MISSING,
}  # fmt: skip


def seen_as(target: Target, identity: Identity) -> Fingerprint:
    return replace(target.fingerprint, identity=identity)


def copied(directory: Path, device: str, edit: Callable[[Target, Identity], Target]) -> RunFolder:
    """Return a recorded run, whose engine was killed, with this device where it had its own."""
    folder = recorded("killed", directory)
    identity = inspect_device(device, context()).identity
    (target,) = read_state(folder).request.targets
    request = replace(read_state(folder).request, targets=(edit(target, identity),))
    accepted = "UPDATE event SET body = json_set(body, '$.path', ?) WHERE kind = 'target_accepted'"
    rewrite(folder, encode(request).replace(target.path, device), (accepted, (device,)))
    return folder


def rewrite(folder: RunFolder, request: str, *more: tuple[str, tuple[object, ...]]) -> None:
    """Put another request into a run's journal, as an editor of SQLite would."""
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        for statement, values in (("UPDATE run SET request = ?", (request,)), *more):
            journal.execute(statement, values)


COPIES: dict[str, tuple[Callable[[Target, Identity], Target]]] = {
    "of its name": (lambda target, _: target,),
    "of its name, and no scratch device": (
        lambda target, _: replace(
            target,
            backing_file="",
            fingerprint=seen_as(target, replace(target.identity, scratch_id="")),
            consent="CODE",
        ),
    ),
    "of its name, size and serial number": (
        lambda target, identity: replace(
            target,
            backing_file="",
            fingerprint=seen_as(target, replace(identity, boot_id=target.identity.boot_id, serial="ONE")),
            consent="CODE",
        ),
    ),
}


def test_a_copied_run_wipes_nothing_that_has_its_devices_name(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = loop_device(DISK_BYTES)
    write(device, 0, b"letters" * 1000)

    def refused(edit: Callable[[Target, Identity], Target]) -> None:
        runs = tmp_path / f"runs{len(list(tmp_path.glob('runs*')))}"
        folder = copied(runs, device, edit)
        with unchanged(device):
            for words in ((), ("--consent", "CODE")):
                done = command("resume", folder.name, *words, "--runs", str(runs))
                assert done.returncode in REFUSED, done.stderr
                assert_plain(done.stdout + done.stderr)
            ended = carried_out_by_hand(folder)
            assert ended.returncode in REFUSED, ended.stderr

    each(
        {name: COPIES[name] for name in tried(tuple(COPIES), ("of its name", "of its name, size and serial number"))},
        refused,
    )


def carried_out_by_hand(folder: RunFolder) -> subprocess.CompletedProcess[str]:
    """Start the engine of a run, which no command has looked at, and wait for its end."""
    argv = engine_argv((sys.executable, "-I", "-m", "fsconsole.engine", folder.path))
    return subprocess.run(argv, check=False, capture_output=True, text=True)


def test_a_copied_run_can_be_read_and_cleaned_up(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path / "runs")
    kept = ("--runs", str(tmp_path / "runs"))
    assert command("results", folder.name, *kept).returncode == 0
    assert "the engine died" in command("cleanup", *kept).stdout
    assert "engine died in workload" in command("runs", *kept).stdout


def test_a_folder_that_others_can_write_has_no_scratch_device_removed(scratch_folder: Path) -> None:
    name, runs = "20261121-104500-k7qf", str(scratch_folder.parent / "runs")
    made = scratch.create(SIZE, str(scratch_folder), purpose=f"run {name}")
    folder = new_run(TINY_PLAN, made.device, runs, owned_scratch=made.path)
    # The run that it was made for is another one.
    assert not remove_owned_scratch(replace(read_state(folder), cells=()))
    rewrite(folder, encode(replace(read_state(folder).request, run_id=name)))
    assert command("cleanup", "--runs", runs).stdout == "Nothing to clean up.\n"
    tell_the_end(folder)
    os.chown(folder.path, 1000, 1000)
    assert "left as it is" in command("cleanup", "--runs", runs).stdout
    assert os.path.exists(made.path)
    os.chown(folder.path, 0, 0)
    assert "removed its scratch device" in command("cleanup", "--runs", runs).stdout
    assert os.listdir(scratch_folder) == []
    assert command("cleanup", "--runs", runs).stdout == "Nothing to clean up.\n"
