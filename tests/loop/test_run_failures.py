"""Runs in which something goes wrong: told in the cell it happened to, and survived by the others."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess

import pytest

from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.text import MIB
from tests.loop.runs import (
    FSCONSOLE,
    assert_nothing_left,
    carry_out,
    fsconsole,
    generator_of,
    is_in,
    new_folder,
    wait_for,
    written,
)

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A scratch device of 64 MiB."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


TOO_MUCH = """
schema = 1
order = "as-listed"
equalise = "none"
[[variant]]
type = "ext4"
mkfs = "-i 1024"
label = "full of inodes"
[[variant]]
type = "ext4"
mkfs = "-i 65536"
label = "roomy"
[[workload]]
kind = "create"
threads = 2
file_size = "{file_size}"
block_size = "1MiB"
"""


def test_a_workload_that_fills_the_filesystem_is_a_result_with_a_reason(tmp_path, device):
    # 52 of 64 MiB fit by the estimate; with an inode of 256 bytes for each KiB they don't.
    done, folder = carry_out(TOO_MUCH.format(file_size="26MiB"), device, tmp_path)
    assert done.returncode == 0, done.stderr
    full, roomy = read_state(folder).cells
    assert (full.status, roomy.status) == (CellStatus.DONE, CellStatus.DONE)
    assert 20 * MIB < full.value(Metric.WRITTEN) < 52 * MIB == roomy.value(Metric.WRITTEN)
    (warning,) = [warning for warning in full.warnings if warning.kind is WarningKind.TARGET_FULL]
    # The other writer may have been done before.
    assert re.fullmatch(r"[12] of 2 writers stopped: No space left on device", warning.reason)
    assert [step.reason for step in full.steps if step.kind is StepKind.WORKLOAD] == [warning.reason]
    assert [step.verdict for step in full.steps if step.kind is StepKind.CHECK] == ["clean"]


def test_a_plan_that_cannot_fit_is_refused_before_anything_is_touched(tmp_path, device):
    runs = tmp_path / "runs"
    plan = written(tmp_path, TOO_MUCH.format(file_size="300MiB"))
    done = fsconsole("run", plan, "--device", device, "--runs", str(runs))
    assert done.returncode == ExitCode.DEVICE_TOO_SMALL
    assert '`scale = "fit"` in the plan' in done.stderr
    assert not runs.exists()


ONE_FITS = """
schema = 1
order = "as-listed"
equalise = "none"
[[variant]]
type = "ext4"
[[workload]]
kind = "create"
threads = [256, 1]
file_size = "512KiB"
"""


def test_a_cell_that_cannot_fit_is_unavailable_and_the_others_run(tmp_path, device):
    done, folder = carry_out(ONE_FITS, device, tmp_path)
    too_large, fitting = read_state(folder).cells
    assert (too_large.status, fitting.status) == (CellStatus.UNAVAILABLE, CellStatus.DONE)
    assert 'use scale = "fit"' in too_large.reason
    assert too_large.steps == ()
    assert done.returncode == ExitCode.OK


FAILING = """
schema = 1
order = "as-listed"
equalise = "none"
[[variant]]
type = "ext4"
mkfs = "-b 1024 -I 2048"
[[variant]]
type = "ext4"
[[workload]]
kind = "create"
file_size = "64KiB"
"""


def test_an_mkfs_that_fails_is_one_failed_cell_and_the_run_goes_on(tmp_path, device):
    done, folder = carry_out(FAILING, device, tmp_path)
    assert done.returncode == ExitCode.CELLS_FAILED
    state = read_state(folder)
    failed, next_one = state.cells
    assert (failed.status, next_one.status) == (CellStatus.FAILED, CellStatus.DONE)
    assert failed.reason.startswith(
        "mkfs: mkfs.ext4 failed with exit code 1: mkfs.ext4: invalid inode size 2048"
    )
    assert (state.status, state.reason) == (RunStatus.FINISHED, "1 of 2 cells failed")
    assert [step.kind for step in failed.steps][-1] is StepKind.MKFS
    output = pathlib.Path(folder.path, failed.steps[-1].commands[0].output)
    assert "invalid inode size 2048" in output.read_text()


SLOW = """
schema = 1
order = "as-listed"
equalise = "none"
[[variant]]
type = "ext4"
mount = "sync"
[[variant]]
type = "ext2"
[[workload]]
kind = "create"
threads = 2
file_size = "128KiB"
block_size = "1"
"""


def test_a_generator_that_is_killed_is_one_failed_cell_and_the_run_goes_on(tmp_path, device):
    runs = str(tmp_path / "runs")
    argv = [*FSCONSOLE, "run", written(tmp_path, SLOW), "--device", device, "--runs", runs, "--json"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as viewer:
        folder = new_folder(runs)
        wait_for(folder, lambda state: is_in(0, StepKind.WORKLOAD)(state) and is_writing(state))
        os.kill(generator_of(folder)[0], signal.SIGKILL)
        viewer.communicate(timeout=60)
    assert viewer.returncode == ExitCode.CELLS_FAILED
    killed, next_one = read_state(folder).cells
    assert (killed.status, next_one.status) == (CellStatus.FAILED, CellStatus.DONE)
    assert killed.reason.startswith(
        "workload: 2 of 2 writers stopped: killed before they were done; it ended"
    )
    assert killed.steps[-1].commands[0].exit_code == 128 + signal.SIGKILL
    assert_nothing_left(device, folder)


def is_writing(state: RunState) -> bool:
    sample = state.last_sample
    return sample is not None and sample.load is not None and sample.load.bytes_done > 0
