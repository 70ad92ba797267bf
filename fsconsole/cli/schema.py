"""`fsconsole schema`: the JSON Schema of what commands print with --json."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fsconsole.errors import Misused
from fsconsole.text import printable


def schema(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="Such as runs delete; default: all commands.")
    ] = None,
) -> None:
    """Print the JSON Schema of the documents that a command prints with --json; docs/json.md explains them."""
    import json

    from fsconsole.cli.answers import ANSWERS, schema_of
    from fsconsole.model.contract import SCHEMA

    name = " ".join(command or ())
    if name and name not in ANSWERS:
        what = f"'{printable(name)}' prints no JSON, or is no command."
        raise Misused(what=what, nearest=f"Choose one of: {', '.join(ANSWERS)}. ", command="fsconsole schema")
    found = schema_of(name) if name else {"schema": SCHEMA, "commands": {each: schema_of(each) for each in ANSWERS}}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
