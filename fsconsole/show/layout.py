"""The Layout tab of the Cell screen: the maps of one cell, or of two cells side by side. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import layout_places, read_layouts
from fsconsole.model.plan import Cell
from fsconsole.model.state import RunState
from fsconsole.results.layout_map import ROWS, PlacedMap, Spans, cell_maps, legend, map_lines, maps_text, words_below
from fsconsole.show.lines import Line, text_lines
from fsconsole.text import pad_right, printable, shorten_middle

_GAP = 2
_LABEL = 8
"""Cells of a map's lines before its characters."""
NO_MAP = (("No layout map: extents were not counted, or the run is of an earlier version.", ""),)


def maps_by_cell(folder: RunFolder, state: RunState, wanted: Collection[int]) -> dict[int, tuple[PlacedMap, ...]]:
    """Return the maps of each cell that has any, one for each load; of cells that aren't wanted none. Raises as JournalReader."""
    found: dict[int, tuple[PlacedMap, ...]] = {}
    for index, numbers in sorted(layout_places(folder, state).items()):
        cell, layouts = state.request.plan.cells[index], read_layouts(folder, numbers) if index in wanted else ()
        found[index] = cell_maps(cell_name(cell), cell, state.cells[index].attempt, layouts)
    return found


def cell_name(cell: Cell) -> str:
    """Return a cell's variant with its settings."""
    return ", ".join([cell.variant.label, *(f"{name} = {value}" for name, value in cell.setting.values)])


def other_lines(state: RunState, indexes: Iterable[int], own: int) -> tuple[Line, ...]:
    """Return the cells that may stand beside the own one, as a list to pick from; its keys are their indexes."""
    others = (state.request.plan.cells[index] for index in indexes if index != own)
    return tuple(
        Line(str(cell.index), f"Cell {cell.index + 1}: {cell_name(cell)}, round {cell.repeat}") for cell in others
    )


def layout_lines(own: Sequence[PlacedMap], other: Sequence[PlacedMap], width: int) -> list[Spans]:
    """Return the maps of a cell, each with a legend; with another cell's, those of the same load side by side."""
    lines: list[Spans] = []
    by_load = {placed.load: placed for placed in other}
    for placed in own:
        beside = by_load.get(placed.load)
        lines += maps_text([placed], width) if beside is None else _side_by_side(placed, beside, width)
        lines.append((("", ""),))
    return lines or [NO_MAP]


def _side_by_side(left: PlacedMap, right: PlacedMap, width: int) -> list[Spans]:
    half = max(_LABEL + 1, (width - _GAP) // 2)
    end_bytes = max(left.end_bytes, right.end_bytes)
    head = "".join(
        pad_right(shorten_middle(text, half), half + _GAP)
        for text in (f"{placed.row}: {placed.counts}" for placed in (left, right))
    )
    lines: list[Spans] = [((shorten_middle(printable(head).rstrip(), width), "strong"),)]
    drawn = (map_lines(placed.seen, half, ROWS, end_bytes, folds=False) for placed in (left, right))
    lines += [(*one, (" " * _GAP, ""), *other) for one, other in zip(*drawn, strict=True)]
    for placed in (left, right):
        for lead, said in words_below(placed.seen):
            text = f"{placed.row}: {lead[0].lower()}{lead[1:]}{said}"
            lines += [((printable(part), ""),) for part in _wrapped(text, width)]
    sentences = legend((left, right), max(1, half - _LABEL), ROWS, end_bytes)
    return [*lines, *(((part, ""),) for sentence in sentences for part in _wrapped(sentence, width))]


def _wrapped(text: str, width: int) -> list[str]:
    return [line.text for line in text_lines(text, width)]
