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
from fsconsole.cli import app as parser
from fsconsole.cli import main as command_line
from fsconsole.cli.app import COMMANDS, load
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import DeviceMissing
from tests.unit.cli.recorded import run_command

FSCONSOLE = Path(sys.executable).with_name("fsconsole")


@pytest.fixture
def end_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Run a command that raises, and return the exit code."""

    def ending(error: BaseException) -> int:
        app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

        @app.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(parser, "build_app", lambda: app)
        monkeypatch.setattr(sys, "argv", ["fsconsole"])
        return command_line.main()

    return ending


def test_an_error_is_one_sentence_and_one_hint_on_stderr_with_hostile_names_as_data(end_by, capsys):
    for path, shown in [("/dev/nix", "/dev/nix"), ("/dev/\x1b[2J\n[/x]", "/dev/\\x1b[2J\\n[/x]")]:
        assert end_by(DeviceMissing(path)) == ExitCode.DEVICE_MISSING
        hint = "hint: `fsconsole devices` lists all devices.\n"
        assert capsys.readouterr() == ("", f"fsconsole: There is no {shown}.\n{hint}")


def test_what_the_system_refuses_is_no_traceback(end_by, capsys):
    for error, words in [
        (PermissionError(errno.EACCES, "Permission denied", "/dev/sda"), "/dev/sda: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EXDEV, "Invalid cross-device link", "/a", None, b"/b\xff"), "/a: /b\\udcff: Invalid"),
        (OSError("only words"), "only words"),
    ]:
        assert end_by(error) == ExitCode.FAILURE
        err = capsys.readouterr().err
        assert f"fsconsole: A system call failed: {words}" in err
        assert "hint: " in err


def test_ctrl_c_and_exit_codes_are_the_programs_and_a_mistake_in_it_is_not_hidden(end_by, capsys):
    assert end_by(KeyboardInterrupt()) == ExitCode.INTERRUPTED
    assert end_by(typer.Exit(ExitCode.CELLS_FAILED)) == ExitCode.CELLS_FAILED
    assert capsys.readouterr().err == ""
    with pytest.raises(ZeroDivisionError):
        end_by(ZeroDivisionError())


def test_a_closed_pipe_is_no_complaint():
    reading, writing = os.pipe()
    os.close(reading)
    words = [FSCONSOLE, "--help"]
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(words, check=False, stdout=pipe, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (ExitCode.FAILURE, "")


@pytest.mark.parametrize(
    ("names", "printed"),
    [
        ({"PYTHONIOENCODING": "latin-1"}, b"\\u20ac True\n"),
        ({"LC_ALL": "C"}, b"\\u20ac True\n"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, b"\\u20ac True\n"),
        ({"LC_ALL": "C.UTF-8"}, b"\xe2\x82\xac False\n"),
    ],
)
def test_where_the_locale_is_not_utf_8_output_is_ascii_with_glyphs_of_ascii(names, printed):
    environment = {**os.environ, **names}
    code = "from fsconsole.cli.main import main; import sys, typer; import fsconsole.cli.app as m\n" + (
        "app = typer.Typer()\n"
        "@app.command()\n"
        "def label() -> None:\n"
        "    from rich.console import Console\n"
        "    for stream in (sys.stdout, sys.stderr):\n"
        "        typer.echo(f'\\u20ac {Console(file=stream).options.ascii_only}', file=stream)\n"
        "m.build_app = lambda: app\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    assert (done.stdout, done.stderr) == (printed, printed)


def test_version_and_help_are_told_without_colour_and_by_python_dash_m_too():
    assert run_command("--version").stdout == f"fsconsole {__version__}\n"
    done = run_command("--help")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    words = [sys.executable, "-m", "fsconsole", "--help"]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == done.stdout
    # No line of the list of commands is cut or wrapped.
    lines = [line.split() for line in done.stdout.splitlines()]
    for name, _, line in COMMANDS:
        assert lines.count([name, *line.split()]) == 1, name


def test_help_loads_no_command_and_nothing_that_only_commands_need():
    code = (
        "import sys\n"
        "from fsconsole.cli.main import main\n"
        "sys.argv = ['fsconsole', '--help']\n"
        "main()\n"
        "print(*sorted(m for m in sys.modules if m.startswith('fsconsole')))\n"
        "print(*{'rich', 'textual', 'psutil', 'pyudev', 'tomli', 'sqlite3', 'pydantic', 'msgspec'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    parser = ("fsconsole", "cli", "cli.app", "cli.main", "model", "system", "system.isolation", "text")
    assert done.stdout.endswith(f"\n{' fsconsole.'.join(parser)}\n\n")


def test_each_command_of_the_list_is_in_its_module():
    assert [load(name, module).name for name, module, _ in COMMANDS] == [name for name, _, _ in COMMANDS]
