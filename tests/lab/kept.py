"""What a guest leaves to be looked at when it is gone: /var/cache/fsconsole-lab/kept on the host."""

from __future__ import annotations

from pathlib import Path

KEPT = Path("/share/kept")
"""In the guest; the host copies what is in it when the machine ends."""


def kept(name: str, text: str) -> None:
    """Leave a file on the host, in place of the last one of that name."""
    KEPT.mkdir(exist_ok=True)
    (KEPT / name).write_text(text)


def rows_of(markdown: str) -> tuple[str, ...]:
    """Return the names of the rows of a grid, sorted: its figures are the kernel's own."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return tuple(sorted(line.split("|")[1].strip() for line in lines[2:]))
