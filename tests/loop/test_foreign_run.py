"""A run folder that was copied here from another machine: to be read, never to be carried out on what is here."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.gate import inspect_device
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.device import Identity
from fsconsole.model.events import CellFinished, CellStarted, Outcome, RunFinished, RunStarted
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.wire import decode, encode
from fsconsole.system.mounts import engine_argv
from tests.conftest import MakeLoopDevice
from tests.loop.commands import assert_plain, command
from tests.loop.gate_cases import MIB, context, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run
from tests.tui.recorded import recorded

pytestmark = pytest.mark.root

SIZE = 1024 * MIB
"""As the recorded run's device."""
REFUSED = {
    ExitCode.DEVICE_MISSING, ExitCode.DEVICE_CHANGED, ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE,
    ExitCode.JOURNAL_UNUSABLE, ExitCode.SCRATCH_MISSING,
}  # fmt: skip


def of_its_name(target: Target, _identity: Identity) -> Target:
    return target


def of_its_name_and_no_scratch_device(target: Target, _identity: Identity) -> Target:
    return replace(target, backing_file="", identity=replace(target.identity, scratch_id=""), consent="CODE")


def of_its_name_size_and_serial(target: Target, identity: Identity) -> Target:
    known = replace(identity, boot_id=target.identity.boot_id, serial="ONE")
    return replace(target, backing_file="", identity=known, consent="CODE")


def copied(directory: Path, device: str, edit: Callable[[Target, Identity], Target]) -> RunFolder:
    """Return a recorded run, whose engine was killed, with this device where it had its own."""
    folder = recorded("killed", directory)
    identity = inspect_device(device, context()).identity
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        (text,) = journal.execute("SELECT request FROM run").fetchone()
        request = decode(RunRequest, text)
        (target,) = request.targets
        document = encode(replace(request, targets=(edit(target, identity),)))
        moved = document.replace(target.path, device)
        journal.execute("UPDATE run SET request = ?", (moved,))
        journal.execute(
            "UPDATE event SET body = json_set(body, '$.path', ?) WHERE kind = 'target_accepted'", (device,)
        )
    return folder


@pytest.mark.parametrize(
    "edit", [of_its_name, of_its_name_and_no_scratch_device, of_its_name_size_and_serial]
)
def test_a_copied_run_wipes_nothing_that_has_its_devices_name(
    loop_device: MakeLoopDevice, tmp_path: Path, edit: Callable[[Target, Identity], Target]
) -> None:
    device = loop_device(SIZE)
    write(device, 0, b"letters" * 1000)
    folder = copied(tmp_path / "runs", device, edit)
    with unchanged(device):
        for words in ((), ("--consent", "CODE")):
            done = command("resume", folder.name, *words, "--runs", str(tmp_path / "runs"))
            assert done.returncode in REFUSED, done.stderr
            assert_plain(done.stdout + done.stderr)
        engine = engine_argv((sys.executable, "-I", "-m", "fsconsole.engine", folder.path))
        ended = subprocess.run(engine, check=False, capture_output=True, text=True)
        assert ended.returncode in REFUSED, ended.stderr


def test_a_copied_run_can_be_read_and_cleaned_up(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path / "runs")
    kept = ("--runs", str(tmp_path / "runs"))
    assert command("results", folder.name, *kept).returncode == 0
    assert "the engine died" in command("cleanup", *kept).stdout
    assert "engine died in workload" in command("runs", *kept).stdout


def test_a_folder_that_others_can_write_has_no_scratch_device_removed(tmp_path: Path) -> None:
    name = "20261121-104500-k7qf"
    made = scratch.create(64 * MIB, str(tmp_path / "scratch"), purpose=f"run {name}")
    try:
        folder = new_run(TINY_PLAN, made.device, str(tmp_path / "runs"), owned_scratch=made.path)
        request = replace(read_state(folder).request, run_id=name)
        with closing(sqlite3.connect(folder.journal)) as journal, journal:
            journal.execute("UPDATE run SET request = ?", (encode(request),))
        end(folder)
        os.chown(folder.path, 1000, 1000)
        assert "left as it is" in command("cleanup", "--runs", str(tmp_path / "runs")).stdout
        assert os.path.exists(made.path)
        os.chown(folder.path, 0, 0)
        assert "removed its scratch device" in command("cleanup", "--runs", str(tmp_path / "runs")).stdout
        assert not os.path.exists(made.path)
    finally:
        if os.path.exists(made.path):
            scratch.remove(made)


def end(folder: RunFolder) -> None:
    """Have a journal say that all of the run's cells are done."""
    journal = JournalWriter(folder)
    journal.record(RunStarted(1, "0.1.0", "boot", "6.18.0", "box"))
    for cell in read_state(folder).request.plan.cells:
        journal.record(CellStarted(cell.index, 1))
        journal.record(CellFinished(cell.index, 1, Outcome.DONE))
    journal.record(RunFinished(Outcome.DONE))
    journal.close(finished=True)
