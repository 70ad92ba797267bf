"""The details of one device: state, hazards, identity, contents, stripes, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsconsole.devices.evidence import FoundSignature
from fsconsole.devices.hazards import ASKED_OF_SCRATCH, CONTENT_CHECKS, signature_words
from fsconsole.devices.state import Claim
from fsconsole.model.answers import ReadTestAnswer
from fsconsole.model.device import Device, Hazard, MdArray
from fsconsole.plan.arrays import stripes_of
from fsconsole.show.devices import NEEDS_ROOT, ListedEntry, Listing, is_never_freed, kind_of, medium_of, remedy
from fsconsole.text import pad_right, printable, wrap
from fsconsole.units import format_bytes, format_bytes_exact, format_percent, format_rate, format_seconds, instant

_LABEL_WIDTH = 12
_LEAST_WIDTH = 10
_MANY_LINES = 40
_TOOL = "tool error"
_STATES = {Claim.FREE: "free", Claim.HAZARDOUS: "warning", Claim.IN_USE: "", Claim.UNKNOWN: ""}


Part = tuple[str, str, str]
"""Subject (empty on continuation lines), text, and tone."""


def details(
    entry: ListedEntry, listing: Listing, width: int, *, is_root: bool, read_tests: Mapping[str, str]
) -> tuple[Part, ...]:
    """Return all that is known of a device, whole, wrapped to width cells; read_tests has figures by node."""
    device, notes = entry.device, _notes(entry, listing)
    mapped = f"({device.dm_name})" if device.dm_name else ""
    words = (device.path, mapped, device.model, format_bytes(device.size_bytes), kind_of(device))
    told: list[Part] = [
        ("", "  ".join(filter(None, words)), "strong"),
        *_wiping(entry, listing, is_root=is_root),
        *((("read test", read_tests[device.path], ""),) if device.path in read_tests else ()),
        *_identity(device),
        *(("note", note, "") for note, _ in notes),
        *_contents(entry),
        *_stripes(device, listing),
        *_settings(device),
        *((_TOOL, _parted(hazard)[1], "") for hazard in entry.refusals if _parted(hazard)[1]),
        *((_TOOL, said, "") for _, said in notes if said),
    ]
    lines: list[Part] = []
    for label, text, tone in told:
        # A line without a label at all begins at the left, and so does what follows it.
        lead = _LABEL_WIDTH if label else 0
        room = max(width, _LABEL_WIDTH + _LEAST_WIDTH) - lead
        # A tool's own words may be many, and tell an admin little.
        most = 1 if label == _TOOL else _MANY_LINES
        for number, line in enumerate(wrap(printable(text), room, max_lines=most)):
            lines.append((pad_right("" if number else label, lead), line, tone))
    return tuple(lines)


def _wiping(entry: ListedEntry, listing: Listing, *, is_root: bool) -> Iterator[Part]:
    claim = entry.state.claim
    if claim is Claim.IN_USE or not (entry.refusals or entry.questions):
        # Else the lines below tell the same, with what to do.
        yield "state", entry.state.text, _STATES[claim]
    array = entry.device.md
    if array is not None and array.progress_percent is not None:
        left = f", {array.finish_min:.0f} min to go" if array.finish_min is not None else ""
        rate = f" at {format_rate(array.speed_bytes_s)}" if array.speed_bytes_s is not None else ""
        yield "progress", f"{array.action} {format_percent(array.progress_percent)}{left}{rate}", "warning"
    if claim is Claim.IN_USE:
        yield "instead" if is_never_freed(entry) else "to free it", remedy(entry, listing), ""
    for hazard in entry.refusals:
        yield "refused", _reason(hazard, entry.device), "warning"
    is_own = entry.device.is_scratch and all(hazard.check not in ASKED_OF_SCRATCH for hazard in entry.hazards)
    for hazard in entry.questions:
        if is_own and hazard.check in CONTENT_CHECKS:
            yield "last run", f"{_who(hazard, entry.device)}left {hazard.reason.removeprefix('holds ')}", ""
        else:
            yield "to be lost" if hazard.check in CONTENT_CHECKS else "hazard", _reason(hazard, entry.device), ""
    if entry.device.is_scratch:
        yield "scratch", "wiped without a question while it is blank or as a run left it", ""
        made = entry.device.loop.made_ns if entry.device.loop is not None else 0
        purpose = entry.device.loop.purpose if entry.device.loop is not None else ""
        if made:
            yield "made", f"{instant(made)}{f' for {purpose}' if purpose else ''}", ""
    elif claim is Claim.FREE and not entry.hazards:
        yield "to be lost", "nothing seen; its content is sampled before you consent", ""
    if not entry.is_proved and not _notes(entry, listing):
        how = "space checks this one" if is_root else f"only root can check whether it is free: {NEEDS_ROOT}"
        yield "not checked", how, ""


def _notes(entry: ListedEntry, listing: Listing) -> tuple[tuple[str, str], ...]:
    """Return the notes on a device in plain words, each with the first line of the tool that read signatures, if it failed."""
    found = []
    for note in listing.notes:
        if note.startswith(f"{entry.device.path} "):
            told, _, error = note.partition(": `")
            tool = error.partition(" ")[0]
            found.append((f"signatures not read: {tool} failed", _said(error)) if error else (told, ""))
    return tuple(found)


def _who(hazard: Hazard, device: Device) -> str:
    return "" if hazard.device == device.path else f"{hazard.device} "


def _reason(hazard: Hazard, device: Device) -> str:
    return f"{_who(hazard, device)}{_parted(hazard)[0]}. {hazard.hint}"


def _parted(hazard: Hazard) -> tuple[str, str]:
    """Return a reason without the error of the tool that could not look, and the first line of that; empty for none."""
    told, _, error = hazard.reason.partition(": `")
    said = _said(error)
    return (f"{told} can't be read", said) if said else (hazard.reason, "")


def _said(error: str) -> str:
    """Return the first line of what a tool said, of "COMMAND` failed with exit code 1: WORDS"; empty for anything else."""
    return error.partition("` failed with exit code ")[2].partition(": ")[2].partition("\n")[0]


def _identity(device: Device) -> Iterator[Part]:
    if device.serial:
        yield "serial", device.serial, ""
    if device.wwn:
        yield "WWN", device.wwn, ""
    removable = "removable" if device.removable else ""
    attached = ", ".join(filter(None, (device.transport, medium_of(device, "rotating disk"), removable)))
    if attached:
        yield "attached", attached, ""
    sectors = f"{device.logical_sector_bytes}/{device.physical_sector_bytes} bytes logical/physical"
    yield "size", f"{device.size_bytes} bytes in sectors of {sectors}", ""
    sequence = f", sequence number {device.diskseq}" if device.diskseq else ""
    yield "number", f"{device.major}:{device.minor}{sequence}", ""
    if device.parent:
        unique = f", PARTUUID {device.partition_uuid}" if device.partition_uuid else ""
        yield "part of", f"{device.parent}, from byte {device.partition_start_bytes}{unique}", ""
    if device.lower:
        yield "made of", ", ".join(device.lower), ""
    if device.loop is not None:
        passing = "past the page cache" if device.loop.direct_io else "through the page cache"
        yield "file", f"{device.loop.path} ({passing})", ""
    if device.dm_uuid:
        yield "dm UUID", device.dm_uuid, ""


def _contents(entry: ListedEntry) -> Iterator[Part]:
    device = entry.device
    if device.md is not None:
        yield from _array(device.md)
    for signature in device.signatures:
        found = signature_words(FoundSignature(device, signature))
        # What the hazards above have told isn't told again: only where it lies.
        is_told = any(found in hazard.reason for hazard in entry.hazards)
        label = f" '{signature.label}'" if signature.label and not is_told else ""
        unique = f", UUID {signature.uuid}" if signature.uuid and not is_told else ""
        yield "signature", f"{signature.type}{label}{unique}, at byte {signature.offset_bytes}", ""
    for mount in device.mounts:
        where = mount.mount_point or "outside this machine's mount table"
        by = " (by PID 1)" if mount.seen_in == "init" else ""
        yield "mounted", f"{where}, as {mount.filesystem}{by}", ""
    if device.holders:
        yield "held by", ", ".join(device.holders), ""


def _array(array: MdArray) -> Iterator[Part]:
    shape = (
        array.level or "inactive",
        f"{len(array.members)} members {array.slots}".rstrip(),
        f"chunk {format_bytes_exact(array.chunk_bytes)}" if array.chunk_bytes else "",
        f"metadata {array.metadata}" if array.metadata else "",
        f"{array.degraded} missing" if array.degraded else "",
    )
    yield "array", ", ".join(filter(None, shape)), ""
    flagged = (f"{one.name}[{one.slot}]{one.flags and f'({one.flags})'}" for one in array.members)
    yield "members", " ".join(flagged), ""


def _stripes(device: Device, listing: Listing) -> Iterator[Part]:
    told = stripes_of(device, (entry.device for entry in listing.entries))
    if told.shape:
        yield "stripes", told.shape, ""
        yield "for mkfs", told.words, ""
    for caution in told.cautions:
        yield "caution", caution, "warning"


def _settings(device: Device) -> Iterator[Part]:
    if device.scheduler:
        others = f" (of {', '.join(device.schedulers)})" if len(device.schedulers) > 1 else ""
        yield "scheduler", f"{device.scheduler}{others}", ""
    parts = (
        f"read-ahead {format_bytes_exact(device.read_ahead_bytes)}" if device.read_ahead_bytes else "",
        f"cache {device.write_cache}" if device.write_cache else "",
        f"optimal I/O {format_bytes_exact(device.optimal_io_bytes)}" if device.optimal_io_bytes else "",
        f"minimal I/O {format_bytes_exact(device.minimum_io_bytes)}" if device.minimum_io_bytes else "",
    )
    if any(parts):
        yield "settings", ", ".join(filter(None, parts)), ""


def read_test_told(answer: ReadTestAnswer) -> str:
    """Return what `fsconsole readtest` measured, in words."""
    moved = f"{format_bytes(answer.read_bytes)} in {format_seconds(answer.elapsed_s)}"
    ahead, scheduler = format_bytes(answer.read_ahead_bytes), printable(answer.scheduler or "none")
    return (
        f"{format_rate(answer.bytes_per_s)} through the page cache ({moved}; read-ahead {ahead}, scheduler {scheduler})"
    )
