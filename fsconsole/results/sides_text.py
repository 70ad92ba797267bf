"""A comparison of sides as text of fixed width and as Markdown: what differs first, then a table per block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import Scale
from fsconsole.results.changes import change_texts, verdict_legend, verdict_words
from fsconsole.results.content import (
    MISSING,
    UNITS_NOTE,
    column_head,
    own_scale,
    publication_table,
    scale_for,
)
from fsconsole.results.environment import Difference, Varied
from fsconsole.results.markdown import escaped, pipe_table
from fsconsole.results.published import ratio_column, ratio_text
from fsconsole.results.sides import Side, SideBlock, SideComparison, SideFigure, difference_words
from fsconsole.results.strip import strip_of, strip_scale
from fsconsole.results.table import LEAST_WIDTH, Column, TableRow, TableValue, table_lines
from fsconsole.text import hanging, printable, wrap
from fsconsole.units import instant, significant

_MOST_FEATURES = 8
"""Lines of what differs and is no obstacle; JSON has all."""


def sides_text(of: SideComparison, width: int) -> str:
    """Return the comparison; no line takes more than width cells (at least LEAST_WIDTH)."""
    width = max(width, LEAST_WIDTH)
    lines = [line for side in of.sides for line in hanging(f"{side.letter}  ", _side_words(side), width)]
    heading, different = _different(of)
    lines += ["", *wrap(heading, width)] if heading else []
    lines += [line for words in different for line in hanging("  ", words, width)]
    lines += [""] if of.notes else []
    lines += [line for note in of.notes for line in wrap(note, width)]
    for title, table in _tables(of):
        lines += ["", *wrap(title, width), *table_lines(table, width)]
    lines += ["", *(line for words in _caption(of) for line in wrap(words, width))]
    return "\n".join(lines).rstrip("\n") + "\n"


def sides_markdown(of: SideComparison) -> str:
    """Return the comparison as Markdown."""
    lines = [f"- {side.letter}: {escaped(_side_words(side))}" for side in of.sides]
    heading, different = _different(of)
    lines += ["", escaped(heading), "", *(f"- {escaped(words)}" for words in different)] if heading else []
    lines += ["", *(f"- {escaped(note)}" for note in of.notes)]
    for title, table in _tables(of):
        lines += ["", f"### {escaped(title)}", "", *pipe_table(table)]
    lines += ["", *map(escaped, _caption(of))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _side_words(side: Side) -> str:
    if side.publication is not None:
        return printable(f"published {side.name}: {side.publication.title} ({side.publication.date})")
    runs = [f"{run.request.run_id}, {instant(run.request.created_wall_ns)}" for run in side.runs]
    title = side.runs[0].request.plan.title
    count = f"{len(runs)} runs: " if len(runs) > 1 else ""
    return printable(f"{count}{'; '.join(runs)}{f': {title}' if title else ''}")


def _different(of: SideComparison) -> tuple[str, list[str]]:
    """Return a heading over what differs between runs, and a line of words for each fact."""
    if len(of.run_letters) < 2:
        return "", []
    names = of.run_letters

    def told(one: Difference) -> str:
        label = "varied: " if one.kind in of.vary else ""
        return f"{label}{difference_words(one, names)}"

    first = [told(one) for one in of.different if one.kind]
    more = [told(one) for one in of.different if not one.kind]
    left = len(more) - _MOST_FEATURES
    more = [*more[:_MOST_FEATURES], f"and {left} more: --format json has all"] if left > 0 else more
    alike = [kind.value for kind in Varied if all(one.kind is not kind for one in of.different)]
    same = f" (the same: {', '.join(alike)})" if alike else ""
    alone = dict.fromkeys(words for block in of.blocks for words in block.alone)
    rest = [f"not in {names[0]}, and left out: {', '.join(alone)}"] if alone else []
    lines = [*first, *more, *rest]
    return f"{'What' if lines else 'Nothing'} differs{same}", lines


# Tables: the primary column of each block with intervals, then its other figures with their changes.


def _tables(of: SideComparison) -> list[tuple[str, TableValue]]:
    """Return the tables with their titles."""
    tables = []
    first = of.sides[0].letter
    for block in of.blocks if len(of.sides) > 1 else ():
        rows = [(group, row) for group in block.groups for row in group.rows]
        if block.metric is not None and rows:
            tables.append((block.title, _primary(block, block.metric, first)))
        if (table := _changes(block)).columns:
            tables.append(
                (f"{block.name}: other figures, no verdicts" if block.metric is not None else block.title, table)
            )
    there = {id(row.published) for block in of.blocks for group in block.groups for row in group.rows}
    for side in of.sides:
        is_alone = len(of.sides) == 1
        published = side.publication.rows if side.publication is not None else ()
        rest = [row for row in published if is_alone or id(row) not in there]
        title = side.name if is_alone else f"{side.letter}: its other rows"
        tables += [(title, publication_table(rest))] if rest else []
    return tables


def _primary(block: SideBlock, metric: Metric, first: str) -> TableValue:
    """Return figures of the primary metric with change, interval, strip and verdict."""
    rows = [(group, row) for group in block.groups for row in group.rows]
    scale = scale_for(metric, (one.value for _, row in rows if (one := row.figure(metric)) is not None))
    strips = strip_scale(row.compared for _, row in rows if row.compared is not None)
    heads = (
        Column("side", is_right=False),
        Column(metric.column, scale.unit, is_whole=True),
        Column(f"vs {first}, 95 %", is_right=False, is_whole=True),
        Column("n"),
        Column(strips.head, is_right=False, is_whole=True, is_drawn=True),
        Column("verdict", is_right=False),
    )
    changes = iter(change_texts([row.compared for _, row in rows if row.compared is not None], metric))
    shown = []
    for group, row in rows:
        one, is_base = row.figure(metric), row is group.base
        change, words = "", ""
        if row.compared is not None:
            change, words = next(changes), verdict_words(row.compared, block.same)
        elif not is_base and one is not None:
            change, words = _percent([one])[0], "published" if row.published is not None else ""
        elif row.published is not None and (ratio := row.published.ratio(metric)) is not None:
            words = f"published {ratio_text(ratio)}"
        cells = (
            row.side.letter,
            scale.text(one.value) if one is not None else MISSING,
            "baseline" if is_base else change or MISSING,
            str(row.n) if row.rows else "",
            strip_of(row.compared, strips).rstrip() if row.rows else "",
            words,
        )
        notes = dict.fromkeys(printable(note) for known in row.rows for note in known.notes)
        notes |= {printable(row.published.note): None} if row.published is not None and row.published.note else {}
        tone = "weak" if row.published is not None else "strong" if is_base else ""
        name = group.name if row is group.rows[0] else ""
        shown.append(TableRow(f"{group.name} {row.side.letter}", name, cells, tuple(notes), tone))
    return TableValue("variant", heads, tuple(shown))


def _changes(block: SideBlock) -> TableValue:
    """Return the figures beside the primary ones, each with its change in per cent, as a table of before and after."""
    rows = [(group, row) for group in block.groups for row in group.rows]
    figures = [
        {(one.column, one.unit): one for one in row.figures if not block.metric or not _is_primary(one, block.metric)}
        for group, row in rows
    ]
    heads: list[Column] = []
    columns: list[list[str]] = []
    for key in dict.fromkeys(key for of in figures for key in of):
        known = [of.get(key) for of in figures]
        there = [one for one in known if one is not None]
        values, metric = [one.value for one in there], there[0].metric
        scale = scale_for(metric, values) if metric is not None else own_scale(key[1], values)
        head, texts = column_head(key[0], scale.unit), [scale.text(one.value) if one else MISSING for one in known]
        if any(one.change is not None for one in there):
            # One column for both: a change stands with its figure, whatever does not fit beside them.
            per = "%pt" if any(one.scale is Scale.DIFFERENCE for one in there) else "%"
            head = replace(head, unit=f"{head.unit}, {per}".lstrip(", "))
            changes = _percent(known)
            widths = [max(map(len, column)) for column in (texts, changes)]
            # A space before, or in a narrow page a figure stands as near to another column's change as to its own.
            texts = [f" {text:>{widths[0]}} {of:>{widths[1]}}" for text, of in zip(texts, changes, strict=True)]
        heads.append(head)
        columns.append(texts)
    shown = (
        # The letter stands in the name: further columns may have to stand below.
        TableRow(
            str(number),
            f"{group.name}, {row.side.letter}" if row is group.rows[0] else f"  {row.side.letter}",
            tuple(column[number] for column in columns),
        )
        for number, (group, row) in enumerate(rows)
    )
    return TableValue("variant" if block.metric is not None else "row", tuple(heads), tuple(shown))


def _is_primary(one: SideFigure, metric: Metric) -> bool:
    """Return whether a figure, or a published ratio, stands in the table of the primary column."""
    return one.metric is metric or (one.metric is None and one.column == ratio_column(metric.column))


def _percent(figures: Sequence[SideFigure | None]) -> list[str]:
    """Return changes without an interval, with as many decimals as the largest one needs: "+0.67", "-12.0", "127x"."""
    known = [one if one is not None and one.change is not None else None for one in figures]
    values = [0.0 if one is None else (one.change or 0.0) * (100 if one.scale is Scale.RATIO else 1) for one in known]
    is_times = [one is not None and one.scale is Scale.RATIO and (one.change or 0.0) >= 2 for one in known]
    largest = max((abs(value) for value, times in zip(values, is_times, strict=True) if not times), default=0.0)
    decimals = 2 if largest < 10 else 1 if largest < 100 else 0
    texts = []
    for one, value, times in zip(known, values, is_times, strict=True):
        text = f"{significant(1 + value / 100)}x" if times else f"{value:+.{decimals}f}"
        text = text if len(text) <= _LONGEST else f"{value:+.0e}"
        texts.append(text if one is not None else "")
    return texts


_LONGEST = 9
"""Characters of a change; nothing that a disk does needs more, a run from elsewhere may hold anything."""


def _caption(of: SideComparison) -> list[str]:
    """Return what the figures of the tables are, in sentences."""
    found = [row.compared for block in of.blocks for group in block.groups for row in group.rows if row.compared]
    said = [f"Baseline: {of.sides[0].letter}."] if len(of.sides) > 1 else []
    said += ["Figures are geometric means of what n counts."] if of.run_letters else []
    said += [] if found else ["Changes are in per cent of the baseline."] if len(of.sides) > 1 else []
    said += verdict_legend(found, of.blocks[0].same) if found else ()
    return [" ".join((*said, UNITS_NOTE))]
