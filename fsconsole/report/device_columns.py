"""The columns of a list of devices, and which of them find room. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fsconsole.model.device import Device, Signature
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of
from fsconsole.units import format_bytes, format_bytes_exact


@dataclass(frozen=True, slots=True)
class Column:
    """A column that may be left out; the lowest rank stays longest."""

    title: str
    rank: int
    text: Callable[[Device], str]
    right: bool = False


def _signature_column(field: Callable[[Signature], str]) -> Callable[[Device], str]:
    return lambda device: ", ".join(dict.fromkeys(filter(None, map(field, device.signatures))))


def kind_of(device: Device) -> str:
    """Return what a device is, in a word."""
    return "scratch" if device.is_scratch else device.kind.value


def _sectors(device: Device) -> str:
    return f"{device.logical_sector_bytes}/{device.physical_sector_bytes}"


def _rotational(device: Device) -> str:
    return {True: "disk", False: "flash", None: ""}[device.rotational]


def _positive_bytes(size_bytes: int) -> str:
    return format_bytes_exact(size_bytes) if size_bytes else ""


COLUMNS = (
    Column("size", 1, lambda device: format_bytes(device.size_bytes), right=True),
    Column("kind", 2, kind_of),
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


def fitting(devices: Sequence[Device], room: int, gap: int) -> tuple[Column, ...]:
    """Return the columns, in their order, that fit into room cells with a gap each; empty ones are left out.

    The first by rank that doesn't fit ends the choice: what matters less must not take its place.
    """
    chosen = []
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        texts = texts_of(column, devices)
        if not any(texts):
            continue
        room -= widest(column.title, texts) + gap
        if room < 0:
            break
        chosen.append(column)
    return tuple(column for column in COLUMNS if column in chosen)


def texts_of(column: Column, devices: Sequence[Device]) -> list[str]:
    """Return a column's cells, safe to print."""
    return [printable(column.text(device)) for device in devices]


def widest(title: str, texts: Sequence[str]) -> int:
    """Return how many cells a column takes that shows its title and texts whole."""
    return max(map(cells_of, (title, *texts)))
