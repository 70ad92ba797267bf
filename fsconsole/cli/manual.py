"""The man page, made from the declared commands: `python -m fsconsole.cli.manual > docs/fsconsole.1`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from fsconsole import __version__
from fsconsole.cli.declared import Declared, DeclaredCommand, declared_commands
from fsconsole.errors import ExitCode

_FILES = (
    ("/var/lib/fsconsole/runs", "Runs, a folder each: journal, raw outputs."),
    ("/var/lib/fsconsole/scratch", "Files of scratch devices."),
)


def manual() -> str:
    """Return the page in man's own macros (man 7 man)."""
    root, *commands = declared_commands()
    lines = [f'.TH FSCONSOLE 1 "" "fsconsole {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"fsconsole \\- {_plain(root.help.rstrip('.').lower())}", ".SH SYNOPSIS", ".B fsconsole"]
    lines += ["[\\fIOPTION\\fR]...", ".br", ".B fsconsole", "\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]..."]
    lines += [".SH DESCRIPTION", _plain(root.epilog), ".SH OPTIONS", *_parameters(root.options), ".SH COMMANDS"]
    for command in commands:
        lines += _command(command)
    lines += [".SH ENVIRONMENT"]
    variables = {one.variable: one for command in (root, *commands) for one in command.options if one.variable}
    for name, one in variables.items():
        lines += [".TP", f"\\fB{name}\\fR", _plain(f"As {one.names[0]}, where that is not given.")]
    lines += [".SH FILES"]
    for path, what in _FILES:
        lines += [".TP", f"\\fI{path}\\fR", _plain(what)]
    lines += [".SH EXIT STATUS"]
    for code in ExitCode:
        lines += [".TP", f"\\fB{code.value}\\fR", _plain(code.name.lower().replace("_", " "))]
    lines += [".SH SEE ALSO", "fio(1), mkfs(8), mount(8), mdadm(8), hdparm(8)"]
    return "\n".join(lines) + "\n"


def _command(command: DeclaredCommand) -> Iterator[str]:
    yield f'.SS "{" ".join(command.words)}"'
    usage = " ".join(f"\\fI{_plain(one.usage)}\\fR" for one in command.arguments)
    yield f"\\fBfsconsole {' '.join(command.words)}\\fR [\\fIOPTION\\fR]... {usage}".rstrip()
    for paragraph in command.help.split("\n\n"):
        yield from (".PP", _plain(" ".join(paragraph.split())))
    yield from _parameters((*command.arguments, *command.options))
    if command.epilog:
        yield from (".PP", _plain(command.epilog))


def _parameters(found: tuple[Declared, ...]) -> Iterator[str]:
    for one in found:
        names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in one.names)
        value = f"\\fI{_plain(one.metavar)}\\fR" if one.metavar else ""
        default = f" Default: {one.default}." if one.default else ""
        yield from (".TP", " ".join(filter(None, (names, value))), _plain(f"{one.help}{default}".strip()))


def _plain(text: str) -> str:
    """Return text that acts on no formatter: backslashes, hyphens to be typed, dots and quotes at a line's start."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    sys.stdout.write(manual())
