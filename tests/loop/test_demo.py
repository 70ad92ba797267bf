"""The demo, as an admin runs it first: four filesystems, a grid, and nothing left but the figures."""

from __future__ import annotations

import json
import os

import pytest

from fsconsole.client.engine import purpose_of, start_engine
from fsconsole.devices import scratch
from fsconsole.devices.marker import Marker, write_marker
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellStatus
from fsconsole.text import MIB
from tests.conftest import loops_under, wait_until
from tests.loop.runs import TINY_PLAN, fsconsole, new_run, processes_with, succeed, wait_for_end

pytestmark = pytest.mark.root

VARIANTS = ("ext4 data=ordered", "ext4 data=writeback", "xfs", "btrfs")


def test_the_demo_prints_a_grid_and_takes_its_scratch_device_away(tmp_path):
    directory, runs = tmp_path / "scratch", str(tmp_path / "runs")
    done = fsconsole("demo", "--dir", str(directory), "--runs", runs, "--size", "320MiB", limit_s=300)
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = list_runs(runs)
    state = read_state(folder)
    assert state.outcome is Outcome.DONE
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert all(cell.value(Metric.DURABLE) > 0 for cell in state.cells)
    grid = done.stdout.partition("\nvariant ")[2].splitlines()
    assert [name for name in VARIANTS if not any(row.startswith(name) for row in grid)] == []
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert os.listdir(directory) == []
    assert loops_under(str(tmp_path)) == []
    wait_until(lambda: processes_with(str(tmp_path)) == [], "its processes end")


def test_a_detached_demo_says_where_its_run_is(tmp_path):
    directory, runs = tmp_path / "scratch", str(tmp_path / "runs")
    out = succeed("demo", "--dir", str(directory), "--runs", runs, "--size", "320MiB", "--detach", "--json")
    (folder,) = list_runs(runs)
    assert json.loads(out) == {"run": folder.name, "folder": folder.path}
    succeed("stop", folder.name, "--now", "--runs", runs)
    wait_for_end(folder)
    (device,) = loops_under(str(tmp_path))
    succeed("scratch", "remove", device)
    assert os.listdir(directory) == []


def test_a_demo_that_cannot_begin_leaves_no_scratch_device(tmp_path):
    directory, runs = tmp_path / "scratch", tmp_path / "runs"
    runs.write_text("no directory")
    done = fsconsole("demo", "--dir", str(directory), "--runs", str(runs), "--size", "320MiB")
    assert done.returncode != 0
    assert done.stderr.startswith("fsconsole: ")
    assert os.listdir(directory) == []
    assert loops_under(str(tmp_path)) == []


def test_cleanup_removes_the_scratch_device_of_a_demo_that_ended_unseen(tmp_path):
    directory, runs = tmp_path / "scratch", str(tmp_path / "runs")
    made = scratch.create(64 * MIB, str(directory))
    folder = new_run(TINY_PLAN, made.device, runs, owned_scratch=made.path)
    with open(made.path, "rb") as file:
        write_marker(file.fileno(), Marker(made.scratch_id, purpose_of(folder.name)))
    assert succeed("cleanup", "--runs", runs) == "Nothing to clean up.\n"
    start_engine(folder)
    wait_for_end(folder)
    assert os.listdir(directory) == [os.path.basename(made.path)]
    assert succeed("cleanup", "--runs", runs) == f"{folder.name}: removed its scratch device\n"
    assert os.listdir(directory) == []
    assert loops_under(str(tmp_path)) == []
    assert succeed("cleanup", "--runs", runs) == "Nothing to clean up.\n"
