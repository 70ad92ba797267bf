"""Standard streams that are closed or full end a command in one sentence, and never a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.state import RunStatus
from tests.unit.cli.recorded import WHOLE, make_run, write
from tests.unit.cli.test_misuse import UNUSUAL

FSCONSOLE = Path(sys.executable).with_name("fsconsole")
LOST = "fsconsole: Standard output can't be written: {}.\nhint: Send it to a file on a disk with free space, or to another program.\n"


def in_shell(line: str, *words: str, under: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    argv = ["sh", "-c", line, "sh", *under, FSCONSOLE, *words]
    return subprocess.run(argv, check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    "words",
    [
        *(pytest.param(words, marks=pytest.mark.soak) for words in (("--help",), ("plan", "demo"))),
        ("--version",),
        ("runs", "--json"),
    ],
)
def test_a_closed_or_full_stdout_is_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    options = ("--runs", str(tmp_path)) if words[0] == "runs" else ()
    for where, why in (("&-", "it is closed"), ("/dev/full", "No space left on device")):
        done = in_shell(f'"$@" >{where}', *words, *options)
        assert (done.returncode, done.stderr) == (ExitCode.FAILURE, LOST.format(why))


def test_a_closed_stdin_and_a_closed_or_full_stderr_change_nothing(tmp_path: Path) -> None:
    write(make_run(tmp_path), WHOLE)
    words = ("results", "--runs", str(tmp_path))
    shown = in_shell('"$@"', *words)
    assert shown.returncode == 0
    for how in ("<&-", "2>&-", "2>/dev/full", "<&- 2>&-"):
        assert in_shell(f'"$@" {how}', *words).stdout == shown.stdout
    assert in_shell('"$@" 2>&-', "nix").returncode == ExitCode.USAGE


def test_a_reader_that_goes_is_no_complaint(tmp_path: Path) -> None:
    done = in_shell('"$@" | head -n1', "catalog", "ext4")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ext4")


PLAN = """
schema = 1
repeats = 1
[[workload]]
kind = "create"
files = 2
file_size = "64KiB"
"""


@pytest.mark.root
def test_a_run_goes_on_to_its_end_without_its_output(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "load").mkdir()
    runs = str(tmp_path / "runs")
    words = ("run", str(tmp_path / "plan.toml"), "--directory", str(tmp_path / "load"), "--runs", runs)
    (tmp_path / "home").mkdir()
    done = in_shell('"$@" >/dev/full', *words, under=(*UNUSUAL, str(tmp_path / "home")))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Standard output can't be written") == 1
    assert f"The run goes on; `fsconsole attach {list_runs(runs)[0].name} --runs {runs}` shows it." in done.stderr
    assert read_state(list_runs(runs)[0]).status is RunStatus.FINISHED
    # A detached one is named where its name can't be printed; its plan comes from stdin.
    words = ("run", "-", *words[2:])
    done = in_shell(f'"$@" --detach <{tmp_path}/plan.toml >&-', *words)
    assert done.returncode == 0, done.stderr
    name = list_runs(runs)[0].name
    assert f"hint: Run {name} goes on; `fsconsole attach {name} --runs {runs}` shows it.\n" in done.stderr
    assert in_shell('"$@"', "attach", name, "--runs", runs).returncode == 0
    state = read_state(list_runs(runs)[0])
    assert [load.files for cell in state.request.plan.cells for load in cell.workloads] == [2]
