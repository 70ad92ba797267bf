"""Loads that programs make, in whole runs on ext4: their times, outputs and files."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, CellStatus
from fsconsole.text import MIB
from tests.loop.gauged import assert_gauged
from tests.loop.runs import carry_out

HEAD = """
schema = 1
repeats = 1
equalise = "none"
variant = [{ type = "ext4" }]
after = { check = false, delete = "none" }
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def cell_of(folder: RunFolder) -> CellState:
    (cell,) = read_state(folder).cells
    return cell


def figures(cell: CellState) -> dict[Metric, float]:
    return {figure.metric: figure.value for step in cell.steps for figure in step.measurements}


def test_a_command_writes_in_a_directory_of_its_own_and_its_times_are_told(device: str, tmp_path: pathlib.Path) -> None:
    # It writes for 0.8 s, so that a sample is taken meanwhile: two are taken a second.
    rounds = "[(os.pwrite(fd, bytes(2**20), 0), time.sleep(0.05), os.fsync(fd)) for _ in range(16)]"
    sentence = f"import os, time; print('hello'); fd = os.open('file', 66); {rounds}; sum(range(3_000_000))"
    plan = f'{HEAD}workload = [{{ name = "a program", kind = "command", argv = ["{sys.executable}", "-c", "{sentence}"] }}]\n'
    done, folder = carry_out(plan, device, tmp_path)
    assert done.returncode == 0, done.stderr
    cell = cell_of(folder)
    assert cell.status is CellStatus.DONE
    told = figures(cell)
    assert told[Metric.FILES_MAPPED] == 1
    assert 0 < told[Metric.USER] <= told[Metric.REAL] < told[Metric.REAL_DRAINED]
    assert_gauged(folder, 0)
    assert any(b"hello" in path.read_bytes() for path in pathlib.Path(folder.path).rglob("*") if path.is_file())


def test_a_command_that_fails_ends_its_cell_with_its_last_line(device: str, tmp_path: pathlib.Path) -> None:
    done, folder = carry_out(
        f'{HEAD}workload = [{{ kind = "command", argv = ["ls", "/nowhere"] }}]\n', device, tmp_path
    )
    assert done.returncode != 0
    cell = cell_of(folder)
    assert cell.status is CellStatus.FAILED
    assert "exit code 2" in cell.reason
    assert "/nowhere" in cell.reason


def test_one_dd_a_file_makes_the_files_that_the_built_in_load_makes(device: str, tmp_path: pathlib.Path) -> None:
    shape = 'files = 50, file_size = "10KiB", block_size = "4KiB", directories = 20, data = "zero", fsync = "each-file"'
    plan = f"""{HEAD}workload = [
        {{ name = "dds", kind = "create", generator = "dd", {shape} }},
        {{ name = "read", kind = "read", cold = true, block_size = "4KiB" }},
        {{ name = "gone", kind = "delete", of = "dds", cold = true }},
    ]\n"""
    done, folder = carry_out(plan, device, tmp_path)
    assert done.returncode == 0, done.stderr
    cell = cell_of(folder)
    assert cell.status is CellStatus.DONE, cell.reason
    planned = read_state(folder).request.plan.cells[0].steps
    by_load = {
        (planned[step.number].workload, figure.metric): figure.value
        for step in cell.steps
        for figure in step.measurements
    }
    assert by_load[0, Metric.WRITTEN] == 50 * 10240
    assert by_load[0, Metric.FILES_PER_S] > 0
    # The kernel splits them by ticks: of programs as short as these the sum alone is exact.
    assert 0 < by_load[0, Metric.USER] + by_load[0, Metric.SYSTEM] < by_load[0, Metric.REAL]
    assert by_load[1, Metric.READ_BYTES] == 50 * 10240
    assert by_load[1, Metric.DEVICE_READ] >= 50 * 10240
    assert by_load[2, Metric.LATENCY_COUNT] == 50
