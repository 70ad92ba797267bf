"""What the parser says of words that it can't use, as every other error is told: a sentence and a hint."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from typer import TyperException

from fsconsole.errors import Misused

_OF_PYDANTIC = "Value error, "
"""How the parser's checker of values begins, which says nothing to an operator."""


def misuse(error: TyperException, words: Sequence[str], commands: Collection[str]) -> Misused:
    """Return the parser's complaint as an error; words are those of the command line, without the program."""
    said = error.format_message().replace(_OF_PYDANTIC, "")
    # The parser puts what it would rather have had into brackets behind its sentence.
    said, _, possible = said.partition(" (Possible options: ")
    nearest = f"Nearest: {possible.removesuffix(')')}; " if possible else ""
    return Misused(what=_sentence(said), nearest=nearest, command=_command(error, words, commands))


def _sentence(said: str) -> str:
    line = " ".join(said.split())
    return f"{line[:1].upper()}{line[1:].rstrip('.')}."


def _command(error: TyperException, words: Sequence[str], commands: Collection[str]) -> str:
    """Return the command whose help says more; the parser doesn't tell it of every mistake."""
    context = getattr(error, "ctx", None)
    if context is not None:
        return str(context.command_path)
    return " ".join(["fsconsole", *[word for word in words[:1] if word in commands]])
