"""Runs in directories: nothing is formatted, nothing of others is touched, and nothing is left."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.metrics import Metric
from fsconsole.model.place import own_name
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.results.grid import build_grid
from fsconsole.text import MIB
from fsconsole.units import format_bytes
from fsconsole.workloads.builtin import prepare_load
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.runs import (
    engine_of,
    freeze_load,
    fsconsole,
    kill_engines,
    new_folder,
    succeed,
    thaw,
    wait_for_end,
    written,
)

CHECKOUT = Path(__file__).parents[2]
PLAN = """
schema = 1
title = "directories"
repeats = 1
[[workload]]
name = "files"
kind = "create"
threads = 2
file_size = "1MiB"
size = "auto"
[[workload]]
name = "back"
kind = "read"
cold = true
"""
PLAN = PLAN.replace('file_size = "1MiB"\nsize = "auto"', 'files = 8\nfile_size = "1MiB"')
SLOW_PLAN = """
schema = 1
repeats = 1
workload = [{ kind = "create", threads = 2, file_size = "128KiB", block_size = "1" }]
"""
JOB = "[writes]\nrw=write\nbs=16k\nsize=512k\nnumjobs=2\nfsync=8\ngroup_reporting\n"
PROGRAMS = """
[[workload]]
name = "a command"
kind = "command"
argv = ["sh", "-c", "mkdir inner && head -c 300000 /dev/urandom > inner/one && cp inner/one two"]
[[workload]]
name = "a job"
kind = "fio"
job = "job.fio"
[[workload]]
name = "a copy"
kind = "copy"
sources = ["SOURCES"]
"""
AUTO_PLAN = PLAN.replace("files = 8", 'size = "auto"').replace("repeats = 1", 'repeats = 1\nload_time = "0.1s"')


@pytest.fixture
def disk(loop_device: MakeLoopDevice, mounted: Mount) -> Path:
    """A mounted ext4 with somebody's file in a directory."""
    device = loop_device(64 * MIB)
    run("mkfs.ext4", "-q", device)
    point = mounted(device)
    (point / "data").mkdir()
    (point / "data" / "precious").write_text("kept")
    return point


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[str]:
    """A directory of runs, none of which goes on after the test."""
    path = str(tmp_path / "runs")
    yield path
    kill_engines(path)


def everything_below(*places: Path) -> set[str]:
    return {str(path) for place in places for path in place.rglob("*")}


def test_directories_are_rows_in_rounds_and_what_was_made_is_deleted(
    disk: Path, runs: str, tmp_path: Path, mounted: Mount
) -> None:
    parts = [disk / part for part in ("upper", "work")]
    for part in parts:
        part.mkdir()
    layers = f"lowerdir={disk / 'data'},upperdir={parts[0]},workdir={parts[1]}"
    union = mounted("overlay", filesystem="overlay", options=layers)
    before = everything_below(disk / "data", union)
    words = ("-D", str(disk / "data"), "-D", f"union={union}", "--runs", runs)
    text = AUTO_PLAN.replace("repeats = 1", "repeats = 2")
    plan = json.loads(succeed("plan", written(tmp_path, text), *words, "--json"))
    assert [one["label"] for one in plan["directories"]] == [str(disk / "data"), "union"]
    assert plan["consent"] == ""
    assert "writes at most" in plan["directories"][0]["writes"]
    assert not any(step["commands"] for cell in plan["cells"] for step in cell["steps"])
    done = fsconsole("run", written(tmp_path, text), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything_below(disk / "data", union) == before
    (folder,) = list_runs(runs)
    state = read_state(folder)
    rounds = [(one.repeat, one.target) for one in state.request.plan.cells]
    assert [repeat for repeat, _ in rounds] == sorted(repeat for repeat, _ in rounds)
    assert len(set(rounds)) == 2 * 2
    assert {len(row.cells) for row in build_grid(state).rows} == {2}
    kinds = [{one.metric.value for step in cell.steps for one in step.measurements} for cell in state.cells]
    for of in kinds:
        assert {"write", "durable", "read", "delete"} <= of
        assert not {"mkfs", "mount", "usable", "check", "delete_durable"} & of
    assert len(state.pilots) == 1
    loads = state.request.plan.cells[0].workloads
    assert 0 < loads[0].files * loads[0].file_size_bytes <= 40 * MIB, "60 % of the free space"
    by_target = dict(
        zip([cell.target for cell in state.request.plan.cells], zip(kinds, state.cells, strict=True), strict=True)
    )
    of, known = by_target[str(disk / "data")]
    assert {"extents_mean", "device_read"} <= of
    assert not [one for one in known.warnings if one.kind.value == "not-cold"], (
        "direct reads of the loop device prove it"
    )
    _, known = by_target[str(union)]
    assert [one.kind.value for one in known.warnings if one.kind.value == "not-cold"] == ["not-cold"]
    report = succeed("results", "--runs", runs)
    assert "filesystem: delete" in report
    assert ": ext4 on /dev/loop" in " ".join(report.split())


def loads_of(cell: CellState, planned: Cell) -> dict[str, dict[Metric, float]]:
    """Return the figures of each load, by its name."""
    found: dict[str, dict[Metric, float]] = {load.name: {} for load in planned.workloads}
    for step in cell.steps:
        number = planned.steps[step.number].workload
        if number is not None:
            found[planned.workloads[number].name] |= {one.metric: one.value for one in step.measurements}
    return found


def with_sources(place: Path) -> str:
    """Return the loads by programs, with their fio job and a tree of sources in a directory that all may read."""
    (place / "job.fio").write_text(JOB)
    (place / "sources").mkdir(mode=0o755)
    for number in range(3):
        (place / "sources" / f"f{number}").write_bytes(os.urandom(1000))
    return PROGRAMS.replace("SOURCES", str(place / "sources"))


def assert_figures_of_programs(loads: dict[str, dict[Metric, float]]) -> None:
    assert loads["a command"][Metric.FILES_MADE] == 2
    assert loads["a command"][Metric.REAL] > 0
    assert (loads["a job"][Metric.WRITTEN], loads["a job"][Metric.FSYNC_COUNT] >= 6) == (MIB, True)
    assert (loads["a copy"][Metric.WRITTEN], loads["a copy"][Metric.FILES_MADE]) == (3000, 3)
    assert all(Metric.REAL_DRAINED in loads[name] for name in ("a command", "a job", "a copy"))


@pytest.mark.skipif(not (shutil.which("fio") and shutil.which("bonnie++")), reason="fio and bonnie++ are not installed")
def test_programs_write_in_a_directory_and_nothing_of_theirs_is_left(disk: Path, runs: str, tmp_path: Path) -> None:
    more = """
    [[workload]]
    name = "dds"
    kind = "create"
    generator = "dd"
    data = "zero"
    files = 4
    file_size = "64KiB"
    [[workload]]
    name = "bonnie++"
    kind = "bonnie"
    files = 1024
    directories = 64
    """
    plan = "schema = 1\nrepeats = 1\n" + with_sources(tmp_path) + more
    before = everything_below(disk)
    done = fsconsole("run", written(tmp_path, plan), "-D", str(disk / "data"), "--runs", runs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert everything_below(disk) == before
    (folder,) = list_runs(runs)
    state = read_state(folder)
    (cell,) = state.cells
    assert cell.status is CellStatus.DONE, cell.reason
    loads = loads_of(cell, state.request.plan.cells[0])
    assert_figures_of_programs(loads)
    assert (loads["dds"][Metric.WRITTEN], loads["dds"][Metric.FILES_MAPPED]) == (4 * 64 * 1024, 4)
    assert loads["bonnie++"][Metric("bonnie_ran_del_latency")] > 0


def test_a_load_is_stopped_when_what_must_stay_free_is_all_that_is_left(disk: Path, runs: str, tmp_path: Path) -> None:
    room = os.statvfs(disk)
    reserve = int(room.f_blocks * room.f_frsize * 0.05)
    with (disk / "data" / "others").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - reserve - MIB)
    before = everything_below(disk)
    fill = "while head -c 32768 /dev/zero; do sleep 0.01; done > f; echo full"
    plan = f'schema = 1\nrepeats = 1\nworkload = [{{ kind = "command", argv = ["sh", "-c", "{fill}"] }}]\n'
    done = fsconsole("run", written(tmp_path, plan), "-D", str(disk / "data"), "--runs", runs)
    assert done.returncode != 0
    (folder,) = list_runs(runs)
    (cell,) = read_state(folder).cells
    assert cell.status is CellStatus.FAILED
    told = re.fullmatch(r"workload: stopped: less than (.+) were free on (.+): 5 % stay free for others", cell.reason)
    assert told, cell.reason
    assert told.groups() == (format_bytes(reserve), str(disk / "data"))
    # It was ended, and so its output kept, while writes still succeeded.
    (said,) = [path.read_text() for path in Path(folder.raw).iterdir() if not path.name.endswith("-kernel-log")]
    assert "full" not in said
    assert everything_below(disk) == before
    assert os.statvfs(disk).f_bavail * room.f_frsize > reserve


def test_cleanup_after_kill_9_removes_the_run_s_own_directory_and_nothing_that_was_put_into_it(
    disk: Path, runs: str, tmp_path: Path
) -> None:
    data = disk / "data"
    succeed("run", written(tmp_path, SLOW_PLAN), "-D", str(data), "--runs", runs, "--detach")
    folder = new_folder(runs)
    own = data / own_name(folder.name)
    workers = freeze_load(folder)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    os.kill(engine_of(folder), signal.SIGKILL)
    wait_for_end(folder)
    (disk / "others").mkdir()
    (disk / "others" / "file").write_text("kept")
    (own / "tree" / "link").symlink_to(disk / "others")
    bound = own / "tree" / "bound"
    bound.mkdir()
    run("mount", "--bind", str(disk / "others"), str(bound))
    told = fsconsole("cleanup", "--runs", runs).stdout
    assert "could not be removed" in told or "is left" in told, told
    assert (disk / "others" / "file").read_text() == "kept", "the same filesystem, mounted once more"
    run("umount", str(bound))
    os.rename(own, disk / "moved")
    own.symlink_to(disk / "others")
    assert "symbolic link" in fsconsole("cleanup", "--runs", runs).stdout
    own.unlink()
    own.mkdir()
    (own / "tree").mkdir()
    (own / "tree" / "somebody's").write_text("kept")
    assert "its marker is not this run's" in fsconsole("cleanup", "--runs", runs).stdout
    shutil.rmtree(own)
    os.rename(disk / "moved", own)
    assert f"{own} is removed" in fsconsole("cleanup", "--runs", runs).stdout
    assert sorted(os.listdir(data)) == ["precious"]
    assert (disk / "others" / "file").read_text() == "kept"
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers), "a generator ends with its engine"
    edited = tmp_path / "edited"
    shutil.copytree(runs, edited)
    with closing(sqlite3.connect(edited / folder.name / "journal.sqlite")) as journal, journal:
        journal.execute("UPDATE run SET request = replace(request, '128', '129')")
    assert fsconsole("resume", "--runs", str(edited)).returncode == ExitCode.JOURNAL_UNUSABLE
    done = fsconsole("resume", "--runs", runs)
    assert done.returncode == 0, done.stderr
    assert os.listdir(data) == ["precious"]


def test_a_directory_that_is_swapped_during_a_run_gets_nothing(disk: Path, runs: str, tmp_path: Path) -> None:
    data, plan = disk / "data", SLOW_PLAN.replace("}]", "}, { kind = 'create', threads = 1, file_size = '64KiB' }]")
    succeed("run", written(tmp_path, plan), "-D", str(data), "--runs", runs, "--detach")
    folder = new_folder(runs)
    own = data / own_name(folder.name)
    workers = freeze_load(folder)
    (disk / "trap" / "tree").mkdir(parents=True)
    (disk / "trap" / "tree" / "file").write_text("kept")
    os.rename(own, disk / "moved")
    own.symlink_to(disk / "trap")
    thaw(workers)
    wait_for_end(folder)
    state = read_state(folder)
    assert state.status is RunStatus.FINISHED
    assert state.exit_code == ExitCode.DEVICE_CHANGED
    assert state.cells[0].status is not CellStatus.DONE
    assert everything_below(disk / "trap") == {str(disk / "trap" / "tree"), str(disk / "trap" / "tree" / "file")}
    assert os.listdir(disk / "moved") == [], "its own files are removed wherever they are"


NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of nobody's, with an interpreter that nobody can run."""
    python = Path(f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}")
    path = Path(tempfile.mkdtemp(prefix="fsconsole-nobody-"))
    path.chmod(0o755)
    try:
        if not python.exists():
            pytest.skip(f"there is no {python}")
        # As `python -m venv` makes it, in a tenth of the time.
        packages, inside = Path(msgspec.__file__).parents[1], path / "venv" / "lib" / python.name / "site-packages"
        for folder in (inside, path / "venv" / "bin"):
            folder.mkdir(parents=True)
        (path / "venv" / "bin" / "python").symlink_to(python)
        (path / "venv" / "pyvenv.cfg").write_text(f"home = {python.parent}\n")
        shutil.copytree(Path(msgspec.__file__).parent, inside / "msgspec")
        (inside / "more.pth").write_text(f"{packages}\n{CHECKOUT}\n")
        (path / "own").mkdir()
        os.chown(path / "own", NOBODY.pw_uid, NOBODY.pw_gid)
        if as_nobody(path, "-c", "import fsconsole.engine, typer").returncode:
            pytest.skip("nobody can't read this checkout")
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture
def open_disk(disk: Path, home: Path) -> Iterator[Path]:
    """The disk, mounted where nobody can enter."""
    point = home / "disk"
    point.mkdir()
    run("mount", "--bind", str(disk), str(point))
    yield point
    run("umount", str(point))


def as_nobody(home: Path, *words: str, inside: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    argv = (*inside, str(home / "venv/bin/python"), *words)
    return subprocess.run(
        argv, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=(), cwd="/", check=False, capture_output=True,
        text=True, env={"PATH": os.environ["PATH"], "HOME": str(home / "own")},
    )  # fmt: skip


def test_a_user_without_root_runs_a_plan_to_its_end_and_is_told_what_is_missing(
    open_disk: Path, home: Path, tmp_path: Path
) -> None:
    disk = open_disk
    plan = home / "plan.toml"
    programs = with_sources(home) if shutil.which("fio") else ""
    shutil.copy(written(tmp_path, PLAN + programs), plan)
    private = ("-m", "fsconsole", "plan", str(plan), "-D", str(disk / "data"))
    assert "is not writable for you" in as_nobody(home, *private).stderr
    mine = disk / "mine"
    mine.mkdir()
    os.chown(mine, NOBODY.pw_uid, NOBODY.pw_gid)
    runs = str(home / "own" / "runs")
    words = ("-m", "fsconsole", "run", str(plan), "-D", f"mine={mine}", "--runs", runs)
    without = ("bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--")
    if "--disable-userns" in run("bwrap", "--help"):
        refused = as_nobody(home, *words, inside=without)
        assert refused.returncode == ExitCode.KERNEL_LACKS, "nothing is run unconfined"
        assert "Nothing is run unconfined" in refused.stderr
        assert not Path(runs).exists()
    done = as_nobody(home, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "without root" in done.stdout
    assert os.listdir(mine) == []
    state = read_state(list_runs(runs)[0])
    assert state.cells[0].status is CellStatus.DONE
    if programs:
        assert_figures_of_programs(loads_of(state.cells[0], state.request.plan.cells[0]))
    assert "Nothing to clean up" in as_nobody(home, "-m", "fsconsole", "cleanup", "--runs", runs).stdout


def test_a_generator_refuses_a_tree_that_was_put_in_the_place_of_its_own(tmp_path: Path) -> None:
    load = Workload("load", WorkloadKind.CREATE, 1, 1, 1, 1)
    handle = prepare_load(load, tree=str(tmp_path), tree_device=tmp_path.stat().st_dev, tree_inode=1, hidden=())
    with pytest.raises(GeneratorFailed, match="not the directory that was made for it"):
        handle.wait_ready()
    handle.kill()
