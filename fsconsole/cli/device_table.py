"""The table of devices: as many columns as the terminal has room for, name and state always whole."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fsconsole.devices.state import Claim
from fsconsole.devices.tree import guide
from fsconsole.preflight.device_survey import SurveyRow
from fsconsole.show.devices import Column, fitting, texts_of, widest
from fsconsole.text import printable

GAP = 2
STATE_ROOM = 34
"""Columns that the state keeps before others come in; a longer one goes on in the next line."""

_STYLES = {Claim.FREE: "green", Claim.HAZARDOUS: "yellow", Claim.IN_USE: "", Claim.UNKNOWN: "dim"}


def print_table(rows: Sequence[SurveyRow]) -> None:
    """Print the table to standard output: as wide as the terminal, or with all columns where it is none."""
    console = Console(highlight=False, markup=False, emoji=False)
    names = [_name(row, ascii_only=console.options.ascii_only) for row in rows]
    states = [_state(row) for row in rows]
    width = console.width if console.is_terminal else sys.maxsize
    columns = columns_that_fit(rows, names, states, width)
    if not console.is_terminal:
        console.width = _whole_width(rows, names, states, columns)
    console.print(build_table(rows, names, states, columns))


def columns_that_fit(
    rows: Sequence[SurveyRow], names: Sequence[Text], states: Sequence[Text], width: int
) -> tuple[Column, ...]:
    """Return the columns, in their order, that find room beside name and state; empty ones are left out."""
    state_width = min(widest("state", [text.plain for text in states]), STATE_ROOM)
    room = width - widest("device", [text.plain for text in names]) - GAP - state_width
    return fitting([row.row.device for row in rows], room, GAP)


def build_table(
    rows: Sequence[SurveyRow], names: Sequence[Text], states: Sequence[Text], columns: Sequence[Column]
) -> Table:
    """Return the table; all cells are Text, so that nothing in them is markup."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.add_column("device", no_wrap=True, min_width=widest("device", [text.plain for text in names]))
    for column in columns:
        texts = _texts(column, rows)
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            min_width=widest(column.title, texts),
        )
    table.add_column("state", overflow="fold")
    for row, name, state in zip(rows, names, states, strict=True):
        table.add_row(name, *(Text(printable(column.text(row.row.device))) for column in columns), state)
    return table


def _name(row: SurveyRow, *, ascii_only: bool) -> Text:
    device = row.row.device
    mapped = f" ({device.dm_name})" if device.dm_name else ""
    return Text(guide(row.row, ascii_only=ascii_only) + printable(device.name + mapped))


def _state(row: SurveyRow) -> Text:
    others = row.row.also_under
    shown = ", ".join(others[:2]) + (f" and {len(others) - 2} more" if len(others) > 2 else "")
    text = f"{row.state.text}; also under {shown}" if others else row.state.text
    return Text(printable(text), style=_STYLES[row.state.claim])


def _texts(column: Column, rows: Sequence[SurveyRow]) -> list[str]:
    return texts_of(column, [row.row.device for row in rows])


def _whole_width(
    rows: Sequence[SurveyRow], names: Sequence[Text], states: Sequence[Text], columns: Sequence[Column]
) -> int:
    widths = [widest("device", [text.plain for text in names])]
    widths += [widest(column.title, _texts(column, rows)) for column in columns]
    widths += [widest("state", [text.plain for text in states])]
    return sum(widths) + GAP * len(widths)
