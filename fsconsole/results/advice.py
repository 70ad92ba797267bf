"""Advice: which rows of a run may be its best, by a weighted score, and why.

A round's score is the weighted sum of a row's log ratios to its baseline, each column's sign such that more is better.
Scores are compared round by round by the same verdicts as every column (model/verdicts.py). A baseline's figure is the
same for both rows of a pair and cancels, so that a round in which the baseline failed is not lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from fsconsole.errors import Misused
from fsconsole.errors.runs import NothingToAdvise
from fsconsole.model.metrics import Metric, Unit, column_named
from fsconsole.model.plan import Plan, Setting, Variant
from fsconsole.model.resolution import Reading
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import LEAST_ROUNDS, Compared, Verdict, compared, figure_of, has_ratio, is_rate
from fsconsole.results.blocks import gate_of
from fsconsole.results.columns import OF_LIFE, belongs, primary_of
from fsconsole.results.figures import row_names
from fsconsole.results.grid import Grid, GridRow
from fsconsole.results.requirements import Answer, requirements_of

PRIMARY_WEIGHT = 3.0
OTHER_WEIGHT = 1.0
_SCORE = Metric.OPS_PER_S
"""Scores are compared as a rate without a unit: more is better, by ratios."""
_MOST_BETTER = 40
"""Better rows that each row is held against: of thousands, the best ones exclude it."""
_GOOD_UNITS = frozenset({Unit.BYTES_PER_S, Unit.PER_SECOND, Unit.SECONDS, Unit.MILLISECONDS})
_GOOD_COUNTS = frozenset({
    Metric.EXTENTS_MEAN, Metric.CHECK_RSS, Metric.WRITE_AMPLIFICATION, Metric.DEVICE_WRITTEN, Metric.DEVICE_FLUSHES,
    Metric.CPU_EFFICIENCY,
})  # fmt: skip
"""Counts and amounts of which less is better, but for the last."""
_SHORT_S = 0.1
"""Seconds below which a load, a check or a delete is too short to rely on: mostly the start of a program and one flush."""
_SHORT_RATE = 0.01
"""The same of rates: share of it that its measurement, of 1 ms, doesn't resolve (model/resolution.py)."""


Weights = Mapping[Metric, float]


def parse_weights(text: str) -> Weights:
    """Return the weights of a text such as "durable=3,check=2". Raises Misused, UnknownColumn."""
    found: dict[Metric, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not name or not 0 <= weight <= 1e6:
            raise _misused(f"--weights takes COLUMN=NUMBER with commas between, not '{part}'.")
        metric = column_named(name)
        is_weighed = metric.unit in _GOOD_UNITS or metric in _GOOD_COUNTS
        if not is_weighed:
            raise _misused(f"Column '{metric.column}' can't be weighed: more of it is neither better nor worse.")
        found[metric] = weight
    if not any(found.values()):
        raise _misused("--weights needs a column with a weight above 0.")
    return found


def _misused(what: str) -> Misused:
    return Misused(what=what, nearest="An example: --weights durable=3,check=2. ", command="fsconsole advise")


def is_more_better(metric: Metric) -> bool:
    """Return whether more of a weighed metric is better."""
    return is_rate(metric) or metric is Metric.CPU_EFFICIENCY


# Columns with their weights, of each load and of the filesystem's life.


@dataclass(frozen=True, slots=True)
class Term:
    """A column of one load, or of the filesystem's life, with its weight."""

    metric: Metric
    load: str
    """Name of the load, with what tells it from others; empty of the life, and of a run's only load."""
    place: object
    """Key of its load."""
    weight: float

    @property
    def words(self) -> str:
        """Column and load: "durable (large files)"."""
        return f"{self.metric.column} ({self.load})" if self.load else self.metric.column


def default_weights(plan: Plan, rows: Sequence[GridRow]) -> Weights:
    """Return the weights of a run: the column of verdicts 3; check, durable delete and other loads' columns 1.

    Without a plan's primary every load has a column of its own: each is primary, and shares the 3 with the others.
    """
    loads = dict.fromkeys((row.key.workloads, row.key.workload or 0) for row in rows if row.key.workloads)
    primaries = dict.fromkeys(primary_of(plan.primary, of[part], rows) for of, part in loads)
    present = {metric for row in rows for metric, _ in row.figures}
    deleted = Metric.DELETE_DURABLE if Metric.DELETE_DURABLE in present else Metric.DELETE
    if plan.primary is not None and plan.primary in present:
        found = {plan.primary: PRIMARY_WEIGHT} | {one: OTHER_WEIGHT for one in primaries if one is not plan.primary}
    else:
        found = dict.fromkeys(primaries, PRIMARY_WEIGHT / max(1, len(primaries)))
    found |= {metric: OTHER_WEIGHT for metric in (Metric.CHECK, deleted) if metric in present and metric not in found}
    return {metric: weight for metric, weight in found.items() if metric.unit in _GOOD_UNITS}


def _terms(weights: Weights, rows: Sequence[GridRow]) -> list[Term]:
    """Return the columns of all loads; a weight is shared by all that have the column, so that it is of the column."""
    loads = dict.fromkeys((row.key.workloads, row.key.workload) for row in rows)
    keys = [replace(rows[0].key, workloads=of, workload=part) for of, part in loads]
    no_variant = Variant("", "")
    plain = [replace(key, variant=no_variant, setting=Setting(), target="", array=None, members=()) for key in keys]
    names = dict(zip(loads, row_names(plain), strict=True)) if len(loads) > 1 else {}
    terms: list[Term] = []
    for metric, weight in weights.items():
        places = [place for place in loads if _has(metric, place, rows)]
        if metric in OF_LIFE:
            places = [place for place in places if not place[1]]
        terms += [
            Term(metric, "" if metric in OF_LIFE and len(places) < 2 else names.get(place, ""), place, weight / len(places))
            for place in places
        ]  # fmt: skip
    return [term for term in terms if term.weight]


def _has(metric: Metric, place: tuple[object, int | None], rows: Sequence[GridRow]) -> bool:
    for row in rows:
        if (row.key.workloads, row.key.workload) == place and row.figure(metric) is not None:
            load = None if metric in OF_LIFE else row.key.workloads[row.key.workload or 0]
            return belongs(metric, load, row.key.workloads)
    return False


# Candidates: a filesystem with its settings and array, under all loads of the run.


@dataclass(frozen=True, slots=True)
class Candidate:
    """One choice for the box, with the rows that measured it and its score in each round."""

    title: str
    rows: tuple[GridRow, ...]
    readings: Mapping[Term, Mapping[int, Reading]]
    scores: Mapping[int, Reading]
    is_baseline: bool = False

    @property
    def variant(self) -> Variant:
        """The filesystem."""
        return self.rows[0].key.variant

    @property
    def mean(self) -> float:
        """Mean score over its rounds; 1 is that of the baseline."""
        return figure_of(self.scores.values(), _SCORE)


@dataclass(frozen=True, slots=True)
class Safety:
    """The catalog's word on a variant's safety."""

    unsafe: tuple[str, ...] = ()
    unknown: str = ""
    """Why it can't be told, as a clause: words, or a filesystem, that today's catalog doesn't have."""


@dataclass(frozen=True, slots=True)
class Advised:
    """A candidate with what was found out about it."""

    candidate: Candidate
    overall: Compared | None
    """Its score against the baseline's; None of the baseline."""
    parts: tuple[tuple[Term, Compared], ...]
    """Each column against the baseline's; of the baseline, against the best other row."""
    against: str
    """Title of the row that the parts are compared with."""
    safety: Safety
    flaws: tuple[str, ...]
    """Failed cells, damage and missed limits, each in words without a full stop."""
    behind: str = ""
    """Title of the row that is decidedly better; empty where it may be the best."""
    leans_to: str = ""
    """Title of a row whose score is decidedly better, though no column is; empty where there is none, or it is behind one."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Rows that may be the best, the others, and those that can't be judged; each in order of scores."""

    weights: Weights
    baseline: str
    rounds: int
    alpha: float
    best: tuple[Advised, ...]
    others: tuple[Advised, ...]
    unjudged: tuple[tuple[str, str], ...]
    """Titles with the reason."""
    leading: tuple[Advised, ...]
    """The first and the second: the two best scores of rows that miss no limit; fewer where fewer are left."""
    turns: tuple[str, ...]
    """At which weights the second would win, in clauses."""
    deciding: tuple[tuple[str, float], ...]
    """Columns in which the first is ahead of the second, with their share of its lead."""
    notes: tuple[str, ...]
    take: Advised | None
    """The row to take: the first of the best that is safe, else the first safe one; None where every row misses a limit."""
    equals: tuple[Advised, ...]
    """Other rows that may score as high as that and have no more against them, in order of scores."""
    between: Compared | None
    """The score of that row against the first of them."""


def advise(
    state: RunState,
    grid: Grid,
    safety_of: Callable[[Variant], Safety],
    weights: Weights | None = None,
) -> Advice:
    """Return the advice of a finished run in rounds; safety_of is the catalog's word on a variant.

    Raises NothingToAdvise.
    """
    plan, gate = state.request.plan, gate_of(state)
    rows = [row for row in grid.rows if not row.key.variant.is_raw and not row.key.variant.is_control]
    rows.sort(key=lambda row: (min(row.indexes), row.key.workload or 0))
    if gate.why:
        raise NothingToAdvise(why=gate.why.removeprefix("No verdicts: ").rstrip("."))
    weights = weights if weights is not None else default_weights(plan, rows)
    found, unjudged, notes = _candidates(plan, rows, weights)
    found.sort(key=lambda one: -one.mean)
    base = next((one for one in found if one.is_baseline), found[-1])
    family = max(1, len(found) - 1)

    def judge(
        own: Mapping[int, Reading], other: Mapping[int, Reading], metric: Metric = _SCORE, *, with_more: bool = False
    ) -> Compared | None:
        return compared(own, other, metric, family=family, same=plan.same, alpha=gate.alpha, with_more=with_more)

    missed = _missed(state, grid)
    # A row that misses what its plan requires is no choice, and excludes no other, whatever its score.
    allowed = [one for one in found if not any(row.id in missed for row in one.rows)]
    advised = []
    for one in found:
        better = (other for other in allowed[:_MOST_BETTER] if other is not one and other.mean > one.mean)
        above = [other for other in better if _is_better(judge(other.scores, one.scores))]
        ahead = (other for other in above if _has_better_column(other, one, judge))
        other = base if one is not base else next(each for each in (*allowed, *found) if each is not one)
        row = _advised(one, other, judge, safety_of(one.variant), _flaws(one, missed))
        behind = next((each.title for each in ahead), "")
        advised.append(replace(row, behind=behind, leans_to=above[0].title if above and not behind else ""))
    best, others = ([one for one in advised if bool(one.behind) is is_behind] for is_behind in (False, True))
    failing = [one for one in best if one.candidate not in allowed]
    best = _in_order([one for one in best if one not in failing])
    take = _take(best, others)
    equals = _equals(take, best)
    lead = {term: _lead(term, *allowed[:2]) for term in found[0].readings} if len(allowed) > 1 else {}
    return Advice(
        weights=weights,
        baseline=base.title,
        rounds=max(len(one.scores) for one in found),
        alpha=gate.alpha,
        best=tuple(best),
        others=(*failing, *others),
        unjudged=tuple(unjudged),
        leading=tuple(one for one in advised if one.candidate in allowed[:2]),
        turns=_turns(lead, weights),
        deciding=_deciding(lead),
        notes=tuple(notes),
        take=take,
        equals=equals,
        between=judge(take.candidate.scores, equals[0].candidate.scores, with_more=True) if take and equals else None,
    )  # fmt: skip


Judge = Callable[..., Compared | None]


def _advised(one: Candidate, other: Candidate, judge: Judge, safety: Safety, flaws: Iterable[str]) -> Advised:
    """Return a candidate against another one, the baseline or of that the best; behind is left open."""
    parts = ((term, judge(one.readings[term], other.readings[term], term.metric)) for term in one.readings)
    return Advised(
        candidate=one,
        overall=None if one.is_baseline else judge(one.scores, other.scores),
        parts=tuple((term, part) for term, part in parts if part is not None and part.low is not None),
        against=other.title,
        safety=replace(safety, unsafe=(*safety.unsafe, *_of_array(one))),
        flaws=tuple(flaws),
    )


def _is_better(pair: Compared | None) -> bool:
    return pair is not None and pair.verdict is Verdict.FASTER


def _has_better_column(own: Candidate, other: Candidate, judge: Judge) -> bool:
    """Return whether a column is decidedly better: a sum that is decided while none of its columns is excludes no row."""
    pairs = ((term, judge(own.readings[term], other.readings[term], term.metric)) for term in own.readings)
    return any(pair is not None and speaks_for(term, pair) is True for term, pair in pairs)


_DECIDED = (Verdict.FASTER, Verdict.SLOWER, Verdict.MORE, Verdict.LESS)


def speaks_for(term: Term, pair: Compared) -> bool | None:
    """Return whether a decided difference is for the row; None: undecided, or the same."""
    if pair.verdict not in _DECIDED:
        return None
    return (pair.change > 0) == is_more_better(term.metric)


def _in_order(best: Sequence[Advised]) -> list[Advised]:
    """Return rows, in order of scores, such that the baseline's place contradicts no verdict.

    Their scores are not decided. Before the baseline stands what is decidedly better in columns of more weight than those in
    which it is decidedly worse, after it what is decidedly worse; what has no such column stands by its score.
    """
    base = next((one for one in best if one.overall is None), None)
    if base is None:
        return list(best)

    def side(one: Advised) -> float:
        signs = {True: 1.0, False: -1.0, None: 0.0}
        decided = math.fsum(term.weight * signs[speaks_for(term, pair)] for term, pair in one.parts)
        ahead = decided or one.candidate.mean - base.candidate.mean
        return 0.0 if one is base else -math.copysign(1.0, ahead)

    return sorted(best, key=side)


def _is_sound(one: Advised) -> bool:
    return not (one.safety.unsafe or one.safety.unknown or one.flaws)


def _take(best: Sequence[Advised], others: Sequence[Advised]) -> Advised | None:
    return next(filter(_is_sound, (*best, *others)), best[0]) if best else None


def _equals(take: Advised | None, best: Sequence[Advised]) -> tuple[Advised, ...]:
    if take is None or take not in best:
        return ()
    alike = (one for one in best if one is not take and _is_sound(one) >= _is_sound(take))
    return tuple(sorted(alike, key=lambda one: -one.candidate.mean))


def _candidates(
    plan: Plan, rows: Sequence[GridRow], weights: Weights
) -> tuple[list[Candidate], list[tuple[str, str]], list[str]]:
    """Return the candidates with scores, those without and why, and notes. Raises NothingToAdvise."""
    groups: dict[object, list[GridRow]] = {}
    for row in rows:
        key = row.key
        groups.setdefault((key.target, key.array, key.members, key.setting, key.variant), []).append(row)
    keys = [replace(of[0].key, workloads=(), workload=None) for of in groups.values()]
    titles = row_names(keys)
    terms = _terms(weights, rows) if rows else []
    readings = [{term: _readings_of(term, of) for term in terms} for of in groups.values()]
    notes = []
    for term in list(terms):
        own = [one for of in readings for one in of[term].values()]
        if not own or not has_ratio(own, term.metric):
            terms.remove(term)
            notes.append(f"{term.words} is left out: its figures are too small for what their measurement resolves")
    notes += _leave_out_short(terms, readings)
    unjudged, judged = [], []
    for title, of, known in zip(titles, groups.values(), readings, strict=True):
        lacking = [term for term in terms if len(known[term]) < LEAST_ROUNDS]
        if lacking:
            why = "; ".join(of[0].notes) or f"no {lacking[0].words} of {LEAST_ROUNDS} rounds"
            unjudged.append((title, why))
        else:
            judged.append((title, of, {term: known[term] for term in terms}))
    if not terms or len(judged) < 2:
        raise NothingToAdvise(why="fewer than two rows have all the columns that are weighed")
    labels = [{plan.cells[index].variant.label for row in of for index in row.indexes} for _, of, _ in judged]
    at = next((place for place, known in enumerate(labels) if plan.baseline in known), 0)
    base = {term: figure_of(of.values(), term.metric) for term, of in judged[at][2].items()}
    found = [
        Candidate(title, tuple(of), known, _scores(known, base), place == at)
        for place, (title, of, known) in enumerate(judged)
    ]
    return found, unjudged, notes


def _readings_of(term: Term, rows: Sequence[GridRow]) -> Mapping[int, Reading]:
    for row in rows:
        if (row.key.workloads, row.key.workload) == term.place:
            return row.readings(term.metric)
    return {}


def _scores(readings: Mapping[Term, Mapping[int, Reading]], base: Mapping[Term, float]) -> dict[int, Reading]:
    """Return the score of each round that has all columns: a weighted geometric mean of ratios to base."""
    whole = math.fsum(term.weight for term in readings)
    rounds = set.intersection(*(set(of) for of in readings.values()))
    found = {}
    for number in sorted(rounds):
        score = slack = 0.0
        for term, of in readings.items():
            share, one = term.weight / whole, of[number]
            score += share * _log_ratio(term, one.value, base[term])
            slack += share * math.log1p(one.resolution / one.value)
        value = math.exp(score)
        found[number] = Reading(value, value * math.expm1(slack))
    return found


def _log_ratio(term: Term, own: float, other: float) -> float:
    ratio = math.log(own) - math.log(other)
    return ratio if is_more_better(term.metric) else -ratio


# What decides between the first and the second.


def _lead(term: Term, first: Candidate, second: Candidate) -> float:
    """Return the mean log ratio by which the first is better in a column."""
    rounds = first.scores.keys() & second.scores.keys()
    own, other = first.readings[term], second.readings[term]
    logs = [_log_ratio(term, own[number].value, other[number].value) for number in rounds]
    return math.fsum(logs) / len(logs) if logs else 0.0


def _turns(lead: Mapping[Term, float], weights: Weights) -> tuple[str, ...]:
    """Return at which weight of one column, all others as they are, the second's score is the first's."""
    found = []
    total = math.fsum(term.weight * ahead for term, ahead in lead.items())
    for metric, weight in weights.items():
        own = [term for term in lead if term.metric is metric]
        per_weight = math.fsum(term.weight * lead[term] for term in own) / weight if weight and own else 0.0
        if not per_weight:
            continue
        turn = weight - total / per_weight
        if turn <= 0 or (per_weight > 0 and turn >= weight):
            continue
        found.append(f"{metric.column} {'below' if per_weight > 0 else 'above'} {turn:.2g} (now {weight:g})")
    return tuple(found)


def _deciding(lead: Mapping[Term, float]) -> tuple[tuple[str, float], ...]:
    ahead = {term: term.weight * value for term, value in lead.items() if value > 0}
    whole = math.fsum(ahead.values())
    ordered = sorted(ahead, key=lambda term: -ahead[term])
    return tuple((term.words, ahead[term] / whole) for term in ordered)


def _leave_out_short(terms: list[Term], readings: Sequence[Mapping[Term, Mapping[int, Reading]]]) -> list[str]:
    """Take the columns with short figures off terms, unless all have such; return notes."""
    short = [term for term in terms if _is_short(term, [one for of in readings for one in of[term].values()])]
    if not short:
        return []
    names = ", ".join(term.words for term in short)
    if len(short) == len(terms):
        return [f"Only short figures decide: {names}. Write more, or fill the filesystem, before you rely on this"]
    terms[:] = [term for term in terms if term not in short]
    return [
        f"Left out of the score, as shorter than {_SHORT_S:g} s: {names}. Write more, or fill the filesystem, to weigh them"
    ]


def _is_short(term: Term, readings: Sequence[Reading]) -> bool:
    if term.metric.unit is Unit.SECONDS:
        return median(one.value for one in readings) < _SHORT_S
    return is_rate(term.metric) and median(one.resolution / one.value for one in readings) >= _SHORT_RATE


# What speaks against a row beside its figures.


def _missed(state: RunState, grid: Grid) -> Mapping[str, tuple[str, ...]]:
    """Return the limits that rows surely miss, by the row's id."""
    judged = requirements_of(state, grid).rows
    found = {
        row: tuple(f"misses {one.requirement.words}: {one.words}" for one in of if one.answer is Answer.NO)
        for row, of in judged.items()
    }
    return {row: of for row, of in found.items() if of}


def _flaws(of: Candidate, missed: Mapping[str, tuple[str, ...]]) -> list[str]:
    found = [clause for row in of.rows for clause in missed.get(row.id, ())]
    checks = [row.verdict for row in of.rows if row.verdict not in ("", "clean")]
    found += [f"a check found damage ({checks[0]})"] if checks else []
    return list(dict.fromkeys([*found, *(note for row in of.rows for note in row.notes)]))


_NO_REDUNDANCY = frozenset({"raid0", "linear"})


def _of_array(of: Candidate) -> tuple[str, ...]:
    array = of.rows[0].key.array
    return ("no redundancy: one lost disk loses everything",) if array and array.level in _NO_REDUNDANCY else ()
