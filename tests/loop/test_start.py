"""Starting engines for real: whatever goes wrong, one that was reported as not started never comes."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from fsconsole.client import engine
from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.errors.runs import EngineNotStarted
from fsconsole.journal.past import read_state
from fsconsole.model.state import RunStatus
from tests.conftest import wait_until
from tests.loop.runs import TINY_PLAN, assert_nothing_left, new_run, processes_with, wait_for_end

pytestmark = pytest.mark.root


@pytest.fixture
def device(tmp_path):
    """A scratch device of 64 MiB."""
    made = scratch.create(64 * 2**20, str(tmp_path / "scratch"))
    yield made.device
    scratch.remove(made)


def interpreter(tmp_path: pathlib.Path, script: str) -> str:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_an_engine_that_hangs_at_its_start_is_killed_before_it_is_called_not_started(
    tmp_path, device, monkeypatch
):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    monkeypatch.setattr(engine.sys, "executable", interpreter(tmp_path, "sleep 600"))
    monkeypatch.setattr(engine, "_START_LIMIT_S", 0.5)
    with pytest.raises(EngineNotStarted, match="it said nothing"):
        start_engine(folder)
    wait_until(lambda: processes_with(folder.path) == [], "all of it ends")
    assert_nothing_left(device, folder)
    assert read_state(folder).started == ()


@pytest.mark.parametrize("script", ["echo what is wrong >&2; exit 3", "echo what is wrong; exit 0"])
def test_an_engine_that_fails_at_its_start_is_quoted(tmp_path, device, monkeypatch, script):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    monkeypatch.setattr(engine.sys, "executable", interpreter(tmp_path, script))
    with pytest.raises(EngineNotStarted, match="what is wrong"):
        start_engine(folder)


def test_the_directory_at_hand_lends_the_engine_no_module(tmp_path, device, monkeypatch):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "json.py").write_text("raise SystemExit('not the real json')")
    monkeypatch.chdir(strange)
    start_engine(folder)
    wait_for_end(folder)
    assert read_state(folder).status is RunStatus.FINISHED
    assert_nothing_left(device, folder)


def test_in_a_mount_namespace_of_its_own_nobody_sees_what_init_sees():
    script = "from fsconsole.system.mounts import sees_what_init_sees; print(sees_what_init_sees())"
    argv = ["unshare", "--mount", "--", sys.executable, "-I", "-c", script]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout == "False\n"
