"""Tables of a block: its verdicts, its figures, and both side by side for wide terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Publication, PublishedRow
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.state import RunState
from fsconsole.model.workload import Generator, Layout, Workload, WorkloadKind
from fsconsole.results.blocks import Block, BlockKind, BlockRow, compared_figure
from fsconsole.results.changes import change_texts, verdict_legend, verdict_words
from fsconsole.results.columns import GIVE_WAY, SPECIAL
from fsconsole.results.content import (
    MISSING,
    ColumnScale,
    column_head,
    marks_of,
    publication_words,
    scale_for,
    spread_text,
    with_verdict,
)
from fsconsole.results.grid import Grid
from fsconsole.results.published import ratio_text
from fsconsole.results.requirements import limit_sentences, requirements_of, run_sentence
from fsconsole.results.strip import strip_of, strip_scale
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.text import cells_of, counted, printable, shorten_end, shorten_middle
from fsconsole.units import format_bytes, format_bytes_exact

LEAST_NAME = 20
"""Cells for names; where axes leave less they stand in the names."""
WIDE = 132
"""Width from which the other columns stand to the right of the verdict."""


def block_title(block: Block) -> str:
    """Return what a block is about: "small files: create, 4 threads, 3000 files of 8KiB, fsync", and the ageing before it."""
    return _about(block) + (f", aged: {block.aged}" if block.aged else "")


def _about(block: Block) -> str:
    load = block.load
    if load is None:
        is_formatted = not any(row.row.key.variant.is_directory for row in block.rows)
        about = (
            ("mkfs, mount, check, delete" if is_formatted else "delete")
            if block.kind is BlockKind.LIFE
            else "no filesystem"
        )
        return f"{block.name}: {about}"
    if load.kind in (WorkloadKind.COMMAND, WorkloadKind.COPY, WorkloadKind.FIO):
        return printable(f"{load.name}: {_program_words(load)}{', cold' if load.cold else ''}")
    if load.kind is WorkloadKind.BONNIE:
        return printable(f"{load.name}: {_bonnie_words(load, block)}")
    parts = [load.kind.value] + ["by fio"] * (load.generator is Generator.FIO)
    if load.generator is Generator.DD:
        parts.append("one dd a file")
    elif "threads" not in block.axes:
        parts.append(counted(load.threads, "thread"))
    size = format_bytes_exact(load.file_size_bytes) if load.file_size_bytes and load.creates else ""
    number = counted(load.files, "file") if load.files and load.creates else "files"
    own = {(of.files, of.file_size_bytes) for of in map(_own_load, block.rows)}
    if load.creates and len(own) > 1 and len({files * each for files, each in own}) == 1:
        parts.append(f"{format_bytes_exact(load.files * load.file_size_bytes)} in all")
    elif size and len(own) == 1 and not {"files", "file_size"} & {*block.axes}:
        parts.append(f"{number} of {size}")
    parts += [f"{format_bytes_exact(load.block_size_bytes)} blocks"] if load.reads or load.writes else []
    parts += [f"{load.directories.files_per_directory} files per directory"] * (
        load.creates and load.directories.layout is Layout.PER_COUNT
    )
    parts += ["direct"] * load.direct + ["cold"] * load.cold + [load.sync_call.value] * load.syncs
    return printable(f"{load.name}: {', '.join(parts)}")


def _bonnie_words(load: Workload, block: Block) -> str:
    """Return what bonnie++ was asked for: data, blocks, files; what rows differ in is a column."""
    parts = ["bonnie++"]
    if load.limit_bytes:
        blocks = "" if "block_size" in block.axes else f" in {format_bytes_exact(load.block_size_bytes)} blocks"
        parts.append(f"{format_bytes_exact(load.limit_bytes)} of data{blocks}")
    if load.files:
        most = load.largest_file_bytes
        parts.append(f"{load.files} {f'files of {format_bytes_exact(most)}' if most else 'empty files'}")
    parts += [f"{load.threads} copies"] * (load.threads > 1 and "threads" not in block.axes)
    return ", ".join([*parts, *(["direct"] * load.direct)])


_LONGEST_COMMAND = 60


def _program_words(load: Workload) -> str:
    """Return the start of a command, the jobs of fio, or what is copied."""
    if load.kind is WorkloadKind.FIO:
        return f"fio, {shorten_middle(' '.join(load.job.split()), _LONGEST_COMMAND)}"
    if load.kind is WorkloadKind.COMMAND:
        return shorten_middle(" ".join(" ".join(load.argv).split()), _LONGEST_COMMAND)
    what = shorten_middle(" ".join(load.sources), _LONGEST_COMMAND) or "an earlier load's files"
    size = f", {counted(load.sources_files, 'file')}, {format_bytes(load.sources_bytes)}" if load.sources_files else ""
    return f"cp {load.copy_flags} of {what}{size}"


def _own_load(row: BlockRow) -> Workload:
    """Return the load that a row of a load's block is about."""
    return row.row.key.workloads[row.row.key.workload or 0]


def verdict_title(block: Block) -> str:
    """Return what a block's verdicts are about: "small files: durable, MB/s"."""
    unit = _primary_scale(block).unit
    return printable(f"{block.name}: {block.metric.column}{f', {unit}' if unit else ''}")


def captions(blocks: Sequence[Block], grid: Grid, *, is_reversed: bool = False) -> tuple[str, ...]:
    """Return what the figures of these blocks are and how rows are sorted, in sentences."""
    summaries = [row.row.figure(block.metric) for block in blocks for row in block.rows]
    counts = sorted({summary.n for summary in summaries if summary is not None})
    primary = ", ".join(dict.fromkeys(block.metric.column for block in blocks if block.kind is not BlockKind.RAW))
    said = []
    if not counts:
        said.append(f"No row has a figure for {primary} yet.")
    elif counts == [1]:
        said.append("One cell per row (n = 1): how far rounds would spread is not known.")
    else:
        n = f"n = {counts[0]}" if len(counts) == 1 else "n"
        said.append(f"Figures are geometric means of {n} rounds (means where too small for ratios);")
        said[-1] += f" spread: (max - min) / median of {primary}."
    if counts:
        chosen = dict.fromkeys(block.sorted_by for block in blocks if block.sorted_by)
        axes = dict.fromkeys(printable(axis) for block in blocks if not block.sorted_by for axis in block.axes)
        by_default = (
            f"{', '.join(axes)}, then by " * bool(axes) + f"{primary}, {'worst' if is_reversed else 'best'} first"
        )
        said.append(
            f"Sorted by {', '.join(chosen)}{', reversed' * is_reversed}." if chosen else f"Sorted by {by_default}."
        )
        if any(row.compared is not None for block in blocks for row in block.rows):
            said.append("Only verdicts tell which rows differ.")
    arrays = [row.row.key.array for block in blocks for row in block.rows if row.row.key.array is not None]
    if any(array.assume_clean for array in arrays):
        said.append("assume-clean: md was told that the members agree; no resync was done.")
    if any(row.row.with_redone for block in blocks for row in block.rows):
        said.append("Figures, but no verdicts, are of rounds that ran again, too.")
    return (*said, *(publication_words(grid.publication, grid.rows) if grid.publication is not None else ()))


def notes_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the blocks' notes, the legend of their verdicts, and what labels don't show, in sentences."""
    found = [row.compared for block in blocks for row in block.rows if row.compared is not None]
    found += [pair.compared for block in blocks for pair in block.pairs]
    notes: dict[str, list[str]] = {}
    for block in blocks:
        for note in block.notes:
            notes.setdefault(note, []).append(block.name)
    compared = [block for block in blocks if block.kind is not BlockKind.RAW]
    said = [
        note if len(names) == len(compared) else f"{printable(', '.join(names))}: {note}"
        for note, names in notes.items()
    ]
    return (*verdict_legend(found, blocks[0].same if blocks else 0), *said)


def required_of(state: RunState, grid: Grid, blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return which rows of these blocks meet what the plan requires, a sentence for each limit, and what it comes to."""
    loads = [block for block in blocks if block.kind is BlockKind.LOAD]
    said = []
    for block in loads:
        lead = f"{printable(block.name)}: " if len(loads) > 1 else ""
        said += [f"{lead}{words}" for words in limit_sentences([(row.title, row.required) for row in block.rows])]
    return (*said, run_sentence(requirements_of(state, grid))) if said else ()


OPTIONS_TITLE = "Options that row names leave out"


def options_of(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the options that labels don't show: "xfs: -m reflink=0; logbsize=256k"."""
    return tuple(dict.fromkeys(words for block in blocks for words in block.common))


# Verdicts.


def verdict_table(block: Block, width: int = 80) -> TableValue:
    """Return a row's figure, its change against the baseline with interval, n, strip and verdict; axes in front."""
    scale = _primary_scale(block)
    columns, cells = _verdict_columns(block, scale)
    axes = tuple(Column(printable(axis)) for axis in block.axes)
    values = [tuple(map(printable, row.axes)) for row in block.rows]
    names = [printable(row.name) for row in block.rows]
    table = _table((*axes, *columns), names, [(*one, *other) for one, other in zip(values, cells, strict=True)], block)
    if axes and _room(table, width) < 0:
        table = _table(columns, [printable(row.title) for row in block.rows], cells, block)
    at = len(table.columns) - _BEHIND_CHANGE
    against = f"vs {printable(block.baseline)}, 95 %"
    room = table.widths[at] + max(0, _room(table, width))
    if cells_of(against) > room:
        # As its row says: of the name too little would be left.
        against = shorten_end("vs baseline, 95 %", room)
    head = replace(table.columns[at], name=against)
    return replace(table, columns=(*table.columns[:at], head, *table.columns[at + 1 :]))


_VERDICT_COLUMNS, _BEHIND_CHANGE = 5, 4
"""Columns behind the axes, and those from the change to the verdict."""


def _room(table: TableValue, width: int) -> int:
    """Return the cells that are left beside names of LEAST_NAME; negative where there are too few."""
    wanted = min(LEAST_NAME, max((cells_of(row.name) for row in table.rows), default=0))
    return width - sum(table.widths) - len(table.columns) - wanted


def pairs_table(block: Block) -> TableValue:
    """Return all pairs of a block, each with its change, interval, n, strip and verdict."""
    strips = strip_scale(pair.compared for pair in block.pairs)
    changes = change_texts([pair.compared for pair in block.pairs], block.metric)
    columns = (
        Column("change, 95 %", is_right=False),
        Column("n"),
        Column(strips.head, is_right=False, is_whole=True, is_drawn=True),
        Column("verdict", is_right=False),
    )
    rows = []
    for number, (pair, change) in enumerate(zip(block.pairs, changes, strict=True)):
        strip, words = strip_of(pair.compared, strips).rstrip(), verdict_words(pair.compared, block.same)
        cells = (change, str(pair.compared.n), strip, words)
        rows.append(TableRow(str(number), printable(f"{pair.row} vs {pair.other}"), cells))
    return TableValue("variants", columns, tuple(rows))


def _verdict_columns(block: Block, scale: ColumnScale) -> tuple[tuple[Column, ...], list[tuple[str, ...]]]:
    """Return the columns behind the axes, and the cells of each row."""
    found = [row.compared for row in block.rows if row.compared is not None]
    strips = strip_scale(found)
    texts = iter(change_texts(found, block.metric))
    cells: list[tuple[str, ...]] = []
    for row in block.rows:
        change = next(texts) if row.compared is not None else "baseline" if row.is_baseline else MISSING
        count = row.compared.n if row.compared is not None else len(row.row.readings(block.metric))
        words = verdict_words(row.compared, block.same) if row.compared is not None else ""
        if not words and not row.is_baseline:
            words = "no figure" if row.row.figure(block.metric) is None else "no baseline"
        strip = strip_of(row.compared, strips).rstrip()
        cells.append((_figure(row, block.metric, scale), change, str(count), strip, words))
    columns = (
        Column(block.metric.column, scale.unit, is_whole=True),
        Column("vs , 95 %", is_right=False, is_whole=True),
        Column("n"),
        Column(strips.head, is_right=False, is_whole=True, is_drawn=True),
        Column("verdict", is_right=False),
    )
    return columns, cells


def _primary_scale(block: Block) -> ColumnScale:
    values = (compared_figure(row, block.metric) for row in block.rows)
    return scale_for(block.metric, (value for value in values if value is not None))


def _figure(row: BlockRow, metric: Metric, scale: ColumnScale) -> str:
    """Return a row's figure as it was compared; below what can be resolved its limit."""
    limit = row.compared.below if row.compared is not None else None
    if limit is not None and metric.unit in (Unit.SECONDS, Unit.MILLISECONDS):
        return f"< {_short(limit / scale.factor)}"
    value = compared_figure(row, metric)
    return scale.text(value) if value is not None else MISSING


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


# Figures.


def fitted(block: Block, grid: Grid, width: int) -> TableValue:
    """Return the figures of a block's columns; those that don't fit the width beside the others are left out."""
    columns = list(block.columns)
    leaving = [metric for metric in GIVE_WAY if metric in columns and metric is not block.metric]
    while True:
        table = figures_table(replace(block, columns=tuple(columns)), grid)
        if _room(table, width) >= 0 or not leaving:
            return table
        columns.remove(leaving.pop(0))


def figures_table(block: Block, grid: Grid) -> TableValue:
    """Return the figures of a block's columns, with spread, n where it differs, and letters of warnings; axes in front.

    Published rows stand under those that they belong to, and at the end where they belong to none.
    """
    axes = tuple(Column(printable(axis)) for axis in block.axes)
    columns, cells, published = _figure_columns(block, grid, block.columns)
    rows: list[TableRow] = []
    for row, of_row in zip(block.rows, cells, strict=True):
        rows.append(_row(row, (*map(printable, row.axes), *of_row), has_figures=_has_figures(row, block)))
        rows += _published(row, published.pop(row.row.id, ()), len(axes))
    rows += _published(None, [one for of in published.values() for one in of], len(axes))
    return TableValue("variant", (*axes, *columns), tuple(rows))


def wide_table(block: Block, grid: Grid, width: int = WIDE) -> TableValue:
    """Return the verdicts of a block, fitted into a width, with its other columns to their right."""
    verdicts = verdict_table(block, width)
    # The primary figure of published rows stands among the verdicts.
    others = tuple(metric for metric in block.columns if metric is not block.metric)
    columns, cells, published = _figure_columns(block, grid, (block.metric, *others))
    before, after = len(block.axes) if len(verdicts.columns) > _VERDICT_COLUMNS else 0, _VERDICT_COLUMNS - 1

    def among(rows: Sequence[_Published]) -> list[_Published]:
        return [(name, (*[""] * before, of[0], *[""] * after, *of[1:]), note) for name, of, note in rows]

    rows: list[TableRow] = []
    for row, line, (_, *of_row) in zip(block.rows, verdicts.rows, cells, strict=True):
        rows.append(replace(line, cells=(*line.cells, *of_row) if line.cells else ()))
        rows += _published(row, among(published.pop(row.row.id, [])), 0)
    rows += _published(None, among([one for of in published.values() for one in of]), 0)
    return TableValue("variant", (*verdicts.columns, *columns[1:]), tuple(rows))


def brief(table: TableValue) -> TableValue:
    """Return a table that tells in a few words why rows lack figures, where another one tells it whole."""
    rows = (
        replace(row, notes=() if row.cells else tuple(note.partition(":")[0] for note in row.notes))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


_Published = tuple[str, tuple[str, ...], str]
"""Name, cells and note of a published row."""


def _figure_columns(
    block: Block, grid: Grid, metrics: Sequence[Metric]
) -> tuple[tuple[Column, ...], list[tuple[str, ...]], dict[str, list[_Published]]]:
    """Return columns with spread, n and warnings, the cells of each row, and published rows by the row they belong to."""
    figures = [{metric: row.row.estimate(metric) for metric in metrics} for row in block.rows]
    of_rows = _published_rows(block, grid, metrics)
    valued = [*figures, *({metric: one.value(metric) for metric in metrics} for of in of_rows.values() for one in of)]
    scales = {
        metric: scale_for(metric, (value for one in valued if (value := one[metric]) is not None)) for metric in metrics
    }
    summaries = [row.row.figure(block.metric) for row in block.rows]
    counts = {summary.n for summary in summaries if summary is not None}
    marks, of_cells = marks_of(grid), _warned(grid, block)
    columns = [column_head(metric.column, scales[metric].unit) for metric in metrics]
    is_repeated, is_uneven = any(count > 1 for count in counts), len(counts) > 1
    columns += [Column("spread", "%")] * is_repeated + [Column("n")] * is_uneven + [Column("warn")] * bool(marks)
    cells = []
    for row, of, summary in zip(block.rows, figures, summaries, strict=True):
        texts = [scales[metric].text(value) if (value := of[metric]) is not None else MISSING for metric in metrics]
        own = [with_verdict(row.row, metric, text) for metric, text in zip(metrics, texts, strict=True)]
        own += [spread_text(summary.spread_percent if summary is not None else None)] * is_repeated
        own += [str(summary.n) if summary is not None else MISSING] * is_uneven
        kinds = {kind for one in row.row.cells for kind in of_cells.get(one.cell, ())}
        own += ["".join(mark for kind, mark in marks.items() if kind in kinds)] * bool(marks)
        cells.append(tuple(own))
    ones = {row.row.id for row in block.rows if len(row.row.printed) == 1}
    ones = {row.row.id for row in block.rows if len(row.row.printed) == 1}
    published = {
        key: [_published_texts(one, scales, len(columns), is_one=key in ones) for one in of]
        for key, of in of_rows.items()
    }
    return tuple(columns), cells, published


def _warned(grid: Grid, block: Block) -> Mapping[int, set[WarningKind]]:
    """Return the warnings of each cell that concern a block: those that name loads concern these loads alone."""
    loads = {load.name for row in block.rows for load in row.row.key.workloads}
    own = block.load.name if block.load is not None else ""
    found: dict[int, set[WarningKind]] = {}
    for warning in grid.warnings:
        named = {name for name in loads if f"'{name}'" in warning.reason or f", {name}'" in warning.reason}
        if named and own not in named:
            continue
        for cell in warning.cells:
            found.setdefault(cell, set()).add(warning.kind)
    return found


def _published_rows(block: Block, grid: Grid, metrics: Sequence[Metric]) -> dict[str, list[PublishedRow]]:
    """Return published rows with one of these figures, by the id of the row they belong to; those of none by ""."""
    found: dict[str, list[PublishedRow]] = {}
    for one in grid.publication.rows if grid.publication is not None and block.kind is not BlockKind.RAW else ():
        is_of = one.load in ("", block.load.name if block.load is not None else "")
        if is_of and any(one.value(metric) is not None or one.ratio(metric) is not None for metric in metrics):
            key = next((row.row.id for row in block.rows if row.row.is_of(one, block.load)), "")
            found.setdefault(key, []).append(one)
    return found


def has_more(of: Publication, blocks: Sequence[Block]) -> bool:
    """Return whether a published figure stands beside none of the blocks: of another load, or in no column of theirs."""
    names, columns = {block.name for block in blocks}, {metric for block in blocks for metric in block.columns}
    is_of_others = any(row.load and row.load not in names for row in of.rows)
    return bool(of.own_columns) or is_of_others or bool(SPECIAL.intersection(of.metrics) - columns)


def _published_texts(
    row: PublishedRow, scales: Mapping[Metric, ColumnScale], columns: int, *, is_one: bool
) -> _Published:
    """Return a published row as texts; where the run's own have n, spread and warnings it has nothing.

    is_one: it stands under a row of that name alone.
    """
    name = "published" if is_one else f"published: {row.as_printed}"
    ratios = {one.metric: ratio_text(one.ratio) for one in row.ratios}
    figures = [
        scale.text(value) if (value := row.value(metric)) is not None else ratios.get(metric, MISSING)
        for metric, scale in scales.items()
    ]
    table = f" ({row.table})" if row.table else ""
    return printable(f"  {name}{table}"), (*figures, *[""] * (columns - len(figures))), printable(row.note)


def _published(row: BlockRow | None, published: Sequence[_Published], blanks: int) -> list[TableRow]:
    key = row.row.id if row is not None else ""
    return [
        TableRow(f"{key} published {number}".strip(), name, (*[""] * blanks, *cells), (note,) if note else (), "weak")
        for number, (name, cells, note) in enumerate(published)
    ]


def _table(
    columns: Sequence[Column], names: Sequence[str], cells: Sequence[tuple[str, ...]], block: Block
) -> TableValue:
    rows = (
        replace(_row(row, of, has_figures=_has_figures(row, block)), name=name)
        for row, name, of in zip(block.rows, names, cells, strict=True)
    )
    return TableValue("variant", tuple(columns), tuple(rows))


def _has_figures(row: BlockRow, block: Block) -> bool:
    return any(row.row.figure(metric) is not None for metric in (block.metric, *block.columns))


def _row(row: BlockRow, cells: tuple[str, ...], *, has_figures: bool) -> TableRow:
    """Return a row of a table; one without figures of the block has its notes instead."""
    notes = tuple(map(printable, row.row.notes)) or (() if has_figures else ("no figures",))
    tone = "strong" if row.is_baseline else ""
    return TableRow(row.row.id, printable(row.name), cells if has_figures else (), notes, tone)
