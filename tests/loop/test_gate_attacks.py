"""Attacks on the gate: journals edited, devices exchanged, tools replaced."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.client.engine import remove_owned_scratch
from fsconsole.devices import scratch
from fsconsole.devices.claims import lock_whole_disk
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import encode
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.loop.commands import assert_told, command, fails
from tests.loop.gate_cases import (
    file_below,
    held_by_another_process,
    inspect,
    loop_over,
    partitions,
    refusals,
    unchanged,
    write,
)
from tests.loop.runs import TINY_PLAN, clean_up, fsconsole, new_run, wait_for_end, written
from tests.loop.test_kill_engine import hanging, kill_engine
from tests.loop.test_resume import IN_ANOTHER_BOOT, finish, killed, runs_of, shown

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


def with_serial(device: str, directory: Path) -> tuple[str, ...]:
    """Return what starts a command where udev knows a serial number of the device."""
    data = directory / "run" / "udev" / "data"
    data.mkdir(parents=True, exist_ok=True)
    number = os.stat(device).st_rdev
    (data / f"b{os.major(number)}:{os.minor(number)}").write_text("I:1\nE:ID_SERIAL_SHORT=ONE\nV:1\n")
    return ("unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount --bind "$1" /run && shift && exec "$@"', "sh", str(directory / "run"))  # fmt: skip


def killed_on_a_disk_with_serial(device: str, directory: Path) -> RunFolder:
    """Leave a run whose second cell's filesystem is on the device, which had a serial number when it was planned."""
    folder = killed(device, directory, StepKind.WORKLOAD)
    request = read_state(folder).request
    (target,) = request.targets
    named = replace(target, identity=replace(target.identity, serial="ONE"))
    rewrite(folder, replace(request, targets=(named,)))
    return folder


def rewrite(folder: RunFolder, request: RunRequest) -> None:
    """Put another request into a run's journal, as an editor of SQLite would."""
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        journal.execute("UPDATE run SET request = ?", (encode(request),))


def test_a_disk_proved_after_a_reboot_is_wiped_and_formatted_without_another_question(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    folder = killed_on_a_disk_with_serial(device, tmp_path)
    (tmp_path / "boot_id").write_text(f"{uuid.uuid4()}\n")
    finish(folder, under=(*with_serial(device, tmp_path), *IN_ANOTHER_BOOT, str(tmp_path / "boot_id")))


def test_a_disk_that_was_plugged_in_again_under_another_name_is_found_and_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file)) as old:
        folder = killed_on_a_disk_with_serial(old, tmp_path)
    # Whatever has the name now is another disk.
    taken = tmp_path / "taken"
    taken.touch()
    os.truncate(taken, 2 * SIZE)
    run("losetup", old, str(taken))
    try:
        with loop_over(str(file)) as new, unchanged(old):
            under = with_serial(new, tmp_path)
            with unchanged(new):
                done = command("resume", *runs_of(folder), under=under)
                assert_told(done, ExitCode.CONSENT_MISSING, new, "name: ")
                consent = str(shown(folder, under)["consent"])
            finish(folder, "--consent", consent, under=under)
    finally:
        run("losetup", "--detach", old)


def test_a_filesystem_that_is_named_only_after_a_long_mkfs_is_still_the_runs_own(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    if shutil.which("mkfs.jfs") is None:
        pytest.skip("NOT INSTALLED HERE: mkfs.jfs (package jfsutils)")
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    state = read_state(folder)
    cell = state.request.plan.cells[0]
    prover = Prover(RealExecutor(), state, folder.path)
    make, name = ("mkfs.jfs", "-q", device), ("jfs_tune", "-U", cell.uuid, device)
    with lock_whole_disk(find_device(device)):
        with prover.wiping(cell, make):
            run(*make)
            # As on a large disk: longer than one proof holds.
            run("sleep", "1.2")
        with prover.wiping(cell, name):
            run(*name)
        prover.note_made(cell)
        prover.prove_cell(cell)


def test_a_file_that_took_the_place_of_a_scratch_file_is_not_filled_up(tmp_path: Path) -> None:
    made = scratch.create(SIZE, str(tmp_path / "scratch"))
    try:
        folder = new_run(TINY_PLAN, made.device, str(tmp_path / "runs"))
        engine = hanging(folder, StepKind.GATE, "before", tmp_path / "marker")
        os.rename(made.path, tmp_path / "moved.img")
        Path(made.path).write_text("letters")
        (tmp_path / "marker").unlink()
        engine.wait(timeout=60)
        wait_for_end(folder)
        assert Path(made.path).read_text() == "letters"
        assert read_state(folder).exit_code == ExitCode.DEVICE_CHANGED
    finally:
        os.rename(tmp_path / "moved.img", made.path)
        scratch.remove(scratch.find(made.path))


@contextmanager
def two_loops_on_one_disk(directory: Path) -> Iterator[tuple[str, str]]:
    file = directory / "disk"
    file.touch()
    os.truncate(file, 3 * SIZE)
    with (
        loop_over(str(file), "--partscan") as disk,
        partitions(disk, (1, 64), (70, 64)) as (one, two),
        loop_over(one) as first,
        loop_over(two) as second,
    ):
        yield first, second


def test_two_targets_on_one_disk_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with two_loops_on_one_disk(tmp_path) as (first, second):
        devices = ("--device", first, "--device", second, "--runs", str(tmp_path / "runs"))
        fails(
            ExitCode.DEVICE_REFUSED,
            "plan",
            written(tmp_path, TINY_PLAN),
            *devices,
            names=("on the same disk",),
        )


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


@pytest.mark.parametrize("give_away", OTHERS.values(), ids=OTHERS)
def test_nothing_is_done_that_stands_in_a_folder_which_others_can_have_written(
    loop_device: MakeLoopDevice, tmp_path: Path, give_away: Callable[[RunFolder], None]
) -> None:
    device = loop_device(SIZE)
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    give_away(folder)
    with unchanged(device):
        fails(ExitCode.JOURNAL_UNUSABLE, "resume", *runs_of(folder), names=(folder.path,))
        done = subprocess.run(
            engine_argv((sys.executable, "-I", "-m", "fsconsole.engine", folder.path)),
            check=False, capture_output=True, text=True,
        )  # fmt: skip
    assert done.returncode == ExitCode.JOURNAL_UNUSABLE, done.stderr
    assert "left as it is" in clean_up(runs_of(folder)[1])[0].did


def test_a_stale_code_is_answered_with_the_command_that_prints_the_new_one(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZE)
    folder = killed(device, tmp_path, StepKind.EQUALISE)
    with unchanged(device):
        again = f"fsconsole resume {folder.name} --runs {runs_of(folder)[1]} --show"
        fails(
            ExitCode.CONSENT_STALE,
            "resume",
            "--consent",
            "00000-00000-00000",
            *runs_of(folder),
            names=(again,),
        )


def test_a_run_removes_no_scratch_device_that_was_made_for_another(tmp_path: Path) -> None:
    made = scratch.create(SIZE, str(tmp_path / "scratch"), purpose="run 20261121-104500-k7qf")
    try:
        folder = new_run(TINY_PLAN, made.device, str(tmp_path / "runs"), owned_scratch=made.path)
        state = read_state(folder)
        assert not remove_owned_scratch(replace(state, cells=()))
        assert os.path.exists(made.path)
    finally:
        scratch.remove(made)


def test_no_tool_of_the_directory_at_hand_is_run(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    trap, here = tmp_path / "ran", tmp_path / "here"
    here.mkdir()
    (here / "wipefs").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (here / "wipefs").chmod(0o755)
    words = (
        "plan",
        written(tmp_path, TINY_PLAN),
        "--device",
        loop_device(SIZE),
        "--runs",
        str(tmp_path / "runs"),
    )
    for path in (".", "", "../here"):
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        done = command(*words, cwd=here, env=environment)
        assert done.returncode == 0, done.stderr
    assert not trap.exists()


def set_elsewhere(step: Step) -> Step:
    return replace(step, writes=tuple(replace(w, path=w.path.replace("/loop", "/vd")) for w in step.writes))


def set_otherwise(step: Step) -> Step:
    return replace(step, writes=tuple(replace(w, value="4") for w in step.writes))


@pytest.mark.parametrize("edit", [set_elsewhere, set_otherwise], ids=lambda edit: edit.__name__)
def test_a_run_folder_whose_settings_were_edited_sets_nothing(
    loop_device: MakeLoopDevice, tmp_path: Path, edit: Callable[[Step], Step]
) -> None:
    device = loop_device(SIZE)
    plan_text = TINY_PLAN + '[settings]\nread_ahead = "2MiB"\n'
    folder = new_run(plan_text, device, str(tmp_path / "runs"))
    request = read_state(folder).request
    first, second = request.plan.cells
    edited = replace(second, steps=tuple(edit(step) for step in second.steps))
    rewrite(folder, replace(request, plan=replace(request.plan, cells=(first, edited))))
    with unchanged(device):
        fails(ExitCode.JOURNAL_UNUSABLE, "resume", *runs_of(folder), names=("has other steps",))
