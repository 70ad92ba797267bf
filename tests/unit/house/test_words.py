"""Words on screen: what readers stumbled over once is not said again."""

from __future__ import annotations

import ast

from tests.unit.house.source import modules, nodes, where

RIDDLES = (
    "it is missing. / wanted", "it is above 1", "that is none of its", "it is neither true nor false", "mend that line",
    "known, nearest first", "says how it is used", "nothing was left behind", "print the version and end", "a slow line",
    "the cell at hand", "give back what", "carry out a plan", "being carried out", "by itself", "begun", "warned of",
    "stop-now taken", "consented to that", "what is to be done", "not to be had", "a probe and a sample",
    "by the plan's estimate", "the best so far", "as they will be", "of the filesystem were used",
    "are in its figures",
)  # fmt: skip
"""Each has a plain form: "required key ... is missing", "must be true or false", "Fix this line", "Default", "n/a", ..."""


def test_no_text_of_the_program_has_a_riddle_that_readers_stumbled_over() -> None:
    found = []
    for path in modules():
        # A string that is a statement is a docstring.
        documents = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                text = f" {' '.join(node.value.lower().split())} "
                found += [f"{where(path, node)}: {riddle}" for riddle in RIDDLES if f" {riddle}" in text]
    assert found == []
