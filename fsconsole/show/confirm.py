"""What is shown before a device is wiped, from what `fsconsole plan --json` answered, and what must be typed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsconsole.errors import ChildFailed
from fsconsole.model.device import Identity, Verdict
from fsconsole.show.devices import others, who_told
from fsconsole.show.lines import TextLine, block
from fsconsole.text import printable
from fsconsole.units import format_bytes, format_guess

# What Confirm says where all targets together become members of arrays: one consent for the set.

_MOST_ARRAYS = 8
_MOST_CHARACTERS = 400
"""More names don't fit the place where it is said what must be typed."""


def member_rows(names: Sequence[str], *, is_asked: bool, width: int) -> list[TextLine]:
    """Return who the members are, each by its whole name."""
    lead = "one consent for all" if is_asked else "all"
    told = f"Members of arrays, {lead} {len(names)}: {' '.join(names)}"
    return [TextLine(""), *block(told, width, "strong", is_whole=True)]


def array_rows(arrays: Sequence[str], width: int) -> list[TextLine]:
    """Return what is made of them."""
    others = len(arrays) - _MOST_ARRAYS
    more = [f"and {others} more, in `fsconsole plan`"] if others > 0 else []
    rows = [row for words in (*arrays[:_MOST_ARRAYS], *more) for row in block(f"  {words}", width)]
    return [TextLine(""), *block("Arrays, one in each cell, taken apart after it:", width), *rows]


def wanted_words(to_type: str) -> str:
    """Return what must be typed, or where it stands where it is longer than its place."""
    names = printable(to_type)
    if len(names) <= _MOST_CHARACTERS:
        return names
    return "the names of all devices above, but of no scratch device, in their order,"


_MOST_NOTES = 5


@dataclass(frozen=True, slots=True)
class HazardShown:
    """One thing that speaks against wiping a target."""

    refused: bool
    device: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class TargetShown:
    """One device that would be wiped, and what would be lost with it."""

    path: str
    who: Identity
    facts: str
    """Size, model and serial number, as far as they are known."""
    stands_on: str
    """The file below a loop device, the name of an LV; empty for what stands for itself."""
    scratch: bool
    loss: str
    """Completes "holds ..."."""
    hazards: tuple[HazardShown, ...]

    @property
    def name(self) -> str:
        """What must be typed to agree, unless it is a scratch device."""
        return os.path.basename(self.path)


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan on its targets, with the code that agrees to the loss of what is on them."""

    title: str
    cells: int
    unavailable: tuple[str, ...]
    """Why cells can't run here, each reason once."""
    runnable: int
    bytes_to_write: int
    estimate_s: float
    consent: str
    seen: str
    """Codes of the plan and of each target, to which the start is bound; empty where it is a run that goes on."""
    source_sha256: str
    """Of the plan file's text, as it was read."""
    targets: tuple[TargetShown, ...]
    notes: tuple[str, ...]
    arrays: tuple[str, ...] = ()
    """What is made of targets together, one in each cell; empty where each stands for itself."""
    members: frozenset[str] = frozenset()
    """Paths of the targets that are a member of any of them."""

    @property
    def refused(self) -> bool:
        """Whether a target is one that is never wiped."""
        return any(hazard.refused for target in self.targets for hazard in target.hazards)

    @property
    def to_type(self) -> str:
        """The names of all targets but scratch devices; empty where none need be typed."""
        return " ".join(target.name for target in self.targets if not target.scratch)


def offer_of(document: object) -> Offer:
    """Return what a command answered. Raises ChildFailed where that is something else."""
    plan = _object(document)
    return Offer(
        title=_text(plan, "title"),
        cells=int(_number(plan, "cell_count")),
        unavailable=tuple(str(why) for why in _list(plan, "unavailable")),
        runnable=int(_number(plan, "runnable")),
        bytes_to_write=int(_number(plan, "bytes_to_write")),
        estimate_s=_number(plan, "estimate_s"),
        consent=_text(plan, "consent"),
        seen=_text(plan, "seen"),
        source_sha256=_text(plan, "source_sha256"),
        targets=tuple(_target(_object(target)) for target in _list(plan, "targets")),
        notes=tuple(str(note) for note in _list(plan, "notes")),
        arrays=tuple(_text(_object(array), "words") for array in _list(plan, "arrays")),
        members=frozenset(
            str(path) for array in _list(plan, "arrays") for path in _list(_object(array), "members")
        ),
    )


def strays(offer: Offer, ticks: Mapping[str, Identity], source_sha256: str) -> tuple[tuple[str, str], ...]:
    """Return what is not what the operator chose: a device and a sentence each, no device where it is the plan."""
    found = [
        (path, f"{path} was ticked and is no target of the plan.") for path in ticks if not _has(offer, path)
    ]
    for target in offer.targets:
        ticked = ticks.get(target.path)
        if ticked is None:
            found.append((target.path, f"{target.path} is a target and was not ticked."))
        elif other := others(ticked, target.who):
            found.append(
                (target.path, f"{target.path} is another device than the one that was ticked: {other}.")
            )
    if not offer.seen or offer.source_sha256 != source_sha256:
        found.append(("", "The plan's file was changed by somebody after the console had written it."))
    return tuple(found)


def _has(offer: Offer, path: str) -> bool:
    return any(target.path == path for target in offer.targets)


def offer_rows(
    offer: Offer, changed: Sequence[str], width: int, strayed: Sequence[str] = ()
) -> tuple[TextLine, ...]:
    """Return the offer in rows; changed: what is other than when it was agreed to, strayed: what was never chosen."""
    rows = [row for words in strayed for row in block(f"REFUSED: {words}", width, "bad")]
    rows += [TextLine(""), *_of_changes(changed, width)] if strayed else _of_changes(changed, width)
    rows += _of_plan(offer, width)
    if offer.arrays:
        names = [target.name for target in offer.targets if target.path in offer.members]
        rows += member_rows(names, is_asked=bool(offer.to_type), width=width)
    for target in offer.targets:
        rows += [TextLine(""), *_of_target(target, width, is_meant=not strayed)]
    rows += array_rows(offer.arrays, width) if offer.arrays else []
    if offer.notes:
        others = len(offer.notes) - _MOST_NOTES
        more = [f"and {others} more notes, in `fsconsole plan`"] if others > 0 else []
        notes = [row for note in (*offer.notes[:_MOST_NOTES], *more) for row in block(note, width)]
        rows += [TextLine(""), *notes]
    return tuple(rows)


def asking_words(offer: Offer, strayed: Sequence[str] = ()) -> str:
    """Return what the operator must do to begin."""
    if strayed:
        return "This is not what was chosen: nothing can begin. Escape goes back; what changed was unticked."
    if offer.refused:
        return "A target is refused: nothing can begin. Escape goes back."
    if not offer.runnable:
        return "No cell of this plan can run here. Escape goes back."
    if offer.to_type:
        together = " all of them, as members of arrays" if offer.arrays else ""
        return f"To wipe{together}, type {wanted_words(offer.to_type)} and press ctrl+s."
    if not offer.targets:
        return "Nothing is left to agree to. Ctrl+s goes on with the run, which wipes its devices again."
    return "Only scratch devices are wiped. Ctrl+s begins."


def may_begin(offer: Offer, typed: str) -> bool:
    """Return whether what was typed agrees to the offer, letter by letter."""
    return not offer.refused and offer.runnable > 0 and typed.strip() == offer.to_type


def changes(before: Offer, after: Offer) -> tuple[str, ...]:
    """Return in sentences what is other on the targets than it was."""
    known = {target.path: target for target in before.targets}
    found = [words for target in after.targets for words in _changes(known.get(target.path), target)]
    if before.seen.split(".")[0] != after.seen.split(".")[0]:
        found.append("The plan has other cells, or other commands, than it had.")
    same = "What is written on the devices has changed, though what is shown of it is the same."
    return tuple(found) or (same,)


def _changes(before: TargetShown | None, after: TargetShown) -> Iterator[str]:
    if before is None:
        yield f"{after.path} was not among the targets."
        return
    if before.loss != after.loss:
        yield f"{after.path} holds {after.loss}; before it was {before.loss}."
    if before.facts != after.facts:
        yield f"{after.path} is {after.facts}; before it was {before.facts}."
    if before.stands_on != after.stands_on:
        yield f"{after.path} is {after.stands_on}; before it was {before.stands_on}."
    if other := others(before.who, after.who):
        yield f"{after.path} is another device: {other}."
    known = {(hazard.device, hazard.reason) for hazard in before.hazards}
    for hazard in after.hazards:
        if (hazard.device, hazard.reason) not in known and not hazard.reason.startswith("holds "):
            yield f"{hazard.device} {hazard.reason}, which is new."


def _of_changes(changed: Sequence[str], width: int) -> list[TextLine]:
    if not changed:
        return []
    rows = [TextLine("Looked at again; it is not what was agreed to:", "bad")]
    for words in changed:
        rows += block(words, width, "bad")
    return [*rows, TextLine("")]


def _of_plan(offer: Offer, width: int) -> list[TextLine]:
    cells = f"{offer.runnable:,} cell{'s' if offer.runnable != 1 else ''}"
    size, lasts = format_bytes(offer.bytes_to_write), format_guess(offer.estimate_s)
    rows = block(offer.title or "a plan without a title", width, "strong")
    rows += block(f"{cells}, {size} to be written, about {lasts} by the plan's estimate", width)
    missing = offer.cells - offer.runnable
    if missing:
        rows += block(
            f"{missing:,} of {offer.cells:,} cells can't run here: {'; '.join(offer.unavailable)}", width
        )
    return rows


def _of_target(target: TargetShown, width: int, *, is_meant: bool) -> list[TextLine]:
    kind = "scratch device, " if target.scratch else ""
    rows = block(f"{target.path}  {kind}{target.facts}", width, "strong")
    if target.stands_on:
        rows += block(f"  {target.stands_on}", width)
    if not any(hazard.refused for hazard in target.hazards):
        words = "will be wiped; it holds" if is_meant else "holds"
        rows += block(f"  {words} {target.loss}", width, "" if target.scratch else "bad")
    for hazard in target.hazards:
        if hazard.refused:
            rows += block(f"  REFUSED: {hazard.device} {hazard.reason}. {hazard.hint}", width, "bad")
        elif not hazard.reason.startswith("holds "):
            # What it holds was just said.
            rows += block(f"  note: {hazard.device} {hazard.reason}. {hazard.hint}".rstrip(), width)
    return rows


def _target(target: Mapping[str, object]) -> TargetShown:
    serial = _text(target, "serial")
    size = format_bytes(_number(target, "size_bytes"))
    facts = (size, _text(target, "model"), f"serial {serial}" if serial else "")
    return TargetShown(
        path=_text(target, "path"),
        who=who_told(_object(target.get("identity"))),
        facts=", ".join(filter(None, facts)),
        stands_on=_text(target, "stands_on"),
        scratch=target.get("scratch") is True,
        loss=_text(target, "loss"),
        hazards=tuple(_hazard(_object(hazard)) for hazard in _list(target, "hazards")),
    )


def _hazard(hazard: Mapping[str, object]) -> HazardShown:
    refused = hazard.get("verdict") != Verdict.ASKED.value
    return HazardShown(refused, _text(hazard, "device"), _text(hazard, "reason"), _text(hazard, "hint"))


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _strange("it is no object")
    return value


def _list(document: Mapping[str, object], key: str) -> list[object]:
    value = document.get(key)
    if not isinstance(value, list):
        raise _strange(f"it has no list '{key}'")
    return value


def _text(document: Mapping[str, object], key: str) -> str:
    value = document.get(key, "")
    return value if isinstance(value, str) else ""


def _number(document: Mapping[str, object], key: str) -> float:
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _strange(f"it has no figure '{key}'")
    return value


def _strange(why: str) -> ChildFailed:
    return ChildFailed(words="plan", said=f"The plan's answer can't be read: {why}.")
