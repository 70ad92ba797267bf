"""Layout map as text: one character for each part of the device, a letter for each file. Pure.

A letter: the file that owns most of the files' part there; "*": several files, none with half; ".": none of them.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from fsconsole.model.events import LayoutSeen
from fsconsole.model.layout import FREE, OTHERS, Layout
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import RunState
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.grid import Grid
from fsconsole.text import hanging, pad_left, printable
from fsconsole.units import format_bytes, significant

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits
ROWS = 16
"""Lines of a map, where nothing else asks for more or fewer."""
HUES = 6
"""Colours that files take in turn."""
_MIXED, _NONE, _OTHER = "*", ".", "#"
_LABEL = 7
_LEAST_FOLDED = 3
"""So many lines without a file, or more, are one."""
_LARGEST = 2**53
"""8 PiB: what a label has room for."""
_MOST_GROUPS = 32
"""Allocation groups in a line below a map: one is up to 1 TiB, but mkfs.xfs can be told to make thousands."""
_MOST_COVERED = 8
"""Times that extents may cover the map, shared ones included: those of a damaged journal overlap without end."""

Spans = tuple[tuple[str, str], ...]
"""Parts of one line: text, and tone ("map0" to "map5", "faint", or nothing)."""


@dataclass(frozen=True, slots=True)
class MapPart:
    """One of the equal parts that a map is drawn of."""

    owner: int = FREE
    """The file with most of it, OTHERS for one without a letter, FREE where there is none."""
    share: float = 0.0
    """The owner's share of what files have there."""

    @property
    def letter(self) -> str:
        """The character that it is drawn as."""
        if self.owner == FREE:
            return _NONE
        if self.share < 0.5:
            return _MIXED
        return LETTERS[self.owner] if self.owner < OTHERS else _OTHER

    @property
    def tone(self) -> str:
        """The colour of its file; faint where there is none, or no such file."""
        return f"map{self.owner % HUES}" if self.letter not in (_NONE, _MIXED) else "faint"


@dataclass(frozen=True)
class PlacedMap:
    """The layout of one load's files in one cell, with the words over it."""

    row: str
    """Name of the grid's row."""
    load: str
    seen: LayoutSeen
    cell: Cell

    @cached_property
    def end_bytes(self) -> int:
        """Where the layout ends on the device."""
        return min(max(1, self.seen.end_bytes), _LARGEST)

    @property
    def title(self) -> str:
        """Row, load, cell, and how many files in how many extents."""
        place = f"cell {self.cell.index + 1}, round {self.cell.repeat}"
        return printable(f"{self.row} - {self.load} ({place}): {self.counts}")

    @property
    def counts(self) -> str:
        """How many files in how many extents."""
        each = significant(self.seen.extent_count / self.seen.files) if self.seen.files else "0"
        return f"{self.seen.files} files, {self.seen.extent_count} extents, {each} per file"


def parts_of(layout: Layout, count: int, end_bytes: int) -> tuple[MapPart, ...]:
    """Return that many equal parts of the device from its start to end_bytes."""
    owned: list[dict[int, float]] = [{} for _ in range(count)]
    left = _MOST_COVERED * count + len(layout.extents) + len(layout.regions)
    for begin, end, owner, weight in _pieces(layout):
        first, last = (min(max(0, place * count // end_bytes), count - 1) for place in (begin, end - 1))
        left -= last + 1 - first
        for number in range(first, last + 1) if left >= 0 else ():
            low, high = number * end_bytes / count, (number + 1) * end_bytes / count
            amount = (min(end, high) - max(begin, low)) * weight
            if amount > 0:
                owned[number][owner] = owned[number].get(owner, 0.0) + amount
    return tuple(_part(of) for of in owned)


def _part(owned: dict[int, float]) -> MapPart:
    if not owned:
        return MapPart()
    known = {owner: amount for owner, amount in owned.items() if owner != FREE}
    owner = max(known, key=lambda each: (known[each], -each)) if known else OTHERS
    return MapPart(owner, known.get(owner, 0.0) / sum(owned.values()))


def _pieces(layout: Layout) -> Iterator[tuple[int, int, int, float]]:
    """Yield (start, end, owner, share of that) in bytes; owner FREE is for several files that are not told apart."""
    for begin, end, file in layout.spans():
        if 0 <= begin < end:
            yield begin, end, min(max(0, file), OTHERS), 1.0
    if layout.regions:
        units = -(-layout.device_bytes // max(1, layout.unit_bytes))
        size = max(1, -(-units // len(layout.regions))) * max(1, layout.unit_bytes)
        for number, region in enumerate(layout.regions):
            begin, full = number * size, size / max(1, layout.unit_bytes)
            if region.owned > 0:
                yield begin, begin + size, min(max(0, region.owner), OTHERS), region.owned / full
            if region.used > region.owned:
                yield begin, begin + size, FREE, (region.used - region.owned) / full


def map_lines(
    layout: Layout, width: int, rows: int = ROWS, end_bytes: int = 0, *, folds: bool = True
) -> tuple[Spans, ...]:
    """Return a map in rows of exactly width cells, each after its address on the device.

    end_bytes: where the map ends, for maps on one scale. Where it folds, lines without any file are told in one.
    """
    end = end_bytes or min(max(1, layout.end_bytes), _LARGEST)
    columns = max(1, width - _LABEL - 1)
    parts = parts_of(layout, columns * rows, end)
    lines: list[Spans] = []
    for is_free, group in groupby(range(rows), lambda row: _is_free(parts[row * columns : (row + 1) * columns])):
        numbers = list(group)
        if is_free and folds and len(numbers) >= _LEAST_FOLDED:
            upto = short_bytes(end * (numbers[-1] + 1) / rows)
            lines.append(((_address(end, numbers[0], rows), ""), (f"... nothing up to {upto}", "faint")))
            continue
        for row in numbers:
            of = parts[row * columns : (row + 1) * columns]
            lines.append(((_address(end, row, rows), ""), *_runs(of)))
    return tuple(lines)


def _is_free(parts: Sequence[MapPart]) -> bool:
    return all(part.owner == FREE for part in parts)


def _runs(parts: Sequence[MapPart]) -> Iterator[tuple[str, str]]:
    for tone, group in groupby(parts, lambda part: part.tone):
        yield "".join(part.letter for part in group), tone


def _address(end_bytes: int, row: int, rows: int) -> str:
    return pad_left(short_bytes(end_bytes * row / rows), _LABEL) + " "


def short_bytes(size_bytes: float) -> str:
    """Return a size in few characters: "128.0M" is 128 MiB."""
    return format_bytes(size_bytes).replace("iB", "").replace(" ", "")


def sizes_line(layout: Layout) -> str:
    """Return the median extent size by file offset: "0: 32.0M, 32.0M: 64.0M"; empty where there is none."""
    told = (f"{short_bytes(one.offset_bytes)}: {short_bytes(one.median_bytes)}" for one in layout.sizes)
    return ", ".join(told)


def groups_line(layout: Layout) -> str:
    """Return how many extents each allocation group has, and whose: "0: 48 (A-v), 2: 3 (A)"; empty where there are none."""
    files: dict[int, set[int]] = {}
    for begin, _, file in layout.spans() if layout.group_bytes > 0 else ():
        files.setdefault(begin // layout.group_bytes, set()).add(min(max(0, file), OTHERS))
    numbers = enumerate(layout.group_extents if layout.group_bytes > 0 else ())
    told = [f"{group}: {count}{_letters(files.get(group, ()))}" for group, count in numbers if count > 0]
    more = f" and {len(told) - _MOST_GROUPS} more" if len(told) > _MOST_GROUPS else ""
    return ", ".join(told[:_MOST_GROUPS]) + more


def _letters(files: Iterable[int]) -> str:
    """Return files by their letters, neighbours as "A-C"; nothing for regions, which name one owner of several."""
    named = []
    for _, run in groupby(enumerate(sorted(files)), lambda pair: pair[1] - pair[0]):
        of = [(LETTERS + _OTHER)[file] for _, file in run]
        named.append(f"{of[0]}-{of[-1]}" if len(of) > 2 else " ".join(of))
    return f" ({' '.join(named)})" if named else ""


def words_below(layout: Layout) -> tuple[tuple[str, str], ...]:
    """Return what is said below a map, as (lead, text)."""
    each = short_bytes(layout.group_bytes)
    said = (
        ("Extent sizes by file offset (median): ", sizes_line(layout)),
        (f"Extents by AG ({each} each): ", groups_line(layout)),
    )
    return tuple((lead, text) for lead, text in said if text)


def legend(maps: Sequence[PlacedMap], columns: int, rows: int, end_bytes: int) -> tuple[str, ...]:
    """Return what a reader must know of maps on one scale, in sentences."""
    most = max(1, *(placed.seen.files for placed in maps))
    last = LETTERS[min(most, len(LETTERS)) - 1]
    letters = f"A to {last}" if most > 1 else "A"
    more = f", {_OTHER} any further one" if most > len(LETTERS) else ""
    found = [
        f"One character is {format_bytes(end_bytes / columns / rows)}; lines begin with their address. {letters}: the "
        f"files in the order of their names{more}, each where it owns at least half of what files have there. "
        f'"{_MIXED}": several files. "{_NONE}": free, metadata, or files of other loads or of ageing.'
    ]
    return (*found, *notes_of(maps))


def notes_of(maps: Sequence[PlacedMap]) -> tuple[str, ...]:
    """Return what some of these maps do not show as the others do, in sentences."""
    found = []
    if any(placed.cell.variant.filesystem == "btrfs" for placed in maps):
        found.append(
            "Of btrfs these are its own logical addresses: where its chunks lie on the device, FIEMAP doesn't tell."
        )
    if any(placed.seen.regions for placed in maps):
        found.append(
            "Of a load with too many extents the journal keeps one owner for each region; other files there are drawn as "
            f'"{_MIXED}".'
        )
    if any(placed.seen.compressed_files for placed in maps):
        found.append("Compressed files are drawn as long as what they hold.")
    return tuple(found)


def maps_of(
    state: RunState, grid: Grid, layouts: Sequence[LayoutSeen], cells: Sequence[int] = ()
) -> tuple[tuple[PlacedMap, ...], ...]:
    """Return for each load the maps of its rows, by default of the first cell of a row that has one.

    cells are indexes of the plan, of which all maps are returned. Loads without a map are left out.
    """
    of_cell: dict[int, list[LayoutSeen]] = {}
    for seen in layouts:
        if 0 <= seen.cell < len(state.cells) and seen.attempt == state.cells[seen.cell].attempt:
            of_cell.setdefault(seen.cell, []).append(seen)
    found = []
    for block in blocks_of(state, grid):
        load = block.load
        if block.kind is not BlockKind.LOAD or load is None or not (load.creates or not load.is_built_in):
            continue
        maps: list[PlacedMap] = []
        for row in block.rows:
            placed = [
                PlacedMap(row.title, load.name, seen, state.request.plan.cells[index])
                for index in row.row.indexes
                for seen in of_cell.get(index, ())
                if _is_of(seen, state.request.plan.cells[index], row.row.key.workload)
            ]
            maps += [one for one in placed if one.cell.index in cells] if cells else placed[:1]
        if maps:
            found.append(tuple(maps))
    return tuple(found)


def cell_maps(row: str, cell: Cell, attempt: int, layouts: Sequence[LayoutSeen]) -> tuple[PlacedMap, ...]:
    """Return the maps of a cell's attempt, one for each load whose files were surveyed; row names the cell."""
    found = []
    for seen in layouts:
        if (seen.cell, seen.attempt) == (cell.index, attempt) and _is_of(seen, cell, None):
            number = cell.steps[seen.step].workload
            makers = [load for load in cell.workloads if load.creates or not load.is_built_in]
            load = cell.workloads[number] if number is not None else next(iter(makers), None)
            found.append(PlacedMap(row, load.name if load is not None else "files", seen, cell))
    return tuple(found)


def _is_of(seen: LayoutSeen, cell: Cell, workload: int | None) -> bool:
    """Return whether a layout is that of a load's files; None: the only load's."""
    if not 0 <= seen.step < len(cell.steps) or cell.steps[seen.step].kind is not StepKind.EXTENTS:
        return False
    return cell.steps[seen.step].workload in (None, workload) or workload is None


def maps_text(maps: Sequence[PlacedMap], width: int, rows: int = ROWS) -> tuple[Spans, ...]:
    """Return the maps of one load above each other, on one scale, with their titles and a legend."""
    end_bytes = max(placed.end_bytes for placed in maps)
    lines: list[Spans] = []
    for placed in maps:
        lines += [((line, "strong"),) for line in hanging("", placed.title, width)]
        lines += map_lines(placed.seen, width, rows, end_bytes)
        for lead, text in words_below(placed.seen):
            lines += [((line, ""),) for line in hanging(lead, text, width)]
        lines.append((("", ""),))
    for sentence in legend(maps, max(1, width - _LABEL - 1), rows, end_bytes):
        lines += [((line, ""),) for line in hanging("", sentence, width)]
    return tuple(lines)
