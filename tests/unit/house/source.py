"""The checkout as text and syntax trees, for tests about the source itself."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "fsconsole"
_MADE_BY_TOOLS = ("__pycache__", "dist")


def modules() -> list[Path]:
    """Return all Python files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree."""
    return tuple(ast.walk(tree(path)))


def where(path: Path, node: ast.stmt | ast.expr | ast.excepthandler | ast.keyword) -> str:
    """Return a place as an editor takes it."""
    return f"{path.relative_to(CHECKOUT)}:{node.lineno}"


def written_files() -> Iterator[Path]:
    """Give every file of the checkout that somebody wrote; no environment, no caches, no history."""
    for directory, names, files in os.walk(CHECKOUT):
        names[:] = [n for n in names if n not in _MADE_BY_TOOLS and (not n.startswith(".") or n == ".ci")]
        yield from (Path(directory, file) for file in files)
