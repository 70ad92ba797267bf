"""The README tells of commands that there are, and of plans as they are read."""

from __future__ import annotations

import re

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.main import COMMANDS
from fsconsole.plan import read
from fsconsole.plan.rows import list_rows
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
    assert len(list_rows(plan, load_catalog()).rows) * plan.repeats == 6
    assert "six cells" in section


def test_every_key_of_a_plan_is_in_the_readme():
    text = (CHECKOUT / "README.md").read_text()
    for key in read.KEYS:
        assert re.search(rf"`\[?\[?{key}\]?\]?`", text), key
