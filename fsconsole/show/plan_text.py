"""The text of `fsconsole plan` and of `fsconsole resume --show`, and a target's lines for Confirm."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from fsconsole import units
from fsconsole.devices.hazards import HIDDEN_INIT, HIDDEN_PROCESS
from fsconsole.model.answers import DirectoryAnswer, Findable, PlanAnswer, PowerAnswer, StepAnswer, TargetAnswer
from fsconsole.model.device import DeviceKind, Verdict
from fsconsole.model.plan import (
    Cell,
    Equalise,
    Estimate,
    Plan,
    Step,
    Variant,
    array_aspects,
    array_words,
    arrays_in_words,
)
from fsconsole.model.statistics import LOOKS
from fsconsole.model.workload import Workload
from fsconsole.plan.expand import equalise_bytes
from fsconsole.plan.requirements import limits_in_words
from fsconsole.plan.sizing import pilot_steps, pilots, sizes_in_words
from fsconsole.show.lines import command_parts
from fsconsole.text import cells_of, counted, hanging, pad_right, printable, shell_lines, shorten_end

STEP_WIDTH = 20
"""Of the longest name, "wait for idle disk", and a gap."""
_LOOKS = f"{', '.join(map(str, LOOKS[:-1]))} or {LOOKS[-1]}"
_WIDEST_NUMBERS = 16
"""The cells of twenty repeats push one variant to the right, rather than all."""
_MOST_NUMBERS = 40
"""Characters of the numbers of a row's cells that are listed one by one."""


def plan_lines(  # noqa: PLR0913 (each is a fact of its own)
    plan: Plan,
    targets: Sequence[TargetAnswer],
    agreeing: str,
    power: PowerAnswer | None = None,
    *,
    every: bool,
    width: int,
) -> Iterator[str]:
    """Yield the plan line by line: targets, cells in order, commands, costs, and the command that agrees to it.

    Cells have a line each; the first that can run is shown with its commands, with every all are. No line takes
    more than width cells, except for commands.
    """
    yield from _head(plan, width)
    if targets:
        yield from _targets(targets, width)
    else:
        nothing = "No device was given: nothing was read, and commands show the word DEVICE."
        yield from hanging("", f"{nothing} {cleared_words(plan.cells)}".rstrip(), width)
    yield from _arrays(plan.cells, width, is_named=bool(targets))
    yield from _life(plan, power, targets, every=every, width=width)
    yield from hanging("", "The filesystem UUIDs above are an example: every run makes new ones.", width)
    yield from _closing(targets, "To agree to the loss:", agreeing, width)


_BY_DEVICE = frozenset({Equalise.DISCARD, Equalise.ZERO})


def cleared_words(cells: Sequence[Cell]) -> str:
    """Return what commands for no device in particular leave open; empty where every device gets the same ones."""
    if all(cell.equalise not in _BY_DEVICE for cell in cells):
        return ""
    return "What clears DEVICE before a cell depends on it: a disk with discard is shown, a scratch device is zeroed."


def short_plan_lines(  # noqa: PLR0913 (as plan_lines)
    plan: Plan,
    targets: Sequence[TargetAnswer],
    agreeing: str,
    power: PowerAnswer,
    *,
    notes: Sequence[str],
    width: int,
    goes_on: bool = False,
) -> Iterator[str]:
    """Yield a plan for a screen of 24 lines: rows, loads, targets, costs; its cells and steps are left out.

    goes_on is True where the command asks, or starts, right after it.
    """
    reasons = {cell.variant.label: cell.unavailable for cell in plan.cells}
    labels = sorted(reasons, key=lambda label: label != plan.baseline)
    lasts = units.format_guess(power.round_s * power.rounds)
    yield from hanging(
        "", printable(f"{plan.title}: {counted(len(plan.cells), 'cell')} in {counted(plan.repeats, 'round')}"), width
    )
    yield from hanging("rows   ", printable(", ".join(labels)), width)
    for why in dict.fromkeys(filter(None, reasons.values())):
        unable = ", ".join(label for label in labels if reasons[label] == why)
        yield from hanging("       ", printable(f"{unable} cannot run: {why}"), width)
    yield from hanging("loads  ", printable(", ".join(map(_load_words, plan.cells[0].workloads))), width)
    for target in targets:
        for number, (text, _) in enumerate(target_told(target)):
            yield from hanging("       " if number else "wipes  ", text.strip(), width)
    rate = units.format_rate(plan.estimate.assumed_bytes_per_s)
    limit = f" at {rate}" if plan.estimate.timed_bytes and not plan.estimate.timed_s else ""
    size = size_words(plan.estimate, f"written{limit}{_of_it(plan.cells, targets)}")
    yield from hanging("costs  ", f"{size}, est. {lasts}", width)
    yield from hanging("finds  ", _short_power(power), width)
    for note in notes:
        yield from hanging("note   ", printable(note), width)
    yield from _closing(targets, "To agree to the loss:", agreeing, width, goes_on=goes_on)


def _short_power(power: PowerAnswer) -> str:
    if power.no_verdicts:
        return power.no_verdicts
    found = ", ".join(map(_found, power.findable[:-1])).replace(" at ", " where rounds vary by ", 1)
    return f"a difference of {found}" + (f"; last run here: {_found(power.last)}" if power.last else "")


def _load_words(load: Workload) -> str:
    told = (
        load.kind.value if load.kind.value != load.name else "",
        counted(load.threads, "thread") if load.threads > 1 else "",
        "cold" if load.cold else "",
    )
    words = ", ".join(filter(None, told))
    return f"{load.name} ({words})" if words else load.name


def directory_plan_lines(  # noqa: PLR0913 (as plan_lines)
    plan: Plan,
    directories: Sequence[DirectoryAnswer],
    command: str,
    power: PowerAnswer | None = None,
    *,
    every: bool,
    width: int,
) -> Iterator[str]:
    """Yield a plan for directories line by line: where it writes what, cells, steps, costs, and the command that runs it."""
    yield from _head(plan, width)
    yield from ("", "Directories, in which nothing is formatted:")
    for one in directories:
        is_named = one.label != one.path
        free = f"{units.format_bytes(one.place.free_bytes)} of {units.format_bytes(one.place.size_bytes)} free"
        facts = f"{f'{one.label}: ' if is_named else ''}{one.path}  {one.place.words}, {free}"
        yield from hanging("  ", printable(facts), width)
        yield from hanging("    ", printable(one.writes) + ".", width)
    yield from _life(plan, power, (), every=every, width=width)
    yield from hanging("", "The directory's name above is an example: every run has its own.", width)
    yield "No consent is needed: nothing is wiped. To run it:"
    yield from shell_lines(command_parts(shlex.split(command)), width, lead="    ")
    yield "Nothing was touched."


def _life(
    plan: Plan, power: PowerAnswer | None, targets: Sequence[TargetAnswer], *, every: bool, width: int
) -> Iterator[str]:
    """Yield the cells, the steps of pilots and of cells, and what they cost."""
    yield from _cells(plan.cells, width)
    for cell in pilots(plan):
        yield ""
        yield from hanging("", f"Pilot on {printable(cell.variant.label)}, before the first cell of its loads:", width)
        yield from _steps((step for _, step in pilot_steps(cell)), width)
    able = [cell for cell in plan.cells if not cell.unavailable]
    for cell in plan.cells if every else able[:1]:
        yield ""
        yield from hanging(
            "", f"Cell {cell.index + 1}, step by step{'' if every else ' (--commands: every cell)'}:", width
        )
        yield from _steps(cell.steps, width)
    lasts = units.format_guess(plan.estimate.elapsed_s)
    yield ""
    for said in (*sizes_in_words(plan), *limits_in_words(plan)):
        yield from hanging("", printable(said) + ".", width)
    size = size_words(plan.estimate, f"to write{_of_it(able, targets)}")
    early = f"; less if it ends after round {' or '.join(map(str, LOOKS[:-1]))}" if plan.is_auto else ""
    yield from hanging("", f"Costs: {size}; about {lasts}, {rate_words(plan.estimate)}{early}.", width)
    if power is not None:
        # No line ends between a number and its sign.
        told = power_words(power).replace(" %", "\N{NO-BREAK SPACE}%")
        yield from (line.replace("\N{NO-BREAK SPACE}", " ") for line in hanging("", told, width))


def _steps(steps: Iterable[Step], width: int) -> Iterator[str]:
    for step in steps:
        yield from hanging(f"  {step.kind.words:<{STEP_WIDTH}}", printable(step.title), width)
        # Commands stay whole, to be copied from a file as well.
        yield from (printable(f"    $ {shlex.join(argv)}") for argv in step.commands)
        yield from (f"    {line}" for line in writes_of(step))


def _of_it(cells: Sequence[Cell], targets: Sequence[TargetAnswer]) -> str:
    """Return which part of what is written makes devices equal, as a clause; empty where none is."""
    sizes = {target.path: target.size_bytes for target in targets}
    able = [cell for cell in cells if not cell.unavailable and sizes.keys() >= set(cell.devices)]
    written_bytes = sum(equalise_bytes(cell, sizes) for cell in able)
    if not written_bytes:
        return ""
    word = "fill" if any(cell.equalise is Equalise.PRECONDITION for cell in able) else "zero"
    what = "the device" if len(sizes) == 1 else "the devices"
    return f" ({units.format_bytes(written_bytes)} of it to {word} {what} before each cell)"


def size_words(of: Estimate | PlanAnswer, verb: str = "to write", *, is_short: bool = False) -> str:
    """Return what is written: "about 3 GiB, at most 12 GiB to write" where a pilot sizes loads.

    Where only time ends some, "3 GiB to write and 15 min of timed loads". verb stands behind the bytes; is_short is True for a
    line without room for the most that a pilot may choose.
    Time at the assumed rate would be no limit to go by: a load of small files that are synced writes a hundredth of that.
    """
    if of.timed_bytes and not of.timed_s:
        return f"up to {units.format_bytes(of.bytes_to_write)} {verb}"
    lasts = units.format_guess(of.timed_s).removesuffix(" 00 s")
    timed = f" and {lasts} of {'' if is_short else 'timed '}loads" if of.timed_s else ""
    most_bytes, likely_bytes = of.bytes_to_write - of.timed_bytes, of.likely_bytes - of.timed_bytes
    if likely_bytes in (0, most_bytes):
        return f"{units.format_bytes(most_bytes)} {verb}{timed}"
    most = f", at most {units.format_bytes(most_bytes)}" if most_bytes > likely_bytes and not is_short else ""
    return f"about {units.format_bytes(likely_bytes)}{most} {verb}{timed}"


def rate_words(of: Estimate | PlanAnswer) -> str:
    """Return by which rate a duration was estimated, and where that comes from: "at 500 MB/s (assumed)"."""
    return f"at {units.format_rate(of.assumed_bytes_per_s)} ({of.rate_from.words})"


_LARGEST_SHOWN = 10.0
"""Share above which a difference has no figure: nothing that large needs a test."""


def power_words(power: PowerAnswer) -> str:
    """Return what a plan can find: "5 rounds of 13 cells find a difference of 26 % where rounds vary by 5 %, ...; each round +6 min"."""
    head, *parts = power_lines(power)
    told = f"{head} {'; '.join(parts)}." if parts else head
    return f"{told} {DECIDES_LITTLE}" if decides_little(power) else told


def power_lines(power: PowerAnswer) -> tuple[str, ...]:
    """Return the same in short lines, of which only a plan without verdicts needs a sentence."""
    if power.no_verdicts:
        return (power.no_verdicts,)
    rounds = f"{counted(power.rounds, 'round')}{f' (auto: {_LOOKS})' * power.is_auto}"
    return (
        f"{rounds} of {counted(power.row_count, 'cell')} find a difference of",
        ", ".join(map(_found, power.findable)).replace(" at ", " where rounds vary by ", 1),
        *((f"last run here: {_found(power.last)}",) if power.last else ()),
        f"each round +{units.format_guess(power.round_s)}",
    )


_HUGE = 0.5
"""Difference that hardly any two filesystems have: a plan that finds only larger ones decides nothing."""
DECIDES_LITTLE = "That decides hardly anything: plan more rounds, or longer loads, whose rounds vary less."


def _usual(power: PowerAnswer) -> Findable:
    """Return what is found at the spread of the last run, else at that of a usual disk."""
    return power.last if power.last is not None else power.findable[len(power.findable) // 2]


def decides_little(power: PowerAnswer) -> bool:
    """Return whether a plan finds only differences that hardly any two filesystems have."""
    return bool(power.findable) and _usual(power).difference > _HUGE


def power_line(power: PowerAnswer, width: int) -> str:
    """Return the same in a line of at most width cells: with the spread of the last run alone, where that is known.

    A plan that decides little has what to do about it in its place.
    """
    if decides_little(power):
        least, spread = f"{100 * min(_usual(power).difference, _LARGEST_SHOWN):,.0f} %", _percent(_usual(power).spread)
        source = " (last run)" if power.last is not None else ""
        head, adds = f"Finds nothing below {least} if rounds vary by {spread}", _adds_rounds(power)
        return _first_that_fits((f"{head}{source}: {adds}", f"{head}: {adds}", f"{head}: {_ADDS}"), width)
    words = power_words(power)
    if cells_of(words) > width and not power.no_verdicts:
        shown, lead = (power.findable, "") if power.last is None else ((power.last,), "as in the last run, ")
        found = [f"{_percent(one.difference)} if rounds vary {lead}by {_percent(one.spread)}" for one in shown]
        words = f"Finds differences of {', '.join((found[0], *(told.replace('if rounds vary ', '') for told in found[1:])))}"
    return shorten_end(words, width)


_ADDS = "+ adds rounds"


def _adds_rounds(power: PowerAnswer) -> str:
    return f"{_ADDS}, {units.format_guess(power.round_s)} each"


def busy_line(power: PowerAnswer, load: float, cpus: int, width: int) -> str:
    """Return what a busy machine means for a plan's estimates, in a line of at most width cells; empty on a quiet one.

    load is the load average. A plan without verdicts has more to say of itself.
    """
    if load <= cpus or power.no_verdicts:
        return ""
    head = f"Busy: load {load:.1f} on {counted(cpus, 'CPU')}."
    adds = _adds_rounds(power)
    ways = (
        f"{head} Time and differences are for a quiet machine; {adds}",
        f"{head} Est. is for a quiet machine; {adds}",
        f"{head} Est. is for a quiet machine; {_ADDS}",
    )
    return _first_that_fits(ways, width)


def _first_that_fits(ways: Sequence[str], width: int) -> str:
    return next((words for words in ways if cells_of(words) <= width), shorten_end(ways[-1], width))


def _found(one: Findable) -> str:
    return f"{_percent(one.difference)} at {_percent(one.spread)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < _LARGEST_SHOWN else f"over {100 * _LARGEST_SHOWN:,.0f} %"


def renewal_lines(  # noqa: PLR0913 (each is a fact of its own)
    plan: Plan,
    targets: Sequence[TargetAnswer],
    command: str,
    proven: Sequence[TargetAnswer] = (),
    sentences: Sequence[str] = (),
    *,
    width: int,
) -> Iterator[str]:
    """Yield what is left of a run, the loss that needs consent again, and the command that resumes it.

    plan holds only the cells that are left; targets are empty where nothing has to be asked, proven are the others.
    sentences say what was interrupted, lost and kept.
    """
    yield from _head(plan, width)
    for sentence in sentences:
        yield from hanging("", sentence, width)
    if targets:
        yield from _targets(targets, width)
    if proven:
        yield from ("", "Devices to wipe again, each as the run left it:")
    for target in proven:
        told = "; ".join(filter(None, (f"{target.path}  {target_facts(target)}", target.stands_on)))
        yield from hanging("  ", printable(told), width)
    yield from _arrays(plan.cells, width, is_named=True)
    yield from _cells(plan.cells, width)
    yield ""
    needed, not_needed = "To agree to the loss and resume:", "No new consent is required. To resume:"
    yield from _closing(targets, needed if targets else not_needed, command, width)


def writes_of(step: Step | StepAnswer) -> list[str]:
    """Return the settings that a step writes, printable."""
    return [printable(f"write {w.value} to {w.path}") for w in step.writes]


def cell_words(cell: Cell) -> tuple[str, ...]:
    """Return what cells may differ in beside variant and repeat; all cells of a plan give equally many words."""
    counts = [str(workload.threads) for workload in cell.workloads]
    threads = counts[0] if len(set(counts)) == 1 else ",".join(counts)
    blocks = ",".join(units.format_bytes_exact(workload.block_size_bytes) for workload in cell.workloads)
    words = (
        "" if cell.variant.is_raw else f"threads {threads}",
        "" if cell.variant.is_raw else f"blocks {blocks}",
        *(f"{name}={value}" for name, value in cell.setting.values),
        *array_aspects(cell.array, len(cell.members)),
        "" if cell.variant.is_directory and cell.variant.label == cell.target else cell.target,
    )
    return tuple(map(printable, words))


def _head(plan: Plan, width: int) -> Iterator[str]:
    running = sum(1 for cell in plan.cells if not cell.unavailable)
    able = "" if running == len(plan.cells) else f", {running} of them can run"
    rounds = counted(plan.repeats, "round") + f" (auto: {_LOOKS})" * plan.is_auto
    counts = f"{counted(len(plan.cells), 'cell')}{able}; {rounds}, order {plan.order.value}, seed {plan.seed}"
    yield from hanging("", printable(plan.title) or "(no title)", width)
    yield from hanging("", counts, width)
    for note in plan.notes:
        yield from hanging("note: ", printable(note), width)


def _targets(targets: Sequence[TargetAnswer], width: int) -> Iterator[str]:
    yield from ("", "Devices to wipe:")
    for target in targets:
        for text, _ in target_told(target):
            said = text.lstrip()
            yield from hanging(" " * (2 + len(text) - len(said)), said, width)


_NOTHING = ("nothing", "no signature")
"""Beginnings of what a target holds that looks empty."""


def target_told(target: TargetAnswer, *, is_meant: bool = True) -> Iterator[tuple[str, str]]:
    """Yield a target line by line, printable, each with its tone: facts, what would be lost, hazards."""
    kind = "scratch device, " if target.scratch else ""
    yield printable(f"{target.path}  {kind}{target_facts(target)}"), "strong"
    if target.lookalike:
        same = f"  {target.lookalike} has the same model and size: compare serial number and place"
        yield printable(f"{same} (this one: {target.mark})" if target.mark else same), ""
    if target.stands_on:
        yield printable(f"  {target.stands_on}"), ""
    if not target.refused:
        # What is on a scratch device that needs no consent is as a run left it.
        own = "holds the last run's" if target.scratch and not target.loss.startswith(_NOTHING) else "holds"
        lead = "would be LOST:" if is_meant and not target.scratch else own
        yield printable(f"  {lead} {target.loss}"), "" if target.scratch else "bad"
    if target.changed:
        yield printable(f"  {target.changed}"), ""
    for files in target.files:
        yield printable(f"  {files}"), "bad"
    for hazard in target.hazards:
        said = f"{hazard.device} {hazard.reason}. {hazard.hint}".rstrip()
        if hazard.verdict is not Verdict.ASKED:
            yield printable(f"  REFUSED: {said}"), "bad"
        elif not hazard.reason.startswith("holds "):
            # What it holds was just said.
            lead = "not known" if hazard.check in (HIDDEN_PROCESS, HIDDEN_INIT) else "note"
            yield printable(f"  {lead}: {said}"), ""


def target_facts(target: TargetAnswer) -> str:
    """Return a target's size, model, serial number and place; of hardware also which of them are unknown."""
    is_hardware = target.kind in (DeviceKind.DISK, DeviceKind.PARTITION)
    facts = {
        "model": target.model,
        "serial number": target.serial and f"serial {target.serial}",
        "place": target.place and f"at {target.place}",
    }
    told = (fact or f"{name} unknown" for name, fact in facts.items() if fact or is_hardware)
    return ", ".join((units.format_bytes(target.size_bytes), *told))


def _arrays(cells: Sequence[Cell], width: int, *, is_named: bool) -> Iterator[str]:
    """Yield each array once, with its members where devices were named."""
    told = {(words, " ".join(members)) for words, members in arrays_in_words(cells)}
    if not is_named:
        told = {(array_words(cell.array, 0), "") for cell in cells if cell.array is not None}
    if told:
        yield ""
        heading = "Arrays, made of the devices together, one in each cell, and stopped after it:"
        yield from hanging("", heading, width)
        for words, members in sorted(told):
            yield from hanging("  ", ": ".join(filter(None, (words, printable(members)))), width)


def _cells(cells: Sequence[Cell], width: int) -> Iterator[str]:
    """Yield a line for each row of the grid to come, with the numbers of its cells in the order of the run.

    What is the same for all has no column, except for the variant.
    """
    yield from ("", "Cells, numbered in run order:")
    rows: dict[tuple[Variant, str, tuple[str, ...]], list[Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.variant, cell.unavailable, cell_words(cell)), []).append(cell)
    aspects = zip(*(words for _, _, words in rows), strict=True)
    columns = [
        tuple(printable(variant.label) for variant, _, _ in rows),
        *(aspect for aspect in aspects if len(set(aspect)) > 1),
    ]
    widths = [max(map(cells_of, column), default=0) for column in columns]
    numbers = [_numbers([cell.index + 1 for cell in alike]) for alike in rows.values()]
    margin = min(_WIDEST_NUMBERS, max(map(len, numbers), default=0))
    for which, fields, (variant, unavailable, _) in zip(numbers, zip(*columns, strict=True), rows, strict=True):
        padded = (pad_right(field, size) for field, size in zip(fields, widths, strict=True))
        yield from hanging(f"  {which:<{margin}}  ", "  ".join(padded).rstrip(), width)
        lead = " " * (margin + 6)
        if variant.as_printed not in ("", variant.label):
            yield from hanging(lead, f"as printed: {printable(variant.as_printed)}", width)
        if unavailable:
            yield from hanging(lead, f"cannot run: {printable(unavailable)}", width)


def _numbers(of: Sequence[int]) -> str:
    """Return the numbers of cells, in the middle of many an ellipsis: "1 4 9 ... 298 (100 cells)"."""
    whole = " ".join(map(str, of))
    if len(whole) <= _MOST_NUMBERS:
        return whole
    return f"{' '.join(map(str, of[:3]))} ... {of[-1]} ({len(of)} cells)"


def _closing(
    targets: Sequence[TargetAnswer], lead: str, command: str, width: int, *, goes_on: bool = False
) -> Iterator[str]:
    if any(target.refused for target in targets):
        yield "No consent is possible while a device is refused."
    elif command:
        yield lead
        yield from shell_lines(command_parts(shlex.split(command)), width, lead="    ")
    elif targets and all(target.scratch for target in targets):
        yield "No consent is needed: only scratch devices would be wiped."
    if not goes_on:
        yield "Nothing was touched."
