"""Parses what tracefs gives of its ring buffer: formats of events, raw pages, statistics (Documentation/trace)."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fsconsole.telemetry.rates import Unreadable

_FIELD = re.compile(r"\bfield:[^;]*?(\w+)(\[[^\]]*\])?;\s*offset:(\d+);\s*size:(\d+);(?:\s*signed:([01]);)?")
_ID = re.compile(r"^ID: (\d+)$", re.MULTILINE)
_SYMBOL = re.compile(r'\{\s*(\d+),\s*"([^"]*)"\s*\}')
_COUNT = re.compile(r"^(overrun|commit overrun|dropped events): (\d+)$", re.MULTILINE)
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True, slots=True)
class EventFormat:
    """Layout of one event, of this kernel (Documentation/trace/events.rst): offset, size and sign of each field."""

    number: int
    fields: Mapping[str, tuple[int, int, bool]]
    texts: frozenset[str]
    """Fields that are arrays of characters."""
    symbols: Mapping[int, str]
    """Names in its print fmt, by value: of writeback's reason."""

    def unpacker(self, *names: str) -> struct.Struct:
        """Return a reader of these fields, numbers or arrays of characters, in the order of their offsets. Raises Unreadable."""
        parts, end = ["="], 0
        for name in names:
            at, size, signed = self.fields.get(name, (-1, 0, False))
            if at < end:
                raise Unreadable(f"an event without {name}, or with its fields in another order")
            code = _CODES.get(size, f"{size}s") if name not in self.texts else f"{size}s"
            parts.append(f"{at - end}x{code.lower() if signed else code}")
            end = at + size
        return struct.Struct("".join(parts))


def parse_format(text: str) -> EventFormat:
    """Return the layout in an event's format file. Raises Unreadable."""
    number = _ID.search(text)
    found = _FIELD.findall(text)
    fields = {name: (int(at), int(size), signed == "1") for name, _, at, size, signed in found}
    if number is None or not fields:
        raise Unreadable("a format file without ID or fields")
    _, _, printed = text.partition("print fmt:")
    symbols = {int(value): name for value, name in _SYMBOL.findall(printed)}
    return EventFormat(int(number[1]), fields, frozenset(name for name, array, *_ in found if array), symbols)


@dataclass(frozen=True, slots=True)
class PageFormat:
    """Layout of a page of the buffer: where its length stands, where its events begin, how large it is."""

    commit_at: int
    commit_size: int
    data_at: int
    page_bytes: int


def parse_page_format(text: str) -> PageFormat:
    """Return the layout in events/header_page. Raises Unreadable."""
    fields = {name: (int(at), int(size)) for name, _, at, size, _ in _FIELD.findall(text)}
    if fields.get("timestamp") != (0, 8) or fields.get("commit", (0, 0))[1] not in (4, 8) or "data" not in fields:
        raise Unreadable("a header_page of another shape")
    (commit_at, commit_size), (data_at, data_bytes) = fields["commit"], fields["data"]
    return PageFormat(commit_at, commit_size, data_at, data_at + data_bytes)


def parse_lost(stats: str) -> int:
    """Return how many events a CPU's buffer has lost, by its stats file; 0 where it doesn't say."""
    return sum(int(count) for _, count in _COUNT.findall(stats))


def filled(page: bytes, layout: PageFormat) -> bytes:
    """Return the part of a page that holds events: most pages of a quiet CPU are nearly empty."""
    return page[: layout.data_at + _length(page, layout)]


def _length(page: bytes, layout: PageFormat) -> int:
    return int.from_bytes(page[layout.commit_at : layout.commit_at + layout.commit_size], sys.byteorder) & _LENGTH_BITS


_LENGTH_BITS = 0x3FFFFFFF
"""The two bits above say that events are missing before this page (RB_MISSED_FLAGS, kernel/trace/ring_buffer.c)."""
_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31
_WORD, _STAMP, _KIND = struct.Struct("=I"), struct.Struct("=Q"), struct.Struct("=H")
_LITTLE = sys.byteorder == "little"
_DELTA_BITS = 27
_STAMP_BITS = (1 << 59) - 1
"""An absolute time has 59 bits; the ones above are those of the page's own."""


def events_in(page: bytes, layout: PageFormat) -> Iterator[tuple[int, int, int]]:
    """Yield (ns, event's number, offset of its fields in the page), in the clock of the trace; source: header_event.

    A page that is damaged or cut short ends early. Raises nothing.
    """
    if len(page) < layout.data_at:
        return
    word, kind = _WORD.unpack_from, _KIND.unpack_from
    now: int = _STAMP.unpack_from(page)[0]
    at, end = layout.data_at, min(len(page), layout.data_at + _length(page, layout))
    while at + 4 <= end:
        header: int = word(page, at)[0]
        length, delta = (header & 31, header >> 5) if _LITTLE else (header >> _DELTA_BITS, header & 0x7FFFFFF)
        at += 4
        if length <= 28:
            # The length of a long event stands in the word before it, and counts that word.
            if not length:
                if at + 4 > end:
                    return
                size = word(page, at)[0] - 4
                at += 4
            else:
                size = 4 * length
            if size < 2 or at + size > end:
                return
            now += delta
            yield now, kind(page, at)[0], at
            at += (size + 3) & ~3
            continue
        if at + 4 > end:
            return
        more: int = word(page, at)[0]
        if length == _PADDING:
            if not delta:
                return
            # An event that was discarded, by its filter.
            now += delta
            at += (more + 3) & ~3 if more else 4
        else:
            stamp = (more << _DELTA_BITS) + delta
            now = now + stamp if length == _TIME_EXTEND else (now & ~_STAMP_BITS) | stamp
            at += 4
