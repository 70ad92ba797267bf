"""The list of devices as a table: a tick, the name in the tree, as many columns as fit, the state. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fsconsole.devices.state import Claim
from fsconsole.devices.tree import TreeRow
from fsconsole.plaintext import printable
from fsconsole.report.cells import pad_left, pad_right, shorten_middle
from fsconsole.report.device_columns import Column, fitting, texts_of, widest
from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.views.devices import Entry
from fsconsole.tui.views.sheet import Sheet, SheetCell, SheetColumn, SheetRow

GAP = 2
STATE_ROOM = 26
"""What the state keeps before others come in; it has all that is left over."""
_NAME_ROOM = 34
"""A longer name (a volume's own, deep in the tree) loses its middle; the details have it whole."""
_TICK_WIDTH = 4
STYLES = {Claim.FREE: "green", Claim.HAZARDOUS: "yellow", Claim.IN_USE: "", Claim.UNKNOWN: ""}


def lay_out(entries: Sequence[Entry], ticked: Collection[str], width: int, glyphs: Glyphs) -> Sheet:
    """Return the table in width cells."""
    names = [shorten_middle(name_in_tree(entry.row, glyphs), _NAME_ROOM) for entry in entries]
    states = [printable(entry.state.text) for entry in entries]
    devices = [entry.device for entry in entries]
    name_width = widest("device", names)
    room = width - _TICK_WIDTH - name_width - GAP
    columns = fitting(devices, room - min(widest("state", states), STATE_ROOM), GAP)
    texts = [texts_of(column, devices) for column in columns]
    widths = [widest(column.title, cells) for column, cells in zip(columns, texts, strict=True)]
    state_width = max(room - sum(widths) - GAP * len(widths), len("state"))
    heads = [_padded(column, column.title, size) for column, size in zip(columns, widths, strict=True)]
    return Sheet(
        columns=(
            SheetColumn("", _TICK_WIDTH),
            SheetColumn("device", name_width + GAP),
            *(SheetColumn(head, size + GAP) for head, size in zip(heads, widths, strict=True)),
            SheetColumn("state", state_width),
        ),
        rows=tuple(
            SheetRow(
                entry.device.path,
                (
                    _tick(entry, ticked),
                    SheetCell(names[index]),
                    *(
                        SheetCell(_padded(column, cells[index], size))
                        for column, cells, size in zip(columns, texts, widths, strict=True)
                    ),
                    SheetCell(shorten_middle(states[index], state_width), STYLES[entry.state.claim]),
                ),
            )
            for index, entry in enumerate(entries)
        ),
    )


def name_in_tree(row: TreeRow, glyphs: Glyphs) -> str:
    """Return a device's name behind the lines that lead to it, a volume's own name behind it."""
    device = row.device
    mapped = f" ({device.dm_name})" if device.dm_name else ""
    return _guide(row.last_of, glyphs) + printable(device.name + mapped)


def _guide(last_of: tuple[bool, ...], glyphs: Glyphs) -> str:
    if not last_of:
        return ""
    above = "".join("   " if last else glyphs.trunk for last in last_of[:-1])
    return above + (glyphs.last_branch if last_of[-1] else glyphs.branch)


def _tick(entry: Entry, ticked: Collection[str]) -> SheetCell:
    if entry.device.path in ticked:
        return SheetCell("[x]", "bold")
    can_be = not entry.refusals and entry.state.claim is not Claim.IN_USE
    return SheetCell("[ ]" if can_be else "")


def _padded(column: Column, text: str, width: int) -> str:
    return pad_left(text, width) if column.right else pad_right(text, width)
