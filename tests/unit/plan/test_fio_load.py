"""Loads through fio: what a plan refuses because fio would do something else, and how fio is told of the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.errors.targets import FioJobRefused, PlanBadValue
from fsconsole.model.workload import Directories, Generator, Layout, Workload, WorkloadKind
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import parse_plan
from fsconsole.results.environment import load_signature
from fsconsole.text import GIB, KIB, MIB
from fsconsole.workloads.fio_load import words
from fsconsole.workloads.tree import SourceFiles
from tests.unit.model.test_fio_job import JOB

HEAD = 'schema = 1\nvariant = [{ type = "ext4" }]\n'
CREATE = 'name = "ours", kind = "create", threads = 2, files = 4, file_size = "64KiB", block_size = "16KiB"'


def unavailable(*loads: str) -> str:
    text = f"{HEAD}workload = [{', '.join(f'{{ {load} }}' for load in loads)}]\n"
    catalog = load_catalog()
    plan = build_plan(parse_plan(text, "p.toml", catalog), [TargetSpec("/dev/x", 4 * GIB)], catalog, run_id="r")
    return plan.cells[0].unavailable


REFUSED = {
    'kind = "create", size = "auto"': "pilot",
    'kind = "create", file_size = ["4KiB", "64KiB"], block_size = "4KiB"': "sizes in another way",
    'kind = "create", file_size = "64KiB", data = 0.5': "zeros",
    'kind = "create", file_size = "65KiB"': "shorter block",
    'kind = "create", file_size = "64KiB", ftruncate = true': "sizes all files",
    'kind = "create", file_size = "64KiB", bytes = "1GiB"': "known beforehand",
    'kind = "create", file_size = "64KiB", duration = "5s"': "known beforehand",
    'kind = "create", file_size = "64KiB", files = 30000': "name of each",
    'kind = "create", file_size = "64KiB", files = 2, fsync = "each-file"': "once more",
    'kind = "create", file_size = "64KiB", fsync = "end", sync_call = "fdatasync"': "fsync alone",
    'kind = "create", file_size = "64KiB", fsync = 1, sync_call = "fdatasync"': "leaves out the sync",
    'kind = "create", file_size = "64KiB", block_size = ["16KiB", "32KiB"], files = 3, threads = [1, 3], fsync = 2': "leaves out",
    'kind = "stat", of = "ours"': "no load of kind stat",
    'kind = "random-read", of = "ours", bytes = "1GiB"': "current call",
    'kind = "read", of = "ours", files = 9': "each file once",
    'kind = "mix", weights = { read = 1, create = 1 }, files = 9, file_size = "64KiB"': "no load of kind mix",
}  # fmt: skip


@pytest.mark.parametrize("load", REFUSED)
def test_what_fio_would_do_otherwise_is_refused_when_the_plan_is_read(load: str) -> None:
    with pytest.raises(PlanBadValue, match=REFUSED[load]):
        unavailable(CREATE, f'{load}, generator = "fio"')


@pytest.mark.parametrize(
    ("load", "why"),
    [
        ('kind = "random-read", threads = 2', "one for each thread"),
        (
            'kind = "random-write", threads = 4, fsync = 2, sync_call = "fdatasync", block_size = "16KiB"',
            "leaves out the sync",
        ),
        ('kind = "read", threads = 2, bytes = "1GiB", end = "at-once"', "one for each thread"),
        ('kind = "read", block_size = "24KiB"', "shorter block"),
    ],
)
def test_what_fio_would_do_otherwise_with_these_files_makes_a_cell_unavailable(load: str, why: str) -> None:
    assert why in unavailable(CREATE, f'{load}, generator = "fio"')


@pytest.mark.parametrize(
    "load",
    [
        f"{CREATE.replace('ours', 'theirs')}, fsync = 5",
        f'{CREATE.replace("ours", "theirs")}, fsync = "end", directories = 2, direct = true, data = "zero"',
        'kind = "read", threads = 3',
        'kind = "append", file_size = "16KiB", block_size = "16KiB"',
        'kind = "random-write", threads = 4, fsync = 1, block_size = "16KiB"',
        'kind = "random-read", threads = 4, block_size = "16KiB", duration = "5s", end = "at-once"',
    ],
)
def test_what_fio_can_do_is_planned(load: str) -> None:
    assert not unavailable(CREATE, f'{load}, generator = "fio"')


def test_each_thread_is_a_job_with_the_names_of_the_built_in_generators_files() -> None:
    load = Workload(
        "x", WorkloadKind.CREATE, 2, 3, 64 * KIB, 16 * KIB, Directories(Layout.PER_THREAD), generator=Generator.FIO
    )
    told = words(load, "/tree/x", None)
    assert told[told.index("--name=t0000") :] == (
        "--name=t0000", "--filesize=65536", "--size=131072", "--filename=t0000/f00000000:t0000/f00000002",
        "--name=t0001", "--filesize=65536", "--size=65536", "--filename=t0001/f00000001",
    )  # fmt: skip


def test_names_of_many_files_are_given_in_parts_that_fio_takes() -> None:
    load = Workload("x", WorkloadKind.CREATE, 1, 1000, 4 * KIB, 4 * KIB, generator=Generator.FIO)
    names = [
        word.removeprefix("--filename=") for word in words(load, "/tree/x", None) if word.startswith("--filename=")
    ]
    assert max(map(len, names)) < os.pathconf("/", "PC_PATH_MAX")
    assert ":".join(names).split(":") == [f"f{number:08d}" for number in range(1000)]


def test_an_append_begins_where_the_files_end_and_files_of_unlike_sizes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    for number in range(2):
        (tmp_path / "ours" / f"f{number:08d}").write_bytes(bytes(100))
    source = SourceFiles("ours", Directories(), (1, 1))
    load = Workload("x", WorkloadKind.APPEND, 1, 0, 4 * KIB, 4 * KIB, generator=Generator.FIO, source=0)
    told = words(load, str(tmp_path / "x"), source)
    assert {"--offset=100", "--filesize=4196", "--directory=../ours"} <= set(told)
    (tmp_path / "ours" / "f00000001").write_bytes(b"")
    with pytest.raises(GeneratorFailed, match="2 sizes"):
        words(load, str(tmp_path / "x"), source)
    (tmp_path / "ours" / "f00000001").unlink()
    with pytest.raises(GeneratorFailed, match="No such file"):
        words(load, str(tmp_path / "x"), source)


def test_a_job_file_is_read_with_the_plan_and_kept_with_it(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.fio").write_text("[a]\nrw=randwrite\nsize=1m\nfsync=1")
    text = HEAD + 'workload = [{ kind = "fio", job = "jobs/a.fio", require = { fsync_p99 = "<= 10ms" } }]\n'
    (load,) = parse_plan(text, str(tmp_path / "p.toml"), load_catalog()).workloads
    assert load.job == "[a]\nrw=randwrite\nsize=1m\nfsync=1\n"
    with pytest.raises(PlanBadValue, match="read_p99"):
        parse_plan(text.replace("fsync_p99", "read_p99"), str(tmp_path / "p.toml"), load_catalog())
    (tmp_path / "jobs" / "a.fio").write_text("[a]\nfilename=/dev/sda\n")
    with pytest.raises(FioJobRefused, match=r"jobs/a.fio:2: filename=/dev/sda"):
        parse_plan(text, str(tmp_path / "p.toml"), load_catalog())


def test_a_job_that_does_not_fit_is_told_with_what_makes_it_fit_since_scale_leaves_it_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text("[a]\nrw=write\nnrfiles=9000\nnumjobs=2\nfilesize=16k\n")
    text = HEAD + 'workload = [{ kind = "fio", job = "a.fio" }]\n'
    plan_file = parse_plan(text, str(tmp_path / "p.toml"), load_catalog())
    (cell, *_) = build_plan(plan_file, [TargetSpec("/dev/x", 64 * MIB)], load_catalog(), run_id="one").cells
    assert "the workloads write 281.2 MiB, /dev/x has 64.0 MiB: use smaller sizes in the job file" in cell.unavailable
    assert "the loads need 18,002 inodes" in cell.unavailable


def test_a_job_file_that_would_never_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.fio")
    with pytest.raises(PlanBadValue, match="not a regular file"):
        parse_plan(f'{HEAD}workload = [{{ kind = "fio", job = "a.fio" }}]\n', str(tmp_path / "p.toml"), load_catalog())


def test_a_plan_with_a_job_and_a_load_by_fio_reads_back_as_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text(JOB)
    text = f'{HEAD}workload = [{{ {CREATE}, generator = "fio" }}, {{ kind = "fio", job = "a.fio" }}]\n'
    plan = parse_plan(text, str(tmp_path / "p.toml"), load_catalog())
    assert parse_plan(plan_to_toml(plan), "elsewhere.toml", load_catalog()).workloads == plan.workloads


def test_jobs_that_differ_only_in_their_middle_are_told_apart() -> None:
    one, other = (
        Workload(
            "x",
            WorkloadKind.FIO,
            1,
            0,
            0,
            4 * KIB,
            job=f"[a]\n{'rw=read' + chr(10) * 2:s}" * 30 + f"bs={size}\n" + "loops=1\n" * 30,
        )
        for size in ("4k", "8k")
    )
    assert load_signature(one) != load_signature(other)


def test_a_jobs_files_count_against_the_devices_space(tmp_path: Path) -> None:
    job = "[a]\\nsize=5g\\nrw=write\\n"
    assert "5.0 GiB" in unavailable(f'kind = "fio", job = "{job}"')
    assert not unavailable(f'kind = "fio", job = "{job.replace("5g", "1g")}"')
