"""Programs of loads that start very many processes: a bomb of 6,000 forks is stopped, and what people start passes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.engine.pid_limit import PROGRAMS, has_pid_max_per_namespace
from fsconsole.journal.past import read_state
from fsconsole.model.state import CellState, CellStatus
from fsconsole.system import cgroups
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.conftest import wait_until
from tests.loop.runs import assert_nothing_left, carry_out, clean_up, engine_of, new_run, processes_with, wait_for

DRIVER = Path(__file__).with_name("limited_engine.py")
HEAD = """
schema = 1
repeats = 1
equalise = "none"
variant = [{ type = "ext4" }]
after = { check = false, delete = "none", extents = false }
"""
FORKS = 6000
"""More than the limit, and no more than this machine bears if the limit fails."""
BOMB = f"""
import os, time
for _ in range({FORKS}):
    try:
        child = os.fork()
    except OSError:
        break
    if not child:
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
THREADS = f"""
import threading, time
threading.stack_size(65536)
for _ in range({FORKS}):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        break
time.sleep(60)
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def a_command(*argv: str) -> str:
    return f'{HEAD}workload = [{{ name = "a program", kind = "command", argv = {json.dumps(argv)} }}]\n'


def machine_threads() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def most_during(engine: subprocess.Popen[bytes]) -> int:
    """Return by how many threads the machine grew while an engine ran."""
    before = most = machine_threads()
    while True:
        most = max(most, machine_threads())
        try:
            engine.wait(0.01)
        except subprocess.TimeoutExpired:
            continue
        return most - before


def cell_of(folder) -> CellState:
    (cell,) = read_state(folder).cells
    return cell


@pytest.mark.parametrize(
    ("way", "bomb"),
    [("cgroup", BOMB), ("cgroup", THREADS), ("namespace", BOMB), ("namespace", THREADS), ("watchdog", BOMB)],
    ids=["cgroup", "cgroup-threads", "namespace", "namespace-threads", "watchdog"],
)
def test_fork_bomb_ends_cell_at_limit(device: str, tmp_path: Path, way: str, bomb: str) -> None:
    if way == "cgroup" and not cgroups.group_path("pids", "test"):
        pytest.skip("no cgroup hierarchy has the pids controller")
    if way == "namespace" and not has_pid_max_per_namespace():
        pytest.skip("pid_max is the machine's before Linux 6.14")
    pid_max = Path("/proc/sys/kernel/pid_max").read_text()
    folder = new_run(a_command(sys.executable, "-I", "-c", bomb), device, str(tmp_path / "runs"))
    argv = engine_argv((sys.executable, str(DRIVER), folder.path, way))
    with open(folder.engine_log, "ab") as log, subprocess.Popen(argv, stdout=log, stderr=log) as engine:
        grown = most_during(engine)
    cell = cell_of(folder)
    assert cell.status is CellStatus.FAILED, Path(folder.engine_log).read_text()
    assert f"'a program' reached the limit of {PROGRAMS + 2} processes and threads" in cell.reason
    # Others start and end processes too; and a watchdog only looks from time to time.
    assert 0.8 * PROGRAMS < grown < (FORKS if way != "watchdog" else FORKS + 1000)
    assert_nothing_left(device, folder)
    assert not Path(cgroups.group_path("pids", f"pids-{folder.name}") or "/nowhere").exists()
    assert Path("/proc/sys/kernel/pid_max").read_text() == pid_max


def test_program_with_1000_processes_passes(device: str, tmp_path: Path) -> None:
    """As `make -j` without a number, which starts all that it can at once."""
    if not shutil.which("make"):
        pytest.skip("no make on this machine")
    rules = "all: $(addprefix t,$(shell seq 500))\nt%:; @sleep 1 & sleep 1; wait\n"
    words = ("sh", "-c", 'printf %s "$1" >Makefile && make -j all', "sh", rules)
    done, folder = carry_out(a_command(*words), device, tmp_path)
    assert (done.returncode, cell_of(folder).status) == (0, CellStatus.DONE), cell_of(folder).reason


@pytest.mark.skipif(not shutil.which("fio"), reason="no fio on this machine")
def test_fio_with_192_writers_passes(device: str, tmp_path: Path) -> None:
    load = 'kind = "create", generator = "fio", threads = 192, file_size = "16KiB", block_size = "4KiB"'
    done, folder = carry_out(f"{HEAD}workload = [{{ {load} }}]\n", device, tmp_path)
    assert (done.returncode, cell_of(folder).status) == (0, CellStatus.DONE), cell_of(folder).reason


def test_cleanup_removes_cgroup_of_killed_engine(device: str, tmp_path: Path) -> None:
    group = cgroups.group_path("pids", "test")
    if not group:
        pytest.skip("no cgroup hierarchy has the pids controller")
    folder = new_run(a_command("sleep", "60"), device, str(tmp_path / "runs"))
    group = cgroups.group_path("pids", f"pids-{folder.name}")
    start_engine(folder)
    wait_for(folder, lambda _state: "sleep" in commands_in(group))
    os.kill(engine_of(folder), signal.SIGKILL)
    wait_until(lambda: processes_with(folder.path) == [], "its processes end")
    (cleaned,) = clean_up(str(tmp_path / "runs"))
    assert f"the pids cgroup {group} is removed" in cleaned.did
    assert not os.path.exists(group)
    assert_nothing_left(device, folder)


def commands_in(group: str) -> set[str]:
    """Return the names of the processes in a group."""
    try:
        pids = Path(group, "cgroup.procs").read_text().split()
        return {Path("/proc", pid, "comm").read_text().strip() for pid in pids}
    except OSError:
        return set()
