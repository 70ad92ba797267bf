"""All commands with their options as they are declared, for the man page, completion and tests.

The parser's parameters have no public type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typer.core import TyperGroup
from typer.main import get_group

from fsconsole.cli.app import COMMANDS, build_app, load


@dataclass(frozen=True, slots=True)
class Declared:
    """An option or an argument."""

    names: tuple[str, ...]
    """Of an option all its names; of an argument none."""
    metavar: str
    """Word for its value; empty for a flag."""
    help: str
    choices: tuple[str, ...] = ()
    default: str = ""
    variable: str = ""
    """Variable of the environment that gives it too."""
    is_required: bool = False
    is_repeatable: bool = False

    @property
    def usage(self) -> str:
        """Argument as it stands in a usage line."""
        word = self.metavar if self.is_required else f"[{self.metavar}]"
        return f"{word}..." if self.is_repeatable else word


@dataclass(frozen=True, slots=True)
class DeclaredCommand:
    """A command, or fsconsole itself where its words are none."""

    words: tuple[str, ...]
    brief: str
    help: str
    epilog: str
    options: tuple[Declared, ...]
    arguments: tuple[Declared, ...]
    commands: tuple[str, ...] = ()
    """Names of its own commands, of a group."""


def declared_commands() -> tuple[DeclaredCommand, ...]:
    """Return fsconsole itself, then every command in the order of help, groups before their commands."""
    root = get_group(build_app())
    names = tuple(name for name, _, _ in COMMANDS)
    found = [_declared((), root, "", names)]
    for name, module, brief in COMMANDS:
        found += _below((name,), load(name, module), brief)
    return tuple(found)


def _below(words: tuple[str, ...], command: Any, brief: str) -> Iterator[DeclaredCommand]:
    commands = command.commands if isinstance(command, TyperGroup) else {}
    yield _declared(words, command, brief, tuple(commands))
    for name, each in commands.items():
        yield from _below((*words, name), each, each.get_short_help_str(200))


def _declared(words: tuple[str, ...], command: Any, brief: str, commands: tuple[str, ...]) -> DeclaredCommand:
    context = command.make_context("fsconsole", [], resilient_parsing=True)
    parameters = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    options = tuple(_parameter(one) for one in parameters if one.param_type_name == "option")
    arguments = tuple(_parameter(one) for one in parameters if one.param_type_name == "argument")
    text = "\n".join(line.strip() for line in (command.help or "").strip().splitlines())
    return DeclaredCommand(words, brief, text, command.epilog or "", options, arguments, commands)


def _parameter(one: Any) -> Declared:
    is_option = one.param_type_name == "option"
    is_flag = is_option and bool(one.is_flag)
    choices = tuple(str(choice.value) for choice in one.type_descriptor.choices or ())
    default = one.show_default if isinstance(one.show_default, str) else one.default
    told = "" if is_flag or default in (None, "", ()) or callable(default) else str(getattr(default, "value", default))
    return Declared(
        # Short ones first, as in help: the parser keeps those of --help as a set.
        names=tuple(sorted(one.opts, key=lambda name: name.startswith("--"))) if is_option else (),
        metavar="" if is_flag else one.metavar or "|".join(choices) or one.name.upper(),
        help=one.help or "",
        choices=choices,
        default=told,
        variable=one.envvar or "" if is_option else "",
        is_required=bool(one.required),
        is_repeatable=bool(one.multiple or one.nargs != 1),
    )
