"""Words on screen: what readers stumbled over once is not said again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import tomli

from tests.unit.house.source import CHECKOUT, PACKAGE, modules, nodes, where

RIDDLES = (
    "it is missing. / wanted", "it is above 1", "that is none of its", "it is neither true nor false", "mend that line",
    "known, nearest first", "says how it is used", "nothing was left behind", "print the version and end", "a slow line",
    "the cell at hand", "give back what", "carry out a plan", "being carried out", "by itself", "begun", "warned of",
    "stop-now taken", "consented to that", "what is to be done", "not to be had", "a probe and a sample",
    "by the plan's estimate", "the best so far", "as they will be", "of the filesystem were used",
    "are in its figures",
)  # fmt: skip
"""Each has a plain form: "required key ... is missing", "must be true or false", "Fix this line", "Default", "n/a", ..."""
BARE = {"in words", "make it"}
"""Names of a list and of a button that say nothing by themselves: "Custom", "Create"."""


def test_no_text_of_the_program_has_a_riddle_that_readers_stumbled_over() -> None:
    found = []
    for place, said in (*_said_by_modules(), *_said_by_tables()):
        text = f" {' '.join(said.lower().split())} "
        found += [f"{place}: {riddle}" for riddle in RIDDLES if f" {riddle}" in text]
        found += [f"{place}: {said}"] * (said.lower() in BARE)
    assert found == []


def _said_by_modules() -> Iterator[tuple[str, str]]:
    for path in modules():
        # A string that is a statement is a docstring.
        documents = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                yield where(path, node), node.value


def _said_by_tables() -> Iterator[tuple[str, str]]:
    """Give the texts of the catalog, and of the plans and published figures that come with the program."""
    paths = [path for folder in (PACKAGE, CHECKOUT / "configs") for path in sorted(folder.rglob("*.toml"))]
    assert len(paths) > 1
    for path in paths:
        for text in _texts_in(tomli.loads(path.read_text(encoding="utf-8"))):
            yield str(path.relative_to(CHECKOUT)), text


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)
