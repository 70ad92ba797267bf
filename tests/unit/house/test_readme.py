"""The README tells of commands that there are."""

from __future__ import annotations

import re

from fsconsole.cli.main import COMMANDS
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
