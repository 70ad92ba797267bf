"""Words that the parser can't use end as every error: one sentence, one hint, the code of usage."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.cli.app import COMMANDS
from fsconsole.cli.complaint import complain, fitted
from fsconsole.errors import ExitCode
from tests.lab.soak import tried
from tests.unit.cli.recorded import FSCONSOLE, Terminal, run_command


@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        (("plna",), "There is no command 'plna'", "Did you mean plan\\? `fsconsole --help`"),
        (("scratch", "lst"), "There is no command 'lst'", "Did you mean list\\? `fsconsole scratch --help`"),
        (("",), "There is no command ''", "`fsconsole --help`"),
        (("\x1b[31m\n",), r"There is no command '\\x1b\[31m\\n'", "`fsconsole --help`"),
        (("--vers",), "No such option: --vers", "Did you mean --vers[a-z]+.*\\? See `fsconsole --help`"),
        (("xyzzy",), "There is no command 'xyzzy'", "`fsconsole --help` lists all"),
        (("run",), "Missing argument 'PLAN'", "See `fsconsole run --help`"),
        (("run", "x"), "Missing option '--device'.*", "See `fsconsole run --help`"),
        (("run", "x", "--devic", "y"), "No such option: --devic", "Did you mean .*--device\\? See `fsconsole run --help`"),
        (("run", "x", "--device"), "Option '--device' requires an argument", "See `fsconsole run --help`"),
        (("run", "--\x1b"), r"No such option: --\\x1b", "See `fsconsole run --help`"),
        (("results", "--format", "x\ny"), "Invalid value for '--format': 'x.*y' is not one of 'table'.*", "See `fsconsole"),
        (("results", "--summary"), "--summary goes with --format csv only", "See `fsconsole results --help`"),
        (("results", "--explain", "--format", "md"), "--explain goes with --format table only", "See `fsconsole results --help`"),
        (("doctor", "a", "b"), r"Got unexpected extra argument\(s\) \(a b\)", "See `fsconsole doctor --help`"),
        (("runs", "delte"), "There is no command 'delte'", "Did you mean delete\\? `fsconsole runs --help`"),
        (("runs", "rename", "x", ""), "TITLE is empty", "See `fsconsole runs rename --help`"),
        (("stop", "--now", "--skip"), "--now, --skip, .*", "See `fsconsole stop --help`"),
        (("scratch", "create", "--nix"), "No such option: --nix", "See `fsconsole scratch create --help`"),
        (("results", "--bogus"), "No such option: --bogus", "See `fsconsole results --help`"),
        (("runs", "--runs", ""), "--runs is empty", "See `fsconsole runs --help`"),
        (("plan", "demo", "-d", ""), "--device is empty", "See `fsconsole plan --help`"),
        (("devices", "loop0", ""), "DEV is empty", "See `fsconsole devices --help`"),
        (("results", "--columns", ""), "--columns is empty", "See `fsconsole results --help`"),
        (("--runs", "", "runs"), "--runs is empty", "See `fsconsole --help`"),
        (("--version", "--ascii"), "--ascii has no effect with --version", "See `fsconsole --help`"),
        (("--version", "-v", "--runs", "/srv"), "--runs has no effect with --version", "See `fsconsole --help`"),
        (("--ascii",), "--ascii has no effect without a terminal, which the console needs", "See `fsconsole --help`"),
        (("--slow-link",), "--slow-link has no effect without a terminal, .*", "See `fsconsole --help`"),
        (("--runs", "/srv"), "--runs has no effect without a terminal, .*", "See `fsconsole --help`"),
        (("tour", "--runs", "/x"), "--runs has no effect on `fsconsole tour`", "See `fsconsole tour --help`"),
        (("show", "x", ""), "CELL is empty", "See `fsconsole show --help`"),
        (("stop", ""), "RUN is empty", "See `fsconsole stop --help`"),
        (("cleanup", ""), "RUN is empty", "See `fsconsole cleanup --help`"),
        (("plan", "demo", "--json", "--cell", "999"), "--cell is a number from 0 to 25, not '999'", "See `fsconsole plan"),
        (("quick", "ext4"), "Missing option '--device'", "See `fsconsole quick --help`"),
    ],
)  # fmt: skip
def test_a_misuse_is_told_in_one_sentence_and_one_hint(words, sentence, hint):
    done = run_command(*words)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert re.fullmatch(rf"fsconsole: {sentence}\.\nhint: {hint}.*\.\n", done.stderr), done.stderr


UNUSUAL = (
    "unshare", "--mount", "--propagation", "slave", "sh", "-c",
    # Root writes where the mode forbids it, but not on a read-only mount.
    'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && ! touch "$0/x" 2>/dev/null && '
    'export HOME="$0" LANG=C LC_ALL=C TERM=dumb && exec "$@" <&-',
)  # fmt: skip
"""Starts a command without stdin, in a plain locale, on a dumb terminal, with a read-only HOME, which follows."""
FAILING = (
    ("plna",), ("run", "demo", "-d", "/dev/nix"), ("show", "nix"), ("run", "x"), ("run", "nix.toml", "-D", "/nix"),
    ("quick", "ext4", "-d", "/dev/nix"), ("quick", "ext5", "xfs", "-d", "/dev/nix"), ("verify-kit", "/nix"),
)  # fmt: skip


@pytest.mark.root
def test_what_fails_is_told_alike_without_stdin_in_a_plain_locale_and_with_a_read_only_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSCONSOLE_RUNS", str(tmp_path / "runs"))
    home = tmp_path / "home"
    home.mkdir()
    for words in tried(FAILING, FAILING[:3]):
        done = subprocess.run([*UNUSUAL, str(home), FSCONSOLE, *words], check=False, capture_output=True, text=True)
        assert re.fullmatch(r"fsconsole: [^\n]+\.\nhint: [^\n]+[.?]\n", done.stderr), done.stderr
        usual = run_command(*words)
        assert (done.returncode, done.stdout, done.stderr) == (usual.returncode, usual.stdout, usual.stderr)
        assert done.returncode not in (0, ExitCode.FAILURE), words
    assert not list(home.iterdir())


def test_a_group_without_a_command_shows_its_help_beside_the_output_and_no_help_is_too_wide():
    for words in ((), ("scratch",)):
        done = run_command(*words)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
        assert done.stderr.startswith(f"Usage: {' '.join(['fsconsole', *words])} ")
    for words in ((), *((name,) for name, _, _ in COMMANDS)):
        done = run_command(*words, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_no_line_is_wider_than_60_columns_but_commands_to_be_copied() -> None:
    for line in (
        "devices", "catalog", "catalog ext4", "catalog --arrays", "plan --list", "plan demo", "plan whatif-arrays",
        "gauges --count 1 --hz 10", "compare --list",
    ):  # fmt: skip
        done = run_command(*line.split(), columns=60)
        assert done.stdout
        wide = [one for one in done.stdout.splitlines() if len(one) > 60 and not one.startswith("    $ ")]
        assert wide == [], line


SENTENCE = "Run 20261121-081000-k7qf is not being carried out."
HINT = "`fsconsole results 20261121-081000-k7qf` shows it; `fsconsole resume 20261121-081000-k7qf` finishes it."


def test_on_a_terminal_no_word_is_broken_and_commands_stay_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    complain(SENTENCE, HINT)
    assert stream.getvalue().splitlines() == [
        "fsconsole: Run 20261121-081000-k7qf is not being carried",
        "out.",
        "hint: `fsconsole results 20261121-081000-k7qf` shows it;",
        "`fsconsole resume 20261121-081000-k7qf` finishes it.",
    ]
    # Elsewhere each is one line, for scripts.
    monkeypatch.undo()
    complain(SENTENCE, HINT)
    assert capsys.readouterr().err == f"fsconsole: {SENTENCE}\nhint: {HINT}\n"


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126) | st.just(" "), max_size=300))
def test_nothing_but_spaces_is_lost_between_lines(text: str) -> None:
    assert fitted(text).replace("\n", "").replace(" ", "") == text.replace(" ", "")
