"""The table in docs/safety.md of hazards is the list, each way in which a device is not free once; and the tests it names are there."""

from __future__ import annotations

import re

from tests.lab.hazard_table import CHAPTER, in_chapter, table
from tests.lab.hazards import BATTERY
from tests.unit.house.source import CHECKOUT

TESTS = re.compile(r"`(tests/[^` ]+)")


def test_the_chapter_has_the_table_that_the_list_makes() -> None:
    assert in_chapter(CHAPTER.read_text()) == table(), "python -m tests.lab.hazard_table --write"


def test_the_table_names_each_way_once() -> None:
    rows = [line.split("|") for line in table().splitlines() if line.startswith("| ")][1:]
    named = [way.strip(" °") for row in rows[1:] for way in row[3].split("; ")]
    assert sorted(named) == sorted(case.name for case in BATTERY)


def test_tests_that_the_chapter_names_are_there() -> None:
    named = set(TESTS.findall(CHAPTER.read_text()))
    assert named
    assert [name for name in named if not list(CHECKOUT.glob(name))] == []
