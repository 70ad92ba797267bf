"""Samples on a terminal, as plain pages, or as lines of JSON."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from fsconsole.cli.complaint import say
from fsconsole.cli.gauge_page import Page, gone_line, page_lines
from fsconsole.journal.codec import encode
from fsconsole.model.sample import Sample
from fsconsole.report.json import ascii_json

if TYPE_CHECKING:
    from rich.live import Live

_PLAIN_WIDTH = 80
_PAINT_S = 0.2
"""Five pages a second are as many as anybody reads, and as a slow line carries."""


class GaugeView(Protocol):
    """Whatever shows samples."""

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Show one more sample; gone are watched devices that it lacks. Raises BrokenPipeError."""
        ...


@contextmanager
def gauge_view(title: str, *, as_json: bool, stream: TextIO | None = None) -> Iterator[GaugeView]:
    """Give the view that fits the stream (stdout): live on a terminal, plain pages elsewhere and on TERM=dumb."""
    stream = stream or sys.stdout
    if as_json:
        yield JsonLines(stream)
    elif not stream.isatty() or os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        yield PlainPages(stream, title)
    else:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=stream, markup=False, highlight=False, emoji=False)
        # The last page stays on the screen.
        with Live(console=console, auto_refresh=False) as live:
            yield LivePages(live, title)


class JsonLines:
    """Writes each sample as one JSON object, with the fields of model.sample.Sample as keys, at once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._notes = GoneNotes()

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Write the sample."""
        self._notes.tell(gone)
        self._stream.write(ascii_json(encode(sample)) + "\n")
        self._stream.flush()


class PlainPages:
    """Writes each sample as a page with an empty line behind it, at once."""

    def __init__(self, stream: TextIO, title: str) -> None:
        self._stream = stream
        self._title = title
        self._notes = GoneNotes()

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Write the sample."""
        self._notes.tell(gone)
        lines = page_lines(sample, Page(self._title, gone), _PLAIN_WIDTH)
        self._stream.write("\n".join(lines) + "\n\n")
        self._stream.flush()


class LivePages:
    """Paints the latest sample over the one before."""

    def __init__(self, live: Live, title: str) -> None:
        self._live = live
        self._title = title
        self._painted_s = 0.0

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Paint the sample, unless the last one has just been painted."""
        from rich.console import Group
        from rich.text import Text

        now_s = time.monotonic()
        if now_s - self._painted_s < _PAINT_S:
            return
        self._painted_s = now_s
        size = self._live.console.size
        # The cursor needs the last line.
        lines = page_lines(sample, Page(self._title, gone), size.width, size.height - 1)
        texts = [Text(line, no_wrap=True) for line in lines]
        texts[0].stylize("bold")
        self._live.update(Group(*texts), refresh=True)


class GoneNotes:
    """Says on stderr, once for each time that it happens, which device has gone while others are watched."""

    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()

    def tell(self, gone: tuple[str, ...]) -> None:
        """Say what is new in gone."""
        for name in gone:
            if name not in self._told:
                say(gone_line(name))
        self._told = frozenset(gone)
