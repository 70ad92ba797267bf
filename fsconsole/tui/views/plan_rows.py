"""The variants of a draft as they arise, each a line that can be unticked; what is left out says why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.plan.candidates import Candidate
from fsconsole.plan.planfile import VariantText
from fsconsole.tui.draft import Draft, Values
from fsconsole.tui.outcome import Outcome
from fsconsole.tui.views.lines import Line, Mark

MOST_LINES = 20_000
"""More than a plan may have cells; what several lists leave out comes on top of them."""


@dataclass(frozen=True, slots=True)
class RowLine:
    """A line with what ticking it changes: a combination of a checklist, or a variant in words, by its position."""

    line: Line
    number: int
    of_checklist: bool
    values: Values = ()


def row_lines(draft: Draft, outcome: Outcome) -> tuple[RowLine, ...]:
    """Return a line for all that the draft names; the outcome is that of this draft."""
    on = [_candidate(draft, outcome, place) for place in range(min(len(outcome.candidates), MOST_LINES))]
    return (*on, *_unticked(draft))


def left_over(outcome: Outcome) -> str:
    """Return a sentence on what the list doesn't show; empty where it shows all."""
    more = len(outcome.candidates) - MOST_LINES
    return f"... and {more:,} more, which are not listed." if more > 0 else ""


def variant_words(variant: VariantText) -> str:
    """Return a variant in words: its label, or what it is made by."""
    return variant.label or " ".join(
        filter(None, (variant.filesystem, variant.mkfs, variant.mount, variant.tune))
    )


def _candidate(draft: Draft, outcome: Outcome, place: int) -> RowLine:
    candidate = outcome.candidates[place]
    number = (draft.checklists if candidate.of_checklist else draft.variants)[candidate.number]
    mark, value = _standing(candidate)
    line = Line(
        key=f"row {place}",
        name=outcome.labels[place],
        mark=mark,
        value=value,
        about=tuple(_about(candidate)),
        is_faint=not candidate.is_row or bool(candidate.row.unavailable),
        wraps=True,
    )
    return RowLine(line, number, candidate.of_checklist, candidate.values)


def _standing(candidate: Candidate) -> tuple[Mark, str]:
    if candidate.is_excluded:
        return Mark.OFF, ""
    if candidate.broken:
        return Mark.BARRED, "left out"
    if candidate.is_double:
        return Mark.BARRED, "the same"
    return Mark.ON, "can't run" if candidate.row.unavailable else ""


def _about(candidate: Candidate) -> Iterator[str]:
    row = candidate.row
    if candidate.broken:
        yield f"Left out: {candidate.broken}."
    if candidate.is_double:
        yield "Left out: a variant above comes to the same filesystem."
    if row.unavailable:
        yield f"It can't run here: {row.unavailable}."
    yield f"mkfs {' '.join(row.variant.mkfs_words) or '(as it comes)'}"
    yield f"mount {','.join(row.variant.mount_words) or '(as it comes)'}"
    if row.variant.tune_words:
        yield f"tune {' '.join(row.variant.tune_words)}"
    if row.variant.as_printed:
        yield f"As printed: {row.variant.as_printed}"


def _unticked(draft: Draft) -> Iterator[RowLine]:
    for number in sorted(draft.off_variants):
        words = variant_words(draft.plan.variants[number])
        yield RowLine(Line(f"off {number}", words, Mark.OFF, wraps=True), number, of_checklist=False)
