"""Advice as text and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.contract import Document, document_text
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.rounds import CAUSES
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import MOST_MORE, Compared, Verdict
from fsconsole.model.wire import Wire
from fsconsole.results.advice import Advice, Advised, Term, speaks_for
from fsconsole.results.choice import row_word
from fsconsole.results.figures import Noted
from fsconsole.results.grid import Grid
from fsconsole.results.summary import LEAST_DISTURBED
from fsconsole.text import counted, printable, shell_lines, wrap
from fsconsole.units import significant

_AGAINST = CAUSES | {
    WarningKind.CHECK, WarningKind.LOST_DATA, WarningKind.GAVE_UP, WarningKind.KERNEL_LOG, WarningKind.NOT_IN_EFFECT,
    WarningKind.MEMORY_COLD, WarningKind.ROUND_REPEATED, WarningKind.ASSUMED_CLEAN,
}  # fmt: skip
"""Warnings that advice repeats: damage, disturbed rounds, options without effect."""
_TWICE = 0.995
"""Share from which a change is told as a factor: what rounds to 100 % is twice."""
_DECIDED = (Verdict.FASTER, Verdict.SLOWER)
_MOST_NAMED = 3
"""Rows that are named in a sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """Name and directory of a run, by which commands find it."""

    run: str
    runs: str = DEFAULT_RUNS_DIR


def advice_text(state: RunState, grid: Grid, of: Advice, place: Place, *, width: int = 80) -> str:
    """Return advice as lines of at most width cells."""
    weights = ", ".join(f"{metric.column} {weight:g}" for metric, weight in of.weights.items())
    level = f"{100 * (1 - of.alpha):g} %"
    lines = [
        *_wrapped(
            f"Run {state.request.run_id}, {of.rounds} rounds. Weights: {weights}. Baseline: {of.baseline}.", width
        )
    ]
    lines += ["", *_wrapped(f"{_headline(of)} Intervals at {level}.", width)]
    disturbed = disturbed_words(of, grid)
    lines += _wrapped(disturbed, width) if disturbed else []
    lines += [line for doubt in _doubts(of, grid) for line in _wrapped(doubt, width)]
    for row in of.best:
        # No number: their order decides nothing, and apply-kit counts rows otherwise.
        lines += _row_lines(row, "*", of, grid, width)
    if of.others:
        lines += ["", "Not the best:"]
        for row in of.others:
            lines += _row_lines(row, "-", of, grid, width)
    lines += (
        [""]
        + [line for title, why in of.unjudged for line in _wrapped(f"Not judged: {title} ({why}).", width)]
        + [line for sentence in _sentences(of) for line in _wrapped(sentence, width)]
        + ["", *_next_lines(state, grid, of, place, width)]
    )
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip("\n") + "\n"


def _headline(of: Advice) -> str:
    if not of.best:
        return "No row can be advised: each misses a limit of the plan."
    names = ", ".join(_title(row) for row in of.best)
    if len(of.best) == 1:
        return f"Only one is left: {names}."
    leans = dict.fromkeys(row.leans_to for row in of.best if row.leans_to)
    to = [_title(row) for row in of.best if row.candidate.title in leans]
    lean = f" The sum leans to {', '.join(to)}, but no single column decides." if to else ""
    return f"Undecided which is best: {names}.{lean}"


def disturbed_words(of: Advice, grid: Grid) -> str:
    """Return that at least a quarter of the rows' cells were disturbed, by what, and the remedy; empty where fewer were."""
    own = _own_cells(of)
    cells: dict[WarningKind, set[int]] = {}
    for noted in grid.warnings:
        if noted.kind in CAUSES:
            cells.setdefault(noted.kind, set()).update(own.intersection(noted.cells))
    if len(set().union(*cells.values())) < max(1, LEAST_DISTURBED * len(own)):
        return ""
    counted = sorted(((len(of), kind.words) for kind, of in cells.items() if of), reverse=True)
    causes = ", ".join(f"{kind} in {count}" for count, kind in counted)
    return f"Disturbed: {causes} of {len(own)} cells. Run more rounds on a quiet machine before you rely on this."


_REMEDIES = {
    WarningKind.SHORT: "write more (file_size, files)",
    WarningKind.NOT_COMPARABLE: "run the plan on the disk that is meant",
}
"""Remedies of warnings that all cells may share: they tell no rows apart, but limit what the figures are worth."""


def _doubts(of: Advice, grid: Grid) -> Iterator[str]:
    """Yield each warning that all cells of the rows have, with its remedy."""
    own = _own_cells(of)
    for kind, remedy in _REMEDIES.items():
        if own and own <= {index for noted in grid.warnings if noted.kind is kind for index in noted.cells}:
            yield f"All {len(own)} cells have the warning {kind.words}: {remedy} before you rely on this."


def _own_cells(of: Advice) -> set[int]:
    return {index for row in (*of.best, *of.others) for one in row.candidate.rows for index in one.indexes}


def _title(row: Advised) -> str:
    """Return a row's title, of one that is unsafe, or may be, with that word: it never stands first without it."""
    word = " (UNSAFE)" if row.safety.unsafe else " (safety not known)" if row.safety.unknown else ""
    return row.candidate.title + word


def _row_lines(row: Advised, mark: str, of: Advice, grid: Grid, width: int) -> Iterator[str]:
    ahead = [_title(one) for one in (*of.best, *of.others) if one.candidate.title == row.behind]
    behind = f" Decidedly behind {ahead[0]}." if ahead else ""
    lines = _wrapped(f"{_title(row)}: {_overall(row, of)}{behind} {reason_of(row)}", width - 3)
    against = against_of(row, grid)
    lines += _wrapped(f"Against it: {'; '.join(against)}.", width - 3) if against else []
    yield from (f"{mark if place == 0 else '':<2} {line}" for place, line in enumerate(lines))


def _overall(row: Advised, of: Advice) -> str:
    pair = row.overall
    if pair is None:
        sums = (one.overall.verdict for one in of.best if one.overall is not None)
        is_tied = row in of.best and len(of.best) > 1 and not any(verdict in _DECIDED for verdict in sums)
        return f"the baseline{'; no score here is decidedly above or below its own' if is_tied else ''}."
    if pair.verdict is Verdict.SAME:
        return f"scores the same as the baseline{_place(row, of)}."
    share = f"{100 * abs(pair.change):.0f} % {'above' if pair.change > 0 else 'below'} the baseline"
    is_lean = row in of.best and len(of.best) > 1 and pair.verdict in _DECIDED
    doubt = ", but no single column decides" if is_lean else "" if pair.verdict in _DECIDED else _undecided(row)
    return f"scores {share}{doubt}{_place(row, of)}."


def _undecided(row: Advised) -> str:
    """Return that a score is not decided, as a clause, with the columns that are: no verdict is contradicted."""
    decided = [term.words for term, pair in row.parts if speaks_for(term, pair) is not None]
    if not decided:
        return ", undecided"
    return f"; the sum is not decided, although {', '.join(decided)} {'is' if len(decided) == 1 else 'are'}"


def _place(row: Advised, of: Advice) -> str:
    """Return why a row stands before a baseline that scores more, or after one that scores less, as a clause."""
    base = next((one for one in of.best if one.overall is None), None)
    if base is None or row not in of.best:
        return ""
    is_before = of.best.index(row) < of.best.index(base)
    is_above = row.candidate.mean > base.candidate.mean
    is_by_score = is_before == is_above or row.candidate.mean == base.candidate.mean
    return "" if is_by_score else f"; {'before' if is_before else 'after'} it by its decided columns"


def reason_of(row: Advised) -> str:
    """Return in one sentence in which columns a row is decidedly better."""
    better = [change_words(term, pair) for term, pair in row.parts if speaks_for(term, pair) is True]
    return (
        f"Against {row.against}: {'; '.join(better)}."
        if better
        else f"In no column decidedly better than {row.against}."
    )


def against_of(row: Advised, grid: Grid) -> tuple[str, ...]:
    """Return in clauses what speaks against a row: what is unsafe first, then damage, worse columns and warnings."""
    worse = [change_words(term, pair) for term, pair in row.parts if speaks_for(term, pair) is False]
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
        yield f"warning {kind.words} in {len(cells)} of {len(own)} cells"


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
    if len(of.leading) > 1:
        first, second = map(_title, of.leading)
        if of.deciding:
            yield f"The lead of {first} over {second} in score comes {_shares(of.deciding)}."
        yield (
            f"{second} would score higher at these weights: {'; or '.join(of.turns)}."
            if of.turns
            else f"No weight of one column alone puts {second} first."
        )
    yield from (f"Note: {note}." for note in of.notes)


def _shares(lead: Sequence[tuple[str, float]]) -> str:
    """Return where a lead comes from: "from durable alone", "60 % from durable, 40 % from check"."""
    if len(lead) == 1:
        return f"from {lead[0][0]} alone"
    return ", ".join(f"{100 * share:.0f} % from {name}" for name, share in lead)


# The row to take, and the command that applies it.


class NextStep(str, Enum):
    """The next step, in the text and in JSON."""

    MORE_ROUNDS = "more rounds"
    """The cells were disturbed: run more rounds on a quiet machine before a row is taken."""
    TAKE = "take"
    NOTHING = "nothing"
    """No row can be taken."""


def next_step(of: Advice, grid: Grid) -> NextStep:
    """Return what to do next."""
    if disturbed_words(of, grid):
        return NextStep.MORE_ROUNDS
    return NextStep.TAKE if of.take is not None else NextStep.NOTHING


def _next_lines(state: RunState, grid: Grid, of: Advice, place: Place, width: int) -> Iterator[str]:
    why, command = take_why(of), take_command(state, of, place)
    is_later = next_step(of, grid) is NextStep.MORE_ROUNDS
    first = "run more rounds on a quiet machine. If it can't wait, " if is_later else ""
    yield from _wrapped(f"Next: {first}{why}{':' if command else '.'}", width)
    yield from shell_lines(command, width, lead="    ")


def take_command(state: RunState, of: Advice, place: Place) -> tuple[str, ...]:
    """Return the command that writes the kit of the row to take, as words for a shell; empty where there is no kit of it."""
    row = row_word(state, of.take.candidate.rows[0].key) if of.take is not None else ""
    if of.take is None or not row:
        return ()
    devices = "DEVICE..." if of.take.candidate.rows[0].key.array is not None else "DEVICE"
    kept = [f"--runs {shlex.quote(place.runs)}"] if place.runs != DEFAULT_RUNS_DIR else []
    return (
        "fsconsole apply-kit",
        place.run,
        shlex.quote(printable(row)),
        *kept,
        f"--for {devices} --at MOUNTPOINT DIR",
    )


def take_why(of: Advice) -> str:
    """Return which row to take and why, and what would do as well, as a sentence without a full stop."""
    take = of.take
    if take is None:
        return "no row can be taken, as each misses a limit of the plan"
    name = _title(take)
    if take not in of.best:
        return f"take {name}, the best row with nothing unsafe, damaged or failed; {_named(of.best)} scores more"
    if len(of.best) == 1:
        doubt = ", if you accept what stands against it" if take.safety.unsafe or take.flaws else ""
        return f"take {name}, the only row that is left{doubt}"
    before = of.best[: of.best.index(take)]
    higher = [one for one in of.best if one.candidate.mean > take.candidate.mean and one not in before]
    if higher:
        reason = f"by what is decided column by column, though {_named(higher)} may score more"
    elif before:
        reason = f"the best row with nothing unsafe, damaged or failed, though {_named(before)} may score more"
    else:
        reason = "which scores highest"
    return f"take {name}, {reason}{_equal_words(of)}"


def _named(rows: Sequence[Advised]) -> str:
    return ", ".join(map(_title, rows))


def _equal_words(of: Advice) -> str:
    """Return the rows that do as well, and what would decide, as a clause; empty where there are none."""
    pair = of.between
    if pair is None:
        return ""
    it = f"between it and {_title(of.equals[0])}" if len(of.equals) > 1 else "it"
    if pair.verdict is Verdict.SAME:
        decides = "the scores are the same"
    elif pair.verdict in _DECIDED:
        decides = "the sum leans to one, but no single column decides"
    elif pair.more:
        decides = f"{counted(pair.more, 'more round')} would probably decide {it}"
    else:
        decides = f"it takes more than {MOST_MORE} rounds to decide {it}"
    names = _named(of.equals[:_MOST_NAMED])
    more = f" and {len(of.equals) - _MOST_NAMED} more" if len(of.equals) > _MOST_NAMED else ""
    return f"; by the score {names}{more} will do as well ({decides})"


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
    leans_to: str = ""
    """Row whose score is decidedly better, though no single column is."""


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

    run_id: str
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
    disturbed: str
    """Causes that disturbed a quarter of the cells or more, and the remedy; empty where fewer were disturbed."""
    next: NextStep
    take: str
    """The row to take, after more rounds where these are next; empty where there is none."""
    take_why: str
    take_command: str
    """Writes its kit; DEVICE, MOUNTPOINT and DIR are to be filled in. Empty where there is no kit of it."""


def advice_json(state: RunState, grid: Grid, of: Advice, place: Place) -> str:
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
            leans_to=one.leans_to,
        )

    answer = AdviceAnswer(
        run_id=state.request.run_id,
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
        disturbed=disturbed_words(of, grid),
        next=next_step(of, grid),
        take=of.take.candidate.title if of.take is not None else "",
        take_why=take_why(of),
        take_command=" ".join(take_command(state, of, place)),
    )
    return document_text(answer, indent=2) + "\n"
