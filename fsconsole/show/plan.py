"""Lines of the Plan screen: arrays, sections, totals, cells with their commands, filesystems, options, variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsconsole import units
from fsconsole.catalog.filesystem import DEFAULT, Catalog, Filesystem
from fsconsole.errors import FsconsoleError
from fsconsole.model.answers import LevelAnswer, PlanAnswer, StepAnswer
from fsconsole.model.plan import ArraySpec, Cell, Plan, Step, array_words
from fsconsole.plan.arrays import ABOUT_LEVELS, LEVELS, array_objections
from fsconsole.plan.draft import NO_ARRAY, Draft, Values, words_of
from fsconsole.plan.expand import array_choices
from fsconsole.plan.keys import ARRAY, Key
from fsconsole.plan.outcome import Outcome, ThisMachine
from fsconsole.plan.planfile import PlanFile, TargetSpec, VariantText
from fsconsole.plan.rows import Candidate
from fsconsole.plan.sizing import pilot_steps
from fsconsole.show.lines import EVERY, OTHER, Chip, Line, Mark, TextLine, block, command_lines
from fsconsole.show.plan_text import STEP_WIDTH, cell_words, rate_words, size_words, writes_of
from fsconsole.text import cells_of, listed, printable, shorten_end, shorten_middle

MADE = "made"
"""Prefix of the keys of lines that list the resulting arrays."""
KNOBS = {key.name: key for key in ARRAY if key.name != "level"}
_MOST_LINES = 200
_MOST_NAMED = 60


def array_lines(
    plan: PlanFile, counted: Plan | None, lacks: Mapping[str, LevelAnswer] | None = None
) -> tuple[Line, ...]:
    """Return a line for each level and knob of each table, and for each array that comes of them.

    counted is what the plan comes to on the devices that are ticked, None where that isn't known; lacks is why
    levels are not made on this machine.
    """
    tables = plan.arrays or (NO_ARRAY,)
    lines = []
    for number, axis in enumerate(tables):
        which, said = f" ({number + 1})" if len(tables) > 1 else "", words_of(axis)
        about = f"Level{which}: all ticked devices are members"
        lines.append(Line(f"levels {number}", about, is_heading=True))
        lines += [_level(level, number, (lacks or {}).get(level), is_ticked=level in axis.levels) for level in LEVELS]
        lines.append(Line(f"knobs {number}", f"Knobs{which}", is_heading=True))
        lines += [knob_line(key, f"{name} {number}", said.get(name, ())) for name, key in KNOBS.items()]
    return (*lines, *_made(plan, counted))


def chips_of(
    offered: Sequence[str], now: Sequence[str], refused: Collection[str] = (), *, is_typed: bool = False
) -> tuple[Chip, ...]:
    """Return the default and the values of something, those that are set ticked; last a chip for typed ones."""
    values = (value for value in dict.fromkeys((*offered, *now)) if value != DEFAULT)
    own = (Chip(value, value in now, value in refused and value not in now) for value in values)
    return (Chip(DEFAULT, DEFAULT in now, is_implied=not now), *own, *((Chip(OTHER),) if is_typed else ()))


def ticked_values(chips: Sequence[Chip], value: str, *, compares_default: bool = True) -> tuple[str, ...]:
    """Return the values after a chip was ticked, or unticked, or EVERY one; where none is left the default applies.

    A default that no value stands for can't be compared: ticking it unticks the others.
    """
    if value == EVERY:
        every = [chip for chip in chips if chip.value not in {DEFAULT, OTHER} and not chip.is_barred]
        return () if all(chip.is_on for chip in every) else tuple(chip.value for chip in every)
    if value == DEFAULT and not compares_default:
        return ()
    return tuple(chip.value for chip in chips if chip.is_on != (chip.value == value))


def knob_line(key: Key, line_key: str, values: tuple[str, ...]) -> Line:
    """Return the line of a setting, or of a knob of arrays, with its values as chips."""
    told = [key.help, "default: left as it is, and not compared."]
    if key.levels != LEVELS:
        told.append(f"Only {', '.join(key.levels)}: another level {key.lacks}.")
    chips = chips_of(key.offered, values, is_typed=key.kind.is_typed)
    return Line(line_key, key.name, about=tuple(told), found_by=" ".join(values), chips=chips)


def _level(level: str, number: int, lack: LevelAnswer | None, *, is_ticked: bool) -> Line:
    key, mark = f"{level} {number}", Mark.ON if is_ticked else Mark.OFF
    if lack is None:
        told = "Several levels are compared; none: no array, each device is a target."
        return Line(key, level, mark, about=(ABOUT_LEVELS[level], told), found_by="level")
    # A level of a plan file for another machine can be unticked; none can be ticked anew.
    return Line(
        key,
        level,
        mark if is_ticked else Mark.BARRED,
        "not here",
        (f"Not here. {lack.remedy} Why: {lack.unavailable}.", ABOUT_LEVELS[level]),
        is_faint=not is_ticked,
        found_by="level",
    )


def _made(plan: PlanFile, counted: Plan | None) -> Iterator[Line]:
    specs = made_arrays(plan)
    # Arrays of which no cell can run, with the reasons of the first.
    reasons: dict[ArraySpec, str] = {}
    for cell in counted.cells if counted is not None else ():
        if cell.array is not None and reasons.setdefault(cell.array, cell.unavailable):
            reasons[cell.array] = reasons[cell.array] if cell.unavailable else ""
    if specs:
        yield Line(f"{MADE} heading", "Arrays", is_heading=True)
    for number, spec in enumerate(specs[:_MOST_LINES]):
        key, words, why = f"{MADE} {number}", array_words(spec, 0), reasons.get(spec)
        if why := why or "; ".join(array_objections(spec)):
            about = (f"It can't be made: {why}.",)
            yield Line(key, words, Mark.BARRED, "can't be made", about, is_faint=True, wraps=True)
        else:
            yield Line(key, words, about=("Made and stopped again in every cell of its own.",), wraps=True)
    if len(specs) > _MOST_LINES:
        more = f"... and {len(specs) - _MOST_LINES:,} more, which are not listed."
        yield Line(f"{MADE} more", more, is_heading=True)


def made_arrays(plan: PlanFile) -> tuple[ArraySpec, ...]:
    """Return the arrays that a draft compares; none where they can't be counted out."""
    try:
        return tuple(spec for spec in array_choices(plan) if spec is not None)
    except FsconsoleError:
        # Too many: the totals say so in the reader's words.
        return ()


def section_lines(  # noqa: PLR0913 (each is a fact of its own)
    draft: Draft, counted: Draft, outcome: Outcome, catalog: Catalog, here: ThisMachine, *, with_variants: bool
) -> tuple[Line, ...]:
    """Return filesystems with the variants that each comes to, and the other sections; above them a line that starts the plan.

    outcome is that of counted, which may be an older draft; with_variants: where these have no pane of their own.
    """
    rows = [candidate for candidate in outcome.candidates if candidate.is_row]
    counts = Counter(counted.checklists[each.number] for each in rows if each.of_checklist)
    lacks = {counted.checklists[number]: why for number, why in _warnings(outcome).items()}
    lines = [
        _filesystem(draft, filesystem, number, counts, here, "" if number is None else lacks.get(number, ""))
        for filesystem in catalog.filesystems
        for number in (checklists_of(draft, filesystem.name) or (None,))
    ]
    others = (
        ("words", "Custom", len(draft.variants)),
        ("workloads", "Workloads", len(draft.plan.workloads)),
        ("arrays", "Arrays", len(made_arrays(draft.plan))),
        ("settings", "Settings", len(draft.plan.settings)),
        ("run", "Rounds +", 0 if draft.plan.is_auto else draft.plan.repeats),
        # What arises from all of the above.
        *((("variants", "Variants", len(rows)),) if with_variants else ()),
    )
    begin = Line(START, "Run..", about=("Confirm what is wiped, and run the plan: enter, or f10.",))
    return (begin, *lines, *(Line(key, name, value=_short(count)) for key, name, count in others))


def _filesystem(  # noqa: PLR0913, PLR0917 (each is a fact of its own)
    draft: Draft, filesystem: Filesystem, number: int | None, counts: Mapping[int, int], here: ThisMachine, warning: str
) -> Line:
    lacks = here.why_not(filesystem)
    is_on = number is not None and number not in draft.off_checklists
    off = Mark.BARRED if lacks else Mark.OFF if here.is_asked else Mark.UNKNOWN
    mark = Mark.ON if is_on else off
    about = (
        *([f"It can't be used here: {lacks}"] if lacks else ()),
        *(() if here.is_asked else ["Not known yet whether it can be used here."]),
        f"{filesystem.title}.",
        *([f"Driver: {filesystem.driver}."] if filesystem.driver != f"the {filesystem.name} driver" else ()),
        f"Check: {filesystem.check_note}.",
    )
    key = f"options {number}" if number is not None else f"{NEW} {filesystem.name}"
    name = checklist_name(draft, number) if number is not None else filesystem.name
    rows = 0 if number is None else counts[number]
    value = f"{_short(rows) or 0}!" if warning and is_on else _short(rows)
    return Line(key, name, mark, value, about, warning if is_on else "", is_faint=mark is Mark.BARRED)


def _left_out(candidate: Candidate) -> str:
    """Return why a variant is left out, as a clause; empty where it is a row, or was unticked."""
    if candidate.is_row or candidate.is_excluded:
        return ""
    return candidate.broken or "same as a variant above"


def _warnings(outcome: Outcome) -> dict[int, str]:
    """Return what keeps variants of a checklist from running, by its number in the plan that was counted."""
    cells = outcome.plan.cells if outcome.plan is not None else ()
    unable = {cell.variant.label: cell.unavailable for cell in reversed(cells)}
    found: dict[int, list[tuple[str, str]]] = {}
    for candidate, label in zip(outcome.candidates, outcome.labels, strict=True):
        out, why = _left_out(candidate), unable.get(label, "") if candidate.is_row else ""
        if candidate.of_checklist and (out or why):
            found.setdefault(candidate.number, []).append(("left out", out) if out else ("can't run", why))
    return {
        number: f"{len(lacks)} {lacks[0][0]}: {lacks[0][1]}{_and_more([why for _, why in lacks])}."
        for number, lacks in found.items()
    }


def _and_more(whys: Sequence[str]) -> str:
    more = len(set(whys)) - 1
    return f"; and {more} more" if more else ""


def warning_line(outcome: Outcome, width: int) -> str:
    """Return why variants are left out and cells can't run, in a line; empty where there are none.

    Where it has no room for all, the first reason whole is worth more than the beginning of several.
    """
    cells = outcome.plan.cells if outcome.plan is not None else ()
    told = (
        ("left out", [why for why in map(_left_out, outcome.candidates) if why]),
        ("can't run", [cell.unavailable for cell in cells if cell.unavailable]),
    )
    first = [(f"{len(whys)} {lack}: {whys[0]}", _and_more(whys)) for lack, whys in told if whys]
    if not first:
        return ""
    ways = ("; ".join(words + more for words, more in first), "".join(first[0]), first[0][0])
    return next((words for words in map(printable, ways) if cells_of(words) <= width), shorten_end(ways[-1], width))


START = "start"
"""Key of the line that starts the run."""
TOPS = {
    "lines": "This is the first line: enter opens it, or ticks the value at the cursor; esc goes to the filesystems.",
    "rows": "This is the first line; left goes to the options.",
}
"""Message, by list of the screen, where there is nothing above the cursor."""
NEW = "new"
"""Prefix of the keys of filesystems that the draft says nothing of yet."""


def _short(count: int) -> str:
    return "" if not count else str(count) if count < 1000 else f"{count // 1000}k"


def checklists_of(draft: Draft, filesystem: str) -> tuple[int, ...]:
    """Return the positions of a filesystem's checklists, ticked or not."""
    return tuple(number for number, each in enumerate(draft.plan.checklists) if each.filesystem == filesystem)


def checklist_name(draft: Draft, number: int) -> str:
    """Return a checklist's name: its filesystem, counted where there are several of it."""
    name = draft.plan.checklists[number].filesystem
    place = checklists_of(draft, name).index(number) + 1
    return f"{name} ({place})" if place > 1 else name


def totals(
    outcome: Outcome | None,
    disks: Sequence[TargetSpec],
    missing: Sequence[str],
    width: int,
    reading: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the totals of the draft, and its devices, of which some may still be read: two lines of at most width cells."""
    if reading or outcome is None:
        read = shorten_end(f"Reading {', '.join(reading)} ...", width)
        return "counting ...", read if reading else _devices(disks, missing, width)
    if outcome.plan is None:
        return outcome.problem, outcome.hint
    plan = outcome.plan
    out = sum(map(bool, map(_left_out, outcome.candidates)))
    is_out = f" ({out} left out)" if out else ""
    if not plan.cells and out:
        return f"0 variants{is_out}, 0 cells.", _devices(disks, missing, width)
    if not plan.cells:
        first = "0 variants, 0 cells. No variant is ticked."
        second = "To start: tick a filesystem, or one of the variants; raw is under Rounds."
        return shorten_end(first, width), shorten_end(second, width)
    rows = len({cell.variant.label for cell in plan.cells})
    stuck = sum(1 for cell in plan.cells if cell.unavailable)
    can = f" ({stuck} can't run)" if stuck else ""
    size, rate = size_words(plan.estimate), rate_words(plan.estimate)
    lasts = units.format_guess(plan.estimate.elapsed_s)
    counts = f"{_count(rows, 'variant')}{is_out}, {_count(len(plan.cells), 'cell')}{can}"
    if not disks and not missing:
        # What is written depends on the device's size: a figure for none would only alarm.
        return shorten_end(f"{counts}; about {lasts}, {rate}", width), _devices(disks, missing, width)
    first = f"{counts}; {size}, about {lasts}"
    if cells_of(first) > width:
        # The most a pilot may choose is said with each load, and which loads a time limit ends too.
        size = size_words(plan.estimate, is_short=True)
        first = f"{counts}; {size.replace(' to write', '') if is_out and can else size}, about {lasts}"
    first = shorten_end(first, width)
    return first, _devices(disks, missing, width, rate, together=plan.cells[0].array is not None)


def name_line(draft: Draft, unsaved: str, width: int, rows: Sequence[str] = (), shared: Sequence[str] = ()) -> str:
    """Return the plan's title, the file it came from, what is unsaved of it; and rows, as far as there is room.

    shared is what the names of the rows leave out: it goes where not one of them would fit beside it. A title that is
    made of the rows' names isn't followed by them.
    """
    title = printable(draft.title) or "(no title)"
    tail = "; ".join(filter(None, (printable(draft.plan.path), unsaved)))
    tail = f"  ({tail})" if tail else ""
    room = max(width // 3, width - cells_of(tail))
    name = shorten_middle(shorten_end(title, room) + tail, width)
    names, every = tuple(map(printable, rows)), "".join(f"; {words}" for words in shared)
    if title.startswith(f"{', '.join(names)}: "):
        return name + every if cells_of(name + every) <= width else name
    beside = listed(names, lambda words: cells_of(f"{name}: {words}{every}") <= width)
    told = f"{beside}{every}" if beside else listed(names, lambda words: cells_of(f"{name}: {words}") <= width)
    return f"{name}: {told}" if told else name


def row_names(outcome: Outcome) -> tuple[str, ...]:
    """Return the names of the variants that a draft comes to, as many as a line could hold."""
    named = zip(outcome.candidates[:_MOST_NAMED], outcome.labels, strict=False)
    return tuple(label for candidate, label in named if candidate.is_row)


def unable(outcome: Outcome) -> str:
    """Return why not a single cell can run; empty where one can."""
    if outcome.plan is None:
        return f"{outcome.problem} {outcome.hint}".strip()
    cells = outcome.plan.cells
    if any(not cell.unavailable for cell in cells):
        return ""
    reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in cells))
    return f"No cell of this plan can run: {reasons or 'no variant is ticked'}."


def _devices(
    disks: Sequence[TargetSpec], missing: Sequence[str], width: int, rate: str = "", *, together: bool = False
) -> str:
    """Return the devices in a line, with the rate that the estimate takes where that is known and has room."""
    if missing:
        return shorten_middle(f"{', '.join(missing)}: not there any more; tick another (1).", width)
    if not disks:
        return shorten_end("No device is ticked: 1 leads to them. How much is written depends on it.", width)
    named = (f"{disk.path} ({units.format_bytes(disk.size_bytes)})" for disk in disks)
    where = "on arrays of" if together else "on"
    whole = printable(f"{where} {', '.join(named)}")
    if cells_of(f"{whole}, {rate}") <= width and rate:
        return f"{whole}, {rate}"
    if cells_of(whole) <= width:
        return whole
    names = " ".join(disk.path.removeprefix("/dev/") for disk in disks)
    return shorten_middle(printable(f"{where} {len(disks)} devices: {names}"), width)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def cell_lines(cells: Sequence[Cell]) -> tuple[Line, ...]:
    """Return a line for each cell, in the order in which they run: its variant, and what else it differs in."""
    aspects = [(f"#{cell.repeat}", *cell_words(cell)) for cell in cells]
    differing = [number for number, column in enumerate(zip(*aspects, strict=True)) if len(set(column)) > 1]
    return tuple(
        Line(
            _key(cell.index),
            f"{cell.index + 1}. {cell.variant.label}",
            value=", ".join((*(told[n] for n in differing), *(["can't run"] if cell.unavailable else []))),
            is_faint=bool(cell.unavailable),
            wraps=True,
        )
        for cell, told in zip(cells, aspects, strict=True)
    )


def pilot_lines(tried: Sequence[Cell]) -> tuple[Line, ...]:
    """Return a line for each cell that a pilot of loads is made of."""
    return tuple(
        Line(
            _key(cell.index, "pilot"),
            f"Pilot on {cell.variant.label}",
            value="no cell: sizes the loads before the first",
            wraps=True,
        )
        for cell in tried
    )


StepLine = str | tuple[str, ...]
"""A line of text, or the words of a command."""


def commands_by_cell(answer: PlanAnswer, tried: Sequence[Cell] = ()) -> dict[str, tuple[StepLine, ...]]:
    """Return the steps of each cell of a plan's answer, by the key of its line; of pilots likewise."""
    found: dict[str, tuple[StepLine, ...]] = {}
    of_pilots = {cell.index: cell for cell in tried}
    for cell in answer.cells:
        lines = [f"It can't run: {cell.unavailable}"] if cell.unavailable else []
        found[_key(cell.number - 1)] = (*lines, *_steps((step, step) for step in cell.steps))
        if cell.number - 1 in of_pilots:
            steps = (
                (step, cell.steps[at]) for at, step in pilot_steps(of_pilots[cell.number - 1]) if at < len(cell.steps)
            )
            found[_key(cell.number - 1, "pilot")] = tuple(_steps(steps))
    return found


def _steps(steps: Iterable[tuple[Step | StepAnswer, StepAnswer]]) -> Iterator[StepLine]:
    """Yield what each step is called, then the commands of the one beside it, and the settings that it writes."""
    for said, step in steps:
        yield f"{said.kind.words:<{STEP_WIDTH}}{said.title}"
        yield from step.commands
        yield from (f"  {line}" for line in writes_of(step))


def told_lines(told: Iterable[StepLine], width: int) -> list[TextLine]:
    """Return the steps of a cell in lines; a broken command can be copied, other text goes on below its beginning."""
    return [
        row
        for one in told
        for row in (
            block(one, width, is_whole=True) if isinstance(one, str) else command_lines(one, width, lead="  $ ")
        )
    ]


def _key(index: int, what: str = "cell") -> str:
    return f"{what} {index + 1}"


_MOST_ROWS = 20_000
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
    rows = []
    checklists, variants = draft.checklists, draft.variants
    for place, candidate in enumerate(outcome.candidates[:_MOST_ROWS]):
        number = (checklists if candidate.of_checklist else variants)[candidate.number]
        line = _candidate(f"row {place}", outcome.labels[place], candidate)
        rows.append(RowLine(line, number, candidate.of_checklist, candidate.values))
    for number in sorted(draft.off_variants):
        words = variant_words(draft.plan.variants[number])
        rows.append(RowLine(Line(f"off {number}", words, Mark.OFF, wraps=True), number, of_checklist=False))
    return tuple(rows)


def shared_told(outcome: Outcome) -> tuple[str, ...]:
    """Return the options that all variants of a filesystem share, by filesystem; the names of variants leave them out."""
    shared = outcome.shared
    told = {f"all {name}" if len(shared) > 1 else "all": " ".join(words) for name, words in shared.items() if words}
    return tuple(f"{who}: {words}" for who, words in told.items())


def left_over(outcome: Outcome) -> str:
    """Return a sentence on what the list doesn't show; empty where it shows all."""
    more = len(outcome.candidates) - _MOST_ROWS
    return f"... and {more:,} more, which are not listed." if more > 0 else ""


def variant_words(variant: VariantText) -> str:
    """Return a variant in words: its label, or what it is made by."""
    return variant.label or " ".join(filter(None, (variant.filesystem, variant.mkfs, variant.mount, variant.tune)))


def variant_about(variant: VariantText) -> tuple[str, ...]:
    """Return by which words a variant is made, and what a publication calls it."""
    told = (
        f"{variant.filesystem}: mkfs {variant.mkfs or '(defaults)'}",
        f"mount {variant.mount or '(defaults)'}",
        f"tune {variant.tune}" if variant.tune else "",
        f"As printed: {variant.as_printed}" if variant.as_printed else "",
    )
    return tuple(filter(None, told))


def _candidate(key: str, label: str, candidate: Candidate) -> Line:
    variant, unavailable = candidate.variant, candidate.unavailable
    mark, value, about = Mark.ON, "", []
    if candidate.broken:
        mark, value, about = Mark.BARRED, "left out", [f"Left out: {candidate.broken}."]
    elif candidate.is_double:
        mark, value, about = Mark.BARRED, "the same", ["Left out: same as a variant above."]
    elif unavailable:
        value = "can't run"
    if candidate.is_excluded:
        mark, value = Mark.OFF, ""
    if unavailable:
        about.append(f"It can't run here: {unavailable}.")
    words = (" ".join(variant.mkfs_words), ",".join(variant.mount_words), " ".join(variant.tune_words))
    about += variant_about(VariantText(variant.filesystem, *words, as_printed=variant.as_printed))
    is_faint = not candidate.is_row or bool(unavailable)
    return Line(key, label, mark, value, tuple(about), is_faint=is_faint, wraps=True)
