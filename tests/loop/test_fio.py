"""fio's job files in whole runs on ext4: figures, files, and what a job must not reach."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellStatus
from fsconsole.text import KIB, MIB
from tests.loop.gauged import assert_gauged
from tests.loop.runs import carry_out, fsconsole, written
from tests.loop.test_programs import HEAD, figures

JOB = """\
[global]
bs=4k
group_reporting
ioengine=psync

[writes]
rw=write
size=2m
numjobs=2
fdatasync=16
rate=2m

[reads]
stonewall
rw=randread
size=1m
filename=sub/other
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


BALLAST = "test $(stat -f -c %S .) = 4096 || exec dd if=/dev/zero of=ballast bs=1M count=40"
FILLED = f"""
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [{{ type = "ext4", mkfs = "-b 1024", label = "full" }}, {{ type = "ext4", mkfs = "-b 4096", label = "half" }}]
after = {{ check = false, delete = "none" }}
workload = [
    {{ name = "ballast", kind = "command", argv = ["sh", "-c", "{BALLAST}"] }},
    {{ name = "a job", kind = "fio", job = "job.fio" }},
]
"""


def test_a_job_that_finds_no_space_left_ends_its_cell_with_the_full_filesystem_and_the_next_cell_goes_on(
    device: str, tmp_path: pathlib.Path
) -> None:
    # A plan can't count what a command writes: the job alone would fit.
    (tmp_path / "job.fio").write_text("[large]\nrw=write\nbs=64k\nsize=20m\n")
    done, folder = carry_out(FILLED, device, tmp_path)
    assert done.returncode == ExitCode.CELLS_FAILED, done.stderr
    full, half = read_state(folder).cells
    assert (full.status, half.status) == (CellStatus.FAILED, CellStatus.DONE), half.reason
    assert f"job large: No space left on device; the filesystem on {device} is full: " in full.reason
    assert figures(half)[Metric.WRITTEN] == 20 * MIB
    assert Metric.WRITTEN not in figures(full), "a part of a job is not the job"


def test_a_job_file_that_is_refused_touches_nothing(device: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.fio").write_text(f"[wipe]\nrw=write\nfilename={device}\n")
    plan = written(tmp_path, f'{HEAD}workload = [{{ kind = "fio", job = "job.fio" }}]\n')
    done = fsconsole("run", plan, "--device", device, "--runs", str(tmp_path / "runs"))
    assert done.returncode == ExitCode.PLAN_BAD_VALUE
    assert "job.fio:3: filename=" in done.stderr


SAME = 'threads = 2, files = 6, file_size = "256KiB", block_size = "16KiB", directories = "per-thread", fsync = 5'
CROSSED = f"""{HEAD.replace("check = false", "check = false, extents = true")}
workload = [
    {{ name = "ours", kind = "create", {SAME} }},
    {{ name = "theirs", kind = "create", generator = "fio", {SAME} }},
    {{ name = "theirs of ours", kind = "read", of = "ours", generator = "fio", cold = true }},
    {{ name = "ours of theirs", kind = "read", of = "theirs", cold = true }},
    {{ name = "draws", kind = "random-write", of = "ours", generator = "fio", threads = 6, block_size = "16KiB", fsync = 4 }},
    {{ name = "more", kind = "append", of = "theirs", generator = "fio", file_size = "64KiB", threads = 2 }},
    {{ name = "ours of more", kind = "read", of = "theirs", threads = 2 }},
    {{ name = "a job", kind = "fio", job = "job.fio" }},
]
"""


def test_fio_makes_the_same_files_as_the_built_in_generator_and_each_reads_the_others_and_a_job_has_its_figures(
    device: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "job.fio").write_text(JOB)
    done, folder = carry_out(CROSSED, device, tmp_path)
    state = read_state(folder)
    (cell,), planned = state.cells, state.request.plan.cells[0].steps
    assert cell.status is CellStatus.DONE, (cell.reason, done.stderr)
    loads: list[dict[Metric, float]] = [{} for _ in range(8)]
    for step in cell.steps:
        number = planned[step.number].workload
        if number is not None:
            loads[number].update({figure.metric: figure.value for figure in step.measurements})
    ours, theirs, theirs_of_ours, ours_of_theirs, draws, more, ours_of_more, job = loads
    for metric in (Metric.WRITTEN, Metric.FILES_MAPPED, Metric.FSYNC_COUNT, Metric.LATENCY_COUNT):
        assert theirs[metric] == ours[metric], metric
    assert (
        ours[Metric.WRITTEN] == theirs_of_ours[Metric.READ_BYTES] == ours_of_theirs[Metric.READ_BYTES] == 6 * 256 * KIB
    )
    # Cold means cold: all that either read came from the device.
    for cold in (theirs_of_ours, ours_of_theirs):
        assert cold[Metric.DEVICE_READ] >= cold[Metric.READ_BYTES]
    # Two writers at once: their files may be in a few pieces, whoever makes them.
    assert theirs[Metric.EXTENTS_MEAN] <= 4 >= ours[Metric.EXTENTS_MEAN]
    assert (draws[Metric.WRITTEN], more[Metric.WRITTEN]) == (6 * 256 * KIB, 6 * 64 * KIB)
    assert ours_of_more[Metric.READ_BYTES] == 6 * 320 * KIB
    assert (job[Metric.WRITTEN], job[Metric.READ_BYTES]) == (4 * MIB, MIB)
    assert job[Metric("write_count")] == 4 * MIB / (4 * KIB)
    assert job[Metric.FSYNC_COUNT] >= 2 * 512 // 16 - 2
    assert job[Metric.FSYNC_P99] <= job[Metric.FSYNC_MAX] * 1.02
    assert job[Metric.FILES_MAPPED] == 3
    assert 0 < job[Metric.DURABLE] < job[Metric.WRITE], "fio's own clock starts after its preparations"
    # By fio's own account of its jobs, in steps of a tick; the launcher's has its preparations too.
    assert job[Metric.USER] + job[Metric.SYSTEM] > 0
    assert_gauged(folder, 7)
