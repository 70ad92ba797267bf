"""The studies of 2005 by tiobench and FFSB's profiles as whole runs at the smallest scale, and curves of such runs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import find_config, list_configs, read_plan
from fsconsole.results.blocks import Block, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.text import GIB, KIB, MIB
from tests.conftest import MakeLoopDevice
from tests.loop.cold import assert_cold
from tests.loop.runs import carry_out, fsconsole

BLOCK = 16384
THREADS = (1, 2, 3)
OPERATIONS = 20
PHASES = ["sequential write", "random write", "sequential read", "random read"]


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(128 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def small(text: str) -> str:
    """Return a shipped plan in one round on ext4 without delayed allocation, without its check."""
    workloads = text[text.index("[[workload]]") :].partition("[after]")[0]
    return (
        'schema = 1\nrepeats = 1\nequalise = "none"\nvariant = [{ type = "ext4", mkfs = "-O ^64bit,^extents", '
        f'mount = "nodelalloc" }}]\nafter = {{ check = false, delete = "none" }}\n{workloads}'
    )


@pytest.fixture(scope="module")
def tiobench(device: str, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    text = small(find_config("cao-2005-tiobench").read_text())
    for old, new in (
        ("[1, 2, 4, 8, 16, 32, 64]", str(list(THREADS))),
        ('"4GiB"', '"4MiB"'),
        (f"{4000 * BLOCK}B", f"{OPERATIONS * BLOCK}B"),
    ):
        assert old in text
        text = text.replace(old, new)
    done, folder = carry_out(text, device, tmp_path_factory.mktemp("tiobench"))
    assert done.returncode == 0, done.stderr
    return folder


def blocks(folder: RunFolder) -> dict[str, Block]:
    state = read_state(folder)
    return {block.name: block for block in blocks_of(state, build_grid(state))}


def test_tiobench_s_phases_move_its_bytes_with_its_threads(tiobench: RunFolder) -> None:
    found = blocks(tiobench)
    assert list(found)[:4] == PHASES
    for name in PHASES:
        assert found[name].axes == ("threads",)
        for row in found[name].rows:
            threads = int(row.axes[0])
            whole = 4 * MIB // threads // BLOCK * BLOCK * threads
            moved = whole if name.startswith("sequential") else OPERATIONS // threads * threads * BLOCK
            metric = Metric.WRITTEN if name.endswith("write") else Metric.READ_BYTES
            assert row.row.value(metric) == moved, (name, threads)
            # One sync for each file, after its last write, beside the latency of calls.
            assert row.row.value(Metric.FSYNC_COUNT) == (threads if name.endswith("write") else None)
            assert row.row.value(Metric.LATENCY_COUNT) == moved / BLOCK
            for tells in (
                Metric.CPU_EFFICIENCY,
                Metric.LATENCY_MEAN,
                Metric.LATENCY_MAX,
                Metric.OVER_2_S,
                Metric.OVER_10_S,
            ):
                assert row.row.value(tells) is not None, (name, tells)
    assert_each_is_cold(tiobench)
    # Cold means cold: all that the readers got came from the device, but for blocks that were drawn twice.
    for name, drawn_once in (("sequential read", 1.0), ("random read", 0.7)):
        for row in found[name].rows:
            read = row.row.value(Metric.READ_BYTES) or 0
            assert (row.row.value(Metric.DEVICE_READ) or 0) >= drawn_once * read, name


@pytest.mark.soak
def test_tiobench_with_the_blocks_as_printed_moves_whole_ones_of_16348_bytes(device: str, tmp_path: Path) -> None:
    text = small(find_config("cao-2005-tiobench-as-printed").read_text())
    for old, new in (("[1, 2, 4, 8, 16, 32, 64]", "2"), ('"4GiB"', '"2MiB"'), (f"{4000 * 16348}B", f"{6 * 16348}B")):
        assert old in text
        text = text.replace(old, new)
    done, folder = carry_out(text, device, tmp_path)
    assert done.returncode == 0, done.stderr
    state_of(folder)
    found = blocks(folder)
    whole = MIB // 16348 * 16348 * 2
    metrics = (Metric.WRITTEN, Metric.WRITTEN, Metric.READ_BYTES, Metric.READ_BYTES)
    rows = [found[name].rows[0].row for name in PHASES]
    moved = [row.value(metric) for row, metric in zip(rows, metrics, strict=True)]
    assert moved == [whole, 6 * 16348, whole, 6 * 16348]
    assert [row.value(Metric.LATENCY_COUNT) for row in rows] == [bytes_ / 16348 for bytes_ in moved if bytes_]


def refusal_of(cell: Cell, point: Path) -> str:
    """Carry out a cell's mkfs and mount as the plan lists them, but for the place; return what the first failing one says."""
    listed = [argv for step in cell.steps if step.kind in (StepKind.MKFS, StepKind.MOUNT) for argv in step.commands]
    for argv in (*listed[:-1], (*listed[-1][:-1], str(point)), ("umount", str(point))):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr
    return ""


def test_what_the_shipped_plans_leave_out_is_refused_by_this_kernel(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    """All else in them is carried out by test_shipped_plans.py."""
    device, point = loop_device(GIB), tmp_path / "mnt"
    point.mkdir()
    said: dict[tuple[object, ...], str] = {}
    for path in list_configs():
        # Larger, as far as the plan knows: files of millions have no room here.
        target = TargetSpec(device, 200 * GIB, is_scratch=True)
        plan_file = replace(read_plan(path), arrays=())
        for cell in build_plan(
            plan_file, (target,), load_catalog(), run_id="run", kernel=os.uname().release, memory_bytes=GIB
        ).cells:
            of = cell.variant
            words = (of.filesystem, of.mkfs_words, of.mount_words, of.tune_words)
            if "kernels refuse it" in cell.unavailable and words not in said:
                said[words] = refusal_of(cell, point)
    assert [words for words, why in said.items() if not why] == []
    assert len(said) > 5


def test_curves_of_a_run_are_printed_in_80_columns_and_written_as_svg(tiobench: RunFolder, tmp_path: Path) -> None:
    runs_dir = str(Path(tiobench.path).parent)
    done = fsconsole("results", "latest", "--runs", runs_dir, "--curves", "--column", "write,CPU efficiency")
    assert done.returncode == 0, done.stderr
    assert "write, MB/s, over threads" in done.stdout
    assert "CPU efficiency, MB/s, over threads" in done.stdout
    assert "Intervals need 3 rounds." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    svg = tmp_path / "curves.svg"
    for expected in (0, 1):
        done = fsconsole("results", "latest", "--runs", runs_dir, "--curves", "--svg", str(svg))
        # A file that is there is not replaced.
        assert (done.returncode != 0) == bool(expected), done.stderr
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")  # noqa: S314 (it is our own)
    done = fsconsole("results", "latest", "--runs", runs_dir, "--axis", "threads")
    assert "--axis goes with --curves" in done.stderr
    done = fsconsole("results", "latest", "--runs", runs_dir, "--curves", "--sort", "write")
    assert "--sort does not go with --curves" in done.stderr


def state_of(folder: RunFolder) -> RunState:
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE], [cell.reason for cell in state.cells]
    return state


def assert_each_is_cold(folder: RunFolder) -> None:
    state = read_state(folder)
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        assert_cold(cell, planned)


def ffsb(*names: str, seconds: str) -> str:
    """Return the loads of shipped FFSB plans in one life, with two threads."""
    texts = [find_config(f"ffsb-{name}").read_text() for name in names]
    tables = "".join(text[text.index("[[workload]]") :] for text in texts)
    return re.sub(r"threads = .*", f'threads = 2\nduration = "{seconds}"', small(f"{tables}[after]"))


@pytest.mark.soak
def test_ffsb_s_large_file_profiles_run_to_their_end(device: str, tmp_path: Path) -> None:
    names = ("create", "sequential-read", "random-read", "random-write")
    text = ffsb(*(f"large-file-{name}" for name in names), seconds="50ms")
    # 40 MiB become 80 KiB, 1 GiB 2 MiB.
    done, folder = carry_out(text.replace("schema = 1\n", "schema = 1\nscale = 0.002\n"), device, tmp_path)
    assert done.returncode == 0, done.stderr
    cell = state_of(folder).request.plan.cells[0]
    assert [load.kind for load in cell.workloads] == [
        WorkloadKind.CREATE, *(WorkloadKind.CREATE, WorkloadKind.MIX) * 3,
    ]  # fmt: skip
    assert_each_is_cold(folder)
    found = blocks(folder)
    reads = found["large-file sequential read"].rows[0].row
    # Each read takes a whole file of 80 KiB in 20 blocks.
    assert (reads.value(Metric.READ_BYTES) or 0) % (80 * KIB) == 0
    assert reads.value(Metric.READ_COUNT) == (reads.value(Metric.READ_BYTES) or 0) / 4096
    writes = found["large-file random write"].rows[0].row
    # An operation moves 40 MiB, however small the files have become: as in FFSB, it is not cut by the time.
    assert (writes.value(Metric.WRITTEN) or 0) % (40 * MIB) == 0
    assert (writes.value(Metric.WRITTEN) or 0) > 0


@pytest.mark.soak
def test_ffsb_s_mail_server_appends_creates_and_deletes(device: str, tmp_path: Path) -> None:
    text = ffsb("mail-server", seconds="100ms")
    done, folder = carry_out(
        text.replace("schema = 1\n", 'schema = 1\nscale = 0.01\nkeep = "file-size"\n'), device, tmp_path
    )
    assert done.returncode == 0, done.stderr
    state_of(folder)
    found = blocks(folder)
    assert found["mail server, file set"].load is not None
    mail = found["mail server"].rows[0].row
    counts = [mail.value(metric) or 0 for metric in (Metric.APPEND_COUNT, Metric.CREATE_COUNT, Metric.DELETE_COUNT)]
    assert all(counts)
    # 2 : 2 : 1, as far as chance has it.
    assert 1 < counts[1] / counts[2] < 4
