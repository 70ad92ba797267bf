"""The table of devices: as many columns as the terminal has room for, name and state always whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fsconsole.cli.device_survey import SurveyRow
from fsconsole.devices.state import Claim
from fsconsole.devices.tree import guide
from fsconsole.model.device import Device, Signature
from fsconsole.plaintext import printable
from fsconsole.units import format_bytes, format_bytes_exact

GAP = 2
STATE_ROOM = 34
"""Columns that the state keeps before others come in; a longer one goes on in the next line."""

_STYLES = {Claim.FREE: "green", Claim.HAZARDOUS: "yellow", Claim.IN_USE: "", Claim.UNKNOWN: "dim"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that may be left out; the lowest rank stays longest."""

    title: str
    rank: int
    text: Callable[[Device], str]
    right: bool = False


def _signature_column(field: Callable[[Signature], str]) -> Callable[[Device], str]:
    return lambda device: ", ".join(dict.fromkeys(filter(None, map(field, device.signatures))))


def _kind(device: Device) -> str:
    return "scratch" if device.is_scratch else device.kind.value


def _sectors(device: Device) -> str:
    return f"{device.logical_sector_bytes}/{device.physical_sector_bytes}"


def _rotational(device: Device) -> str:
    return {True: "disk", False: "flash", None: ""}[device.rotational]


def _positive_bytes(size_bytes: int) -> str:
    return format_bytes_exact(size_bytes) if size_bytes else ""


COLUMNS = (
    Column("size", 1, lambda device: format_bytes(device.size_bytes), right=True),
    Column("kind", 2, _kind),
    Column("model", 3, lambda device: device.model),
    Column("link", 6, lambda device: device.transport),
    Column("medium", 7, _rotational),
    Column("serial", 4, lambda device: device.serial),
    Column("WWN", 14, lambda device: device.wwn),
    Column("scheduler", 8, lambda device: device.scheduler),
    Column("read-ahead", 9, lambda device: _positive_bytes(device.read_ahead_bytes), right=True),
    Column("cache", 10, lambda device: device.write_cache),
    Column("sector", 11, _sectors),
    Column("optimal", 12, lambda device: _positive_bytes(device.optimal_io_bytes), right=True),
    Column("seq", 13, lambda device: str(device.diskseq or ""), right=True),
    Column("signature", 5, _signature_column(lambda signature: signature.type)),
    Column("label", 15, _signature_column(lambda signature: signature.label)),
    Column("UUID", 16, _signature_column(lambda signature: signature.uuid)),
)


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
    """Return the columns, in their order, that find room beside name and state; empty ones are left out.

    The first by rank that doesn't fit ends the choice: what matters less must not take its place.
    """
    state_width = min(_widest("state", [text.plain for text in states]), STATE_ROOM)
    room = width - _widest("device", [text.plain for text in names]) - GAP - state_width
    chosen = []
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        texts = _texts(column, rows)
        if not any(texts):
            continue
        room -= _widest(column.title, texts) + GAP
        if room < 0:
            break
        chosen.append(column)
    return tuple(column for column in COLUMNS if column in chosen)


def build_table(
    rows: Sequence[SurveyRow], names: Sequence[Text], states: Sequence[Text], columns: Sequence[Column]
) -> Table:
    """Return the table; all cells are Text, so that nothing in them is markup."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.add_column("device", no_wrap=True, min_width=_widest("device", [text.plain for text in names]))
    for column in columns:
        texts = _texts(column, rows)
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            min_width=_widest(column.title, texts),
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
    return [printable(column.text(row.row.device)) for row in rows]


def _widest(title: str, texts: Sequence[str]) -> int:
    return max(map(cell_len, (title, *texts)))


def _whole_width(
    rows: Sequence[SurveyRow], names: Sequence[Text], states: Sequence[Text], columns: Sequence[Column]
) -> int:
    widths = [_widest("device", [text.plain for text in names])]
    widths += [_widest(column.title, _texts(column, rows)) for column in columns]
    widths += [_widest("state", [text.plain for text in states])]
    return sum(widths) + GAP * len(widths)
