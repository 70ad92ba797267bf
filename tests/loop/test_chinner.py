"""The study of 2012 to its end: its plan with smaller files, fewer threads and its raw row, on a device that xfs takes.

Its plan over memory has its ext4 rows in the soak alone.
"""

from __future__ import annotations

import pathlib
import re

from fsconsole.devices import scratch
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.metrics import Metric
from fsconsole.plan.read import configs_folder, find_config, read_plan
from fsconsole.results.grid import build_grid
from fsconsole.text import MIB
from tests.lab.soak import SOAK, tried
from tests.loop.runs import assert_nothing_left, fsconsole, succeed, written
from tests.loop.test_shipped_plans import assert_whole


def test_the_study_of_2012_runs_to_its_end_with_its_figures_beside_the_published_ones(tmp_path: pathlib.Path) -> None:
    made = scratch.create(320 * MIB, str(tmp_path / "scratch"))
    text = (configs_folder() / "chinner-2012-writeback.toml").read_text()
    changes = {"repeats = 3": "repeats = 1", "[48, 192]": "4", '"1GiB"': '"4MiB"', "check = true": "check = false"}
    # Limits of the whole machine would have other tests' runs refused meanwhile.
    changes |= {'dirty_bytes = "764400KiB"': 'memory = "1GiB"', 'dirty_background_bytes = "382200KiB"': ""}
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    try:
        done = fsconsole(
            "run", written(tmp_path, text), "--device", made.device, "--runs", str(tmp_path / "runs"), "--json"
        )
        assert done.returncode == 0, done.stderr
        (folder,) = list_runs(str(tmp_path / "runs"))
        assert_nothing_left(made.device, folder)
        state = read_state(folder)
        assert_whole(state, read_plan(find_config("chinner-2012-writeback")))
        grid = build_grid(state)
        labels = {row.key.variant.label for row in grid.rows}
        assert labels == {"ext4, no journal (unfit for use)", "ext4", "xfs", "raw"}
        wanted = {
            Metric.BDI_WRITEBACK,
            Metric.BDI_B_IO,
            Metric.WRITE_SEEK,
            Metric.QUEUE_DEPTH,
            Metric.WRITEBACK_STARTS,
            Metric.READ_BEYOND,
        }
        found: dict[str, set[Metric]] = {}
        for row in grid.rows:
            found.setdefault(row.key.variant.label, set()).update(metric for metric, _ in row.figures)
        assert all(wanted <= metrics for label, metrics in found.items() if label in labels - {"raw"})
        shown = succeed("results", folder.name, "--runs", str(tmp_path / "runs"), "--with", "chinner-2012")
        assert "BdiWriteback" in shown
        assert "b_io" in shown
        # Of xfs each map says in which allocation groups its extents lie.
        maps = succeed("results", folder.name, "--runs", str(tmp_path / "runs"), "--map")
        assert len(re.findall(r"^Extents by AG \(\S+ each\): \d+: \d+ \([A-D]", maps, re.MULTILINE)) == 1
    finally:
        scratch.remove(made)


def test_the_memory_of_the_study_of_2012_is_an_axis_of_its_grid(tmp_path: pathlib.Path) -> None:
    made = scratch.create(320 * MIB, str(tmp_path / "scratch"))
    text = (configs_folder() / "chinner-2012-memory.toml").read_text()
    # Limits of the whole machine would have other tests' runs refused meanwhile.
    changes = {'dirty_bytes = ["764400KiB", "8GiB"]': "", 'dirty_background_bytes = "382200KiB"': ""}
    changes |= {} if SOAK else {'[[variant]]\ntype = "ext4"\nlabel = "ext4"\n\n': ""}
    changes |= {"repeats = 3": "repeats = 1", "threads = 48": "threads = 4", '"1GiB"': '"4MiB"'}
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    try:
        done = fsconsole("run", written(tmp_path, text), "--device", made.device, "--runs", str(tmp_path / "runs"))
        assert done.returncode == 0, done.stderr
        (folder,) = list_runs(str(tmp_path / "runs"))
        assert_nothing_left(made.device, folder)
        state = read_state(folder)
        labels = tried(("ext4", "xfs"), ("xfs",))
        assert {cell.variant.label for cell in state.request.plan.cells} == set(labels)
        assert_whole(state, read_plan(tmp_path / "plan.toml"))
        assert len(state.cells) == 2 * len(labels)
        shown = succeed("results", folder.name, "--runs", str(tmp_path / "runs"))
        assert set(re.findall(r"(?m)^(ext4|xfs) +(\w+)", shown)) == {
            (label, memory) for label in labels for memory in ("4GiB", "64GiB")
        }
    finally:
        scratch.remove(made)
