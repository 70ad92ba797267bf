"""The Results screen: the grid's table, the pane on the selected row, the choice of columns, exports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.client.runs import Look
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import OF_MIXES, PILOTS, Metric, Unit
from fsconsole.results.content import (
    check_words,
    cpu_words,
    crash_words,
    heading,
    order_words,
    table_of,
    warning_lines,
    worded_for,
)
from fsconsole.results.grid import (
    DEFAULT_SORT,
    Grid,
    GridRow,
    columns_for,
    highest_first,
    sort_grid,
)
from fsconsole.results.sentences import RunFindings, findings_lines
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.show.lines import TextLine, text_lines
from fsconsole.show.terminal import Glyphs
from fsconsole.text import printable, wrap

_FIRST_OF_GROUP = {
    "write and read": (
        Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.FILES_PER_S, Metric.OPS_PER_S, Metric.WRITTEN, Metric.WRITE_TIME,
        Metric.DRAIN, Metric.READ_BYTES, Metric.READ_TIME, Metric.FIRST_DONE, Metric.LAST_DONE,
        Metric.STALLS, Metric.PEAK_DIRTY,
    ),
    "latency": (
        Metric.LATENCY_MEAN, Metric.LATENCY_P50, Metric.LATENCY_P95, Metric.LATENCY_P99, Metric.LATENCY_MAX,
        Metric.OVER_2_S, Metric.OVER_10_S, Metric.LATENCY_COUNT, Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99,
        Metric.FSYNC_MAX, Metric.FSYNC_COUNT,
    ),
    "mix": OF_MIXES,
    "CPU": (
        Metric.CPU, Metric.CPU_BY_GENERATOR, Metric.CPU_BY_KERNEL, Metric.OBSERVER, Metric.CPU_BY_OTHERS,
        Metric.CPU_PER_GIB, Metric.GENERATOR_PER_GIB, Metric.MEMORY_REPORTED, Metric.CPU_GENERATOR,
    ),
    "device": (
        Metric.WRITE_AMPLIFICATION, Metric.DEVICE_WRITTEN, Metric.DEVICE_READ, Metric.DEVICE_DISCARDED,
        Metric.DEVICE_WRITES, Metric.DEVICE_READS, Metric.DEVICE_FLUSHES, Metric.FOREIGN_IO,
    ),
    "against raw": (
        Metric.OF_RAW_1, Metric.OF_RAW_N, Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1,
        Metric.RAW_READ_N, Metric.READTEST, *PILOTS,
    ),
    "extents": (
        Metric.EXTENTS_MEAN, Metric.EXTENTS_MEDIAN, Metric.EXTENTS_MAX, Metric.EXTENT_SIZE_MEDIAN,
        Metric.FILES_MAPPED, Metric.FILES_COMPRESSED, Metric.NON_CONTIGUOUS,
    ),
    "array": (Metric.ARRAY_SYNC,),
    "filesystem": (
        Metric.MKFS, Metric.MKFS_USER, Metric.MKFS_SYSTEM, Metric.MOUNT, Metric.MOUNT_FILLED,
        Metric.UNMOUNT, Metric.USABLE, Metric.OVERHEAD, Metric.USED, Metric.INODES,
    ),
    "check": (
        Metric.CHECK, Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.CHECK_RSS, Metric.CHECK_EMPTY,
        Metric.CHECK_EMPTY_RSS,
    ),
    "crash": (
        Metric.RECOVER, Metric.RECOVER_FSCK, Metric.LOST_SYNCED, Metric.SYNCED, Metric.UNSYNCED,
        Metric.UNSYNCED_WHOLE, Metric.UNSYNCED_PART,
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


def choice_table(grid: Grid, chosen: tuple[Metric, ...]) -> TableValue:
    """Return the list to tick: each column with its group, unit, and place among those that are shown."""
    columns = (Column("unit", is_right=False), Column("place"), Column("group", is_right=False))
    units = {Unit.BYTES_PER_S: "MB/s", Unit.COUNT: "", Unit.BYTES: "bytes"}
    present = {metric for row in grid.rows for metric, _ in row.figures}
    rows = []
    for group, metric in grouped():
        is_chosen = metric in chosen
        place = str(chosen.index(metric) + 1) if is_chosen else ""
        name = f"[{'x' if is_chosen else ' '}] {metric.column}"
        where = group if metric in present else f"{group}, no figures here"
        cells = (units.get(metric.unit, metric.unit.value), place, where)
        rows.append(TableRow(metric.value, name, cells, tone="strong" if is_chosen else ""))
    return TableValue("column", columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class Choice:
    """How the operator wants to see a grid; columns empty: those that it shows unasked."""

    columns: tuple[Metric, ...] = ()
    sort_by: Metric = DEFAULT_SORT
    is_reversed: bool = False
    baseline: str = ""
    """The key of a row; empty for none."""
    publication: Publication | None = None


@dataclass(frozen=True, slots=True)
class GridView:
    """A grid arranged as it was chosen, with its table."""

    grid: Grid
    columns: tuple[Metric, ...]
    table: TableValue
    caption: str

    def row(self, key: str) -> GridRow | None:
        """Return the grid's row of that key; None for a published one, or one that is gone."""
        return next((row for row in self.grid.rows if row.id == key), None)


def arranged(grid: Grid, choice: Choice, glyphs: Glyphs) -> GridView:
    """Return a grid as it was chosen."""
    grid = replace(sort_grid(grid, choice.sort_by, is_reversed=choice.is_reversed), publication=choice.publication)
    columns = choice.columns or columns_for(grid)
    baseline = next((row for row in grid.rows if row.id == choice.baseline), None)
    at = columns.index(grid.sorted_by) if grid.sorted_by in columns else None
    mark = glyphs.down if highest_first(grid.sorted_by) != grid.is_reversed else glyphs.up
    table = replace(table_of(grid, columns, baseline), marked=at, mark=mark)
    return GridView(grid, columns, table, _caption(grid, baseline))


def sorted_by(choice: Choice, metric: Metric) -> Choice:
    """Return a choice sorted by a column, or the other way round where it is sorted by that one already."""
    again = metric is choice.sort_by
    return replace(choice, sort_by=metric, is_reversed=again and not choice.is_reversed)


def with_baseline(choice: Choice, key: str) -> Choice:
    """Return a choice with a row as baseline, or without one where it was that row."""
    return replace(choice, baseline="" if choice.baseline == key else key)


def title_lines(look: Look, width: int) -> tuple[TextLine, ...]:
    """Return a run's title and status, at most two lines each."""
    # What the command line says of resuming is a key here.
    standing, is_open, _ = look.standing.partition(": fsconsole resume ")
    said = heading(look.state, f"{standing} (5 Runs resumes it)" if is_open else standing)
    parts = [wrap(sentence, width, max_lines=2) for sentence in said]
    titled = len(said) > 1
    return tuple(
        TextLine(line, "strong" if titled and index == 0 else "") for index, part in enumerate(parts) for line in part
    )


def pane_lines(row: GridRow, grid: Grid, findings: RunFindings, width: int) -> tuple[TextLine, ...]:
    """Return what is to be said of a row: its whole name, why figures are missing, what the run shows, its warnings."""
    lines = text_lines(row.name, width, "strong")
    for said in (*(f"published as: {other}" for other in row.printed), *row.notes):
        lines += text_lines(said, width)
    lines += map(TextLine, findings_lines(findings, width))
    for words in filter(None, (cpu_words(row), check_words(row), crash_words(row))):
        lines += text_lines(words, width)
    for warning in worded_for(row, grid):
        lines += map(TextLine, warning_lines(warning, width))
    return tuple(lines)


def _caption(grid: Grid, baseline: GridRow | None) -> str:
    """Return what the figures are and how rows are sorted: a line of 80 columns, but for a baseline's name."""
    if not grid.rows:
        return "The plan has no cells."
    if not grid.repeats:
        return f"No row has a figure for {grid.sorted_by.column} yet."
    numbers = " to ".join(str(n) for n in dict.fromkeys((grid.repeats[0], grid.repeats[-1])))
    what = "One cell a row" if grid.repeats == (1,) else f"Medians of {numbers} cells"
    if baseline is not None:
        what = f"Per cent of '{printable(baseline.name)}'"
    return f"{what}; sorted by {order_words(grid)}"


@dataclass(frozen=True, slots=True)
class Export:
    """One kind of export: how a file's name ends, what it is, and its format."""

    ending: str
    label: str
    format: str
    is_summary: bool = False


EXPORTS = (
    Export(".csv", "CSV: a line per cell, all figures in base units", "csv"),
    Export(".summary.csv", "CSV: a line per row of the grid: median, n, spread", "csv", is_summary=True),
    Export(".json", "JSON: all that is known", "json"),
    Export(".md", "Markdown: the grid as it is shown here", "md"),
)


def export_words(
    run: str, runs_dir: str, export: Export, choice: Choice, columns: tuple[Metric, ...]
) -> tuple[str, ...]:
    """Return the words of the command that prints an export."""
    words = ["results", run, "--runs", runs_dir, "--format", export.format]
    words += ["--summary"] if export.is_summary else []
    words += ["--sort", choice.sort_by.value]
    if export.format == "md":
        words += ["--columns", ",".join(metric.value for metric in columns)]
    if export.format != "csv" and choice.publication is not None:
        words += ["--with", choice.publication.name]
    return tuple(words)


def path_for(path: str, export: Export) -> str:
    """Return a path with the ending of another kind of export, where it has one of them."""
    for ending in sorted((known.ending for known in EXPORTS), key=len, reverse=True):
        if path.endswith(ending):
            return path.removesuffix(ending) + export.ending
    return path
