"""The README tells of commands that there are, and of plans as they are read."""

from __future__ import annotations

import re

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.app import COMMANDS
from fsconsole.model.events import WarningKind
from fsconsole.plan import read
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.keys import (
    AFTER,
    ARRAY,
    FILESYSTEM,
    RUN,
    SCHEMA_KEY,
    SETTINGS,
    TOP,
    VARIANT,
    WORKLOAD,
    Key,
)
from fsconsole.plan.rows import list_candidates, rows_of
from tests.unit.house.source import CHECKOUT

MENTIONED = re.compile(r"(?:`|^ *(?:sudo )?|\| `?)(?:fsconsole|\./bootstrap) ([a-z]+)", re.MULTILINE)


def command_names() -> set[str]:
    return {name for name, _, _ in COMMANDS}


def test_commands_in_the_readme_exist():
    mentioned = set(MENTIONED.findall((CHECKOUT / "README.md").read_text())) - {"test"}
    assert mentioned
    assert mentioned <= command_names()


def test_every_command_is_in_the_readme():
    assert command_names() <= set(MENTIONED.findall((CHECKOUT / "README.md").read_text()))


def test_the_readmes_plan_is_read_and_has_the_rows_that_it_says():
    text = (CHECKOUT / "README.md").read_text()
    section = text[text.index("## Plan files") : text.index("## Workloads")]
    plan = read.parse_plan(section.split("```")[1], "README.md")
    assert len(rows_of(plan, list_candidates(plan, load_catalog())).rows) * plan.repeats == 15
    assert "15 cells" in section


TABLES = {
    "## Plan files": [(SCHEMA_KEY, ""), *((key, "") for key in RUN)],
    "Keys of tables": [
        *((key, "[[filesystem]] ") for key in FILESYSTEM),
        *((key, "[[variant]] ") for key in VARIANT),
        *((key, "[after] ") for key in AFTER),
    ],
    "## Workloads": [(key, "") for key in WORKLOAD],
    "## Settings": [(key, "") for key in SETTINGS],
    "## Arrays": [(key, "") for key in ARRAY],
}
"""Where each table of the README begins, and its keys with what stands before their names."""


def default_of(key: Key) -> str:
    if key.is_required:
        return "required"
    if isinstance(key.default, bool):
        return str(key.default).lower()
    if not key.default or key.default == (0, 0):
        return ""
    plain = key.kind.toml(key.default)
    plain = plain[0] if isinstance(plain, list) else plain
    return f'`"{plain}"`' if isinstance(plain, str) else str(plain)


def table_of(keys: list[tuple[Key, str]]) -> str:
    """Return the table that the README must have: to be copied from a failed test."""
    has_levels = any(key.lacks for key, _ in keys)
    lines = ["| key | values | default | " + ("levels that have it | " if has_levels else "") + "meaning |"]
    lines.append("| --- " * (5 if has_levels else 4) + "|")
    for key, place in keys:
        levels = [", ".join(key.levels) if key.lacks else ""] if has_levels else []
        name = f"`{place.strip()}` `{key.name}`" if place else f"`{key.name}`"
        lines.append(f"| {' | '.join((name, key.kind.words, default_of(key), *levels, key.help))} |")
    return "\n".join(lines) + "\n"


def test_tables_of_keys_in_the_readme_are_those_of_the_declarations():
    text = (CHECKOUT / "README.md").read_text()
    wrong = [
        f"{heading}:\n{table}"
        for heading, keys in TABLES.items()
        if (table := table_of(keys)) not in text[text.index(heading) :]
    ]
    assert not wrong, "\n".join(["README.md should have:", *wrong])


def test_every_kind_of_warning_has_its_row_in_the_readme_in_order():
    text = (CHECKOUT / "README.md").read_text()
    section = text[text.index("## Warnings") : text.index("## Exit codes")]
    rows = re.findall(r"^\| ([a-z ]+) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)[1:]
    assert rows == [kind.value.replace("-", " ") for kind in WarningKind]


def test_every_table_of_a_plan_and_every_level_is_in_the_readme():
    text = (CHECKOUT / "README.md").read_text()
    for key in TOP:
        assert re.search(rf"`\[?\[?{key}\]?\]?`", text), key
    assert all(level in text for level in LEVELS)
