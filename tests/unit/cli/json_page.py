"""The tables of docs/json.md, made from the declared types: `python -m tests.unit.cli.json_page --write` renews them."""

from __future__ import annotations

import sys

from fsconsole.cli.answers import ANSWERS, LINES, schema_of
from tests.unit.house.source import CHECKOUT

PAGE = CHECKOUT / "docs" / "json.md"
HEAD = "| command | prints | keys |\n| --- | --- | --- |\n"
_EVENTS = "schema, event, time, and the fields of each kind of event"


def table() -> str:
    """Return a row for each command, with the keys of its documents."""
    rows = []
    for command in ANSWERS:
        schema = schema_of(command)
        documents: list[str] = []
        for kind in schema["anyOf"]:  # type: ignore[attr-defined]
            properties = schema["$defs"][kind["$ref"].rpartition("/")[2]]["properties"]  # type: ignore[index]
            keys = _EVENTS if "event" in properties else ", ".join(sorted(properties, key=lambda key: key != "schema"))
            documents += [keys] if keys not in documents else []
        prints = "a line each" if command in LINES else "one document"
        rows.append(f"| `{command}` | {prints} | {'; or '.join(documents)} |\n")
    return HEAD + "".join(rows)


def page() -> str:
    """Return the page with its table as it must be."""
    text = PAGE.read_text()
    before, _, after = text.partition(HEAD)
    return before + table() + after[after.index("\nThe keys of parts") :]


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        sys.stdout.write(table())
