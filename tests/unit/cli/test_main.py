"""How the command ends: one sentence, one hint, one exit code, and no traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from fsconsole import __version__
from fsconsole.cli import main as command_line
from fsconsole.cli.app import load
from fsconsole.cli.main import COMMANDS
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import DeviceMissing

FSCONSOLE = Path(sys.executable).with_name("fsconsole")


@pytest.fixture
def end_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Run a command that raises, and return the exit code."""

    def ending(error: BaseException) -> int:
        app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

        @app.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(command_line, "build_app", lambda: app)
        monkeypatch.setattr(sys, "argv", ["fsconsole"])
        return command_line.main()

    return ending


def run(*words: str, **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FSCONSOLE, *words], check=False, capture_output=True, text=True, **how)


def test_an_error_is_one_sentence_and_one_hint_on_stderr(end_by, capsys):
    assert end_by(DeviceMissing("/dev/nix")) == ExitCode.DEVICE_MISSING
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "fsconsole: There is no /dev/nix.\nhint: `fsconsole devices` lists all devices.\n"


def test_hostile_names_in_an_error_are_printed_as_data(end_by, capsys):
    end_by(DeviceMissing("/dev/\x1b[2J\n[/x]"))
    assert capsys.readouterr().err.startswith("fsconsole: There is no /dev/\\x1b[2J\\n[/x].\n")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/dev/sda"), "/dev/sda: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EXDEV, "Invalid cross-device link", "/a", None, b"/b\xff"), "/a: /b\\udcff: Invalid"),
        (OSError("only words"), "only words"),
    ],
)
def test_what_the_system_refuses_is_no_traceback(end_by, capsys, error, words):
    assert end_by(error) == ExitCode.FAILURE
    err = capsys.readouterr().err
    assert f"fsconsole: A system call failed: {words}" in err
    assert "hint: " in err


def test_ctrl_c_ends_quietly_with_130(end_by, capsys):
    assert end_by(KeyboardInterrupt()) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == ""


def test_an_exit_code_of_a_command_is_the_programs(end_by):
    assert end_by(typer.Exit(ExitCode.CELLS_FAILED)) == ExitCode.CELLS_FAILED


def test_a_mistake_in_the_program_itself_is_not_hidden(end_by):
    with pytest.raises(ZeroDivisionError):
        end_by(ZeroDivisionError())


def test_a_closed_pipe_is_no_complaint():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [FSCONSOLE, "--help"], check=False, stdout=pipe, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (ExitCode.FAILURE, "")


def test_a_character_that_the_terminal_lacks_is_printed_as_an_escape():
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    code = "from fsconsole.cli.main import main; import sys, typer; import fsconsole.cli.main as m\n" + (
        "app = typer.Typer()\n"
        "@app.command()\n"
        "def label() -> None: typer.echo('\\u20ac')\n"
        "m.build_app = lambda: app\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    assert done.stdout == b"\\u20ac\n"


def test_version_is_told():
    assert run("--version").stdout == f"fsconsole {__version__}\n"


def test_help_lists_the_commands_without_colour():
    done = run("--help")
    assert done.returncode == 0
    assert "doctor" in done.stdout
    assert "\x1b" not in done.stdout


def test_python_dash_m_is_the_same_program():
    done = subprocess.run(
        [sys.executable, "-m", "fsconsole", "--help"], check=True, capture_output=True, text=True
    )
    assert done.stdout == run("--help").stdout


def test_help_loads_no_command_and_nothing_that_only_commands_need():
    code = (
        "import sys\n"
        "from fsconsole.cli.main import main\n"
        "sys.argv = ['fsconsole', '--help']\n"
        "main()\n"
        "print(*sorted(m for m in sys.modules if m.startswith('fsconsole')))\n"
        "print(*{'rich', 'textual', 'psutil', 'pyudev', 'tomli', 'sqlite3', 'pydantic'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    parser = "fsconsole fsconsole.cli fsconsole.cli.app fsconsole.cli.main"
    assert done.stdout.endswith(f"\n{parser}\n\n")


def test_the_list_of_commands_is_what_their_modules_register():
    listed = {(module, name) for name, module, _ in COMMANDS}
    modules = {module for module, _ in listed}
    assert {(module, name) for module in modules for name in load(module)} == listed


def test_no_line_of_the_list_of_commands_is_cut_or_wrapped():
    lines = run("--help").stdout.splitlines()
    for name, _, line in COMMANDS:
        assert [shown for shown in lines if shown.split() == [name, *line.split()]], name
