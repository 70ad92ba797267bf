"""Draws mutants of the product by seed: `python -m tests.mutants.draw [AREA [NUMBER]]` prints them as TOML.

It reads product modules only, never a test. In each area the kinds take turns, so that comparisons, which are many,
don't crowd out units and errors, which are few. The order within an area is fixed by the seed: a mutant that turns out
to change nothing is replaced by the next one of its area.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SEED = 13
SHARE = 11  # of each area; the gate has one more, which makes 100
ROOT = Path(__file__).parents[2]
# The modules as they were called on the day of the draw, before the redesign.
AREAS = {
    "gate": (
        "devices/gate devices/gather devices/claims devices/consent devices/content devices/evidence devices/passing"
        " devices/reservation devices/uses devices/relatives devices/signatures devices/volume_groups devices/exports"
        " devices/mounted devices/places devices/hazards/base devices/hazards/claims devices/hazards/contents"
        " devices/hazards/disks devices/hazards/export devices/hazards/mounts devices/hazards/size"
        " devices/hazards/stacking devices/hazards/state"
    ),
    "identity": "devices/identity devices/marker devices/presence engine/proof engine/past_writes engine/whereabouts",
    "fold": "journal/fold journal/fold_cell journal/fold_settings journal/curve journal/points",
    "steps": (
        "plan/steps plan/load_steps plan/array_steps plan/raw engine/steps/arrays engine/steps/checking"
        " engine/steps/deleting engine/steps/formatting engine/steps/loading engine/steps/mounting engine/steps/raw"
        " engine/steps/settings engine/steps/sources engine/steps/surveying"
    ),
    "expand": "plan/expand plan/variants plan/candidates plan/axes plan/scale plan/estimate plan/sites plan/left",
    "rates": "telemetry/rates telemetry/cpu telemetry/blockstat telemetry/gauges telemetry/stalls telemetry/pressure units",
    "grid": (
        "analysis/grid analysis/statistics analysis/figures analysis/against_raw analysis/baseline analysis/columns"
        " analysis/equal analysis/eta analysis/names"
    ),
    "allow-lists": "catalog/words catalog/arguments catalog/given catalog/choose catalog/effects catalog/kernels",
    "exports": "report/csv report/json report/markdown report/marks report/cells report/content report/figures report/table",
}
KINDS = ("comparison", "left out", "unit", "error", "order")
FLIPPED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """One fault: the lines of a function as they are, and as they are with the fault."""

    file: str
    function: str
    kind: str
    before: str
    after: str


@dataclass(frozen=True)
class Edit:
    """Part of a source text, by its place, and the text put there instead."""

    kind: str
    first: tuple[int, int]
    last: tuple[int, int]
    text: str


class Module:
    """One source file and every place in it where a fault can be put."""

    def __init__(self, file: str, choose: random.Random) -> None:
        self.file, self.choose = file, choose
        self.text = (ROOT / file).read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.tree = ast.parse(self.text)

    def mutants(self) -> Iterator[Mutant]:
        """Every fault whose lines stand in their function once."""
        yield from self._within(self.tree, "", (1, len(self.lines)))

    def _within(self, scope: ast.AST, name: str, span: tuple[int, int]) -> Iterator[Mutant]:
        for edit in self._edits(scope, at_top=not name):
            mutant = self._mutant(edit, name or "<module>", span)
            if mutant is not None:
                yield mutant
        for node in _inner_scopes(scope):
            inner = f"{name}.{node.name}" if name else node.name
            yield from self._within(node, inner, (node.lineno, node.end_lineno or node.lineno))

    def _mutant(self, edit: Edit, name: str, span: tuple[int, int]) -> Mutant | None:
        top, bottom = edit.first[0], edit.last[0]
        old = self.lines[top - 1 : bottom]
        head, tail = _cut(old[0], edit.first[1]), _rest(old[-1], edit.last[1])
        before = textwrap.dedent("\n".join(old))
        after = textwrap.dedent(head + edit.text + tail)
        body = "\n".join(self.lines[span[0] - 1 : span[1]])
        if " ".join(body.split()).count(" ".join(before.split())) != 1 or before == after:
            return None
        return Mutant(self.file, name, edit.kind, before, after)

    def _edits(self, scope: ast.AST, *, at_top: bool) -> Iterator[Edit]:
        for node in _own_nodes(scope):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                text = self.choose.choice(FLIPPED[type(node.ops[0])])
                yield self._between("comparison", node.left, node.comparators[0], text)
            elif isinstance(node, ast.BoolOp):
                text = "or" if isinstance(node.op, ast.And) else "and"
                yield self._between("comparison", *node.values[:2], text)
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                yield Edit("comparison", _start(node), _start(node.operand), "")
            elif isinstance(node, ast.Raise):
                yield Edit("error", _start(node), _end(node), "pass")
            elif isinstance(node, ast.Tuple | ast.List):
                yield from self._elements(node)
            elif isinstance(node, ast.Call):
                yield from self._calls(node)
            yield from self._units(node, at_top=at_top)
            for block in _blocks(node):
                yield from self._statements(block)
        for block in _blocks(scope):
            yield from self._statements(block)

    def _between(self, kind: str, one: ast.AST, after: ast.AST, text: str) -> Edit:
        """Another operator between two operands, whose brackets stay as they are."""
        first, last = _end(one), _start(after)
        lines = self.lines[first[0] - 1 : last[0]]
        lines[-1] = _cut(lines[-1], last[1])
        lines[0] = _rest(lines[0], first[1])
        return Edit(
            kind,
            first,
            last,
            re.sub(r"[^\s()]+( not| in)?", text, "\n".join(lines), count=1).rstrip(" ") + " ",
        )

    def _elements(self, node: ast.Tuple | ast.List) -> Iterator[Edit]:
        for one, after in pairwise(node.elts):
            if type(one) is type(after) and isinstance(node.ctx, ast.Load):
                gap = " " if one.lineno == after.lineno else "\n" + " " * after.col_offset
                yield Edit(
                    "order", _start(one), _end(after), f"{self._source(after)},{gap}{self._source(one)}"
                )
                if len(node.elts) > 2 or isinstance(one, ast.Starred | ast.Call | ast.Tuple):
                    yield Edit("left out", _start(one), _start(after), "")

    def _calls(self, node: ast.Call) -> Iterator[Edit]:
        other = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
        if isinstance(node.func, ast.Name) and node.func.id in other and not node.keywords:
            kind = "comparison" if node.func.id in ("any", "all") else "order"
            yield Edit(kind, _start(node.func), _end(node.func), other[node.func.id])
        for word in node.keywords:
            if word.arg == "reverse" and isinstance(word.value, ast.Constant):
                yield Edit("order", _start(word.value), _end(word.value), str(not word.value.value))
            elif word.arg == "key" and isinstance(node.func, ast.Name) and node.func.id == "sorted":
                yield Edit("order", _end(word), _end(word), ", reverse=True")

    def _units(self, node: ast.AST, *, at_top: bool) -> Iterator[Edit]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv):
            if _is_factor(node.right) or _is_factor(node.left):
                yield self._between(
                    "unit", node.left, node.right, "/" if isinstance(node.op, ast.Mult) else "*"
                )
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) >= 8:
            other = {1000: "1024", 1024: "1000", 512: "1024", 100: "1000"}.get(
                node.value, f"{node.value * 10!r}"
            )
            yield Edit("unit", _start(node), _end(node), other)
        elif at_top and isinstance(node, ast.Assign) and isinstance(value := node.value, ast.Constant):
            few = type(value.value) in (int, float) and 0 < abs(value.value) < 8
            if few:
                yield Edit("unit", _start(value), _end(value), f"{value.value * 10!r}")

    def _statements(self, block: list[ast.stmt]) -> Iterator[Edit]:
        for one in block:
            if _is_act(one):
                yield Edit("left out", _start(one), _end(one), "pass")
        for one, after in pairwise(block):
            if _is_plain(one) and _is_plain(after) and not _names_set(one) & _names_read(after):
                text = f"{self._source(after)}\n{self.lines[one.lineno - 1][: one.col_offset]}{self._source(one)}"
                yield Edit("order", _start(one), _end(after), text)

    def _source(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _cut(line: str, column: int) -> str:
    return line.encode()[:column].decode()


def _rest(line: str, column: int) -> str:
    return line.encode()[column:].decode()


def _inner_scopes(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, SCOPES):
            yield node
        elif isinstance(node, ast.stmt):
            yield from _inner_scopes(node)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope in their order, without inner scopes, types, decorators and what is only worded."""
    if isinstance(scope, ast.Assign) and ast.unparse(scope.targets[0]) == "__all__":
        return
    for field, value in ast.iter_fields(scope):
        if field in ("annotation", "returns", "args", "decorator_list", "bases") and not isinstance(
            scope, ast.Call
        ):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(
                node, (*SCOPES, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)
            ):
                continue
            if isinstance(scope, ast.Subscript) and field == "slice" and isinstance(node, ast.Tuple):
                continue  # tuple[int, ...]
            yield node
            if not isinstance(node, ast.Raise):
                yield from _own_nodes(node)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def _is_act(node: ast.stmt) -> bool:
    """A statement without which the rest still runs: a call, a yield, a change in place, a guard that leaves early."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom | ast.Await)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if isinstance(node, ast.If):
        return not node.orelse and isinstance(node.body[-1], ast.Return | ast.Continue | ast.Break)
    return isinstance(node, ast.AugAssign)


def _is_plain(node: ast.stmt) -> bool:
    """A statement that can change places: an act, or a guard with what it does."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        return False  # two values kept one after the other, or the other way round: the same
    return _is_act(node) or (isinstance(node, ast.If) and not node.orelse)


def _names_set(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _names_read(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _is_factor(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) >= 8


def drawn(area: str) -> list[Mutant]:
    """Every mutant of an area in the order of the draw, the kinds taking turns."""
    choose = random.Random(f"{SEED} {area}")  # noqa: S311 - a draw that can be repeated, no secret
    found = [one for name in AREAS[area].split() for one in Module(f"fsconsole/{name}.py", choose).mutants()]
    turns: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for one in dict.fromkeys(found):
        turns[one.kind].append(one)
    for kind in KINDS:
        choose.shuffle(turns[kind])
    order: list[Mutant] = []
    while any(turns.values()):
        for kind in KINDS:
            one = _next(turns[kind], order)
            order += [one] if one else []
    return order


def _next(left: list[Mutant], order: list[Mutant]) -> Mutant | None:
    """The next mutant that is Python, at other lines than those before it, and at most the second of its function."""
    while left:
        one = left.pop()
        same = [other for other in order if (other.file, other.function) == (one.file, one.function)]
        if len(same) < 2 and all(other.before != one.before for other in same) and _is_python(one.after):
            return one
    return None


def _is_python(text: str) -> bool:
    """Whether lines could be Python where they stand: part of a call, of a list, the head of a block, in a function."""
    for shape in (
        "{}",
        "{} pass",
        "f(\n{}\n)",
        "[\n{}\n]",
        "def f():\n{}",
        "for _ in _:\n{}",
        "try: pass\n{} pass",
        "if _: pass\n{} pass",
    ):
        body = textwrap.indent(text, "    ") if shape.endswith(":\n{}") else text
        with suppress(SyntaxError):
            ast.parse(shape.format(body))
            return True
    return False


def main(words: list[str]) -> None:
    """Print the first mutants of one area or of all, as the list holds them."""
    for area in words[:1] or AREAS:
        share = int(words[1]) if words[1:] else SHARE + (area == "gate")
        for number, one in enumerate(drawn(area)[:share], 1):
            rows = [f"[[mutant]]\nid = '{area}-{number}'", f"kind = '{one.kind}'"]
            rows += [f"file = '{one.file}'", f"function = '{one.function}'"]
            print(
                "\n".join(rows),
                f"before = {_toml(one.before)}",
                f"after = {_toml(one.after)}",
                sep="\n",
                end="\n\n",
            )


def _toml(text: str) -> str:
    """Lines as a TOML literal, in which nothing is escaped."""
    quotes = '"""' if "'''" in text else "'''"
    return f"{quotes}{text}{quotes}" if "\n" not in text else f"{quotes}\n{text}{quotes}"


if __name__ == "__main__":
    main(sys.argv[1:])
