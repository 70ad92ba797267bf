"""What `fsconsole devices --json` says, as values: each device with its place in the tree, its state and its hazards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import Claim, DeviceState, device_state
from fsconsole.devices.tree import TreeRow, tree_rows
from fsconsole.errors import ChildFailed
from fsconsole.journal.codec import Mismatch, decode, parse_json
from fsconsole.model.device import Device, Identity, MdArray
from fsconsole.model.hazard import Hazard, Verdict

WORDS = ("devices", "--json")
_NOTE = "note: "
_VERSION_HINT = "Command and console must be of one version: leave with q, and start it again."
_ADDED = ("is_scratch", "state", "hazards", "stripes")
"""What the command prints beside the fields of Device."""

_NEW = DeviceState(Claim.UNKNOWN, "new; looking")

Key = tuple[str, Identity]
_Found = tuple[Device, DeviceState, tuple[Hazard, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A device of the list."""

    row: TreeRow
    state: DeviceState
    hazards: tuple[Hazard, ...] = ()

    @property
    def device(self) -> Device:
        """The device itself."""
        return self.row.device

    @property
    def scratch_id(self) -> str:
        """The mark of a scratch device; empty for any other."""
        return self.device.loop.scratch_id if self.device.loop is not None else ""

    @property
    def is_proved(self) -> bool:
        """Whether it was looked at closely enough to say that it may be wiped, or may not."""
        return self.state.claim in {Claim.FREE, Claim.IN_USE} or bool(self.hazards)

    @property
    def refusals(self) -> tuple[Hazard, ...]:
        """Reasons why it is never wiped."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.REFUSED)

    @property
    def questions(self) -> tuple[Hazard, ...]:
        """What would be lost, which is asked about."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.ASKED)

    @property
    def key(self) -> Key:
        """Who it is within one boot: another disk in its place has another key."""
        return (self.device.path, listed_identity(self.device))


@dataclass(frozen=True, slots=True)
class Listing:
    """All devices in the order of a tree, and what is to be known of how they were seen."""

    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()

    def at(self, path: str) -> Entry | None:
        """Return the device of that node; None where there is none now."""
        return next((entry for entry in self.entries if entry.device.path == path), None)

    def scratch(self, scratch_id: str) -> Entry | None:
        """Return the scratch device of that id; None where there is none now."""
        return next((entry for entry in self.entries if entry.scratch_id == scratch_id != ""), None)

    @property
    def syncs(self) -> bool:
        """Whether an array's progress moves."""
        arrays = (entry.device.md for entry in self.entries)
        return any(array is not None and array.progress_percent is not None for array in arrays)

    @property
    def has_scratch(self) -> bool:
        """Whether there is a scratch device."""
        return any(entry.device.is_scratch for entry in self.entries)


def parse_listing(out: str, err: str = "") -> Listing:
    """Return what the command printed. Raises ChildFailed where it is something else."""
    try:
        found = _read_all(parse_json(out))
    except Mismatch as mismatch:
        said = f"The answer of `fsconsole devices --json` can't be read: it {mismatch}."
        raise ChildFailed(words=" ".join(WORDS), said=said, hint_given=_VERSION_HINT) from mismatch
    notes = tuple(line.removeprefix(_NOTE) for line in err.splitlines() if line.startswith(_NOTE))
    return Listing(_in_order(found), notes)


def with_progress(listing: Listing, arrays: tuple[MdArray, ...]) -> Listing:
    """Return the listing with what /proc/mdstat says now of its arrays; the rest is as it was."""
    now = {array.name: array for array in arrays}
    devices = tuple(_moved(entry.device, now) for entry in listing.entries)
    if devices == tuple(entry.device for entry in listing.entries):
        return listing
    entries = tuple(
        entry if entry.device == device else _restated(entry, device, devices)
        for entry, device in zip(listing.entries, devices, strict=True)
    )
    return replace(listing, entries=entries)


def with_changes(listing: Listing, gone: frozenset[str], new: tuple[Device, ...]) -> Listing:
    """Return the listing without the devices of these names, and with new ones of which nothing else is known yet."""
    if not gone and not new:
        return listing
    kept = {entry.device.name: entry for entry in listing.entries if entry.device.name not in gone}
    rows = tree_rows((*(entry.device for entry in kept.values()), *new))
    entries = tuple(
        replace(kept[row.device.name], row=row) if row.device.name in kept else Entry(row, _NEW)
        for row in rows
    )
    return replace(listing, entries=entries)


def with_proofs(listing: Listing, proofs: dict[Key, Entry]) -> Listing:
    """Return the listing with what was found out before about devices that it leaves open, where they are the same."""
    entries = tuple(
        replace(known, row=replace(entry.row, device=known.device))
        if not entry.is_proved and (known := proofs.get(entry.key)) and _bare(known) == _bare(entry)
        else entry
        for entry in listing.entries
    )
    return replace(listing, entries=entries)


def _read_all(document: object) -> list[_Found]:
    if not isinstance(document, list):
        raise Mismatch("is not a list")
    return [_read(item) for item in document]


def _read(item: object) -> _Found:
    if not isinstance(item, dict):
        raise Mismatch("holds something that is no device")
    device = decode(Device, {name: value for name, value in item.items() if name not in _ADDED})
    state = decode(DeviceState, item.get("state"))
    hazards = item.get("hazards")
    if not isinstance(hazards, list):
        raise Mismatch("holds a device without hazards")
    return device, state, tuple(decode(Hazard, hazard) for hazard in hazards)


def _in_order(found: list[_Found]) -> tuple[Entry, ...]:
    known = {device.name: (state, hazards) for device, state, hazards in found}
    rows = tree_rows(tuple(device for device, _, _ in found))
    return tuple(Entry(row, *known[row.device.name]) for row in rows)


def _moved(device: Device, now: dict[str, MdArray]) -> Device:
    return device if device.md is None or device.name not in now else replace(device, md=now[device.name])


def _restated(entry: Entry, device: Device, devices: tuple[Device, ...]) -> Entry:
    state = device_state(device, devices, entry.hazards if entry.is_proved else None)
    return replace(entry, row=replace(entry.row, device=device), state=state)


def _bare(entry: Entry) -> Device:
    """Return the device without what only a close look tells."""
    return replace(entry.device, signatures=())
