"""The study of 2009 to its end: its plans with fewer and smaller files, on one device that xfs takes."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from collections.abc import Iterator, Mapping

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.plan.read import find_config
from fsconsole.text import KIB, MIB
from tests.lab.soak import tried
from tests.loop.cold import assert_cold
from tests.loop.gauged import assert_gauged
from tests.loop.runs import assert_nothing_left, carry_out, succeed

SHAPES = {
    "files = 100000\n": "files = 40\n", "files = 10000\n": "files = 20\n", "directories = 1000\n": "directories = 8\n",
    "files = 10\n": "files = 2\n", '"10GiB"': '"32MiB"', "check = true": "check = false",
}  # fmt: skip
NEEDS_BONNIE = pytest.mark.skipif(shutil.which("bonnie++") is None, reason="bonnie++ comes with `./bootstrap test`")


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(320 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def smaller(name: str, changes: Mapping[str, str], labels: str) -> str:
    """Return a shipped plan's text with one repeat, these changes, and the variants whose text matches labels."""
    text = re.sub(r"(?m)^repeats = \d+", "repeats = 1", find_config(name).read_text())
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    parts = re.split(r"(?m)^(?=\[\[?\w+\]\]?)", text)
    return "".join(part for part in parts if not part.startswith("[[variant]]") or re.search(labels, part))


def carried_out(text: str, device: str, place: pathlib.Path) -> tuple[RunState, RunFolder]:
    done, folder = carry_out(text, device, place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_nothing_left(device, folder)
    return read_state(folder), folder


def done_cells(state: RunState) -> dict[str, CellState]:
    """Return the cells that ran, by label; those that can't run are told why by the plan."""
    planned = state.request.plan.cells
    able = [cell for cell in state.cells if not planned[cell.index].unavailable]
    assert {cell.status for cell in able} == {CellStatus.DONE}, [cell.reason for cell in able]
    return {planned[cell.index].variant.label: cell for cell in able}


def loads_of(state: RunState, cell: CellState, metric: Metric) -> dict[str, float]:
    """Return a figure of each load of a cell, by the load's name."""
    planned = state.request.plan.cells[cell.index]
    return {
        planned.workloads[number].name: one.value
        for step in cell.steps
        for one in step.measurements
        if one.metric is metric and (number := planned.steps[step.number].workload) is not None
    }


def assert_times_are_split(state: RunState, cell: CellState) -> None:
    """Each create and delete has real, user and system; the last two may be less than a tick in a load as small as these."""
    real, user, system = (loads_of(state, cell, metric) for metric in (Metric.REAL, Metric.USER, Metric.SYSTEM))
    named = {name for name in real if name.startswith(("create", "delete"))}
    assert len(named) == 8
    for name in named:
        assert min(user[name], system[name]) >= 0, name
        assert 0 < user[name] + system[name] < (os.cpu_count() or 1) * real[name] + 0.02, name


@pytest.mark.soak
def test_mkfs_over_bytes_per_inode_and_stripes_with_the_space_that_is_left(device: str, tmp_path: pathlib.Path) -> None:
    changes = {
        "-r 102400": "-r 1024",
        '["8192", "16384", "32768"]': '["8192"]',
        '"-E stride=32': '"-b 4096 -E stride=32',
    }
    state, _ = carried_out(smaller("lowe-2009-mkfs", changes, "ext4 -i 65536"), device, tmp_path)
    cells = done_cells(state)
    assert len(cells) == 2 + 1
    usable = {label: cell.value(Metric.USABLE) or 0 for label, cell in cells.items()}
    assert usable["ext4 -i 65536"] > usable["ext4 -i 8192 stride=32 stripe_width=320"]
    # tune2fs -r 1024 sets as many blocks aside, and the kernel 2 % by itself (at most 4096: reserved_clusters in sysfs).
    available = cells["ext4 -i 65536"].value(Metric.AVAILABLE) or 0
    assert usable["ext4 -i 65536"] - available == (1024 + 320 * MIB // (4 * KIB) // 50) * 4 * KIB


@pytest.mark.parametrize(
    ("name", "changes", "what"),
    tried(
        [
            ("lowe-2009-check", {"-N 2200000": "-N 3500", "2000000": "2000", "10TB": "10GB"}, (2000, 0.51)),
            ("lowe-2009-check-6-million", {"-N 6600000": "-N 2500", "6000000": "1500", "10TB": "2500MB"}, (1500, 0.25)),
        ],
        [("lowe-2009-check-6-million", {"-N 6600000": "-N 2500", "6000000": "1500", "10TB": "2500MB"}, (1500, 0.25))],
    ),
)
def test_checks_of_many_files_forced_and_unforced_and_the_recovery_on_a_filesystem_as_full_as_his(
    device: str, tmp_path: pathlib.Path, name: str, changes: dict[str, str], what: tuple[int, float]
) -> None:
    files, fill = what
    state, _ = carried_out(smaller(name, changes, '"ext4"'), device, tmp_path)
    (cell,) = done_cells(state).values()
    assert (cell.value(Metric.CHECK) or 0) > 0
    assert cell.value(Metric.INODES) == pytest.approx(files, rel=0.02)
    assert (cell.value(Metric.USED) or 0) == pytest.approx(fill * 320 * MIB, rel=0.25)
    for metric in (
        Metric.QUICK_CHECK, Metric.QUICK_CHECK_USER, Metric.NON_CONTIGUOUS, Metric.RECOVER, Metric.RECOVER_FSCK,
        Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM,
    ):  # fmt: skip
        assert cell.value(metric) is not None


@pytest.mark.soak
def test_reads_over_read_ahead_are_cold(device: str, tmp_path: pathlib.Path) -> None:
    changes = {'"8GiB"': '"8MiB"', '"128KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB", ': ""}
    state, _ = carried_out(smaller("lowe-2009-readahead", changes, "ext4"), device, tmp_path)
    assert len(state.cells) == 1
    for cell in state.cells:
        assert loads_of(state, cell, Metric.READ)["read"] > 0
        assert loads_of(state, cell, Metric.DEVICE_READ)["read"] >= 8 * MIB


@pytest.mark.soak
def test_one_dd_a_file_and_deletes_that_read_the_device(device: str, tmp_path: pathlib.Path) -> None:
    state, folder = carried_out(smaller("lowe-2009-shapes", SHAPES, "ext4 barrier=1|xfs nobarrier"), device, tmp_path)
    cells = done_cells(state)
    assert set(cells) == {"ext4 barrier=1"}
    (refused,) = (cell for cell in state.request.plan.cells if cell.unavailable)
    assert "Unknown parameter 'nobarrier'" in refused.unavailable
    for cell in cells.values():
        real = loads_of(state, cell, Metric.REAL)
        assert len(real) == 10
        assert_cold(cell, state.request.plan.cells[cell.index])
        assert_times_are_split(state, cell)
        files = loads_of(state, cell, Metric.FILES_PER_S)
        assert round(files["create 1MiB x 100GB"] * real["create 1MiB x 100GB"]) == 40
        assert round(files["delete 1MiB x 100GB"] * real["delete 1MiB x 100GB"]) == 40
    shown = succeed("results", folder.name, "--runs", str(tmp_path / "runs"), "--with", "lowe-2009-shapes-fedora10")
    assert "one dd a file" in shown
    # Beside a scaled run stands a ratio, never his 730.949 s.
    assert "ratios to the published row ext4 barrier=1" in " ".join(shown.split())
    assert "730.9" not in shown


@NEEDS_BONNIE
@pytest.mark.soak
def test_bonnie_has_his_figures_beside(device: str, tmp_path: pathlib.Path) -> None:
    # Single bytes would take 20 s of CPU.
    changes = {
        "files = 262144": "files = 1024", "directories = 1024": "directories = 64",
        'bytes = "8GiB"': 'bytes = "16MiB"\ndirect = true', 'scale = "fit"\nkeep = "data-to-ram"\n': "",
        'published = { memory = "2GiB" }\n': "", '["8KiB", "32KiB", "128KiB"]': '"32KiB"',
        '["2MiB", "128KiB"]': '["2MiB"]',
    }  # fmt: skip
    state, folder = carried_out(smaller("lowe-2009-bonnie", changes, "ext4 barrier=1"), device, tmp_path)
    (cell,) = done_cells(state).values()
    assert cell.value(Metric("bonnie_ran_del_latency")) is not None
    assert cell.value(Metric.FILES_MAPPED) is None
    assert "short" in {warning.kind.value for warning in cell.warnings}
    assert "+++++ for" in " ".join(warning.reason for warning in cell.warnings)
    assert_gauged(folder, 0)
    shown = succeed("results", folder.name, "--runs", str(tmp_path / "runs"), "--with", "lowe-2009")
    assert "empty files" in shown
    assert "ran_create" not in shown
