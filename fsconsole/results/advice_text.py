"""Advice as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsconsole.model.contract import Document, document_text
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.rounds import CAUSES
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import Compared, Verdict
from fsconsole.model.wire import Wire
from fsconsole.results.advice import Advice, Advised, Term, is_more_better
from fsconsole.results.figures import Noted
from fsconsole.results.grid import Grid
from fsconsole.text import printable, wrap
from fsconsole.units import significant

_AGAINST = CAUSES | {
    WarningKind.CHECK, WarningKind.LOST_DATA, WarningKind.GAVE_UP, WarningKind.KERNEL_LOG, WarningKind.NOT_IN_EFFECT,
    WarningKind.MEMORY_COLD, WarningKind.ROUND_REPEATED, WarningKind.ASSUMED_CLEAN,
}  # fmt: skip
"""Warnings that advice repeats: damage, disturbed rounds, options without effect."""
_TWICE = 0.995
"""Share from which a change is told as a factor: what rounds to 100 % is twice."""
_DECIDED = (Verdict.FASTER, Verdict.SLOWER, Verdict.MORE, Verdict.LESS)


def advice_text(state: RunState, grid: Grid, of: Advice, *, width: int = 80) -> str:
    """Return advice as lines of at most width cells."""
    weights = ", ".join(f"{metric.column} {weight:g}" for metric, weight in of.weights.items())
    level = f"{100 * (1 - of.alpha):g} %"
    lines = [
        *_wrapped(
            f"Run {state.request.run_id}, {of.rounds} rounds. Weights: {weights}. Baseline: {of.baseline}.", width
        )
    ]
    lines += ["", *_wrapped(f"{_headline(of)} Intervals at {level}.", width)]
    titles = {row.candidate.title: _title(row) for row in (*of.best, *of.others)}
    for number, row in enumerate(of.best, start=1):
        lines += _row_lines(row, f"{number}.", titles, grid, width)
    if of.others:
        lines += ["", "Not the best:"]
        for row in of.others:
            lines += _row_lines(row, "-", titles, grid, width)
    lines += (
        [""]
        + [line for title, why in of.unjudged for line in _wrapped(f"Not judged: {title} ({why}).", width)]
        + [line for sentence in _sentences(of) for line in _wrapped(sentence, width)]
    )
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip("\n") + "\n"


def _headline(of: Advice) -> str:
    if not of.best:
        return "No row can be advised: each misses a limit of the plan."
    names = ", ".join(_title(row) for row in of.best)
    return f"Only one is left: {names}." if len(of.best) == 1 else f"Can't be excluded as best: {names}."


def _title(row: Advised) -> str:
    """Return a row's title, of one that is unsafe, or may be, with that word: it never stands first without it."""
    word = " (UNSAFE)" if row.safety.unsafe else " (safety not known)" if row.safety.unknown else ""
    return row.candidate.title + word


def _row_lines(row: Advised, mark: str, titles: Mapping[str, str], grid: Grid, width: int) -> Iterator[str]:
    behind = f" Decidedly behind {titles[row.behind]}." if row.behind else ""
    lines = _wrapped(f"{_title(row)}: {_overall(row)}{behind} {reason_of(row)}", width - 3)
    against = against_of(row, grid)
    lines += _wrapped(f"Against it: {'; '.join(against)}.", width - 3) if against else []
    yield from (f"{mark if place == 0 else '':<2} {line}" for place, line in enumerate(lines))


def _overall(row: Advised) -> str:
    pair = row.overall
    if pair is None:
        return "the baseline."
    if pair.verdict is Verdict.SAME:
        return "scores the same as the baseline."
    share = f"{100 * abs(pair.change):.0f} % {'above' if pair.change > 0 else 'below'} the baseline"
    return f"scores {share}{'' if pair.verdict in _DECIDED else ', undecided'}."


def reason_of(row: Advised) -> str:
    """Return in one sentence in which columns a row is decidedly better."""
    better = [change_words(term, pair) for term, pair in row.parts if _is_better(term, pair) is True]
    return (
        f"Against {row.against}: {'; '.join(better)}."
        if better
        else f"In no column decidedly better than {row.against}."
    )


def against_of(row: Advised, grid: Grid) -> tuple[str, ...]:
    """Return in clauses what speaks against a row: what is unsafe first, then damage, worse columns and warnings."""
    worse = [change_words(term, pair) for term, pair in row.parts if _is_better(term, pair) is False]
    own = {index for of in row.candidate.rows for index in of.indexes}
    unknown = (f"safety not known: {row.safety.unknown}",) if row.safety.unknown else ()
    return (
        *(f"UNSAFE: {one}" for one in row.safety.unsafe),
        *unknown,
        *row.flaws,
        *worse,
        *(_of_warnings(grid.warnings, own)),
    )


def _of_warnings(warnings: tuple[Noted, ...], own: set[int]) -> Iterator[str]:
    counted: dict[WarningKind, set[int]] = {}
    for warning in warnings:
        if warning.kind in _AGAINST and not own.isdisjoint(warning.cells):
            counted.setdefault(warning.kind, set()).update(own.intersection(warning.cells))
    for kind, cells in counted.items():
        yield f"warning {kind.value.replace('-', ' ')} in {len(cells)} of {len(own)} cells"


def _is_better(term: Term, pair: Compared) -> bool | None:
    """Return whether a decided difference is for the row; None: undecided, or the same."""
    if pair.verdict not in _DECIDED:
        return None
    return (pair.change > 0) == is_more_better(term.metric)


def change_words(term: Term, pair: Compared) -> str:
    """Return a change in words: times take less time, rates are more: "check takes 12 % less time"."""
    metric = term.metric
    load = f" ({term.load})" if term.load else ""
    is_more = pair.change > 0
    amount = f"{significant(1 + pair.change)} times the" if pair.change >= _TWICE else (
        f"{max(1, round(100 * abs(pair.change)))} % {'more' if is_more else 'less'}"
    )  # fmt: skip
    if metric.unit in (Unit.SECONDS, Unit.MILLISECONDS):
        return f"{metric.column}{load} takes {amount} time"
    throughput = " throughput" if metric.unit is Unit.BYTES_PER_S else ""
    return f"{amount} {metric.column}{throughput}{load}"


def _sentences(of: Advice) -> Iterator[str]:
    if of.deciding:
        yield f"Ahead by: {', '.join(f'{name} {100 * share:.0f} %' for name, share in of.deciding)}."
    if len(of.leading) > 1:
        second = _title(of.leading[1])
        yield (
            f"{second} would score higher at these weights: {'; or '.join(of.turns)}."
            if of.turns
            else f"No weight of one column alone puts {second} first."
        )
    yield from (f"Note: {note}." for note in of.notes)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(printable(text), width, max_lines=20)


class AdvisedColumn(Wire, frozen=True):
    """A weighed column of a row, compared."""

    column: Metric
    load: str
    compared: Compared


class AdvisedRow(Wire, frozen=True):
    """A row with its score and what speaks for and against it; changes are shares of the baseline's figure."""

    row: str
    is_baseline: bool
    score: float
    overall: Compared | None
    columns: tuple[AdvisedColumn, ...]
    compared_with: str
    behind: str
    reason: str
    unsafe: tuple[str, ...]
    safety_unknown: str
    against: tuple[str, ...]


class NotJudged(Wire, frozen=True):
    """A row that no advice is given on, with the reason."""

    row: str
    why: str


class Lead(Wire, frozen=True):
    """A column in which the first row is ahead of the second, with its share of the lead."""

    column: str
    share: float


class AdviceAnswer(Document, frozen=True):
    """The answer of `fsconsole advise --json`."""

    run: str
    weights: dict[str, float]
    baseline: str
    rounds: int
    alpha: float
    best: tuple[AdvisedRow, ...]
    others: tuple[AdvisedRow, ...]
    not_judged: tuple[NotJudged, ...]
    second_wins_at: tuple[str, ...]
    ahead_by: tuple[Lead, ...]
    notes: tuple[str, ...]


def advice_json(state: RunState, grid: Grid, of: Advice) -> str:
    """Return advice as a JSON document."""

    def row(one: Advised) -> AdvisedRow:
        return AdvisedRow(
            row=one.candidate.title,
            is_baseline=one.candidate.is_baseline,
            score=one.candidate.mean,
            overall=one.overall,
            columns=tuple(AdvisedColumn(term.metric, term.load, pair) for term, pair in one.parts),
            compared_with=one.against,
            behind=one.behind,
            reason=reason_of(one),
            unsafe=tuple(one.safety.unsafe),
            safety_unknown=one.safety.unknown,
            against=tuple(against_of(one, grid)),
        )

    answer = AdviceAnswer(
        run=state.request.run_id,
        weights={metric.value: weight for metric, weight in of.weights.items()},
        baseline=of.baseline,
        rounds=of.rounds,
        alpha=of.alpha,
        best=tuple(map(row, of.best)),
        others=tuple(map(row, of.others)),
        not_judged=tuple(NotJudged(title, why) for title, why in of.unjudged),
        second_wins_at=of.turns,
        ahead_by=tuple(Lead(name, share) for name, share in of.deciding),
        notes=of.notes,
    )
    return document_text(answer, indent=2) + "\n"
