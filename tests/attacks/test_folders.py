"""Run folders from elsewhere: edited, of other users, or told of a device that is another one now."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import RunNotDeleted
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, delete_run, list_runs
from fsconsole.model.plan import Cell, Step, StepKind, Write
from fsconsole.model.run import RunRequest
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.lab.soak import tried
from tests.loop.commands import APART, OwnLoop, assert_told, command, each, fails
from tests.loop.gate_cases import (
    loop_over,
    sparse,
    unchanged,
)
from tests.loop.runs import TINY_PLAN, WHOLE_PLAN, clean_up, new_run
from tests.loop.test_kill_engine import hanging, kill_engine
from tests.loop.test_resume import (
    carried_out_by_hand,
    consent_of,
    finish,
    runs_of,
)

SIZE = 64 * MIB


Edit = Callable[[RunRequest, str], RunRequest]


def of_second_cell(change: Callable[[Cell, str], Cell]) -> Edit:
    """Return the edit that changes the second cell of a run's plan, which is told of a second device."""

    def edit(request: RunRequest, other: str) -> RunRequest:
        first, second = request.plan.cells
        return replace(request, plan=replace(request.plan, cells=(first, change(second, other))))

    return edit


def of_steps(change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Edit:
    """Return the edit that changes the steps of the second cell."""
    return of_second_cell(lambda cell, _: replace(cell, steps=change(cell.steps)))


def with_command(kind: StepKind, *argv: str) -> Edit:
    """Return the edit that puts another command into a step of the second cell; OTHER is a second device."""

    def change(cell: Cell, other: str) -> Cell:
        words = tuple(word.replace("OTHER", other) for word in argv)
        steps = tuple(replace(s, commands=(words,)) if s.kind is kind else s for s in cell.steps)
        return replace(cell, steps=steps)

    return of_second_cell(change)


def with_setting(change: Callable[[Write], Write]) -> Edit:
    """Return the edit that changes what the steps of the second cell write into settings."""
    return of_steps(lambda steps: tuple(replace(s, writes=tuple(map(change, s.writes))) for s in steps))


def with_word(cell: Cell, other: str) -> Cell:
    """Put a second device among the words of a variant, and so into the commands that follow from them."""
    words = (*cell.variant.mkfs_words, "-J", f"device={other}")
    mkfs = ("mkfs.ext4", "-F", "-U", cell.uuid, *words, cell.target)
    steps = tuple(replace(s, commands=(mkfs,)) if s.kind is StepKind.MKFS else s for s in cell.steps)
    return replace(cell, variant=replace(cell.variant, mkfs_words=words), steps=steps)


def without_consent(request: RunRequest, _other: str) -> RunRequest:
    return replace(request, targets=tuple(replace(target, consent="") for target in request.targets))


EVERY_EDIT: dict[str, Edit] = {
    "mkfs of a second device": with_command(StepKind.MKFS, "mkfs.ext4", "-F", "OTHER"),
    "a discard of a second device": with_command(StepKind.EQUALISE, "blkdiscard", "-f", "OTHER"),
    "a mount of a second device": with_command(StepKind.MOUNT, "mount", "OTHER", "/run/fsconsole/mnt"),
    "a removal elsewhere": with_command(StepKind.DELETE, "rm", "-rf", "--", "/nonexistent"),
    "any program": with_command(StepKind.FEATURES, "dd", "if=/dev/zero", "of=OTHER"),
    "a journal on a second device": of_second_cell(with_word),
    "another target": of_second_cell(lambda cell, other: replace(cell, target=other)),
    "another word for the UUID": of_second_cell(lambda cell, _: replace(cell, uuid="clear")),
    "no gates": of_steps(lambda steps: tuple(step for step in steps if step.kind is not StepKind.GATE)),
    "mkfs first": of_steps(lambda steps: tuple(sorted(steps, key=lambda step: step.kind is not StepKind.MKFS))),
    "two checks": of_steps(lambda steps: (*steps, *(step for step in steps if step.kind is StepKind.CHECK))),
    "a setting of another disk": with_setting(lambda w: replace(w, path=w.path.replace("/loop", "/vd"))),
    "another value of a setting": with_setting(lambda w: replace(w, value="4")),
    "no consent": without_consent,
}
# One of each part of a request: a wipe's command, any command, words, a device, the order of steps, a setting, the consent.
CHOSEN = (
    "mkfs of a second device", "any program", "a journal on a second device", "another target", "no gates",
    "a setting of another disk", "no consent",
)  # fmt: skip
EDITS = {name: EVERY_EDIT[name] for name in tried([*EVERY_EDIT], CHOSEN)}


def test_a_run_folder_that_was_edited_makes_no_engine_do_what_fsconsole_would_not(
    blank: str, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    other = loop_device(SIZE)
    plan_text = WHOLE_PLAN + '[settings]\nread_ahead = "2MiB"\n'
    request = read_state(new_run(plan_text, blank, str(tmp_path / "honest"))).request

    def refused(name: str, edit: Edit) -> None:
        create_run(str(tmp_path / name), edit(request, other))
        code = ExitCode.CONSENT_MISSING if edit is without_consent else ExitCode.JOURNAL_UNUSABLE
        fails(code, "resume", "--runs", str(tmp_path / name))

    with unchanged(blank), unchanged(other):
        each({name: (name, edit) for name, edit in EDITS.items()}, refused)


def killed_with_a_serial_number(device: str, directory: Path) -> RunFolder:
    """Leave a run that was killed between its cells, on a device with a serial number."""
    request = read_state(new_run(TINY_PLAN, device, str(directory / "without"))).request
    (target,) = request.targets
    identity = replace(target.identity, serial="ONE")
    named = replace(target, fingerprint=replace(target.fingerprint, identity=identity))
    folder = create_run(str(directory / "runs"), replace(request, targets=(named,)))
    under = with_serial(device, directory)
    kill_engine(hanging(folder, StepKind.GATE, "after", directory / "marker", under=under))
    return folder


@pytest.mark.soak
def test_a_disk_proved_after_a_reboot_is_wiped_and_formatted_without_another_question(
    blank: str, tmp_path: Path, other_boot: tuple[str, ...]
) -> None:
    folder = killed_with_a_serial_number(blank, tmp_path)
    after = (*with_serial(blank, tmp_path), *other_boot)
    assert consent_of(folder, after) == ""
    finish(folder, under=after)


def test_a_disk_that_was_plugged_in_again_under_another_name_is_found_and_asked_about(
    own_loop: OwnLoop, tmp_path: Path
) -> None:
    file, old = sparse(tmp_path / "disk"), own_loop.path
    own_loop.attach(file)
    folder = killed_with_a_serial_number(old, tmp_path)
    # Whatever has the name now is another disk.
    own_loop.attach(sparse(tmp_path / "taken", 2 * SIZE))
    with loop_over(file) as new, unchanged(old):
        under = with_serial(new, tmp_path)
        with unchanged(new):
            done = command("resume", *runs_of(folder), under=under)
            assert_told(done, ExitCode.CONSENT_MISSING, new, "name: ")
            consent = consent_of(folder, under)
        finish(folder, "--consent", consent, under=under)


def with_serial(device: str, directory: Path) -> tuple[str, ...]:
    """Return what starts a command where udev knows a serial number of the device."""
    data = directory / "run" / "udev" / "data"
    data.mkdir(parents=True, exist_ok=True)
    number = os.stat(device).st_rdev
    (data / f"b{os.major(number)}:{os.minor(number)}").write_text("I:1\nE:ID_SERIAL_SHORT=ONE\nV:1\n")
    script = 'mount --bind "$1" /run && shift && exec "$@"'
    return (*APART, script, "sh", str(directory / "run"))


OTHERS = {
    "a folder of another user's": lambda folder: os.chown(folder.path, 1000, 1000),
    "a journal of another user's": lambda folder: os.chown(folder.journal, 1000, 1000),
    "a journal that others can write": lambda folder: os.chmod(folder.journal, 0o660),
    "a journal that lies elsewhere": lambda folder: moved_away(folder.journal),
    "a lock that lies elsewhere": lambda folder: os.symlink(f"{folder.path}.elsewhere", folder.lock),
    "a log that lies elsewhere": lambda folder: os.symlink(f"{folder.path}.elsewhere", folder.engine_log),
    "a pipe beside the journal": lambda folder: os.mkfifo(folder.journal + "-shm"),
}


def moved_away(path: str) -> None:
    os.rename(path, f"{path}.moved")
    os.symlink(f"{path}.moved", path)


def test_nothing_is_done_that_stands_in_a_folder_which_others_can_have_written(blank: str, tmp_path: Path) -> None:
    def refused(name: str, give_away: Callable[[RunFolder], object]) -> None:
        folder = new_run(TINY_PLAN, blank, str(tmp_path / name / "runs"))
        give_away(folder)
        fails(ExitCode.JOURNAL_UNUSABLE, "resume", *runs_of(folder), names=(folder.path,))
        done = carried_out_by_hand(folder)
        assert done.returncode == ExitCode.JOURNAL_UNUSABLE, done.stderr
        assert "left as it is" in clean_up(runs_of(folder)[1])[0].did

    with unchanged(blank):
        each({name: (name, give_away) for name, give_away in OTHERS.items()}, refused)


@pytest.mark.parametrize("is_file", [True, False])
def test_delete_run_refuses_what_has_mount_in_it(is_file: bool, tmp_path: Path, mounted: Mount, blank: str) -> None:
    """It took the run off the list, removed a part of it, and then said that no runs could be kept in their directory."""
    run("mkfs.ext4", "-q", "-F", blank)
    folder = new_run(TINY_PLAN, blank, str(tmp_path / "runs"))
    disk = mounted(blank)
    (disk / "precious").write_text("kept")
    place = Path(folder.raw) / "point"
    if is_file:
        place.touch()
    else:
        place.mkdir()
    before = set(os.listdir(folder.path))
    run("mount", "--bind", str(disk / "precious" if is_file else disk), str(place))
    try:
        with pytest.raises(RunNotDeleted, match=str(place)):
            delete_run(folder)
        assert set(os.listdir(folder.path)) >= before
        assert [one.name for one in list_runs(str(tmp_path / "runs"))] == [folder.name]
    finally:
        run("umount", str(place))
    assert (disk / "precious").read_text() == "kept"
    delete_run(folder)
    assert os.listdir(tmp_path / "runs") == []
