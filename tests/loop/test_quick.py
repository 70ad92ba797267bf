"""`fsconsole quick` on real devices: its consent is that of `run`, and a small comparison comes to its end."""

from __future__ import annotations

import os
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellStatus
from fsconsole.model.wire import decode
from fsconsole.model.workload import SyncCall
from tests.conftest import run
from tests.loop.commands import fails
from tests.loop.gate_cases import unchanged
from tests.loop.runs import assert_nothing_left, fsconsole, succeed
from tests.tui.on_a_pty import read_until, terminal
from tests.unit.cli.contract import checked
from tests.unit.cli.test_misuse import UNUSUAL

WRONG = "00000-00000-00000"


def test_nothing_is_wiped_without_consent_to_just_this_device(tmp_path: Path, blank: str) -> None:
    run("mkfs.ext4", "-q", "-F", blank)
    saved = tmp_path / "saved.toml"
    words = ("quick", "-d", blank, "ext4", "--size", "4MiB", "--runs", str(tmp_path / "runs"), "--save", str(saved))
    with unchanged(blank):
        assert " --consent " in succeed(*words[:-2], "--plan")
        fails(ExitCode.CONSENT_MISSING, *words, names=("would be wiped",))
        fails(ExitCode.CONSENT_STALE, *words, "--consent", WRONG, names=(blank,))
        home = tmp_path / "home"
        home.mkdir()
        fails(ExitCode.CONSENT_MISSING, *words, names=("would be wiped",), under=(*UNUSUAL, str(home)))
        with terminal(os.environ, *words) as fd:
            os.write(fd, f"{os.path.basename(blank)}\n".encode())
            shown = read_until(fd, b"to wipe it and start")
            assert b"ext4" in shown
            # It goes on to wipe it.
            assert b"touched" not in shown
            os.write(fd, b"yes\n")
            assert b"would be wiped" in read_until(fd, b"would be wiped")
    assert not list_runs(str(tmp_path / "runs"))


def test_a_run_starts_once_the_devices_name_is_typed(tmp_path: Path, blank: str) -> None:
    run("mkfs.ext4", "-q", "-F", blank)
    runs = str(tmp_path / "runs")
    words = ("quick", "-d", blank, "ext2", "--size", "4MiB", "--for", "1s", "--rounds", "1", "--runs", runs)
    with terminal(os.environ, *words) as fd:
        read_until(fd, b"to wipe it and start")
        assert not list_runs(runs)
        os.write(fd, f"{os.path.basename(blank)}\n".encode())
        read_until(fd, b"fsconsole advise")
    (folder,) = list_runs(runs)
    assert_nothing_left(blank, folder)
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}


def test_a_comparison_comes_to_its_end_and_its_saved_plan_is_what_was_run(tmp_path: Path, device: str) -> None:
    runs, saved = str(tmp_path / "runs"), str(tmp_path / "saved.toml")
    done = fsconsole(
        *("quick", "-d", device, "ext2", "ext4:noatime@-I 256", "--size", "4MiB", "--for", "1s", "--rounds", "1"),
        *("--runs", runs, "--save", saved, "--json"),
    )
    assert done.returncode == 0, done.stderr
    checked("quick", done.stdout)
    plan = decode(PlanAnswer, done.stdout.splitlines()[0].encode())
    assert plan.cell_count == 2
    (folder,) = list_runs(runs)
    assert_nothing_left(device, folder)
    state = read_state(folder)
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert len(state.cells) == 2
    shown = succeed("plan", saved, "-d", device, "--runs", runs)
    assert "ext4" in shown
    assert "noatime" in shown


def test_a_recipe_by_name_is_the_load_that_is_run(tmp_path: Path, device: str) -> None:
    runs = str(tmp_path / "runs")
    words = ("quick", "-d", device, "ext4", "--load", "wal", "--size", "4MiB", "--rounds", "1", "--for", "1s")
    done = fsconsole(*words, "--runs", runs)
    assert done.returncode == 0, done.stderr
    (folder,) = list_runs(runs)
    assert_nothing_left(device, folder)
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE]
    (load,) = state.request.plan.cells[0].workloads
    assert (load.name, load.block_size_bytes, load.fsync_every, load.sync_call) == ("log", 2300, 1, SyncCall.FDATASYNC)
    # Each append is followed by its fdatasync.
    assert state.cells[0].value(Metric.FSYNC_COUNT) == -(-load.file_size_bytes // 2300) * load.files * load.threads


def test_consent_given_with_the_code_ends_with_verdicts_and_a_hint_to_advice(tmp_path: Path, blank: str) -> None:
    words = ("quick", "-d", blank, "ext4", "ext2", "--size", "4MiB", "--rounds", "3", "--runs", str(tmp_path / "runs"))
    bad = ("quick", "-d", blank, "ext4", "ext2@-m nonsense=1", "--runs", str(tmp_path / "runs"))
    fails(ExitCode.OPTION_REFUSED, *bad, names=('quick: row 2 "ext2@-m nonsense=1", mkfs: ',))
    asked = fsconsole(*words, "--save", str(tmp_path / "plan.toml"))
    assert asked.returncode == ExitCode.CONSENT_MISSING
    assert "6 cells in 3 rounds" in asked.stdout
    assert asked.stdout.endswith("Nothing was touched.\n")
    code = asked.stdout.rpartition("--consent ")[2].split()[0]
    out = succeed(*words, "--save", str(tmp_path / "plan.toml"), "--consent", code)
    assert "verdict" in out
    assert "touched" not in out
    assert "advise" in out.splitlines()[-1]
