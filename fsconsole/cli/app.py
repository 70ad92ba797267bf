"""The parser of the command line; a command's module is loaded when it is called, so that help is fast.

The parser's contexts and formatters have no public type.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import EnumMeta
from functools import partial
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from fsconsole import __version__
from fsconsole.model import DEFAULT_RUNS_DIR, RUNS_VARIABLE
from fsconsole.text import did_you_mean

# Words of the command line as they were typed.
#
# typer checks each value by pydantic, also a word that may be anything and a flag that wasn't given; to load it takes
# 70 ms, a quarter of what most commands need. Numbers, and words that are none of the choices, still go through it.

_WORDS = (str, list[str])


class AsTyped:
    """Stands where typer keeps what turns a word into a value."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a word, or a list of words; what wasn't given is None, or empty, as typer has it. Raises Misused."""
        is_list = param.multiple or param.nargs == -1
        if "" in ((value or ()) if is_list else (value,)):
            _require_default(param, ctx)
        if is_list:
            return () if value is None else [str(word) for word in value]
        return None if value is None else str(value)


def _require_default(param: Any, ctx: Any) -> None:
    """Raise Misused unless an empty word is the default: a script's unset variable must mean no run, disk or directory.

    An empty code may be given: `fsconsole plan` has it for scratch devices, which need no consent.
    """
    if ctx.get_parameter_source(param.name).name == "COMMANDLINE" and param.metavar != "CODE":
        from fsconsole.errors import Misused

        name = param.opts[0] if param.param_type_name == "option" else param.metavar or param.name
        raise Misused(what=f"{name} is empty.", nearest="", command=ctx.command_path)


class AsChosen:
    """Stands where typer keeps what turns a word into one of several choices."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the choice that is meant, or raise typer's own complaint."""
        for choice in self._descriptor.annotation:
            if value in (choice, choice.value):
                return choice
        from typer._coercion import build_runtime_param

        return build_runtime_param(self._descriptor).coerce(value, param, ctx)


def take_as_typed(parameters: Iterable[Any]) -> None:
    """Have typer take the words among these parameters as they come, and the flags that weren't given.

    Their metavars are shown as they are declared: RUN, [RUN], DEV..., without a type of Python behind them.
    """
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            word = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
            usage = f"{word}..." if parameter.nargs != 1 else word
            parameter._usage_display_name = partial(str, usage)
            parameter.display_type_rich = lambda ctx: None  # noqa: ARG005 (called by name)
        descriptor = getattr(parameter, "type_descriptor", None)
        # A parameter of a typer that keeps its types elsewhere is checked as ever. A flag without a default is typer's
        # own --help, whose callback does the rest.
        if descriptor is not None and (
            descriptor.annotation in _WORDS or (descriptor.annotation is bool and parameter.default is None)
        ):
            parameter._runtime_param = AsTyped()
        elif descriptor is not None and isinstance(descriptor.annotation, EnumMeta):
            parameter._runtime_param = AsChosen(descriptor)


# Options and arguments of several commands.

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
RUN_HELP = "Name of a run, a prefix of it, or latest."
RunName = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]
JsonLines = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]


def _keep_runs_dir(given: str) -> str:
    """Keep a directory of runs in the variable, from which commands, their children and hints have it."""
    if given != os.environ.get(RUNS_VARIABLE, DEFAULT_RUNS_DIR):
        os.environ[RUNS_VARIABLE] = given
    return given


RunsDir = Annotated[
    str,
    typer.Option(
        "--runs",
        metavar="DIR",
        envvar=RUNS_VARIABLE,
        callback=_keep_runs_dir,
        help="Directory of runs; its disk is never wiped.",
    ),
]


def by_path(words: str | list[str]) -> str | list[str]:
    """Return devices by their paths: loop0 and sdb are those in /dev."""
    if not isinstance(words, str):
        return [str(by_path(word)) for word in words or ()]
    return f"/dev/{words}" if words and "/" not in words else words


Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", metavar="DEV", callback=by_path, help="Device to wipe, /dev/sdb or sdb; repeatable."
    ),
]
Directories = Annotated[
    list[str] | None,
    typer.Option(
        "--directory",
        "-D",
        metavar="DIR",
        help="Directory to load, without mkfs; repeatable. LABEL=DIR names its row; memory=DIR allows tmpfs.",
    ),
]

_USAGE = 2
"""errors.ExitCode.USAGE, which is not loaded for a help text."""


COMMANDS = (
    ("devices", "fsconsole.cli.devices", "List block devices as a tree, with their state."),
    ("readtest", "fsconsole.cli.devices", "Time buffered reads for 3 s, as hdparm -t. Read-only."),
    ("gauges", "fsconsole.cli.gauges", "Live gauges of devices, CPUs and dirty pages."),
    ("catalog", "fsconsole.cli.catalog", "List filesystems and options, and what this machine supports."),
    ("scratch", "fsconsole.cli.devices", "Create, list and remove scratch devices, safe to wipe."),
    ("prove", "fsconsole.cli.prove", "Prove that devices are free, or free and blank. Read-only."),
    ("plan", "fsconsole.cli.plan", "Dry run: cells, commands, data loss, and the consent code."),
    ("run", "fsconsole.cli.run", "Run a plan. Wipes the given devices."),
    ("quick", "fsconsole.cli.quick", "Compare filesystems without a plan file. Wipes the devices."),
    ("resume", "fsconsole.cli.run", "Resume a stopped or interrupted run."),
    ("demo", "fsconsole.cli.run", "Compare five variants on a scratch device. Formats no disk."),
    ("tour", "fsconsole.cli.console", "Show the console on a recorded run. Needs no root."),
    ("attach", "fsconsole.cli.run", "Follow a running run."),
    ("stop", "fsconsole.cli.run", "Stop after the current cell, or immediately; skip; pause."),
    ("cleanup", "fsconsole.cli.run", "Clean up after killed runs."),
    ("runs", "fsconsole.cli.runs", "List runs, those made here first; rename or delete one."),
    ("show", "fsconsole.cli.show", "Show a cell: commands, their output, the kernel's log."),
    ("results", "fsconsole.cli.results", "Print the results of a finished or running run."),
    ("advise", "fsconsole.cli.advise", "Say which rows may be the best, and why."),
    ("apply-kit", "fsconsole.cli.kit", "Write a row as a script and a playbook for other devices."),
    ("verify-kit", "fsconsole.cli.kit", "Compare this machine with a kit, months later."),
    ("export", "fsconsole.cli.archive", "Pack a run into one file, also while it is running."),
    ("import", "fsconsole.cli.archive", "Add a run of another machine from such a file."),
    ("compare", "fsconsole.cli.compare", "Compare runs with each other and with published tables."),
    ("doctor", "fsconsole.cli.doctor", "Check requirements and suggest fixes."),
    ("schema", "fsconsole.cli.schema", "Print the JSON Schema of what commands print with --json."),
    ("completion", "fsconsole.cli.completion", "Print a completion script for bash, zsh or fish."),
)
"""Name, module and one line of help (64 characters at most), in the order of help.

A module has its commands by their names; it is loaded when one of them is called.
"""


class Group(TyperGroup):
    """A group of commands that knows its nearest command to a mistyped word."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options of the group itself."""
        take_as_typed(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant. Raises UnknownCommand."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            from fsconsole.errors import UnknownCommand

            near = did_you_mean(args[0], names, most=2)
            raise UnknownCommand(name=args[0], group=ctx.command_path, nearest=near and f"{near} ")
        name, command, rest = super().resolve_command(ctx, args)
        take_as_typed(command.get_params(ctx) if command is not None else ())
        if command is not None:
            _require_effect(ctx, command)
        return name, command, rest


def _require_effect(ctx: Any, command: Any) -> None:
    """Raise Misused for options before a command that has no use for them."""
    takers = [command, *(command.commands.values() if isinstance(command, TyperGroup) else ())]
    used = {name for taker in takers for parameter in taker.get_params(ctx) for name in parameter.opts}
    path = f"{ctx.command_path} {command.name}"
    _refuse_others(ctx.find_root(), used, f"on `{path}`", path)


def _refuse_others(root: Any, used: set[str], where: str, command: str = "fsconsole") -> None:
    """Raise Misused for an option of fsconsole itself that was given and has no effect here."""
    for parameter in root.command.get_params(root):
        was_given = root.get_parameter_source(parameter.name).name == "COMMANDLINE"
        if was_given and used.isdisjoint(parameter.opts):
            from fsconsole.errors import Misused

            raise Misused(what=f"{parameter.opts[0]} has no effect {where}.", nearest="", command=command)


class Commands(Group):
    """All commands of fsconsole, by their list alone until one is called."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names in the order in which help lists them."""
        return [name for name, _, _ in COMMANDS]

    def get_command(self, _ctx: Any, name: str) -> Any:
        """Load a command; None where there is none of that name."""
        modules = [module for known, module, _ in COMMANDS if known == name]
        return load(name, modules[0]) if modules else None

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, _, line in COMMANDS])


def load(name: str, module: str) -> Any:
    """Return a command: the function, or the group of commands, of that name in its module."""
    place = import_module(module)
    # No function of Python's can be called import.
    found = getattr(place, f"{name}_" if iskeyword(name) else name.replace("-", "_"))
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name)
    else:
        own = getattr(place, f"{found.__name__.upper()}_EPILOG", None)
        app.command(name, epilog=own or getattr(place, "EPILOG", None))(found)
    return get_group(app).commands[name]


def build_app() -> typer.Typer:
    """Return the command line with all its commands."""
    app = typer.Typer(
        cls=Commands,
        help="Compare filesystems on your own disks, with figures you can trace.",
        epilog="Without a command, fsconsole starts its console. Nothing is wiped without your consent: `fsconsole plan` shows what would be lost.",
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    return app


def show_help_for_nothing(ctx: typer.Context) -> None:
    """Print the help of a group that was called without a command, which is no way to use it."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), err=True)
        raise typer.Exit(_USAGE)


def _print_version(*, verbose: bool) -> None:
    typer.echo(f"fsconsole {__version__}")
    if verbose:
        from fsconsole.catalog.loader import load_catalog
        from fsconsole.preflight.doctor import versions
        from fsconsole.system.run import RealExecutor

        typer.echo("\n".join(versions(RealExecutor(), load_catalog())))


def _options(
    ctx: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show version and exit.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: kernel, Python and tools too.")
    ] = False,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Show the console in plain ASCII.")] = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    slow_link: Annotated[bool, typer.Option("--slow-link", help="Low-bandwidth mode: ASCII, fewer redraws.")] = False,
) -> None:
    """Options of fsconsole itself; without a command it shows the console, where there is a terminal."""
    if version:
        _refuse_others(ctx, {"--version", "--verbose"}, "with --version")
        _print_version(verbose=verbose)
        return
    if verbose:
        from fsconsole.errors import Misused

        raise Misused(what="--verbose goes with --version only.", nearest="", command="fsconsole")
    if ctx.invoked_subcommand is None and sys.stdin.isatty() and sys.stdout.isatty():
        from fsconsole.cli.console import show_console

        show_console(runs_dir, ascii_only=ascii_only, slow_link=slow_link)
        return
    if ctx.invoked_subcommand is None:
        _refuse_others(ctx, set(), "without a terminal, which the console needs")
    show_help_for_nothing(ctx)
