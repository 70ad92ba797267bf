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
    """Return the rows of a report's loads ("xfs, large files"), sorted: its figures are the kernel's own."""
    names, load = [], ""
    for line in markdown.splitlines():
        if line.startswith("### "):
            load = line[4:].partition(":")[0]
        elif line.startswith("| ") and not line.startswith(("| variant", "| ---")) and load != "filesystem":
            names.append(", ".join(filter(None, (line.split("|")[1].strip(), load))))
    return tuple(sorted(names))
