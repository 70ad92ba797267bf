"""Which devices may be targets, and what becomes of ticks when devices change. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import Claim
from fsconsole.model.device import Device, Identity
from fsconsole.tui.views.devices import Entry, Listing
from fsconsole.tui.views.who import others

NEEDS_ROOT = "leave with q, then `sudo fsconsole`."
_SYSTEM = frozenset({"/", "/boot", "/boot/efi", "/usr", "/var"})


def refusal(entry: Entry, listing: Listing, *, is_root: bool) -> str:
    """Return why a device can't be ticked and what to do, in sentences; "" where it may be ticked or must be proved."""
    path = entry.device.path
    if entry.refusals:
        first = entry.refusals[0]
        return f"{path} {first.reason}: it can't be ticked. {first.hint}"
    if entry.state.claim is Claim.IN_USE:
        return f"{path} is in use ({entry.state.text}): it can't be ticked. {remedy(entry, listing)}"
    if not entry.is_proved and not is_root:
        return f"Only root can see whether {path} is free: {NEEDS_ROOT}"
    return ""


def remedy(entry: Entry, listing: Listing) -> str:
    """Return what frees a device that is in use, or what to choose instead."""
    return next(_remedies(entry.device, listing), "Choose another, or free it first.")


def _remedies(device: Device, listing: Listing) -> Iterator[str]:
    points = [mount.mount_point for mount in device.mounts]
    if _SYSTEM.intersection(points):
        yield "This machine runs from it: choose another."
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
    shown = f"{holder} ({found.device.dm_name})" if found is not None and found.device.dm_name else holder
    if holder.startswith("md"):
        return f"Tick {shown} itself, or stop it first: `mdadm --stop /dev/{holder}`."
    return f"Tick {shown} itself, or deactivate it first."


def lost_ticks(ticks: Mapping[str, Identity], listing: Listing) -> dict[str, str]:
    """Return the targets that don't stand any more, with a sentence for each; ticks has who each was when ticked."""
    found = ((path, _lost(listing.at(path), one)) for path, one in ticks.items())
    return {path: f"{path} was unticked: {why}." for path, why in found if why}


def _lost(entry: Entry | None, ticked: Identity) -> str:
    if entry is None:
        return "it is gone"
    if other := others(ticked, listed_identity(entry.device)):
        return f"another device stands there now ({other})"
    if entry.refusals:
        return f"it {entry.refusals[0].reason}"
    if entry.state.claim is Claim.IN_USE:
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
