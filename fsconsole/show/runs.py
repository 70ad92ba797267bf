"""The Runs screen: a row for each run, and details of the selected one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from fsconsole.client.runs import NOT_RESUMED, ListedRun, look
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.results.advice import advise
from fsconsole.results.figures import RESUME, repeated_words
from fsconsole.results.grid import build_grid
from fsconsole.results.requirements import requirements_of
from fsconsole.results.sides import SideComparison, compare_sides, sides_of
from fsconsole.results.sides_text import sides_text
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.show.apply import safety_of
from fsconsole.show.lines import Line, TextLine, text_lines
from fsconsole.text import cells_of, counted, printable, shorten_middle
from fsconsole.units import format_bytes, instant

_COLUMNS = (
    Column("started", "UTC", is_right=False),
    Column("status", is_right=False),
    Column("MB/s", "by cell", is_right=False),
    Column("best", "if decided", is_right=False),
    Column("cells", "ended"),
    Column("size"),
)
"""Those that 80 columns have no room for are last, beside a short status."""
_RAMP, _CURVE = " .:-=+*#", 8
"""Heights that every console's font has, and the places of a curve."""
_MOST_STANDING = 33
"""Columns: "engine died in workload of cell 6"."""
_MOST_BEST = 29
"""Columns: what 80 leave beside a title of 20 and "finished"; the pane has the whole name."""
_LIVING = frozenset({"running", "paused"})
_UNREADABLE = frozenset({"damaged", "newer", "unreadable"})


@dataclass(frozen=True, slots=True)
class Digest:
    """A run in two words: the throughput of its cells in their order, as a curve, and its best variant where that is decided."""

    curve: str = ""
    best: str = ""
    why_best: str = ""
    """Why nothing else may be the best, or why there is none, as a clause; empty where there is nothing to compare."""
    cells: int = 0
    """Cells that the curve is of; where they are more than its marks, a mark is the mean of several."""
    note: str = ""
    """Why there is neither, as a sentence."""


def digest_of(folder: RunFolder) -> Digest:
    """Return the digest of a run; an empty one where it can't be read, or nothing was measured."""
    try:
        seen = look(folder)
        rates = [rate for cell in seen.state.cells if (rate := _rate(cell)) is not None]
        best, why = ("", "") if seen.is_alive else _best(seen.state)
        return Digest(_curve(rates), best, why, len(rates))
    except FsconsoleError:
        return Digest()


def _rate(cell: CellState) -> float | None:
    return cell.value(Metric.DURABLE) if cell.status is CellStatus.DONE else None


def _curve(rates: Sequence[float]) -> str:
    marks, count = min(_CURVE, len(rates)), len(rates)
    means = [fmean(rates[mark * count // marks : (mark + 1) * count // marks]) for mark in range(marks)]
    top = max(means, default=0.0)
    return "".join(_RAMP[max(1, round(mean / top * (len(_RAMP) - 1)))] for mean in means) if top else ""


def _best(state: RunState) -> tuple[str, str]:
    """Return the only row that may be the best, and why; no row where several may: nothing is ranked that is undecided."""
    try:
        grid = build_grid(state)
        found = advise(state, grid, safety_of)
    except FsconsoleError:
        return "", ""
    judged = len(found.best) + len(found.others)
    if not found.best:
        return "", "every variant misses a limit"
    if len(found.best) > 1:
        return "", f"{len(found.best)} of {judged} variants may be the best"
    if not found.others:
        return "", ""
    others = printable(found.others[0].candidate.title) if len(found.others) == 1 else "every other variant"
    limit = ", or misses a limit" if requirements_of(state, grid).rows else ""
    return printable(found.best[0].candidate.title), f"{others} is decidedly behind by score{limit}"


def refusal_words(name: str, listed: ListedRun) -> str:
    """Return why a run can't be resumed that is over, or whose scratch file is gone."""
    standing, _, why = printable(listed.standing).partition(NOT_RESUMED)
    return f"Run {printable(name)} can't be resumed: {why or standing}."


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run of the list; listed is None until its folder has been read."""

    name: str
    listed: ListedRun | None
    size_bytes: int = 0
    digest: Digest | None = None
    """None until it has been worked out."""

    @property
    def is_living(self) -> bool:
        """True if an engine carries it out."""
        return self.listed is not None and (self.listed.status in _LIVING or self.listed.standing == "starting")

    @property
    def is_open(self) -> bool:
        """True if it can be started or resumed."""
        return self.listed is not None and RESUME in self.listed.standing

    @property
    def is_dead(self) -> bool:
        """True if its engine was killed."""
        return self.listed is not None and self.listed.status == "dead"

    @property
    def is_readable(self) -> bool:
        """True if there is something to open."""
        return self.listed is not None and self.listed.status not in _UNREADABLE

    @property
    def title(self) -> str:
        """Its title, or its name where it has none. Printable."""
        return printable((self.listed.title if self.listed is not None else "").strip() or self.name)


def runs_table(runs: Sequence[RunEntry], sought: str = "", marked: Collection[str] = ()) -> TableValue:
    """Return the list; with a text sought, the runs that have it in title, name or standing."""
    alike = Counter(map(_told_by, runs))
    rows = (
        _row(run, "* " if run.name in marked else "", is_alike=alike[_told_by(run)] > 1)
        for run in runs
        if matches(run, sought)
    )
    return TableValue("run", _COLUMNS, tuple(rows), cuts_names=True)


def _told_by(run: RunEntry) -> tuple[str, str]:
    """Return what tells a run's row from others: title and minute."""
    begun = run.listed.created_wall_ns if run.listed is not None else None
    return run.title, instant(begun) if begun is not None else ""


def matches(run: RunEntry, sought: str) -> bool:
    """Return whether a run has a text somewhere; case doesn't matter."""
    standing = run.listed.standing if run.listed is not None else ""
    return sought.casefold() in f"{run.title} {run.name} {standing}".casefold()


def run_lines(run: RunEntry, directory: str, width: int) -> tuple[TextLine, ...]:
    """Return all that is known of a run: title, standing with what to do, name, beginning, cells, size."""
    lines = text_lines(run.title, width, "strong")
    if run.listed is None:
        return (*lines, TextLine("Not read yet."))
    facts = [run.name]
    if run.listed.created_wall_ns is not None:
        facts.append(f"started {instant(run.listed.created_wall_ns)}")
        unable = run.listed.cell_count - run.listed.runnable
        more = repeated_words(run.listed.runnable, run.listed.repeated)
        facts.append(f"{run.listed.cells_ended} of {counted(run.listed.runnable, 'cell')} ended{more}")
        facts += [f"{unable} can't run"] if unable else []
    facts.append(f"{format_bytes(run.size_bytes)} in {directory}")
    # Where a directory's name is long, the last lines take a key to be seen.
    lines += text_lines(_standing(run, run.listed), width, lead="-> ")
    if run.digest is not None and (run.digest.best or run.digest.why_best):
        best = run.digest.best or "not decided"
        lines += text_lines(f"best: {best}; {run.digest.why_best}; Enter, then A says why", width)
    if run.digest is not None and run.digest.note:
        lines += text_lines(run.digest.note, width)
    lines += text_lines("; ".join(facts), width)
    return (
        *lines,
        *(text_lines(_curve_words(run.digest), width) if run.digest is not None and run.digest.curve else ()),
    )


def _curve_words(digest: Digest) -> str:
    words = "MB/s by cell: durable MB/s of its cells in their order, from 0 to the highest"
    most = -(-digest.cells // len(digest.curve))
    means = "" if most < 2 else f"; {digest.cells} cells in {len(digest.curve)} marks, each the mean of up to {most}"
    return f"{words}{means}"


_HEADS = f"MB/s: cells in order, {_CURVE} marks at most, . slow to # fast; best: the winner"


def heads_words(runs: Sequence[RunEntry], width: int) -> str:
    """Return the rule below the list, with what the heads of figures mean where a run has any."""
    told = f"─ {_HEADS} " if any(run.digest is not None and run.digest.curve for run in runs) else ""
    return f"{told}{'─' * width}"[:width]


def list_words(runs: Sequence[RunEntry], sought: str, directory: str, *, is_listed: bool) -> str:
    """Return the line above the list: how many runs there are and are shown, or why there are none."""
    if not is_listed:
        return "The runs can't be listed; see below."
    if not runs:
        return f"There are no runs in {directory} yet. 2 Plan makes one."
    total = counted(len(runs), "run")
    unread = sum(run.listed is None for run in runs)
    said = f"{total}, {unread} of them not read yet" if unread else total
    shown = sum(matches(run, sought) for run in runs)
    return f"{said}; {shown} with '{printable(sought)}' (escape shows all)" if sought else said


def _row(run: RunEntry, mark: str, *, is_alike: bool) -> TableRow:
    title = f"{mark}{run.title}{f' ({run.name})' if is_alike and run.title != run.name else ''}"
    if run.listed is None:
        return TableRow(run.name, title, ("", "...", "", "", "", ""))
    begun, cells = "-", "-"
    if run.listed.created_wall_ns is not None:
        # The year stands in the pane: what is looked for is seldom a year old.
        begun = instant(run.listed.created_wall_ns)[5:16]
        cells = f"{run.listed.cells_ended}/{run.listed.runnable}"
    tone = "strong" if run.is_living else ""
    # With its reason where that is short.
    said = printable(run.listed.standing).partition(RESUME)[0].partition(", and could not say why")[0]
    said = said.partition(NOT_RESUMED)[0]
    said = (said if cells_of(said) <= _MOST_STANDING else said.partition(": ")[0].partition(", ")[0]) or "-"
    digest = run.digest or Digest()
    best = shorten_middle(digest.best, _MOST_BEST)
    figures = (begun, said, digest.curve, best, cells, format_bytes(run.size_bytes))
    return TableRow(run.name, title, figures, tone=tone)


def _standing(run: RunEntry, listed: ListedRun) -> str:
    said, is_open, _ = printable(listed.standing).partition(RESUME)
    if run.is_living:
        return f"{said}; Enter follows it"
    if not is_open:
        # A dead run whose disk is read-only has no such ending: it says itself what to do.
        return said
    first = "C cleans up, " if listed.status == "dead" else ""
    return f"{said}; {first}r {'starts' if listed.status == 'new' else 'resumes'} it"


# Comparison with another run, or with a published table.


def comparable_lines(runs: Sequence[RunEntry], published: Sequence[Publication]) -> tuple[Line, ...]:
    """Return what a run can be compared with: other runs, the newest first, and published tables, one table each."""
    tables = [of for of in published if len({row.table for row in of.rows}) == 1]
    return (
        *(Line(run.name, f"{run.title} ({run.name})") for run in runs),
        *(Line(of.name, f"published: {of.name}", about=(f"{of.title}. {of.source}, {of.date}.",)) for of in tables),
    )


def comparison_lines(found: SideComparison, width: int) -> list[TextLine]:
    """Return a comparison as `fsconsole compare` prints it."""
    return [TextLine(line) for line in sides_text(found, width).splitlines()]


def published_lines(of: Publication, width: int) -> list[TextLine]:
    """Return a publication alone, in all its columns."""
    return comparison_lines(compare_sides(sides_of([of], ())), width)
