"""`fsconsole completion`: words of the command line for bash, zsh and fish, made from the declared commands."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.model import DEFAULT_RUNS_DIR, RUNS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


_NODES = "/dev/sd* /dev/nvme*n* /dev/vd* /dev/md* /dev/loop*"
_VALUES = {
    "DEV": f"$(ls -d {_NODES} 2>/dev/null)",
    "RUN": f'latest $(ls -1 "${{{RUNS_VARIABLE}:-{DEFAULT_RUNS_DIR}}}" 2>/dev/null)',
}
"""Words of a POSIX shell that list the values of a metavar; others are paths."""
_FISH_VALUES = {
    # fish calls a wildcard without a match an error, but in a loop.
    "DEV": f"(for one in {_NODES}; echo $one; end)",
    "RUN": f"latest (set -q {RUNS_VARIABLE}; or set -l {RUNS_VARIABLE} {DEFAULT_RUNS_DIR}; ls -1 ${RUNS_VARIABLE} 2>/dev/null)",
}


def _choices(of: Declared, values: dict[str, str] = _VALUES) -> str:
    return " ".join(of.choices) or values.get(of.metavar, "")


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
}"""
"""Not by compgen, whose twin in zsh doesn't choose: there would never be nothing, and so no file names instead."""


def _functions(commands: Sequence[DeclaredCommand]) -> Iterator[str]:
    """Yield the lines that bash and zsh read alike."""
    _, *others = commands
    yield from (_OFFER, f"{_FUNCTION}() {{")
    yield '    local at="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" word'
    yield '    for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do'
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
            if one.metavar and (values := _choices(one)):
                patterns = "|".join(_quoted(f"{' '.join(command.words)} {name}") for name in one.names)
                yield f'        {patterns}) _fsconsole_offer "{values}"; return ;;'
    yield "    esac"
    yield '    case "$command" in'
    for command in commands:
        words = [*_options(command), *command.commands, *filter(None, map(_choices, command.arguments))]
        yield f'        {_quoted(" ".join(command.words))}) _fsconsole_offer "{" ".join(words)}" ;;'
    yield "    esac"
    yield '    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$at"))'
    yield "}"


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
    for command in commands:
        condition = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        for one in (*command.options, *command.arguments):
            values = _choices(one, _FISH_VALUES)
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names)
            takes = " -r" if one.names and one.metavar else ""
            listed = f" -a '{values}'" if values else ""
            if names or listed:
                yield _fish_line(condition or "__fish_use_subcommand", f"{names}{takes}{listed}".strip(), one.help)


def _fish_line(condition: str, what: str, about: str) -> str:
    told = about.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"complete -c fsconsole -n '{condition}' {what} -d '{told}'"
