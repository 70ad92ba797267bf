"""The README tells of every key of [[array]] what the declaration says."""

from __future__ import annotations

from fsconsole.plan.arrays import KEYS, LEVELS
from tests.unit.house.source import CHECKOUT

README = (CHECKOUT / "README.md").read_text()


def test_every_key_of_an_array_is_in_the_readme_as_it_is_declared():
    for key in KEYS:
        levels = "" if key.levels == LEVELS else ", ".join(key.levels)
        assert f"| `{key.name}` | {key.values} | {levels} | {key.about} |" in README


def test_every_level_is_named_in_the_readme():
    assert all(level in README for level in LEVELS)
