"""The list of devices: columns, ticks, identity within a boot, and sentences of the Devices screen."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.client.children import decoded
from fsconsole.devices.evidence import RUN_FOLDER
from fsconsole.devices.graph import DeviceGraph, TreeRow, tree_rows
from fsconsole.devices.hazards import ASKED_OF_SCRATCH, HOLDS_SYSTEM
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import Claim, DevicesAnswer, DeviceState, ListedDevice, device_state, holdings
from fsconsole.devices.uses import is_of_system
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.device import Device, Hazard, Identity, MdArray, Signature, Verdict
from fsconsole.show.identities import COMPARED, others
from fsconsole.show.lines import Line
from fsconsole.show.terminal import Glyphs
from fsconsole.text import cells_of, counted, pad_left, pad_right, printable, shorten_end, shorten_middle
from fsconsole.units import (
    format_bytes,
    format_bytes_exact,
    format_guess,
    instant,
    parse_bytes,
)


@dataclass(frozen=True, slots=True)
class DeviceColumn:
    """A column that may be left out; the lowest rank stays longest."""

    title: str
    rank: int
    text: Callable[[Device], str]
    right: bool = False


def _signature_column(field: Callable[[Signature], str]) -> Callable[[Device], str]:
    return lambda device: ", ".join(dict.fromkeys(filter(None, map(field, device.signatures))))


def kind_of(device: Device) -> str:
    """Return what a device is, in a word."""
    return "scratch" if device.is_scratch else device.kind.value


def medium_of(device: Device, disk: str) -> str:
    """Return what a device stores on, in the caller's word for a disk; empty where the kernel doesn't say."""
    return {True: disk, False: "flash", None: ""}[device.rotational]


def _positive_bytes(size_bytes: int) -> str:
    return format_bytes_exact(size_bytes) if size_bytes else ""


COLUMNS = (
    DeviceColumn("size", 1, lambda device: format_bytes(device.size_bytes), right=True),
    DeviceColumn("kind", 2, kind_of),
    DeviceColumn("model", 3, lambda device: device.model),
    DeviceColumn("link", 6, lambda device: device.transport),
    DeviceColumn("medium", 7, lambda device: medium_of(device, "disk")),
    DeviceColumn("serial", 4, lambda device: device.serial),
    DeviceColumn("WWN", 14, lambda device: device.wwn),
    DeviceColumn("scheduler", 8, lambda device: device.scheduler),
    DeviceColumn("read-ahead", 9, lambda device: _positive_bytes(device.read_ahead_bytes), right=True),
    DeviceColumn("cache", 10, lambda device: device.write_cache),
    DeviceColumn("sector", 11, lambda device: f"{device.logical_sector_bytes}/{device.physical_sector_bytes}"),
    DeviceColumn("optimal", 12, lambda device: _positive_bytes(device.optimal_io_bytes), right=True),
    DeviceColumn("seq", 13, lambda device: str(device.diskseq or ""), right=True),
    DeviceColumn("signature", 5, _signature_column(lambda signature: signature.type)),
    DeviceColumn("label", 15, _signature_column(lambda signature: signature.label)),
    DeviceColumn("UUID", 16, _signature_column(lambda signature: signature.uuid)),
)


def _fitting(devices: Sequence[Device], room: int, before: Mapping[str, int]) -> list[list[str]]:
    """Return the columns, in their order, that fit into room cells with a gap each; empty ones are left out.

    Each is its title and a text for each device, printable and equally wide. The first by rank that doesn't fit ends
    the choice: what matters less must not take its place. Those that were shown before, with their widths, stay,
    although a device that is read anew has nothing in them yet.
    """
    chosen: dict[DeviceColumn, list[str]] = {}
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        texts = [column.title, *(printable(column.text(device)) for device in devices)]
        size = max(before.get(column.title, 0), *map(cells_of, texts))
        if not any(texts[1:]) and column.title not in before:
            continue
        room -= size + _GAP
        if room < 0:
            break
        pad = pad_left if column.right else pad_right
        chosen[column] = [pad(text, size) for text in texts]
    return [chosen[column] for column in COLUMNS if column in chosen]


WORDS = ("devices", "--json")
_NOTE = "note: "
_NEW = DeviceState(Claim.UNKNOWN, "new; reading")

Key = tuple[str, Identity]


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """A device of the list."""

    row: TreeRow
    state: DeviceState
    hazards: tuple[Hazard, ...] = ()
    shares_with: str = ""
    """What of the running system, or of its runs, is on its disk; empty if nothing."""

    @property
    def device(self) -> Device:
        """The device itself."""
        return self.row.device

    @property
    def scratch_id(self) -> str:
        """The mark of a scratch device; empty for any other."""
        return self.device.loop.scratch_id if self.device.loop is not None else ""

    @property
    def is_new(self) -> bool:
        """True if it was only seen to be there, and has still to be read."""
        return self.state == _NEW

    @property
    def is_proved(self) -> bool:
        """True if it was looked at closely enough to say that it may be wiped, or may not."""
        return self.state.claim in {Claim.FREE, Claim.IN_USE} or bool(self.hazards)

    @property
    def refusals(self) -> tuple[Hazard, ...]:
        """Reasons why it is never wiped."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.REFUSED)

    @property
    def questions(self) -> tuple[Hazard, ...]:
        """Content that would be lost, which is asked about."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.ASKED)

    @property
    def key(self) -> Key:
        """Who it is within one boot: another disk in its place has another key."""
        return (self.device.path, listed_identity(self.device))


@dataclass(frozen=True, slots=True)
class Listing:
    """All devices in the order of a tree, and what is to be known of how they were seen."""

    entries: tuple[ListedEntry, ...] = ()
    notes: tuple[str, ...] = ()

    def at(self, path: str) -> ListedEntry | None:
        """Return the device of that node; None where there is none now."""
        return next((entry for entry in self.entries if entry.device.path == path), None)

    def scratch(self, scratch_id: str) -> ListedEntry | None:
        """Return the scratch device of that id; None where there is none now."""
        return next((entry for entry in self.entries if entry.scratch_id == scratch_id != ""), None)

    @property
    def syncs(self) -> bool:
        """True if an array's progress moves."""
        arrays = (entry.device.md for entry in self.entries)
        return any(array is not None and array.progress_percent is not None for array in arrays)

    @property
    def has_free(self) -> bool:
        """True if a device may be wiped without a loss."""
        return any(entry.state.claim is Claim.FREE and not entry.refusals for entry in self.entries)

    @property
    def has_free_scratch(self) -> bool:
        """True if a scratch device may be wiped without a loss."""
        return any(entry.device.is_scratch and _group(entry) == _GROUPS[0] for entry in self.entries)


def parse_listing(out: str, err: str = "") -> Listing:
    """Return what the command printed. Raises ChildFailed where it is something else."""
    notes = (line.removeprefix(_NOTE) for line in err.splitlines() if line.startswith(_NOTE))
    return Listing(entries_of(decoded(DevicesAnswer, out, *WORDS).devices), tuple(notes))


def entries_of(listed: Iterable[ListedDevice]) -> tuple[ListedEntry, ...]:
    """Return devices in the order of their tree."""
    found = {one.name: one for one in listed}
    rows = tree_rows(tuple(one.device for one in found.values()))
    seen = ((row, found[row.device.name]) for row in rows)
    return tuple(ListedEntry(row, one.state, one.hazards, one.shares_with) for row, one in seen)


def with_words(entries: Iterable[ListedEntry], words: str) -> tuple[ListedEntry, ...]:
    """Return the devices that have all of these words, in any case, in name, kind, model, serial, WWN or state."""

    def text_of(entry: ListedEntry) -> str:
        one = entry.device
        told = (one.path, one.dm_name, one.kind.value, one.model, one.serial, one.wwn, entry.state.text)
        return " ".join(filter(None, told)).casefold()

    return tuple(entry for entry in entries if all(word in text_of(entry) for word in words.casefold().split()))


def with_progress(listing: Listing, arrays: tuple[MdArray, ...]) -> Listing:
    """Return the listing with what /proc/mdstat says now of its arrays; the rest is as it was."""
    now = {array.name: array for array in arrays}
    former = [entry.device for entry in listing.entries]
    devices = [replace(one, md=now[one.name]) if one.md and one.name in now else one for one in former]
    if devices == former:
        return listing
    graph, entries = DeviceGraph(tuple(devices)), []
    for entry, device in zip(listing.entries, devices, strict=True):
        if device == entry.device:
            entries.append(entry)
        else:
            state = device_state(device, graph, entry.hazards if entry.is_proved else None)
            entries.append(replace(entry, row=replace(entry.row, device=device), state=state))
    return replace(listing, entries=tuple(entries))


def with_changes(listing: Listing, gone: frozenset[str], new: tuple[Device, ...]) -> Listing:
    """Return the listing without the devices of these names, and with new ones of which nothing else is known yet."""
    if not gone and not new:
        return listing
    kept = {entry.device.name: entry for entry in listing.entries if entry.device.name not in gone}
    rows = tree_rows((*(entry.device for entry in kept.values()), *new))
    entries = tuple(
        replace(kept[row.device.name], row=row) if row.device.name in kept else ListedEntry(row, _NEW) for row in rows
    )
    return replace(listing, entries=entries)


def with_proofs(listing: Listing, proofs: dict[Key, ListedEntry]) -> Listing:
    """Return the listing with what was found out before about devices that it leaves open, where they are the same."""
    entries = tuple(
        replace(known, row=replace(entry.row, device=known.device))
        if not entry.is_proved and (known := proofs.get(entry.key)) and _bare(known) == _bare(entry)
        else entry
        for entry in listing.entries
    )
    return replace(listing, entries=entries)


def _bare(entry: ListedEntry) -> Device:
    """Return the device without what only a close look tells."""
    return replace(entry.device, signatures=())


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row; its key names what it shows, whatever row that is in; cells are texts with a style of rich each."""

    key: str
    cells: tuple[tuple[str, str], ...]
    heading: str = ""
    """Of a group: the row has no cells then."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that fits a width; columns have a title, and a width with the gap behind it. All texts are printable."""

    columns: tuple[tuple[str, int], ...]
    rows: tuple[SheetRow, ...]
    least: int = 0
    """Columns that the state has at least."""


_GAP = 2
_STATE_ROOM, _WHOLE_STATE_ROOM = 26, 34
"""Least width of the state column; it gets all that is left over."""
_NAME_ROOM = 34
"""A longer name (a volume's own, deep in the tree) loses its middle; the details have it whole."""
_TICK_WIDTH = 4
_STYLES = {Claim.FREE: "green", Claim.HAZARDOUS: "yellow", Claim.IN_USE: "", Claim.UNKNOWN: ""}


_GROUPS = ("Free", "Holds data: asked about", "Not checked", "In use: never wiped")


def _group(entry: ListedEntry) -> str:
    free, holds, unknown, in_use = _GROUPS
    if entry.refusals or entry.state.claim is Claim.IN_USE:
        return in_use
    return {Claim.FREE: free, Claim.HAZARDOUS: holds}.get(entry.state.claim, unknown)


def grouped(entries: Sequence[ListedEntry]) -> tuple[tuple[str, tuple[ListedEntry, ...]], ...]:
    """Return the devices by what may be done with them, each group in the order of its own tree; no empty group."""
    known = {entry.device.name: entry for entry in entries}
    found = []
    for group in _GROUPS:
        rows = tree_rows(tuple(entry.device for entry in entries if _group(entry) == group))
        if rows:
            found.append((group, tuple(replace(known[row.device.name], row=_as_before(row, known)) for row in rows)))
    return tuple(found)


def _as_before(row: TreeRow, known: Mapping[str, ListedEntry]) -> TreeRow:
    """Return a row of a group's tree that names all the other places of its device."""
    return replace(row, also_under=known[row.device.name].row.also_under)


_NONE_BEFORE = Sheet((), ())


def lay_out(
    entries: Sequence[ListedEntry],
    ticked: Collection[str] | None,
    width: int,
    glyphs: Glyphs,
    before: Sheet = _NONE_BEFORE,
) -> Sheet:
    """Return the table in width cells, with ticks in groups; ticked None: without ticks, and names and states are whole.

    before: the table that was shown before in this width, whose columns stay where they are.
    """
    is_whole = ticked is None
    groups = (("", tuple(entries)),) if is_whole else grouped(entries)
    entries = [entry for _, group in groups for entry in group]
    firsts = {group[0].device.path: (heading, len(group)) for heading, group in groups if heading and group}
    names = [guide(entry.row, glyphs) + name_of(entry.device) for entry in entries]
    names = names if is_whole else [shorten_middle(name, _NAME_ROOM) for name in names]
    states = [printable(_state_text(entry)) for entry in entries]
    states = states if is_whole else list(map(_short, states))
    widths = {title.strip(): size - _GAP for title, size in before.columns}
    name_width = max(widths.get("device", 0), *map(cells_of, ("device", *names)))
    room = width - (0 if is_whole else _TICK_WIDTH) - name_width - _GAP
    least = max(before.least, *map(cells_of, ("state", *states)))
    least = min(least, _WHOLE_STATE_ROOM if is_whole else _STATE_ROOM)
    columns = _fitting([entry.device for entry in entries], room - least, widths)
    heads = [(title, cells_of(title) + _GAP) for title, *_ in columns]
    state_width = max(room - sum(size for _, size in heads), len("state"))
    rows = []
    for number, (entry, name, state) in enumerate(zip(entries, names, states, strict=True), 1):
        # Mount points differ at their ends; what asks or refuses is a sentence.
        shorten = shorten_middle if entry.state.claim is Claim.IN_USE else shorten_end
        shown = state if is_whole else shorten(state, state_width)
        cells = [(name, ""), *((column[number], "") for column in columns)]
        tick = [] if ticked is None else [_tick(entry, ticked)]
        if entry.device.path in firsts:
            heading, count = firsts[entry.device.path]
            rows.append(SheetRow("", (), shorten_middle(f"{heading} ({count})", width)))
        rows.append(SheetRow(entry.device.path, (*tick, *cells, (shown, _STYLES[entry.state.claim]))))
    ticks = [] if is_whole else [("", _TICK_WIDTH)]
    return Sheet((*ticks, ("device", name_width + _GAP), *heads, ("state", state_width)), tuple(rows), least)


_SHORT = {"locked by another run or tool": "locked by a run or tool", "may be open in process ": "maybe open: pid "}
"""Beginnings of states, and what a column of 26 shows whole; the details have the sentence."""


def _short(state: str) -> str:
    return next((short + state.removeprefix(long) for long, short in _SHORT.items() if state.startswith(long)), state)


def _state_text(entry: ListedEntry) -> str:
    others = entry.row.also_under
    more = f" and {len(others) - 2} more" if len(others) > 2 else ""
    # The group says that it is in use, and by what matters here.
    text = entry.state.text.removeprefix("is ").replace("locked by another process: ", "locked by ")
    text = "; ".join(filter(None, (text, made_words(entry.device))))
    return f"{text}; also under {', '.join(others[:2])}{more}" if others else text


def made_words(device: Device) -> str:
    """Return when a scratch device was made, and for what; empty where that isn't known."""
    if device.loop is None or not device.loop.made_ns:
        return ""
    for_what = f" for {device.loop.purpose}" if device.loop.purpose else ""
    # The year stands in the details.
    return f"made {instant(device.loop.made_ns)[5:16]}{for_what}"


def name_of(device: Device) -> str:
    """Return a device's name, a volume's own name behind it."""
    return printable(f"{device.name} ({device.dm_name})" if device.dm_name else device.name)


def guide(row: TreeRow, glyphs: Glyphs) -> str:
    """Return the lines of the tree that lead to a device."""
    if not row.last_of:
        return ""
    above = "".join("   " if last else glyphs.trunk for last in row.last_of[:-1])
    return above + (glyphs.last_branch if row.last_of[-1] else glyphs.branch)


def _tick(entry: ListedEntry, ticked: Collection[str]) -> tuple[str, str]:
    if entry.device.path in ticked:
        return ("[x]", "bold")
    can_be = not entry.refusals and entry.state.claim is not Claim.IN_USE
    return ("[ ]" if can_be else "", "")


NEEDS_ROOT = "leave with q, then `sudo fsconsole`."
_INSTEAD = "Make a scratch device with n, or choose another disk"


def refusal(entry: ListedEntry, listing: Listing, *, is_root: bool) -> str:
    """Return why a device can't be ticked and what to do, in sentences; "" where it may be ticked or must be proved."""
    path = entry.device.path
    if entry.refusals:
        first = entry.refusals[0]
        return f"{path} {first.reason}: it can't be ticked. {first.hint}"
    if entry.state.claim is Claim.IN_USE:
        return f"{path} is in use ({entry.state.text}): it can't be ticked. {remedy(entry, listing)}"
    if not entry.is_proved and not is_root:
        return f"Only root can check whether {path} is free: {NEEDS_ROOT}"
    return ""


def is_never_freed(entry: ListedEntry) -> bool:
    """Return whether the running system, or its runs, may use a device that is in use."""
    return bool(entry.shares_with) or any(is_of_system(mount.mount_point) for mount in entry.device.mounts)


def remedy(entry: ListedEntry, listing: Listing) -> str:
    """Return what frees a device that is in use, or what to choose instead."""
    device = entry.device
    if HOLDS_SYSTEM in entry.state.text:
        return f"{_INSTEAD}."
    if any(is_of_system(mount.mount_point) for mount in device.mounts):
        return f"It {HOLDS_SYSTEM}. {_INSTEAD}."
    if entry.shares_with == RUN_FOLDER:
        return f"Its disk holds {RUN_FOLDER}: keep runs on another disk (--runs). {_INSTEAD}."
    if entry.shares_with:
        return f"Its disk holds the running system ({entry.shares_with}), which is never wiped. {_INSTEAD}."
    return next(_remedies(device, listing), "Choose another, or free it first.")


def _remedies(device: Device, listing: Listing) -> Iterator[str]:
    points = [mount.mount_point for mount in device.mounts]
    if any(points):
        first = next(point for point in points if point)
        yield f"If nobody needs what is on it: `umount {shlex.quote(first)}`."
    if device.mounts:
        yield "`btrfs filesystem show` or `findmnt --task 1` tells where; unmount it there."
    if device.swap:
        yield f"`swapoff {device.path}` frees it, where there is memory enough."
    for holder in device.holders:
        yield _holder_remedy(holder, listing)
    if any(entry.device.parent == device.name for entry in listing.entries):
        yield "Part of it is in use: tick a partition of it that is free, or free the others first."


def _holder_remedy(holder: str, listing: Listing) -> str:
    found = listing.at(f"/dev/{holder}")
    shown = name_of(found.device) if found is not None else holder
    if holder.startswith("md"):
        return f"Tick {shown} itself, or stop it first: `mdadm --stop /dev/{holder}`."
    return f"Tick {shown} itself, or deactivate it first."


def lost_ticks(ticks: Mapping[str, Identity], listing: Listing, *, is_use_lost: bool = True) -> dict[str, str]:
    """Return the ticked targets that changed, with a sentence each; ticks has the identities when ticked.

    is_use_lost: those that are in use now, or refused, are among them.
    """
    found = ((path, _lost(listing.at(path), one, is_use_lost=is_use_lost)) for path, one in ticks.items())
    return {path: f"{path} was unticked: {why}." for path, why in found if why}


def gone(known: Mapping[str, ListedEntry], listing: Listing) -> tuple[str, ...]:
    """Return the paths at which the device that was known there is no more."""
    found = ((path, listing.at(path), one) for path, one in known.items())
    return tuple(path for path, now, one in found if now is None or _is_other(one, now))


def _is_other(known: ListedEntry, now: ListedEntry) -> bool:
    before, after = listed_identity(known.device), listed_identity(now.device)
    return bool(others(_identity_of(known, after), _identity_of(now, before)))


def _identity_of(entry: ListedEntry, other: Identity) -> Identity:
    """Return who a device is; of one that was only glimpsed, what is not known is as in the other.

    A glimpse knows no file of a loop device, and nothing that udev knows.
    """
    known = listed_identity(entry.device)
    unknown = [name for name in COMPARED if not getattr(known, name)] if entry.is_new else []
    return replace(known, **{name: getattr(other, name) for name in unknown})


def gone_words(path: str, listing: Listing) -> str:
    """Return what became of a device that is no more at its path, as a sentence."""
    return f"{path} is gone." if listing.at(path) is None else f"{path} is another device now."


def _lost(entry: ListedEntry | None, ticked: Identity, *, is_use_lost: bool) -> str:
    if entry is None:
        return "it is gone"
    if other := others(ticked, _identity_of(entry, ticked)):
        return f"another device has its name now ({other})"
    if is_use_lost and entry.refusals:
        return f"it {entry.refusals[0].reason}"
    if is_use_lost and entry.state.claim is Claim.IN_USE:
        return f"it is in use now ({entry.state.text})"
    return ""


def ticks_told(count: int, *, makes_arrays: bool = False) -> str:
    """Return how many targets there are, and what that means for a plan that makes arrays, or for one that doesn't."""
    if count == 0:
        return "no target ticked"
    what = "members of the plan's arrays, together" if makes_arrays else "the plan runs on each in turn"
    if count == 1:
        return "1 target ticked: arrays want more" if makes_arrays else "1 target ticked"
    return f"{count} targets ticked: {what}"


DEMO_SIZE = "2GiB"
DEMO_QUESTION = "Start the demo?"
DEMO_TOLD = (
    f"It makes a scratch device of 2 GiB in {DEFAULT_SCRATCH_DIR}, compares five variants on it, which takes one"
    " to ten minutes, and removes it at the end. No disk is wiped."
)


def demo_progress(written_bytes: int, elapsed_s: float) -> str:
    """Return how far the demo's start is: its file is written, then its devices are checked and its engine starts."""
    size_bytes, lasts = parse_bytes(DEMO_SIZE), format_guess(elapsed_s)
    if written_bytes < size_bytes:
        return f"Demo: {format_bytes(written_bytes)} of {format_bytes(size_bytes)} written, {lasts}"
    return f"Demo: file written, starting the run, {lasts}"


def about(  # noqa: PLR0913 (each is a fact of its own)
    listing: Listing,
    ticked: int,
    age_s: float | None,
    *,
    looking: bool,
    failed: bool = False,
    makes_arrays: bool = False,
) -> str:
    """Return how many devices there are and how many are ticked; how old that is, where it may not be so any more."""
    if age_s is None:
        return "The devices could not be read; f5 tries again" if failed else "Reading the devices..."
    devices = counted(len(listing.entries), "device")
    age = f"{format_guess(age_s)} old"
    now = f"; reading again, {age}" if looking else f"; the last reading failed, {age}" if failed else ""
    return f"{devices}, {ticks_told(ticked, makes_arrays=makes_arrays)}{now}"


def offers(*, is_root: bool) -> tuple[Line, ...]:
    """Return what is offered at the foot of the list: a scratch device, with which a first benchmark begins, and a demo."""
    as_root = "" if is_root else " (as root: sudo fsconsole)"
    return (
        Line("scratch", f"n  New scratch device: safe to wipe{as_root}"),
        Line("demo", f"N  Demo: 1 to 10 minutes, writes 2 GiB in {DEFAULT_SCRATCH_DIR}{as_root}", wraps=True),
    )


def ticked_told(entry: ListedEntry) -> str:
    """Return what is said of a device that was ticked just now, and what will be asked about it."""
    path = entry.device.path
    if entry.device.is_scratch and all(hazard.check not in ASKED_OF_SCRATCH for hazard in entry.hazards):
        return scratch_ticked_told(path)
    held = holdings(entry.device.signatures)
    asked = f"It holds {held}: " if held else "Enter plans; "
    return f"{path} is ticked. {asked}nothing is wiped before you type its name."


def scratch_ticked_told(path: str) -> str:
    """Return what is said of a scratch device that was ticked just now."""
    return f"{path} is ticked: a scratch device, wiped without a question. Enter plans."


def removal_told(entry: ListedEntry) -> str:
    """Return what goes with a scratch device."""
    backing = entry.device.loop
    file = backing.path if backing is not None else ""
    return f"It is detached, and its file of {format_bytes(entry.device.size_bytes)} is deleted: {file}"
