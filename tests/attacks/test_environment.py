"""What surrounds a command: its variables, its directory, and others who give the same one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.state import CellStatus
from tests.lab.soak import tried
from tests.loop.commands import Bench, command
from tests.loop.runs import FSCONSOLE, TINY_PLAN, written

HOSTILE = {
    "LD_PRELOAD": "/nonexistent.so", "LD_LIBRARY_PATH": "/tmp", "MKE2FS_CONFIG": "/nonexistent", "MKE2FS_DEVICE_SECTSIZE": "4096",
    "BLKID_FILE": "/nonexistent", "LIBBLKID_DEBUG": "all", "LIBMOUNT_FSTAB": "/nonexistent", "LIBMOUNT_DEBUG": "all",
    "LVM_SYSTEM_DIR": "/nonexistent", "MDADM_CONF": "x", "BASH_ENV": "/nonexistent", "ENV": "/nonexistent", "IFS": "/",
    "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": ":/dev/zero", "POSIXLY_CORRECT": "1", "HOME": "/nonexistent",
}  # fmt: skip


def test_no_variable_of_the_operators_reaches_a_tool(bench: Bench) -> None:
    tools, told = bench.directory / "tools", bench.directory / "told"
    tools.mkdir()
    (tools / "wipefs").write_text(
        f'#!/bin/sh\n/usr/bin/env >>{told}\nPATH=$PATH:/usr/sbin:/sbin\nexec {real("wipefs")} "$@"\n'
    )
    (tools / "wipefs").chmod(0o755)
    # What the loader itself obeys can't be given to the interpreter that is tested.
    hostile = {name: value for name, value in HOSTILE.items() if not name.startswith("LD_")}
    environment = {**os.environ, **hostile, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = command(*bench.words("plan", bench.plan()), env=environment)
    assert done.returncode == 0, done.stderr
    names = {line.partition("=")[0] for line in told.read_text().splitlines()}
    # The shell of the tool makes some itself.
    assert names - {"PWD", "SHLVL", "OLDPWD", "_"} == {"PATH", "LANG", "LC_ALL", "BLKID_FILE"}


def real(tool: str) -> str:
    return subprocess.run(["which", tool], check=True, capture_output=True, text=True).stdout.strip()


def test_of_two_who_start_the_same_run_at_once_one_is_refused(bench: Bench) -> None:
    words = (*bench.words("run", bench.plan()), "--consent", bench.code(bench.plan()))
    both = [
        subprocess.Popen([*FSCONSOLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = {one.wait(timeout=120): one.communicate() for one in both}
    assert len(ends) == 2, ends
    assert set(ends) < {0, ExitCode.DEVICE_LOCKED, ExitCode.CONSENT_STALE, ExitCode.DEVICE_CHANGED}, ends
    states = [read_state(folder) for folder in list_runs(bench.runs)]
    done = [cell.status for state in states for cell in state.cells].count(CellStatus.DONE)
    assert done == 2


def test_no_tool_of_the_directory_at_hand_is_run(blank: str, tmp_path: Path) -> None:
    trap, here = tmp_path / "ran", tmp_path / "here"
    here.mkdir()
    (here / "wipefs").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (here / "wipefs").chmod(0o755)
    words = ("plan", written(tmp_path, TINY_PLAN), "--device", blank, "--runs", str(tmp_path / "runs"))
    for path in tried((".", "", "../here"), ("",)):
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        done = command(*words, cwd=here, env=environment)
        assert done.returncode == 0, done.stderr
    assert not trap.exists()
