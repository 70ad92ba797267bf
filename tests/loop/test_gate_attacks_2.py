"""More ways by which the gate could be passed, or stay shut for ever, each tried on real devices."""

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
from fsconsole.engine.cleanup import clean_up
from fsconsole.engine.proof import Prover
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import encode
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from tests.conftest import MakeLoopDevice, run
from tests.loop.commands import assert_told, command, fails
from tests.loop.gate_cases import MIB, loop_over, partitions, unchanged
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end, written
from tests.loop.test_kill_engine import hanging
from tests.loop.test_resume_asks import IN_ANOTHER_BOOT, finish, killed, runs_of, shown

pytestmark = pytest.mark.root

SIZE = 64 * MIB


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
