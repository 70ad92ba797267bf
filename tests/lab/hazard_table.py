"""The table of hazards in docs/safety.md: `python -m tests.lab.hazard_table` prints it, with --write it is put there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.lab.hazards import BATTERY, GROUPS, Answer, Case

CHAPTER = Path(__file__).parents[2] / "docs" / "safety.md"
BEGIN, END = "<!-- hazards: made by `python -m tests.lab.hazard_table --write` -->", "<!-- end of hazards -->"
_NO_SIGNATURE = "°"


def table() -> str:
    """Return the table in Markdown: a row for each group and answer, each way by its name."""
    unsigned = sum(not case.signed for case in BATTERY)
    lines = [
        f"{len(BATTERY)} ways in which a device is not free; {unsigned} of them ({_NO_SIGNATURE}) leave no signature on it.",
        "",
        "| | the gate's answer | a device that is |",
        "| --- | --- | --- |",
    ]
    for title, cases in GROUPS.items():
        lines += [f"| {title} | {answer.value} | {ways} |" for answer, ways in _rows(cases)]
    return "\n".join(lines) + "\n"


def in_chapter(text: str) -> str:
    """Return the table that the chapter holds. Raises ValueError where it holds none."""
    start = text.index(BEGIN) + len(BEGIN)
    return text[start : text.index(END)].strip() + "\n"


def _rows(cases: Sequence[Case]) -> Iterator[tuple[Answer, str]]:
    for answer in Answer:
        ways = [case.name + ("" if case.signed else _NO_SIGNATURE) for case in cases if case.answer is answer]
        if ways:
            yield answer, "; ".join(ways)


def main(words: list[str]) -> int:
    """Print the table, or write it into the chapter."""
    if words != ["--write"]:
        print(table(), end="")
        return 0
    text = CHAPTER.read_text()
    CHAPTER.write_text(text.replace(in_chapter(text), table()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
