"""Sentences of the Devices screen. Pure."""

from __future__ import annotations

from fsconsole.devices.state import holdings
from fsconsole.errors import ChildFailed
from fsconsole.model.places import DEFAULT_SCRATCH_DIR
from fsconsole.plaintext import printable
from fsconsole.tui.views.device_ticks import ticks_told
from fsconsole.tui.views.devices import Entry, Listing
from fsconsole.units import format_bytes, format_guess, format_rate, format_seconds

OFFER = "d: a first comparison on a scratch device of 2 GiB, touches no disk"
DEMO_SIZE = "2GiB"
DEMO_QUESTION = "Start the demo?"
DEMO_TOLD = (
    f"It makes a scratch device of 2 GiB in {DEFAULT_SCRATCH_DIR}, compares four variants on it, which takes about"
    " a minute, and removes it at the end. No disk is wiped."
)


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
        return "The devices could not be looked at; f5 tries again" if failed else "Looking at the devices..."
    count = len(listing.entries)
    devices = "1 device" if count == 1 else f"{count} devices"
    age = f"this is {format_guess(age_s)} old"
    now = f"; looking again, {age}" if looking else f"; the last look failed, {age}" if failed else ""
    return f"{devices}, {ticks_told(ticked, makes_arrays=makes_arrays)}{now}"


def offer(*, is_root: bool) -> str:
    """Return what is offered where nothing was tried yet."""
    return OFFER if is_root else f"{OFFER} (as root: sudo fsconsole)"


def ticked_told(entry: Entry) -> str:
    """Return what is said of a device that was ticked just now, and what will be asked about it."""
    path = entry.device.path
    if entry.device.is_scratch:
        return f"{path} is ticked: a scratch device, safe to wipe. Enter plans."
    held = holdings(entry.device.signatures)
    asked = f"It holds {held}: " if held else "Enter plans; "
    return f"{path} is ticked. {asked}nothing is wiped before you type its name."


def removal_told(entry: Entry) -> str:
    """Return what goes with a scratch device."""
    backing = entry.device.loop
    file = backing.path if backing is not None else ""
    return f"It is detached, and its file of {format_bytes(entry.device.size_bytes)} is deleted: {file}"


def read_test_told(document: object) -> str:
    """Return what `fsconsole readtest --json` measured, in words. Raises ChildFailed where it is something else."""
    names = ("bytes_per_s", "read_bytes", "elapsed_s", "read_ahead_bytes")
    found = document if isinstance(document, dict) else {}
    figures = [float(found[name]) for name in names if isinstance(found.get(name), (int, float))]
    if len(figures) < len(names):
        raise ChildFailed(words="readtest", said="The answer of `fsconsole readtest` lacks a figure.")
    rate, read_bytes, elapsed_s, ahead_bytes = figures
    scheduler = printable(str(found.get("scheduler") or "none"))
    return (
        f"{format_rate(rate)} through the page cache ({format_bytes(read_bytes)} in {format_seconds(elapsed_s)};"
        f" read-ahead {format_bytes(ahead_bytes)}, scheduler {scheduler})"
    )
