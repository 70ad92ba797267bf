"""A filesystem that is damaged before its check: a verdict in the check's own words, on just that cell."""

from __future__ import annotations

import pathlib

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.text import MIB
from tests.loop.faulty_engine import Event
from tests.loop.faulty_run import carry_out, scratch_device
from tests.loop.runs import new_run, succeed

pytestmark = pytest.mark.root

PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [
    { type = "ext4" },
    { type = "xfs" },
    { type = "btrfs" },
    { type = "ext2" },
]
workload = [{ kind = "create", threads = 2, files = 8, file_size = "64KiB" }]
after = { check = true }
"""
OVERWRITE = "dd if=/dev/urandom of={device} bs=4096 conv=notrunc,fsync status=none"
ROOT_COPIES = (
    "root=$(btrfs inspect-internal dump-super {device} | awk '$1 == \"root\" {{print $2}}');"
    " for place in $(btrfs-map-logical -l $root {device} | sed -n 's/.*physical \\([0-9]*\\) .*/\\1/p'); do"
    f" {OVERWRITE} seek=$((place / 4096)) count=1; done"
)
DAMAGE = {
    "ext4": "debugfs -w -R 'clri tree/create' {device}",
    # The free space trees' roots of the first group lie right after its headers (man 5 xfs).
    "xfs": f"{OVERWRITE} seek=1 count=3",
    "btrfs": ROOT_COPIES,
}
FOUND = {
    "ext4": ("repaired", "the check found damage, and repaired it: Entry 'create' in /tree (", "Clear? yes"),
    "xfs": ("errors", "the check found damage: ", "error detected at "),
    "btrfs": ("errors", "the check found damage: ", "checksum verify failed on "),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory):
    """A run of four cells, of which all but the last are damaged right before their check, and its runs directory."""
    directory = tmp_path_factory.mktemp("damage")
    with scratch_device(directory, 320 * MIB) as device:
        folder = new_run(PLAN, device, str(directory / "runs"))
        commands = [text.format(device=device) for text in DAMAGE.values()]
        events = [Event(cell, "check", text) for cell, text in enumerate(commands)]
        carry_out(folder, [*events, Event(3, "check", ":")], device)
        yield read_state(folder), str(directory / "runs")


def cell_of(state: RunState, filesystem: str) -> CellState:
    return state.cells[["ext4", "xfs", "btrfs", "ext2"].index(filesystem)]


@pytest.mark.parametrize("filesystem", DAMAGE)
def test_damage_is_a_verdict_and_a_warning_in_the_words_of_the_check(whole: tuple[RunState, str], filesystem: str):
    cell = cell_of(whole[0], filesystem)
    (check,) = [step for step in cell.steps if step.kind is StepKind.CHECK]
    verdict, begins, holds = FOUND[filesystem]
    assert check.verdict == verdict
    assert check.reason.startswith(begins)
    assert holds in check.reason
    assert [warning.reason for warning in cell.warnings if warning.kind is WarningKind.CHECK] == [check.reason]


def test_the_run_goes_on_and_a_sound_filesystem_has_nothing_said_of_it(whole: tuple[RunState, str]):
    state, _ = whole
    sound = cell_of(state, "ext2")
    assert (sound.status, sound.reason) == (CellStatus.DONE, "")
    assert not {WarningKind.CHECK, WarningKind.KERNEL_LOG} & {warning.kind for warning in sound.warnings}
    failed = [cell for cell in state.cells if cell.status is CellStatus.FAILED]
    assert state.exit_code == (ExitCode.CELLS_FAILED if failed else ExitCode.OK)


def test_a_damaged_filesystem_that_can_not_be_mounted_any_more_fails_in_words(whole: tuple[RunState, str]):
    btrfs = cell_of(whole[0], "btrfs")
    assert btrfs.status is CellStatus.FAILED
    assert btrfs.reason.startswith("cold mount: BTRFS error (device loop")


def test_the_grid_marks_what_was_damaged(whole: tuple[RunState, str]):
    state, runs_dir = whole
    shown = succeed("results", state.request.run_id, "--runs", runs_dir, "--explain")
    assert "repaired" in shown
    assert "check (cell" in shown
    assert "the check found damage" in " ".join(shown.split())
    assert pathlib.Path(runs_dir).is_dir()


ONCE = """
schema = 1
repeats = 1
equalise = "none"
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 1, files = 1, file_size = "64KiB" }]
"""


def test_a_target_that_can_not_be_opened_for_its_drain_fails_its_cell_and_is_not_kept_mounted(
    tmp_path: pathlib.Path,
):
    with scratch_device(tmp_path, 100 * MIB) as device:
        folder = new_run(ONCE, device, str(tmp_path / "runs"))
        away = pathlib.Path(f"{device}.away")
        try:
            carry_out(folder, [Event(0, "drain", f"mv {device} {away}")])
        finally:
            away.rename(device)
    (cell,) = read_state(folder).cells
    # Where the unmounting fails too, as it does below an open file, the run ends with a cell that is stopped.
    assert cell.status is CellStatus.FAILED, cell.reason
    assert cell.steps[-1].kind is StepKind.DRAIN
