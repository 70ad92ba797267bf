"""The Confirm screen: what would be lost, the names to type, and changes since the plan was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fsconsole.model.answers import PlanAnswer, TargetAnswer
from fsconsole.model.device import Identity
from fsconsole.show.going import Going
from fsconsole.show.identities import others, within_boot
from fsconsole.show.lines import TextLine, block
from fsconsole.show.plan_text import power_words, rate_words, size_words, target_facts, target_told
from fsconsole.text import counted, listed, printable, shorten_middle
from fsconsole.units import format_guess

_LEAST_ROWS = 2
"""Of fewer that can run nothing is compared."""
_MOST_ARRAYS = 8
_MOST_GOING = 2
_MOST_NOTES = 5
_MOST_NAME_LINES = 2
_MORE_CELLS = 16
"""Room for how many more rows there are, after a name that is long."""
_MOST_CHARACTERS = 400
"""More names don't fit the place where it is said what must be typed."""


def strays(offer: PlanAnswer, ticks: Mapping[str, Identity], source_sha256: str) -> tuple[tuple[str, str], ...]:
    """Return what is not what the operator chose: a device and a sentence each, no device where it is the plan."""
    targets = {target.path for target in offer.targets}
    missing = [path for path in ticks if path not in targets]
    found = [(path, f"{path} was ticked and is no target of the plan.") for path in missing]
    for target in offer.targets:
        ticked = ticks.get(target.path)
        if ticked is None:
            found.append((target.path, f"{target.path} is a target and was not ticked."))
        elif other := others(ticked, within_boot(target.identity)):
            found.append((target.path, f"{target.path} is another device than the one that was ticked: {other}."))
    if not offer.seen or offer.source_sha256 != source_sha256:
        found.append(("", "The plan's file was changed by somebody after the console had written it."))
    return tuple(found)


def going_rows(runs: Sequence[Going], width: int) -> list[TextLine]:
    """Return that other runs are going on, and what to do; nothing where none is."""
    if not runs:
        return []
    rows = block(f"{counted(len(runs), 'other run')} on this machine now:", width, "bad")
    rows += [row for run in runs[:_MOST_GOING] for row in block(f"  {run.title}: {run.place}", width)]
    if len(runs) > _MOST_GOING:
        rows += block(f"  and {len(runs) - _MOST_GOING} more, listed on screen 5", width)
    return [*rows, *block(_BESIDE, width), TextLine("")]


_BESIDE = (
    "Two runs disturb each other's figures: they share CPUs, memory and buses. Wait until it has ended (escape goes back, "
    "5 lists the runs), or start all the same."
)


def offer_rows(
    offer: PlanAnswer,
    changed: Sequence[str],
    width: int,
    strayed: Sequence[str] = (),
    runs: Sequence[Going] = (),
) -> tuple[TextLine, ...]:
    """Return the offer in rows; changed: what is other than when it was agreed to, strayed: what was never chosen.

    runs: those that are going on beside it.
    """
    rows = [row for words in strayed for row in block(f"REFUSED: {words}", width, "bad")]
    rows += [TextLine("")] if strayed else []
    rows += [row for sentence in offer.resumes for row in block(sentence, width)]
    rows += [TextLine("")] if offer.resumes else []
    if changed:
        said = (TextLine("Checked again: it has changed since you agreed:", "bad"),)
        rows += [*said, *(row for words in changed for row in block(words, width, "bad")), TextLine("")]
    if offer.arrays:
        names = [printable(one.to_type) for one in offer.targets if one.path in offer.members]
        lead = "one consent for all" if offer.to_type else "all"
        told = f"Members of arrays, {lead} {len(names)}: {' '.join(names)}"
        rows += [*block(told, width, "strong", is_whole=True), TextLine("")]
    rows += going_rows(runs, width)
    for target in offer.targets:
        lines = target_told(target, is_meant=not strayed)
        rows += [*(row for text, tone in lines for row in block(text, width, tone)), TextLine("")]
    rows += _of_plan(offer, width)
    if offer.arrays:
        arrays = _first_of([f"  {array.words}" for array in offer.arrays], _MOST_ARRAYS, "  and {} more")
        rows += [TextLine(""), *block("Arrays, one in each cell, stopped after it:", width)]
        rows += [row for words in arrays for row in block(words, width)]
    if offer.notes:
        notes = _first_of(offer.notes, _MOST_NOTES, "and {} more notes")
        rows += [TextLine(""), *(row for note in notes for row in block(note, width))]
    return tuple(rows)


def _first_of(texts: Sequence[str], most: int, more: str) -> list[str]:
    """Return the first texts, and how many more `fsconsole plan` shows."""
    others = len(texts) - most
    return [*texts[:most], *([f"{more.format(others)}, in `fsconsole plan`"] if others > 0 else [])]


def asking_words(offer: PlanAnswer, strayed: Sequence[str] = ()) -> str:
    """Return what the operator must do to begin."""
    if strayed:
        return "These are not the devices that you ticked: nothing can start. Escape goes back; changed devices were unticked."
    if offer.refused:
        return "A target is refused: nothing can start. Escape goes back."
    if not offer.runnable:
        return "No cell of this plan can run here. Escape goes back."
    if offer.to_type:
        together = " all of them, as members of arrays" if offer.arrays else ""
        names = printable(offer.to_type)
        if len(names) > _MOST_CHARACTERS:
            names = (
                'the names of all devices above, each with what "this one" says, but of no scratch device, in order,'
            )
        return f"To wipe{together}, type {names}, then F10 or Enter twice."
    if not offer.targets:
        return "No consent is required. Wipe and run resumes the run, which wipes its devices again."
    return "Only scratch devices are wiped. F10 starts, and so does Enter on Wipe and run."


def may_begin(offer: PlanAnswer, typed: str) -> bool:
    """Return whether what was typed agrees to the offer, word by word."""
    if offer.refused or not offer.runnable:
        return False
    wanted, words = printable(offer.to_type).split(), typed.split()
    # As the name is shown above, with its directory, too.
    return len(words) == len(wanted) and all(
        word in (one, f"/dev/{one}") for word, one in zip(words, wanted, strict=True)
    )


def changes(before: PlanAnswer, after: PlanAnswer) -> tuple[str, ...]:
    """Return in sentences what is other on the targets than it was."""
    known = {target.path: target for target in before.targets}
    found = [words for target in after.targets for words in _changes(known.get(target.path), target)]
    if before.seen.split(".")[0] != after.seen.split(".")[0]:
        found.append("The plan has other cells, or other commands, than it had.")
    same = "What is written on the devices has changed, though what is shown of it is the same."
    return tuple(found) or (same,)


def _changes(before: TargetAnswer | None, after: TargetAnswer) -> Iterator[str]:
    if before is None:
        yield f"{after.path} was not among the targets."
        return
    if before.loss != after.loss:
        yield f"{after.path} holds {after.loss}; before it was {before.loss}."
    if (was := target_facts(before)) != (now := target_facts(after)):
        yield f"{after.path} is {now}; before it was {was}."
    if before.stands_on != after.stands_on:
        yield f"{after.path} is {after.stands_on}; before it was {before.stands_on}."
    if other := others(within_boot(before.identity), within_boot(after.identity)):
        yield f"{after.path} is another device: {other}."
    known = {(hazard.device, hazard.reason) for hazard in before.hazards}
    for hazard in after.hazards:
        if (hazard.device, hazard.reason) not in known and not hazard.reason.startswith("holds "):
            yield f"{hazard.device} {hazard.reason}, which is new."


def _names(names: Sequence[str], width: int) -> list[TextLine]:
    """Return which rows run, in as many lines as leave the counts below them in sight."""
    shown = [shorten_middle(printable(name), width - _MORE_CELLS) for name in names]
    told = listed(shown, lambda words: len(block(words, width)) <= _MOST_NAME_LINES)
    return block(told, width) if told else []


def _of_plan(offer: PlanAnswer, width: int) -> list[TextLine]:
    cells = f"{offer.runnable:,} cell{'s' if offer.runnable != 1 else ''}"
    size, lasts = size_words(offer), format_guess(offer.estimate_s)
    rows = block(offer.title or "a plan without a title", width, "strong")
    rows += _names(offer.rows, width)
    rows += block(f"{cells}, {size}, about {lasts} {rate_words(offer)}", width)
    if offer.power is not None and offer.cell_count:
        tone = "bad" if offer.power.row_count < _LEAST_ROWS else ""
        # No line ends between a number and its sign.
        told = block(power_words(offer.power).replace(" %", "\N{NO-BREAK SPACE}%"), width, tone)
        rows += [replace(row, text=row.text.replace("\N{NO-BREAK SPACE}", " ")) for row in told]
    missing = offer.cell_count - offer.runnable
    if missing:
        rows += block(
            f"{missing:,} of {offer.cell_count:,} cells can't run here: {'; '.join(offer.unavailable)}", width
        )
    return rows
