"""What somebody keeps where a run was, or on a scratch device, is asked about by name before it is wiped or deleted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.scratch import Scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.system import block
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, unmount, wait_until
from tests.lab.soak import tried
from tests.loop.commands import assert_told, command, fails
from tests.loop.gate_cases import loop_over, unchanged
from tests.loop.runs import kill_engines, new_run, succeed, tell_the_end, wait_for, wait_for_end, written
from tests.loop.test_kill_engine import hanging
from tests.loop.test_resume import consent_of, finish, runs_of, shown

DEVICE_BYTES = {"ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 128 * MIB}
"""mkfs.xfs refuses less than 300 MB (man 8 mkfs.xfs), mkfs.btrfs less than 109 MiB."""
FILESYSTEMS = tuple(DEVICE_BYTES)


def two_cells(filesystem: str) -> str:
    return f"""
schema = 1
order = "as-listed"
repeats = 2
equalise = "none"
variant = [{{ type = "{filesystem}" }}]
workload = [{{ kind = "create", threads = 2, file_size = "1MiB", block_size = "64KiB" }}]
"""


class Begun:
    """A run that stands still in its first cell until it has been asked something."""

    def __init__(self, filesystem: str, device: str, directory: Path) -> None:
        self.folder = new_run(two_cells(filesystem), device, str(directory / "runs"))
        self._marker = directory / "marker"
        self._engine = hanging(self.folder, StepKind.MKFS, "before", self._marker, cell=0)

    def ask(self, *words: str) -> None:
        """Ask for something after the first cell, and let that cell end."""
        succeed("stop", *words, *runs_of(self.folder))
        self._marker.unlink()

    def ended(self) -> RunState:
        self._engine.wait(timeout=60)
        wait_for_end(self.folder)
        return read_state(self.folder)


Begin = Callable[[str, str], Begun]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Begin a run of two cells of a filesystem on a device."""
    yield lambda filesystem, device: Begun(filesystem, device, tmp_path)
    kill_engines(str(tmp_path / "runs"))


def stopped(begin: Begin, filesystem: str, device: str) -> RunFolder:
    """Leave a run that was stopped after its first cell, which nobody need be asked about."""
    begun = begin(filesystem, device)
    begun.ask()
    assert [cell.status for cell in begun.ended().cells] == [CellStatus.DONE, CellStatus.PENDING]
    assert consent_of(begun.folder) == ""
    return begun.folder


def keep_files(point: Path) -> None:
    (point / "letters.txt").write_bytes(bytes(5000))
    (point / "photos").mkdir()
    (point / "photos" / "summer").write_bytes(os.urandom(100_000))


def assert_asked(folder: RunFolder, device: str, filesystem: str) -> None:
    """Prove that `resume` names what changed and what is there, and leaves the device as it is."""
    with unchanged(device):
        fails(ExitCode.CONSENT_MISSING, "resume", *runs_of(folder), names=(device, f"{filesystem} "))
        (target,) = shown(folder)["targets"]  # type: ignore[misc]
        told = " ".join(command("resume", "--show", *runs_of(folder)).stdout.split())
    assert f"{filesystem} " in target["changed"]
    assert "was written: " in target["changed"]
    (files,) = target["files"]
    for words in (device, "letters.txt (4.9 KiB)", "photos/ (1 entry)"):
        assert words in files, files
        assert words in told


@pytest.mark.parametrize("filesystem", tried(FILESYSTEMS, ("btrfs",)))
def test_files_that_were_stored_after_a_stop_are_asked_about(
    loop_device: MakeLoopDevice, mounted: Mount, begin: Begin, filesystem: str
) -> None:
    device = loop_device(DEVICE_BYTES[filesystem])
    folder = stopped(begin, filesystem, device)
    point = mounted(device)
    keep_files(point)
    fails(ExitCode.DEVICE_MOUNTED, "resume", *runs_of(folder), names=(device,))
    unmount(point)
    assert_asked(folder, device, filesystem)
    finish(folder)


@pytest.mark.parametrize("filesystem", tried(FILESYSTEMS, ("ext4",)))
def test_files_that_were_stored_during_a_pause_end_the_run_before_its_next_cell(
    loop_device: MakeLoopDevice, mounted: Mount, begin: Begin, filesystem: str
) -> None:
    device = loop_device(DEVICE_BYTES[filesystem])
    begun = begin(filesystem, device)
    begun.ask("--pause")
    wait_for(begun.folder, lambda state: state.status is RunStatus.PAUSED and state.current_cell is None)
    point = mounted(device)
    keep_files(point)
    unmount(point)
    with unchanged(device):
        succeed("stop", "--continue", *runs_of(begun.folder))
        state = begun.ended()
    assert (state.exit_code, state.cells[0].status) == (ExitCode.DEVICE_CHANGED, CellStatus.DONE)
    assert "was written: " in state.reason
    assert_asked(begun.folder, device, filesystem)


@pytest.mark.parametrize("filesystem", tried(FILESYSTEMS, ("ext4",)))
def test_after_a_reboot_only_files_that_were_stored_since_are_asked_about(
    scratch_folder: Path, mounted: Mount, begin: Begin, other_boot: tuple[str, ...], filesystem: str
) -> None:
    made = scratch.create(DEVICE_BYTES[filesystem], str(scratch_folder))
    folder = stopped(begin, filesystem, made.device)
    detach(made)
    assert consent_of(folder, other_boot) == ""
    point = mounted(scratch.attach(made.path).device)
    keep_files(point)
    unmount(point)
    # The kernel's counts say nothing of another boot.
    device = scratch.attach(made.path).device
    with unchanged(device):
        done = command("resume", *runs_of(folder), under=other_boot)
        assert_told(done, ExitCode.CONSENT_MISSING, device, f"{filesystem} ", "was written: ")
        (target,) = shown(folder, other_boot)["targets"]  # type: ignore[misc]
    assert "letters.txt" in target["files"][0]
    finish(folder, under=other_boot)


@pytest.fixture
def production(own_scratch: Scratch, mounted: Mount) -> Scratch:
    """A scratch device on which somebody keeps a filesystem of his own."""
    run("mkfs.ext4", "-q", "-L", "production", own_scratch.device)
    point = mounted(own_scratch.device)
    keep_files(point)
    unmount(point)
    return own_scratch


def detach(made: Scratch) -> None:
    block.detach(made.device)
    wait_until(lambda: not scratch.find(made.path, os.path.dirname(made.path)).attached, "it is detached")


def test_a_scratch_file_with_somebodys_filesystem_is_neither_wiped_nor_removed_unasked(
    production: Scratch, tmp_path: Path
) -> None:
    plan, runs = written(tmp_path, two_cells("ext4")), str(tmp_path / "runs")
    where = ("--dir", str(Path(production.path).parent))

    def kept(device: str, name: str) -> None:
        with unchanged(device):
            fails(
                ExitCode.CONSENT_MISSING,
                "run",
                plan,
                "--device",
                device,
                "--runs",
                runs,
                names=("production",),
            )
            fails(ExitCode.CONSENT_MISSING, "scratch", "remove", name, *where, names=("production", "--yes"))

    kept(production.device, production.device)
    detach(production)
    fails(ExitCode.CONSENT_MISSING, "scratch", "remove", production.path, *where, names=("production",))
    again = scratch.attach(production.path)
    detach(again)
    renamed = str(Path(production.path).with_name("vm-disk.img"))
    os.rename(production.path, renamed)
    fails(ExitCode.CONSENT_MISSING, "scratch", "remove", renamed, *where, names=("production",))
    device = scratch.attach(renamed).device
    kept(device, renamed)
    succeed("scratch", "remove", device, "--yes", *where)
    assert not os.path.exists(renamed)


def test_a_scratch_device_that_was_made_for_a_run_of_another_folder_is_not_removed_unasked(
    scratch_folder: Path, tmp_path: Path
) -> None:
    made = scratch.create(MIB, str(scratch_folder), purpose="run elsewhere")
    remove = ("scratch", "remove", made.scratch_id, "--dir", str(scratch_folder), "--runs", str(tmp_path / "runs"))
    fails(ExitCode.CONSENT_MISSING, *remove, names=("made for run elsewhere", "--yes"))
    succeed(*remove, "--yes")
    assert not os.path.exists(made.path)


@pytest.mark.soak
def test_a_scratch_file_that_was_renamed_after_a_stop_is_not_wiped(own_scratch: Scratch, begin: Begin) -> None:
    folder = stopped(begin, "ext4", own_scratch.device)
    renamed = Path(own_scratch.path).with_name("vm-disk.img")
    os.rename(own_scratch.path, renamed)
    with unchanged(own_scratch.device):
        done = command("resume", *runs_of(folder))
        assert done.returncode in {ExitCode.CONSENT_MISSING, ExitCode.DEVICE_CHANGED}, done.stderr
    block.detach(own_scratch.device)
    with loop_over(str(renamed)) as device, unchanged(device):
        fails(ExitCode.DEVICE_CHANGED, "resume", *runs_of(folder), names=(own_scratch.path, "is gone"))


def test_what_a_stopped_run_needs_is_not_deleted_unasked(own_scratch: Scratch, begin: Begin) -> None:
    folder = stopped(begin, "ext4", own_scratch.device)
    where = ("--dir", str(Path(own_scratch.path).parent))
    remove = ("scratch", "remove", own_scratch.device, *where, *runs_of(folder))
    delete = ("runs", *runs_of(folder), "delete", folder.name)
    with unchanged(own_scratch.device):
        fails(ExitCode.CONSENT_MISSING, *remove, names=(f"run {folder.name} can be resumed", "--yes"))
        fails(ExitCode.CONSENT_MISSING, *delete, names=(folder.name, "1 of 2 cells left", "--yes"))
    assert os.path.exists(folder.journal)
    succeed(*delete, "--yes")
    assert not os.path.exists(folder.path)
    # Its run is gone, and it is as that run left it.
    succeed(*remove)
    assert not os.path.exists(own_scratch.path)


def test_files_on_the_scratch_device_of_a_finished_run_are_not_removed_with_it(
    tmp_path: Path, scratch_folder: Path
) -> None:
    run_id, runs = "20261121-104500-k7qf", str(tmp_path / "runs")
    made = scratch.create(64 * MIB, str(scratch_folder), purpose=f"run {run_id}")
    honest = new_run(two_cells("ext4"), made.device, str(tmp_path / "honest"), owned_scratch=made.path)
    folder = create_run(runs, replace(read_state(honest).request, run_id=run_id))
    tell_the_end(folder)
    run("mkfs.ext4", "-q", "-L", "production", made.device)
    where = ("--runs", runs)
    for _ in range(2):
        with unchanged(scratch.attach(made.path).device):
            told = succeed("cleanup", *where)
            assert f"its scratch device {made.path} is left: it holds ext4 'production'" in told
            delete = ("runs", *where, "delete", run_id)
            fails(ExitCode.CONSENT_MISSING, *delete, names=("ext4 'production'", "--yes"))
        # A reboot.
        block.detach(scratch.find(made.path).device)
    succeed(*delete, "--yes")
    assert list(scratch_folder.iterdir()) == []
