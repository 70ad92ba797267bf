"""The Results screen: the grid's table, the pane on the selected row, the choice of columns, exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsconsole.client.runs import Look
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import OF_BONNIE, OF_MIXES, OF_WRITEBACK, PILOTS, Metric, Unit
from fsconsole.model.state import RunState
from fsconsole.results.advice import Advice
from fsconsole.results.advice_text import Place, advice_text
from fsconsole.results.block_tables import captions, figures_table, notes_of, pairs_table, required_of, wide_table
from fsconsole.results.blocks import (
    AS_PLANNED,
    BY_CHANGE,
    BY_NAME,
    Block,
    BlockKind,
    BlockRow,
    GridChoice,
    Pair,
    blocks_of,
)
from fsconsole.results.columns import figures_in
from fsconsole.results.content import heading, publication_words
from fsconsole.results.curves import CurveChoice, block_charts, numeric_axes
from fsconsole.results.curves_text import chart_lines
from fsconsole.results.figures import RESUME, count_cells
from fsconsole.results.grid import Grid, highest_first
from fsconsole.results.published import beside
from fsconsole.results.sentences import RunFindings, findings_lines
from fsconsole.results.strip import strip_scale
from fsconsole.results.summary import disturbed_count_words
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.results.why import causes, is_decided
from fsconsole.show.bars import bar_lines, toned, with_bars
from fsconsole.show.lines import Line, TextLine, text_lines
from fsconsole.show.more_rounds import next_words
from fsconsole.show.replay import Race, can_race, scale_words
from fsconsole.show.results_row import baseline_of, compared_words, row_lines
from fsconsole.show.runs import RunEntry, comparable_lines
from fsconsole.show.terminal import Glyphs
from fsconsole.text import cells_of, printable, shorten_end, shorten_middle, wrap
from fsconsole.units import format_seconds, instant

_FIRST_OF_GROUP = {
    "write and read": (
        Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.FILES_PER_S, Metric.OPS_PER_S, Metric.WRITTEN, Metric.WRITE_TIME,
        Metric.DRAIN, Metric.READ_BYTES, Metric.READ_TIME, Metric.FIRST_DONE, Metric.LAST_DONE, Metric.REAL, Metric.REAL_DRAINED, Metric.USER, Metric.SYSTEM,
        Metric.STALLS, Metric.PEAK_DIRTY,
    ),
    "latency": (
        Metric.LATENCY_MEAN, Metric.LATENCY_P50, Metric.LATENCY_P95, Metric.LATENCY_P99, Metric.LATENCY_MAX,
        Metric.OVER_2_S, Metric.OVER_10_S, Metric.LATENCY_COUNT, Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99,
        Metric.FSYNC_MAX, Metric.FSYNC_COUNT,
    ),
    "mix": OF_MIXES,
    "bonnie++": OF_BONNIE,
    "commands and copies": (Metric.MADE, Metric.FILES_MADE, Metric.SOURCE_BYTES, Metric.SOURCE_FILES),
    "CPU": (
        Metric.CPU, Metric.CPU_BY_GENERATOR, Metric.CPU_BY_KERNEL, Metric.OBSERVER, Metric.CPU_BY_OTHERS,
        Metric.CPU_PER_GIB, Metric.GENERATOR_PER_GIB, Metric.CPU_EFFICIENCY, Metric.MEMORY_REPORTED, Metric.CPU_GENERATOR, Metric.CPU_FIO,
    ),
    "device": (
        Metric.WRITE_AMPLIFICATION, Metric.DEVICE_WRITTEN, Metric.DEVICE_READ, Metric.DEVICE_DISCARDED,
        Metric.DEVICE_WRITES, Metric.DEVICE_READS, Metric.DEVICE_FLUSHES, Metric.FOREIGN_IO,
    ),
    "writeback": OF_WRITEBACK,
    "against raw": (
        Metric.OF_RAW_1, Metric.OF_RAW_N, Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1,
        Metric.RAW_READ_N, Metric.READTEST, *PILOTS,
    ),
    "extents": (
        Metric.EXTENTS_MEAN, Metric.EXTENTS_MEDIAN, Metric.EXTENTS_MAX, Metric.EXTENT_SIZE_MEDIAN,
        Metric.GROUPS_PER_FILE, Metric.LISTS_READ, Metric.FILES_MAPPED, Metric.FILES_COMPRESSED,
        Metric.NON_CONTIGUOUS,
    ),
    "array": (Metric.ARRAY_SYNC,),
    "filesystem": (
        Metric.MKFS, Metric.MKFS_USER, Metric.MKFS_SYSTEM, Metric.MOUNT, Metric.MOUNT_FILLED,
        Metric.UNMOUNT, Metric.AGE, Metric.AGED_BYTES, Metric.AGED_FILES, Metric.USABLE, Metric.AVAILABLE, Metric.OVERHEAD, Metric.USED,
        Metric.INODES,
    ),
    "check": (
        Metric.CHECK, Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.CHECK_RSS, Metric.CHECK_EMPTY,
        Metric.CHECK_EMPTY_RSS, Metric.QUICK_CHECK, Metric.QUICK_CHECK_USER, Metric.QUICK_CHECK_SYSTEM,
    ),
    "crash": (
        Metric.RECOVER, Metric.RECOVER_FSCK, Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM, Metric.LOST_SYNCED,
        Metric.SYNCED, Metric.UNSYNCED, Metric.UNSYNCED_WHOLE, Metric.UNSYNCED_PART,
    ),
    "delete": (Metric.DELETE_DURABLE, Metric.DELETE, Metric.DELETE_USER, Metric.DELETE_SYSTEM),
}  # fmt: skip


def grouped() -> tuple[tuple[str, Metric], ...]:
    """Return every metric with its group, group by group; one that belongs to none comes last."""
    known = tuple((group, metric) for group, metrics in _FIRST_OF_GROUP.items() for metric in metrics)
    listed = {metric for _, metric in known}
    return (*known, *(("other", metric) for metric in Metric if metric not in listed))


def toggled(chosen: tuple[Metric, ...], metric: Metric) -> tuple[Metric, ...]:
    """Return a choice without a column, or with it at its end; the last one stays."""
    if metric not in chosen:
        return (*chosen, metric)
    left = tuple(other for other in chosen if other is not metric)
    return left or chosen


def moved(chosen: tuple[Metric, ...], metric: Metric, by: int) -> tuple[Metric, ...]:
    """Return a choice with a column so many places further to the right; one that isn't chosen moves nothing."""
    if metric not in chosen:
        return chosen
    others = [other for other in chosen if other is not metric]
    place = max(0, min(chosen.index(metric) + by, len(others)))
    return (*others[:place], metric, *others[place:])


def choice_table(block: Block, chosen: tuple[Metric, ...]) -> TableValue:
    """Return the list to tick: each column with its group, unit, and place among those that are shown.

    Those of which the block has figures come first.
    """
    columns = (Column("unit", is_right=False), Column("place"), Column("group", is_right=False))
    units = {Unit.BYTES_PER_S: "MB/s", Unit.COUNT: "", Unit.BYTES: "bytes"}
    listed = [row.row for row in block.rows]
    present = figures_in(block.load, listed, is_raw=block.kind is BlockKind.RAW)
    rows = []
    for group, metric in sorted(grouped(), key=lambda pair: pair[1] not in present):
        is_chosen = metric in chosen
        place = str(chosen.index(metric) + 1) if is_chosen else ""
        is_primary = block.kind is not BlockKind.LIFE and metric is block.metric
        name = f"[{'x' if is_chosen or is_primary else ' '}] {metric.column}"
        where = group if metric in present else f"{group}, no figures here"
        where = "decides: always shown, with bars" if is_primary else where
        cells = (units.get(metric.unit, metric.unit.value), place, where)
        rows.append(TableRow(metric.value, name, cells, tone="strong" if is_chosen else ""))
    return TableValue("column", columns, tuple(rows))


_EMPTY = TableValue("variant", (), ())


@dataclass(frozen=True, slots=True)
class Choice:
    """View of a run's blocks, as the operator chose it."""

    of_blocks: GridChoice = AS_PLANNED
    publication: Publication | None = None
    at: int = 0
    """Position of the block that is shown."""


@dataclass(frozen=True, slots=True)
class BlockView:
    """One block arranged as it was chosen, with its table."""

    grid: Grid
    blocks: tuple[Block, ...] = ()
    at: int = 0
    table: TableValue = _EMPTY
    sorts: tuple[str, ...] = ()
    """Sort key of each column, as --sort takes it; empty: it has no order."""
    caption: str = "The plan has no cells."
    limits: tuple[str, ...] = ()
    """Sentences on which rows of the run meet what its plan requires."""
    next: str = ""
    """Sentence on what would decide the block's open rows; empty for none."""

    @property
    def block(self) -> Block | None:
        """The block that is shown; None for a plan without cells."""
        return self.blocks[self.at] if self.blocks else None

    @property
    def race(self) -> Block | None:
        """The block whose curves are drawn: the one that is shown, else the first with a finished load; None for none."""
        shown = [self.block] if self.block is not None else []
        return next((block for block in (*shown, *self.blocks) if can_race(block)), None)

    def row(self, key: str) -> BlockRow | None:
        """Return the block's row of that key; None for a published one, a pair, or one that is gone."""
        rows = self.block.rows if self.block is not None else ()
        return next((row for row in rows if row.row.id == key), None)

    def pair(self, key: str) -> Pair | None:
        """Return the pair of that key."""
        pairs = self.block.pairs if self.block is not None else ()
        return pairs[int(key)] if key.isdecimal() and int(key) < len(pairs) else None


def arranged(  # noqa: PLR0913 (each is a fact of its own)
    state: RunState, grid: Grid, choice: Choice, glyphs: Glyphs, width: int = 80, *, is_imported: bool = False
) -> BlockView:
    """Return a run's blocks as they were chosen, for so many columns. Raises UnknownBaseline, TooManyPairs."""
    published = choice.publication
    grid = replace(grid, publication=beside(published, [state.request.plan]) if published is not None else None)
    blocks = blocks_of(state, grid, choice.of_blocks)
    if not blocks:
        return BlockView(grid)
    at = choice.at % len(blocks)
    block = blocks[at]
    table = _table(block, grid, width)
    sorts = _sorts(block, table)
    if not block.pairs and block.metric.column in sorts:
        place = sorts.index(block.metric.column) + 1
        barred = with_bars(table, block, place, width, glyphs)
        # The bar sorts by its figure.
        sorts = (*sorts[:place], block.metric.column, *sorts[place:]) if barred is not table else sorts
        table = toned(barred, block)
    by = block.sorted_by or block.metric.column
    is_falling = _is_rate(block, by) != choice.of_blocks.is_reversed
    marked = sorts.index(by) if by in sorts else None
    table = replace(table, marked=marked, mark=glyphs.down if is_falling else glyphs.up)
    said = _caption(block, by, width - 4, is_falling=is_falling)
    following = next_words(state, block, is_imported=is_imported)
    # The pane says it too.
    aged = f"aged: {block.aged}; {said}" if block.aged else said
    said = aged if cells_of(aged) <= width - 4 else said
    return BlockView(grid, blocks, at, table, sorts, said, required_of(state, grid, blocks), following)


def _table(block: Block, grid: Grid, width: int) -> TableValue:
    """Return verdicts with the other columns to their right, which may be out of sight; figures where nothing is compared."""
    if block.pairs:
        return pairs_table(block)
    if not block.is_compared:
        return figures_table(block, grid)
    table = wide_table(block, grid, width)
    unit = strip_scale(row.compared for row in block.rows if row.compared is not None).unit
    # The scale of the strip alone reads as if it belonged to n beside it.
    columns = (replace(column, unit=unit) if column.is_drawn else column for column in table.columns)
    return replace(table, columns=tuple(columns))


def _sorts(block: Block, table: TableValue) -> tuple[str, ...]:
    """Return what each column of a table sorts by; a table without room for axes has none of their columns."""
    names = [column.name for column in table.columns]
    axes = block.axes if names[: len(block.axes)] == [printable(axis) for axis in block.axes] else ()
    metrics = [metric.column for metric in block.columns]
    if block.is_compared:
        others = (name for name in metrics if name != block.metric.column)
        metrics = [block.metric.column, BY_CHANGE, "", BY_CHANGE, BY_CHANGE, *others]
    known = [] if block.pairs else [*axes, *metrics]
    return (*known, *[""] * (len(names) - len(known)))


def changed(choice: Choice, **changes: Any) -> Choice:
    """Return a choice with other fields of its GridChoice."""
    return replace(choice, of_blocks=replace(choice.of_blocks, **changes))


def sorted_by(choice: Choice, block: Block, column: str) -> Choice:
    """Return a choice sorted by a column, or the other way round where the block is sorted by that one already."""
    usual = "" if block.axes else block.metric.column
    again = column == (block.sorted_by or usual)
    return changed(choice, sort_by=column, is_reversed=again and not choice.of_blocks.is_reversed)


def with_published(choice: Choice, publication: Publication | None) -> Choice:
    """Return a choice with a publication's rows, and the columns that it has."""
    return changed(replace(choice, publication=publication), columns=())


AS_PLAN_SAYS, ALL_PAIRS = "=plan", "=pairs"
"""Keys of the baseline's dialog beside baselines, none of which begins so."""


def baseline_lines(block: Block, choice: Choice, name: str = "") -> tuple[Line, ...]:
    """Return what a block can be compared with: variants, that of the row's name first, values of axes, then all pairs."""
    names = sorted(dict.fromkeys(row.name for row in block.rows), key=lambda each: each != name)
    values = dict.fromkeys(
        f"{axis}={row.axes[place]}" for place, axis in enumerate(block.axes) for row in block.rows if row.axes[place]
    )
    told = [(each, "everything else equal" if block.axes else "") for each in names if len(names) > 1]
    told += [(value, "everything else equal") for value in values]
    of = choice.of_blocks
    return (
        *(Line(key, key, value="the baseline now" if key == block.baseline else words) for key, words in told),
        Line(AS_PLAN_SAYS, "as the plan says", value="" if of.baseline else "now"),
        Line(
            ALL_PAIRS,
            "all pairs: every row with every other one",
            value="now; again: with the baseline" if of.all_pairs else "",
        ),
    )


def compared_by(choice: Choice, block: Block, key: str) -> Choice:
    """Return a choice after a line of baseline_lines() was taken."""
    of = choice.of_blocks
    if key == AS_PLAN_SAYS:
        return changed(choice, baseline="", all_pairs=False)
    if key == ALL_PAIRS:
        return changed(choice, all_pairs=not of.all_pairs)
    return changed(choice, baseline="" if key == block.baseline and not of.all_pairs else key, all_pairs=False)


def sort_lines(block: Block) -> tuple[Line, ...]:
    """Return a line for all that a block can be sorted by."""
    now = block.sorted_by or block.metric.column
    metrics = dict.fromkeys((block.metric, *block.columns))
    told = [(BY_NAME, "name"), *((axis, "axis") for axis in block.axes)]
    told += [(BY_CHANGE, f"against {block.baseline}")] if block.is_compared else []
    told += [(metric.column, metric.help) for metric in metrics]
    return tuple(Line(key, key, value=f"{words} (now)" if key == now else words) for key, words in told)


def with_columns(choice: Choice, view: BlockView, columns: tuple[Metric, ...]) -> Choice:
    """Return a choice with other columns of the block that is shown, none for the usual ones of all blocks.

    The other blocks keep their columns, as far as this one hasn't them.
    """
    own = view.block.columns if view.block is not None else ()
    others = (metric for block in view.blocks for metric in block.columns if metric not in own)
    listed = tuple(dict.fromkeys((*columns, *others))) if columns else ()
    return changed(choice, columns=listed)


def advice_lines(state: RunState, grid: Grid, advice: Advice, place: Place, width: int) -> tuple[TextLine, ...]:
    """Return advice as `fsconsole advise` prints it."""
    return tuple(map(TextLine, advice_text(state, grid, advice, place, width=width).rstrip("\n").split("\n")))


def has_curves(block: Block) -> bool:
    """Return whether an axis of a block has enough numbers for curves."""
    return bool(numeric_axes(block))


def curve_lines(block: Block, width: int) -> tuple[Sequence[tuple[str, str]], ...]:
    """Return the curves of a block's columns over its first numeric axis, the primary one first, as parts with tones."""
    metrics = tuple(dict.fromkeys((block.metric, *block.columns)))
    found: list[Sequence[tuple[str, str]]] = []
    for chart in block_charts(block, CurveChoice(metrics)):
        found += [(("", ""),)] if found else []
        found += chart_lines(chart, width)
    return tuple(found)


def block_names(view: BlockView, width: int) -> tuple[tuple[str, bool], ...]:
    """Return the names of all blocks, each with whether it is shown; where they are too wide, that one with its number."""
    names = tuple((f" {printable(block.name)} ", at == view.at) for at, block in enumerate(view.blocks))
    if sum(cells_of(name) for name, _ in names) <= width:
        return names
    number = f" {view.at + 1} of {len(names)}: "
    return ((number + shorten_middle(names[view.at][0].lstrip(), width - len(number)), True),)


def title_lines(look: Look, grid: Grid, width: int) -> tuple[TextLine, ...]:
    """Return a run's title in at most two lines, its status whole, and that many cells were disturbed, where they were.

    A status says at its end what can't be done, and why.
    """
    # What the command line says of resuming is a key here.
    standing, is_open, _ = look.standing.partition(RESUME)
    said = heading(look.state, f"{standing} (5 Runs resumes it)" if is_open else standing)
    *titles, status = said
    named = (TextLine(line, "strong") for title in titles for line in wrap(title, width, max_lines=2))
    disturbed = disturbed_count_words(grid, count_cells(look.state).able)
    told = text_lines(f"{disturbed}. A says by what, and what to do.", width, "strong") if disturbed else ()
    return (*named, *text_lines(status, width), *told)


def recorded_words(state: RunState) -> str:
    """Return where and when a run was recorded: "recorded on vm (Linux 6.18.44) on 2026-11-23"."""
    begun = state.started[-1] if state.started else None
    where = "" if begun is None else f" on {printable(begun.hostname)} (Linux {printable(begun.kernel)})"
    return f"recorded{where} on {instant(state.request.created_wall_ns)[:10]}"


def with_words(table: TableValue, words: str) -> TableValue:
    """Return a table with the rows that have all of these words, in any case, in their name or a cell."""
    wanted = words.casefold().split()
    texts = ((row, " ".join((row.name, *row.cells)).casefold()) for row in table.rows)
    return replace(table, rows=tuple(row for row, text in texts if all(word in text for word in wanted)))


def decided_row(view: BlockView) -> str:
    """Return the key of the first decided row with a counter that says why; empty where there is none."""
    block = view.block
    bases = [(row, baseline_of(row, block)) for row in block.rows if is_decided(row)] if block is not None else []
    return next((row.row.id for row, base in bases if base is not None and causes(row, base)), "")


def compare_lines(runs: Sequence[RunEntry], published: Sequence[Publication], *, is_with: bool) -> tuple[Line, ...]:
    """Return what a run can be compared with: other runs, then published figures, which join its table."""
    listed = [Line(of.name, f"published: {of.name}: {of.title} ({of.date})", wraps=True) for of in published]
    none = [Line(NO_PUBLICATION, "without published figures again")] if is_with else []
    return (*none, *comparable_lines(runs, ()), *listed)


NO_PUBLICATION = "=none"


def room_words(race: Race, glyphs: Glyphs, width: int) -> str:
    """Return the rule above the curves of a large terminal: what they are, and their scales."""
    scale = f", {scale_words(race)}" if race.top_bytes_s else ""
    said = f"{glyphs.horizontal} {race.title} over time: 0 to {format_seconds(race.length_s)}{scale}; v replays it "
    said = shorten_middle(said, width)
    return said + glyphs.horizontal * (width - cells_of(said))


def life_bars(view: BlockView, width: int, glyphs: Glyphs) -> tuple[Sequence[tuple[str, str]], ...]:
    """Return bars of check and delete for all rows; where there are none, of the other columns of the block."""
    life = next((block for block in view.blocks if block.kind is BlockKind.LIFE), view.block)
    return (
        bar_lines(life, (Metric.CHECK, Metric.DELETE_DURABLE, Metric.DELETE), width, glyphs) if life is not None else ()
    )


def pane_lines(view: BlockView, key: str, findings: RunFindings, width: int) -> tuple[TextLine, ...]:
    """Return what is to be said of a row, then of its block, then of the run."""
    block = view.block
    if block is None:
        return ()
    lines: list[TextLine] = []
    if (row := view.row(key)) is not None:
        lines += row_lines(row, block, view.grid, width, view.next)
    elif (pair := view.pair(key)) is not None:
        lines += text_lines(f"{pair.row} against {pair.other}", width, "strong")
        said_of_pair = (*compared_words(pair.compared, block, pair.other), *filter(None, (view.next,)))
        lines += [line for said in said_of_pair for line in text_lines(said, width)]
    elif view.grid.publication is not None:
        lines += [
            line
            for said in publication_words(view.grid.publication, view.grid.rows)
            for line in text_lines(said, width)
        ]
    aged = (f"aged: {block.aged} of the device before the first load",) if block.aged else ()
    for said in (
        *aged,
        *block.common,
        *view.limits,
        *notes_of([block]),
        *captions([block], view.grid),
    ):
        lines += text_lines(said, width)
    return (*lines, *map(TextLine, findings_lines(findings, width)))


def _is_rate(block: Block, by: str) -> bool:
    """Return whether what a block is sorted by stands from the highest down unless it is reversed."""
    names = {metric.column: metric for metric in (*block.columns, block.metric)}
    return highest_first(block.metric if by == BY_CHANGE else names[by]) if by == BY_CHANGE or by in names else False


def _caption(block: Block, by: str, width: int, *, is_falling: bool) -> str:
    """Return why there are no verdicts, else what the figures are compared with; and how rows are sorted."""
    axes = "" if block.sorted_by else "".join(f"{axis}, " for axis in block.axes)
    order = f"sorted by {axes}{by}, {'highest' if is_falling else 'lowest'} first"
    if block.notes:
        whole = f"{block.notes[0].removesuffix('.')}; {order}"
        return whole if cells_of(whole) <= width else shorten_end(block.notes[0].partition(";")[0], width)
    if not block.baseline:
        return f"Compared with nothing; {order}"
    lead, end = f"{block.metric.column} against ", f"; {order}"
    baseline = shorten_middle(block.baseline, max(_LEAST_BASELINE, width - cells_of(lead + end)))
    return f"{lead}{baseline}{end}"


_LEAST_BASELINE = 12
"""Columns of a baseline's name among other words."""


@dataclass(frozen=True, slots=True)
class Export:
    """One kind of export: how a file's name ends, what it is, and its format."""

    ending: str
    label: str
    format: str
    is_summary: bool = False


RUN_FILE = "run"
"""The format that `fsconsole export` writes itself, rather than print it."""
EXPORTS = (
    Export(".txt", "Text: the report, as `fsconsole results` prints it", "table"),
    Export(".csv", "CSV: a line per cell, all figures in base units", "csv"),
    Export(".summary.csv", "CSV: a line per row of the grid: median, n, spread", "csv", is_summary=True),
    Export(".json", "JSON: all that is known", "json"),
    Export(".md", "Markdown: the blocks as they are shown here", "md"),
    Export(".fsrun", "Run file: the whole run with its outputs, for `fsconsole import`", RUN_FILE),
)


def export_words(run: str, runs_dir: str, export: Export, choice: Choice) -> tuple[str, ...]:
    """Return the words of the command that prints an export of the same view."""
    of_blocks, words = choice.of_blocks, ["results", run, "--runs", runs_dir, "--format", export.format]
    words += ["--summary"] if export.is_summary else []
    columns = ["--columns", ",".join(metric.value for metric in of_blocks.columns)] if of_blocks.columns else []
    if export.format == "csv" and not export.is_summary:
        # Of cells in the plan's order nothing else can be chosen.
        return (*words, *columns)
    words += ["--sort", of_blocks.sort_by] if of_blocks.sort_by else []
    words += ["--reverse"] if of_blocks.is_reversed else []
    words += ["--baseline", of_blocks.baseline] if of_blocks.baseline else []
    words += ["--all-pairs"] if of_blocks.all_pairs else []
    words += ["--with-redone"] if of_blocks.with_redone else []
    words += columns
    if export.format != "csv" and choice.publication is not None:
        words += ["--with", choice.publication.name]
    return tuple(words)


def packing_words(run: str, runs_dir: str, path: str, *, overwrite: bool) -> tuple[str, ...]:
    """Return the words of the command that packs a run into a file."""
    return ("export", run, path, *(["--force"] if overwrite else []), "--runs", runs_dir)


_BY_ENDING = sorted(EXPORTS, key=lambda export: len(export.ending), reverse=True)


def path_for(path: str, export: Export) -> str:
    """Return a path with the ending of another kind of export, where it has one of them."""
    found = [known.ending for known in _BY_ENDING if path.endswith(known.ending)]
    return path.removesuffix(found[0]) + export.ending if found else path


def other_ending(path: str, export: Export) -> str:
    """Return what a path's ending stands for, where that is another format than the export's; else nothing."""
    named = next((known for known in _BY_ENDING if path.endswith(known.ending)), export)
    return named.label.partition(":")[0] if named.format != export.format else ""
