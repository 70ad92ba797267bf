"""`fsconsole completion`: words of the command line for bash, zsh and fish, made from the declared commands."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.model import DEFAULT_RUNS_DIR, RUNS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsconsole.cli.declared import Declared, DeclaredCommand


class Shell(str, Enum):
    """Shells that are completed for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


EPILOG = (
    "bash: `fsconsole completion bash > /etc/bash_completion.d/fsconsole`; zsh: `fsconsole completion zsh > "
    "/usr/local/share/zsh/site-functions/_fsconsole`; fish: `fsconsole completion fish > "
    "/etc/fish/completions/fsconsole.fish`."
)
"""Below the help of the command."""


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes commands, options, plans, devices and runs in a shell."""
    sys.stdout.write(script(shell))


def script(shell: Shell) -> str:
    """Return the script for a shell."""
    from fsconsole.cli.declared import declared_commands

    commands = declared_commands()
    made = {Shell.BASH: _bash, Shell.ZSH: _zsh, Shell.FISH: _fish}[shell]
    return "\n".join(made(commands)) + "\n"


_DEVICES = "lsblk -nrpo NAME 2>/dev/null"
"""Devices with a size: neither loop devices without a file nor /dev/loop-control."""
_PATHS = frozenset({"FILE", "DIR", "PATH", "PLAN"})
"""Metavars whose values are paths, too."""


def _values() -> dict[str, str]:
    """Return the words of a POSIX shell that list the values, by an option's long name or by metavar."""
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.plan.quick import STREAMS
    from fsconsole.plan.read import list_configs
    from fsconsole.plan.shipped import is_recipe

    plans = list_configs()
    filesystems = " ".join(load_catalog().names)
    return {
        "DEV": f"$({_DEVICES})",
        "RUN": f'latest $(ls -1 "${{{RUNS_VARIABLE}:-{DEFAULT_RUNS_DIR}}}" 2>/dev/null)',
        "PLAN": " ".join(path.stem for path in plans),
        "--load": " ".join((STREAMS, *(path.stem for path in plans if is_recipe(path)))),
        "FS": filesystems,
        "FS[:MOUNT,...][@MKFS-WORDS]": filesystems,
    }


_RUNS_IN_FISH = (
    f"set -q {RUNS_VARIABLE}; or set -l {RUNS_VARIABLE} {DEFAULT_RUNS_DIR}; set -l words (commandline -opc); "
    f'set -l at (contains -i -- --runs $words); and set -l {RUNS_VARIABLE} $words[(math "$at + 1")]; '
    f"ls -1 ${RUNS_VARIABLE} 2>/dev/null"
)


def _fish_values() -> dict[str, str]:
    return {**_values(), "DEV": f"({_DEVICES})", "RUN": f"latest ({_RUNS_IN_FISH})"}


def _choices(of: Declared, values: Mapping[str, str]) -> str:
    named = [values[name] for name in (*of.names, of.metavar) if name in values]
    return " ".join(of.choices) or "".join(named[:1])


def _options(command: DeclaredCommand) -> list[str]:
    return [name for one in command.options for name in one.names]


def _bash(commands: Sequence[DeclaredCommand]) -> Iterator[str]:
    yield "# bash completion of fsconsole; written by `fsconsole completion bash`"
    yield from _functions(commands)
    yield f"complete -o filenames -F {_FUNCTION} fsconsole"


_FUNCTION = "_fsconsole_words"
"""Not the name of zsh's file, which is a function itself."""
_OFFER = """\
_fsconsole_offer() {
    local word
    COMPREPLY=()
    for word in $1; do
        case "$word" in "$at"*) COMPREPLY+=("$word") ;; esac
    done
}
_fsconsole_files() { COMPREPLY+=($(compgen -f -- "$at")); }"""
"""Not by compgen alone, whose twin in zsh doesn't choose among words."""


def _functions(commands: Sequence[DeclaredCommand]) -> Iterator[str]:
    """Yield the lines that bash and zsh read alike."""
    values, (_, *others) = _values(), commands
    yield from (_OFFER, f"{_FUNCTION}() {{")
    yield '    local at="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" word last=""'
    yield f'    local {RUNS_VARIABLE}="${RUNS_VARIABLE}"'
    yield '    for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do'
    yield f'        if [ "$last" = --runs ]; then {RUNS_VARIABLE}=$word; last=""; continue; fi'
    yield "        last=$word"
    yield '        case "$command $word" in'
    yield f"            {'|'.join(_quoted(' ' + ' '.join(one.words)) for one in others if len(one.words) == 1)}) command=$word ;;"
    nested = [one for one in others if len(one.words) > 1]
    if nested:
        yield f'            {"|".join(_quoted(" ".join(one.words)) for one in nested)}) command="$command $word" ;;'
    yield "        esac"
    yield "    done"
    yield '    case "$command $before" in'
    for command in commands:
        for one in command.options:
            if one.metavar:
                patterns = "|".join(_quoted(f"{' '.join(command.words)} {name}") for name in one.names)
                yield f"        {patterns}) {_offered([one], values)}; return ;;"
    yield "    esac"
    yield '    case "$command:$at" in'
    for command in commands:
        words = " ".join(command.words)
        options = f'_fsconsole_offer "{" ".join(_options(command))}"'
        yield f"        {_quoted(f'{words}:-')}*) {options} ;;"
        rest = _offered(command.arguments, values, command.commands)
        yield f"        {_quoted(f'{words}:')}*) {rest if command.arguments or command.commands else options} ;;"
    yield "    esac"
    yield "}"


def _offered(of: Sequence[Declared], values: Mapping[str, str], words: Sequence[str] = ()) -> str:
    """Return the call that offers these words, the values of options or arguments, and files where those are paths."""
    listed = " ".join((*words, *filter(None, (_choices(one, values) for one in of))))
    files = "; _fsconsole_files" if any(one.metavar in _PATHS for one in of) else ""
    return f'_fsconsole_offer "{listed}"{files}'


def _quoted(text: str) -> str:
    return f"'{text}'"


def _zsh(commands: Sequence[DeclaredCommand]) -> Iterator[str]:
    yield "#compdef fsconsole"
    yield "# zsh completion of fsconsole; written by `fsconsole completion zsh`"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _functions(commands)
    yield f"complete -o filenames -F {_FUNCTION} fsconsole"
    yield "# The first completion calls this file as its function; later ones call what it has declared."
    yield f'if [ "${{funcstack[1]}}" = _fsconsole ]; then _bash_complete -o filenames -F {_FUNCTION}; fi'


def _fish(commands: Sequence[DeclaredCommand]) -> Iterator[str]:
    _, *others = commands
    yield "# fish completion of fsconsole; written by `fsconsole completion fish`"
    for command in others:
        if len(command.words) == 1:
            yield _fish_line("__fish_use_subcommand", f"-f -a {command.words[0]}", command.brief)
        else:
            seen = f"__fish_seen_subcommand_from {command.words[0]}"
            yield _fish_line(seen, f"-f -a {command.words[1]}", command.brief)
    values = _fish_values()
    for command in commands:
        condition = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        condition = condition or "__fish_use_subcommand"
        if not any(one.metavar in _PATHS for one in command.arguments):
            yield f"complete -c fsconsole -n '{condition}' -f"
        for one in (*command.options, *command.arguments):
            listed = f" -a '{chosen}'" if (chosen := _choices(one, values)) else ""
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names)
            takes = (" -r -F" if one.metavar in _PATHS else " -x") if one.names and one.metavar else ""
            if names or listed:
                yield _fish_line(condition, f"{names}{takes}{listed}".strip(), one.help)


def _fish_line(condition: str, what: str, about: str) -> str:
    told = about.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"complete -c fsconsole -n '{condition}' {what} -d '{told}'"
