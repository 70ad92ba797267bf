"""Raw rows: streams on the device itself behind the whole gate, with figures that filesystems are set against."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.runner import require_own_commands
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind, Write
from fsconsole.model.state import CellStatus
from fsconsole.system.block import open_exclusive
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from fsconsole.workloads.raw import from_line
from tests.conftest import run
from tests.loop.runs import assert_nothing_left, fsconsole, new_run, objects, succeed, written

pytestmark = pytest.mark.root

PLAN = """
schema = 1
order = "as-listed"
equalise = "none"
raw = true
[[variant]]
type = "ext4"
[[workload]]
name = "few"
kind = "create"
threads = 4
file_size = "3MiB"
[after]
delete = "none"
"""
STREAM = (sys.executable, "-I", "-m", "fsconsole.workloads.raw")


def stream(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STREAM, *words], check=False, capture_output=True, text=True)


def sized(streams: int, each: int, block: int = MIB) -> list[str]:
    return ["--streams", str(streams), "--bytes", str(each), "--block", str(block)]


def nonzero_mib(device: str) -> list[int]:
    """Return the numbers of the MiB of a device that hold anything."""
    data = pathlib.Path(device).read_bytes()
    return [n for n in range(len(data) // MIB) if any(data[n * MIB : (n + 1) * MIB])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with a raw row and a filesystem's on a device that needs consent: what was planned, its folder, the device."""
    directory = tmp_path_factory.mktemp("raw")
    backing_file = directory / "disk"
    backing_file.touch()
    os.truncate(backing_file, 64 * MIB)
    device = run("losetup", "--find", "--show", "--direct-io=on", str(backing_file)).strip()
    try:
        plan, runs = written(directory, PLAN), str(directory / "runs")
        (planned,) = objects(
            " ".join(succeed("plan", plan, "-d", device, "--runs", runs, "--json").split("\n"))
        )
        done = fsconsole("run", plan, "-d", device, "--runs", runs, "--consent", planned["consent"])
        assert done.returncode == 0, done.stderr
        (folder,) = list_runs(runs)
        assert_nothing_left(device, folder)
        yield planned, folder, device
    finally:
        run("losetup", "--detach", device)


def test_a_raw_row_has_its_figures_each_from_the_command_that_was_planned(whole):
    planned, folder, _ = whole
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 2
    raw = state.cells[0]
    executed = [list(command.argv) for step in raw.steps for command in step.commands]
    assert executed == [argv for step in planned["cells"][0]["steps"] for argv in step["commands"]]
    assert len(executed) == 5
    for metric in (
        Metric.RAW_WRITE_1,
        Metric.RAW_WRITE_N,
        Metric.RAW_READ_1,
        Metric.RAW_READ_N,
        Metric.READTEST,
    ):
        assert raw.value(metric) > 0, metric
    assert raw.value(Metric.WRITTEN) == raw.value(Metric.READ_BYTES) == 12 * MIB
    assert raw.value(Metric.DURABLE) == raw.value(Metric.RAW_WRITE_N) <= raw.value(Metric.WRITE)
    assert {step.outcome for step in raw.steps} == {Outcome.DONE}


def test_a_filesystem_stands_against_both_raw_figures(whole):
    _, folder, _ = whole
    raw, ext4 = read_state(folder).cells
    document = json.loads(
        succeed("results", folder.name, "--runs", os.path.dirname(folder.path), "--format", "json")
    )
    (row,) = [row for row in document["rows"] if row["name"] == "ext4"]
    for name, metric in (("of_raw_1", Metric.RAW_WRITE_1), ("of_raw_n", Metric.RAW_WRITE_N)):
        share = 100 * ext4.value(Metric.DURABLE) / raw.value(metric)
        assert row["figures"][name]["median"] == pytest.approx(share)
    table = succeed("results", folder.name, "--runs", os.path.dirname(folder.path))
    assert "% raw 1" in table
    assert "% raw N" in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_planned_command_can_be_repeated_by_hand(whole):
    planned, _, device = whole
    steps = {step["kind"]: step["commands"] for step in planned["cells"][0]["steps"]}
    report = from_line(run(*steps["raw-write"][0]))
    assert report.moved_bytes > 0
    assert json.loads(run(*steps["readtest"][0]))["device"] == device


def test_every_stream_writes_its_own_part_of_the_device_and_nothing_else(loop_device):
    device = loop_device(40 * MIB)
    done = stream("write", device, *sized(4, 2 * MIB))
    assert done.returncode == 0, done.stderr
    assert from_line(done.stdout).moved_bytes == 8 * MIB
    assert nonzero_mib(device) == [0, 1, 10, 11, 20, 21, 30, 31]


def test_a_write_ends_with_one_flush_and_a_read_writes_nothing(loop_device):
    device = loop_device(8 * MIB)
    before = flushes(device)
    assert stream("read", device, *sized(2, 4 * MIB)).returncode == 0
    assert flushes(device) == before
    assert nonzero_mib(device) == []
    assert stream("write", device, *sized(2, 4 * MIB)).returncode == 0
    assert flushes(device) == before + 1


def flushes(device: str) -> int:
    """Return the flushes that a device has completed (Documentation/block/stat.rst, the 16th field)."""
    return int(pathlib.Path(f"/sys/block/{os.path.basename(device)}/stat").read_text().split()[15])


def test_a_claimed_or_a_mounted_device_is_left_as_it_is(loop_device, mounted):
    device = loop_device(8 * MIB)
    held = open_exclusive(device)
    try:
        done = stream("write", device, *sized(1, MIB))
    finally:
        os.close(held)
    assert (done.returncode, "busy" in done.stderr) == (1, True)
    assert nonzero_mib(device) == []
    run("mkfs.ext4", "-q", device)
    mounted(device)
    assert stream("write", device, *sized(1, MIB)).returncode == 1


def test_a_stream_that_fails_in_the_middle_says_so(tmp_path, loop_device):
    device = loop_device(8 * MIB)
    backing_file = (
        pathlib.Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file").read_text().strip()
    )
    os.truncate(backing_file, MIB)
    done = stream("read", device, *sized(1, 8 * MIB))
    assert done.returncode == 1
    assert done.stderr == f"{device}: Input/output error\n"


def test_what_somebody_else_put_there_meanwhile_stops_the_run_before_a_stream(tmp_path, loop_device):
    device = loop_device(32 * MIB)
    plan, runs = written(tmp_path, PLAN), str(tmp_path / "runs")
    (planned,) = objects(" ".join(succeed("plan", plan, "-d", device, "--runs", runs, "--json").split("\n")))
    run("mkfs.ext4", "-q", device)
    done = fsconsole("run", plan, "-d", device, "--runs", runs, "--consent", planned["consent"])
    assert done.returncode == ExitCode.CONSENT_STALE
    assert "ext4" in run("blkid", "--probe", device)


def test_a_journal_that_asks_for_another_device_is_refused(tmp_path, whole):
    """What an engine executes is what its cell comes to, raw streams and settings included."""
    _, folder, _ = whole
    request = read_state(folder).request
    require_own_commands(request, load_catalog(), folder.journal)

    def forged(**changes):
        cell = request.plan.cells[0]
        steps = tuple(
            replace(step, **changes) if step.kind is StepKind.RAW_WRITE else step for step in cell.steps
        )
        cells = (replace(cell, steps=steps), *request.plan.cells[1:])
        return replace(request, plan=replace(request.plan, cells=cells))

    other = tuple(shlex.split(shlex.join(STREAM) + " write /dev/null --streams 1 --bytes 1 --block 1"))
    for changes in ({"commands": (other,)}, {"writes": (Write("read_ahead", "/etc/passwd", "1"),)}):
        with pytest.raises(JournalUnusable):
            require_own_commands(forged(**changes), load_catalog(), folder.journal)


DISTURBED = """
import subprocess, sys
from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.model.plan import StepKind
quiesce, calls = HANDLERS[StepKind.QUIESCE], []
def disturbed(work, step):
    calls.append(step)
    if len(calls) == 2:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "foreign", work.cell.target], check=True)
    return quiesce(work, step)
HANDLERS[StepKind.QUIESCE] = disturbed
sys.exit(runner.main(sys.argv[1:]))
"""


def test_a_filesystem_that_appears_between_two_streams_stops_the_run(tmp_path, loop_device):
    device = loop_device(32 * MIB)
    folder = new_run(PLAN, device, str(tmp_path / "runs"))
    argv = engine_argv((sys.executable, "-c", DISTURBED, folder.path))
    subprocess.run(argv, check=False, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True)
    state = read_state(folder)
    assert state.outcome is Outcome.FAILED
    assert "foreign" in state.reason or "ext4" in state.reason
    assert run("blkid", "--probe", "-s", "LABEL", "-o", "value", device) == "foreign\n"
    kinds = [step.kind for step in state.cells[0].steps if step.outcome is Outcome.DONE]
    assert kinds.count(StepKind.RAW_WRITE) == 1
