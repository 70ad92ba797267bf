"""The directory of runs is named before the command, after it or by a variable, and hints repeat it."""

from __future__ import annotations

import io
import os
import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.cli.complaint import require_agreement, with_runs
from fsconsole.cli.declared import declared_commands
from fsconsole.cli.viewer import run_view
from fsconsole.client.runs import look
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import StillNeeded
from fsconsole.journal.events import Batch, Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, open_run
from fsconsole.model.events import Outcome, RunFinished
from tests.unit.cli.recorded import IN_MKFS, STARTED, Terminal, make_run, run_command, write

RUN = "20261121-081000-k7qf"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory with one run that was stopped."""
    write(make_run(tmp_path / "a directory"), (STARTED, *IN_MKFS, RunFinished(Outcome.STOPPED)))
    return tmp_path / "a directory"


@pytest.mark.parametrize(
    ("before", "after", "variable"),
    [("{}", "", ""), ("", "{}", ""), ("", "", "{}"), ("{}", "", "/nowhere"), ("/nowhere", "{}", "/nowhere")],
)
def test_runs_go_before_or_after_the_command_or_into_a_variable_and_the_nearest_word_counts(
    runs: Path, before: str, after: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv("FSCONSOLE_RUNS", variable.format(runs))
    named = [["--runs", place.format(runs)] if place else [] for place in (before, after)]
    done = run_command(*named[0], "runs", *named[1])
    assert RUN in done.stdout, done
    assert f"fsconsole resume {RUN} --runs '{runs}'" in " ".join(done.stdout.split())


def test_an_empty_directory_of_runs_is_refused_and_an_empty_variable_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("--runs", "", "runs"), ("runs", "--runs=")):
        done = run_command(*words)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
        assert done.stderr.startswith("fsconsole: --runs is empty.\n")
    monkeypatch.setenv("FSCONSOLE_RUNS", "")
    assert "schema" in run_command("runs", "--json").stdout


def test_without_any_run_the_latest_is_not_looked_for_by_that_name(tmp_path: Path) -> None:
    for command in ("results", "attach", "advise", "resume"):
        done = run_command(command, "--runs", str(tmp_path / "none"))
        assert (done.returncode, done.stdout) == (ExitCode.RUN_MISSING, "")
        assert done.stderr.startswith(f"fsconsole: There are no runs in {tmp_path / 'none'}.\nhint: `fsconsole demo")


def test_a_run_is_deleted_after_a_question_or_with_yes_alone(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = f"Run {RUN} can't be brought back once it is gone: it has the figures of 0 of 2 cells; it can be resumed"
    done = run_command("runs", "delete", RUN, "--runs", str(runs))
    assert (done.returncode, done.stdout) == (ExitCode.CONSENT_MISSING, "")
    assert done.stderr.startswith(f"fsconsole: {why}, with 2 of 2 cells left.\nhint: Add --yes ")
    assert run_command("runs", "delete", "latest", "--runs", str(runs)).stderr.startswith(f"fsconsole: {why}")
    assert run_command("runs", "delete", RUN[:8], "--runs", str(runs)).returncode == ExitCode.RUN_MISSING
    for said, agreed in (("\n", False), ("n\n", False), ("y\n", True)):
        terminal = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal(said))
        monkeypatch.setattr("sys.stderr", terminal)
        with nullcontext() if agreed else pytest.raises(StillNeeded):
            require_agreement(f"Run {RUN}", "it has figures", yes=False)
        assert "once it is gone: it has figures. Go ahead? [y/N]:" in terminal.getvalue()
    monkeypatch.undo()
    assert run_command("runs", "delete", RUN, "--yes", "--runs", str(runs)).returncode == 0
    assert os.listdir(runs) == []


@pytest.mark.root
def test_no_scratch_file_is_made_in_a_directory_that_is_not_there(tmp_path: Path) -> None:
    for words in (("scratch", "create"), ("demo",)):
        done = run_command(*words, "--dir", str(tmp_path / "typo"), "--size", "1MiB")
        assert (done.returncode, done.stdout) == (ExitCode.SCRATCH_IMPOSSIBLE, "")
        assert done.stderr.startswith(f"fsconsole: There is no directory {tmp_path}/typo.\nhint: Make it first, ")
    assert os.listdir(tmp_path) == []


def test_hints_repeat_the_directory_of_runs_so_that_they_can_be_copied(runs: Path) -> None:
    done = run_command("--runs", str(runs), "stop", RUN)
    assert done.returncode == ExitCode.RUN_OVER
    assert f"`fsconsole results {RUN} --runs '{runs}'` shows its results" in done.stderr
    assert run_command("results", "nix", "--runs", str(runs)).stderr.endswith(
        f"`fsconsole runs --runs '{runs}'` lists all runs.\n"
    )


def test_every_line_that_says_how_to_resume_names_the_directory_of_runs(runs: Path) -> None:
    for command in (("attach", RUN), ("runs",), ("show", RUN)):
        done = run_command(*command, "--runs", str(runs))
        said = " ".join((done.stdout + done.stderr).split())
        assert "fsconsole resume" in said
        assert len(re.findall("fsconsole resume [^ ]+ --runs", said)) == said.count("fsconsole resume"), command


def test_a_followed_run_that_was_stopped_is_resumed_from_its_directory(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSCONSOLE_RUNS", str(runs))
    state, stream = look(open_run(str(runs))).state, io.StringIO()
    with run_view(stream) as view:
        view.show(state, Batch(Cursor()))
    assert stream.getvalue().endswith(f"fsconsole resume {RUN} --runs '{runs}'\n")


def test_a_run_whose_scratch_file_was_removed_is_not_offered_to_be_resumed(tmp_path: Path) -> None:
    file = tmp_path / "scratch.img"
    request = read_state(make_run(tmp_path / "others")).request
    (target,) = request.targets
    scratch = replace(target, backing_file=str(file))
    write(
        create_run(str(tmp_path / "runs"), replace(request, targets=(scratch,))),
        (STARTED, RunFinished(Outcome.STOPPED)),
    )
    for is_there in (True, False):
        file.touch() if is_there else file.unlink()
        said = " ".join(run_command("runs", "--runs", str(tmp_path / "runs")).stdout.split())
        assert ("fsconsole resume" in said) is is_there
    # A path that is longer than a line is broken, in a place that depends on it.
    assert said.replace(" ", "").endswith(f"it can't be resumed, its scratch file {file} is gone".replace(" ", ""))


def test_a_directory_of_runs_that_is_not_there_is_told_and_an_empty_one_has_no_runs(tmp_path: Path) -> None:
    done = run_command("runs", "--runs", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (ExitCode.RUN_MISSING, "")
    assert done.stderr.startswith(f"fsconsole: There is no directory {tmp_path / 'none'}.\nhint: ")
    assert run_command("runs", "--runs", str(tmp_path)).returncode == 0


def test_hints_name_no_directory_where_it_is_the_default_or_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "`fsconsole runs` or `fsconsole runs --help` or `fsconsole catalog`, `ls`"
    assert with_runs(text) == text
    monkeypatch.setenv("FSCONSOLE_RUNS", "/srv/r")
    assert with_runs(text) == text.replace("`fsconsole runs`", "`fsconsole runs --runs /srv/r`")
    assert with_runs("`fsconsole plan - < plan.toml`") == "`fsconsole plan - --runs /srv/r < plan.toml`"


def test_hints_name_the_directory_on_every_command_that_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSCONSOLE_RUNS", "/srv/r")
    for command in declared_commands()[1:]:
        text = f"`fsconsole {' '.join(command.words)} X`"
        takes = any("--runs" in one.names for one in command.options)
        assert (" --runs /srv/r`" in with_runs(text)) == takes, text


def test_options_before_a_command_that_has_no_use_for_them_are_refused() -> None:
    for words, option in ((("--runs", "/srv", "catalog"), "--runs"), (("--ascii", "runs"), "--ascii")):
        done = run_command(*words)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
        assert done.stderr.startswith(f"fsconsole: {option} has no effect on `fsconsole {words[-1]}`.\n")


def test_a_read_only_home_and_a_dumb_terminal_change_nothing(runs: Path, tmp_path: Path, monkeypatch) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    shown = run_command("runs", "--runs", str(runs)).stdout
    for name, value in {"HOME": str(home), "TERM": "dumb", "LANG": "C", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)
    assert run_command("runs", "--runs", str(runs)).stdout == shown
    assert os.listdir(home) == []
    shutil.rmtree(home)
