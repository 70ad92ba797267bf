"""Holds documents that commands print against the JSON Schema of these commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import fastjsonschema

from fsconsole.cli.answers import ANSWERS, LINES, schema_of

Document = dict[str, Any]


@cache
def _check(command: str) -> Callable[[object], object]:
    # The parts that are used are those of draft 7 too, the newest that fastjsonschema knows.
    schema = schema_of(command) | {"$schema": "http://json-schema.org/draft-07/schema#"}
    check: Callable[[object], object] = fastjsonschema.compile(schema)
    return check


def checked(command: str, out: str) -> list[Document]:
    """Return the documents that a command printed, each of which fits its schema; there is at least one."""
    texts = out.splitlines() if command in LINES and not out.startswith("{\n") else [out]
    documents: list[Document] = [json.loads(text) for text in texts]
    assert documents
    for document in documents:
        _check(command)(document)
        assert next(iter(document)) == "schema", command
    return documents


__all__ = ["ANSWERS", "checked"]
