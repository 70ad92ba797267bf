"""The text of `fsconsole plan` and of `fsconsole resume --show`, and a target's lines for Confirm."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsconsole import units
from fsconsole.devices.hazards import HIDDEN_PROCESS
from fsconsole.model.answers import TargetAnswer
from fsconsole.model.device import Verdict
from fsconsole.model.plan import Cell, Plan, Step, Variant, array_aspects, array_words, arrays_in_words
from fsconsole.text import cells_of, pad_right, printable, wrap

_STEP_WIDTH = 16
_WIDEST_NUMBERS = 16
"""The cells of twenty repeats push one variant to the right, rather than all."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that may be broken: its further parts begin where its text does, behind the lead."""

    text: str
    lead: str = ""

    def fitted(self, width: int) -> Iterator[str]:
        first, *others = wrap(self.text, max(20, width - cells_of(self.lead)))
        yield self.lead + first
        yield from (" " * cells_of(self.lead) + other for other in others)


@dataclass(frozen=True, slots=True)
class _CommandLine:
    """A command, which stays whole, to be copied."""

    text: str

    def fitted(self, _width: int) -> Iterator[str]:
        yield f"    $ {self.text}"


@dataclass(frozen=True, slots=True)
class _OwnCommand:
    """A command of fsconsole to be pasted: broken between words as a shell reads on, an option with its value."""

    text: str

    def fitted(self, width: int) -> Iterator[str]:
        line, *parts = _parts(shlex.split(self.text))
        indent = "    "
        for part in parts:
            if cells_of(f"{indent}{line} {part} \\") > width:
                yield f"{indent}{line} \\"
                indent, line = "        ", part
            else:
                line = f"{line} {part}"
        yield indent + line


def _parts(words: Sequence[str]) -> list[str]:
    """Return words as a shell takes them, each option as one with the value that follows it."""
    parts: list[str] = []
    for number, word in enumerate(words):
        if number and words[number - 1].startswith("--"):
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
    return parts


_Lines = Iterator[_Line | _CommandLine | _OwnCommand]


def plan_lines(
    plan: Plan, targets: Sequence[TargetAnswer], agreeing: str, *, every: bool, width: int
) -> Iterator[str]:
    """Yield the plan line by line: targets, cells in order, commands, costs, and the command that agrees to it.

    Cells have a line each; the first that can run is shown with its commands, with every all are. No line takes
    more than width cells, except for commands.
    """
    for line in _all_lines(plan, targets, agreeing, every=every):
        yield from line.fitted(width)


def renewal_lines(plan: Plan, targets: Sequence[TargetAnswer], command: str, *, width: int) -> Iterator[str]:
    """Yield what is left of a run, the loss that needs consent again, and the command that resumes it.

    plan holds only the cells that are left; targets are empty where nothing has to be asked.
    """
    for line in _renewal_lines(plan, targets, command):
        yield from line.fitted(width)


def _renewal_lines(plan: Plan, targets: Sequence[TargetAnswer], command: str) -> _Lines:
    yield from _head(plan)
    if targets:
        yield from _targets(targets)
    yield from _arrays(plan.cells, is_named=True)
    yield from _cells(plan.cells)
    yield _Line("")
    if any(target.refused for target in targets):
        yield _Line("No consent is possible while a device is refused.")
    elif targets:
        yield _Line("To agree to the loss and resume:")
        yield _OwnCommand(printable(command))
    else:
        yield _Line("No new consent is required. To resume:")
        yield _OwnCommand(printable(command))
    yield _Line("Nothing was touched.")


def _all_lines(plan: Plan, targets: Sequence[TargetAnswer], agreeing: str, *, every: bool) -> _Lines:
    yield from _head(plan)
    yield from _targets(targets)
    yield from _arrays(plan.cells, is_named=bool(targets))
    yield from _cells(plan.cells)
    able = [cell for cell in plan.cells if not cell.unavailable]
    for cell in plan.cells if every else able[:1]:
        yield _Line("")
        yield _Line(f"Cell {cell.index + 1}, step by step{'' if every else ' (--commands: every cell)'}:")
        for step in cell.steps:
            yield from _step(step)
    yield from _costs(plan)
    yield from _consent(targets, agreeing)


def _head(plan: Plan) -> _Lines:
    running = sum(1 for cell in plan.cells if not cell.unavailable)
    able = "" if running == len(plan.cells) else f", {running} of them can run"
    yield _Line(printable(plan.title) or "(no title)")
    yield _Line(
        f"{len(plan.cells)} cells{able}; repeats {plan.repeats}, order {plan.order.value}, seed {plan.seed}"
    )
    for note in plan.notes:
        yield _Line(printable(note), "note: ")


def _targets(targets: Sequence[TargetAnswer]) -> _Lines:
    if not targets:
        yield _Line("No device was given: nothing was read, and commands show the word DEVICE.")
        return
    yield _Line("")
    yield _Line("Devices to wipe:")
    for target in targets:
        for text, _ in target_told(target):
            yield _Line(text.lstrip(), " " * (2 + len(text) - len(text.lstrip())))


def target_told(target: TargetAnswer, *, is_meant: bool = True) -> Iterator[tuple[str, str]]:
    """Yield a target line by line, printable, each with its tone: facts, what would be lost, hazards."""
    kind = "scratch device, " if target.scratch else ""
    yield printable(f"{target.path}  {kind}{target_facts(target)}"), "strong"
    if target.stands_on:
        yield printable(f"  {target.stands_on}"), ""
    if not target.refused:
        lead = "would be LOST:" if is_meant and not target.scratch else "holds"
        yield printable(f"  {lead} {target.loss}"), "" if target.scratch else "bad"
    for hazard in target.hazards:
        said = f"{hazard.device} {hazard.reason}. {hazard.hint}".rstrip()
        if hazard.verdict is not Verdict.ASKED:
            yield printable(f"  REFUSED: {said}"), "bad"
        elif not hazard.reason.startswith("holds "):
            # What it holds was just said.
            lead = "not known" if hazard.check == HIDDEN_PROCESS else "note"
            yield printable(f"  {lead}: {said}"), ""


def target_facts(target: TargetAnswer) -> str:
    """Return a target's size, model and serial number, as far as they are known."""
    serial = f"serial {target.serial}" if target.serial else ""
    return ", ".join(filter(None, (units.format_bytes(target.size_bytes), target.model, serial)))


def _arrays(cells: Sequence[Cell], *, is_named: bool) -> _Lines:
    """Yield each array once, with its members where devices were named."""
    told = {(words, " ".join(members)) for words, members in arrays_in_words(cells)}
    if not is_named:
        told = {(array_words(cell.array, 0), "") for cell in cells if cell.array is not None}
    if told:
        yield _Line("")
        yield _Line("Arrays, made of the devices together, one in each cell, and stopped after it:")
        for words, members in sorted(told):
            yield _Line(": ".join(filter(None, (words, printable(members)))), "  ")


def _cells(cells: Sequence[Cell]) -> _Lines:
    """Yield a line for each row of the grid to come, with the numbers of its cells in the order of the run.

    What is the same for all has no column, except for the variant.
    """
    yield _Line("")
    yield _Line("Cells, numbered in run order:")
    rows: dict[tuple[Variant, str, tuple[str, ...]], list[Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.variant, cell.unavailable, _cell_words(cell)), []).append(cell)
    aspects = zip(*(words for _, _, words in rows), strict=True)
    columns = [
        tuple(printable(variant.label) for variant, _, _ in rows),
        *(aspect for aspect in aspects if len(set(aspect)) > 1),
    ]
    widths = [max(map(cells_of, column), default=0) for column in columns]
    numbers = [" ".join(str(cell.index + 1) for cell in alike) for alike in rows.values()]
    margin = min(_WIDEST_NUMBERS, max(map(len, numbers), default=0))
    for which, fields, alike in zip(numbers, zip(*columns, strict=True), rows.values(), strict=True):
        padded = (pad_right(field, width) for field, width in zip(fields, widths, strict=True))
        yield _Line("  ".join(padded).rstrip(), f"  {which:<{margin}}  ")
        yield from _remarks(alike[0], " " * (margin + 6))


def _remarks(cell: Cell, lead: str) -> _Lines:
    printed = cell.variant.as_printed
    if printed and printed != cell.variant.label:
        yield _Line(f"as printed: {printable(printed)}", lead)
    if cell.unavailable:
        yield _Line(f"cannot run: {printable(cell.unavailable)}", lead)


def _cell_words(cell: Cell) -> tuple[str, ...]:
    """Return what cells may differ in beside variant and repeat; all cells give equally many words."""
    threads = ",".join(str(workload.threads) for workload in cell.workloads)
    words = (
        f"threads {threads}",
        *(f"{name}={value}" for name, value in cell.setting.values),
        *array_aspects(cell.array, len(cell.members)),
        cell.target,
    )
    return tuple(map(printable, words))


def _step(step: Step) -> _Lines:
    yield _Line(printable(step.title), f"  {step.kind.value:<{_STEP_WIDTH}}")
    for argv in step.commands:
        yield _CommandLine(printable(shlex.join(argv)))
    for write in step.writes:
        yield _Line(printable(f"write {write.value} to {write.path}"), "    ")


def _costs(plan: Plan) -> _Lines:
    estimate = plan.estimate
    yield _Line("")
    yield _Line(
        f"To write: {units.format_bytes(estimate.bytes_to_write)}; about "
        f"{units.format_guess(estimate.elapsed_s)}, if a disk takes {units.format_rate(estimate.assumed_bytes_per_s)}."
    )
    yield _Line("The filesystem UUIDs above are an example: every run makes new ones.")


def _consent(targets: Sequence[TargetAnswer], agreeing: str) -> _Lines:
    refused = any(target.refused for target in targets)
    if refused:
        yield _Line("No consent is possible while a device is refused.")
    elif agreeing:
        yield _Line("To agree to the loss:")
        yield _OwnCommand(printable(agreeing))
    elif targets:
        yield _Line("No consent is needed: only scratch devices would be wiped.")
    yield _Line("Nothing was touched.")
