"""What the Devices screen has done by commands, and when it offers the first of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from fsconsole.client.children import Children, answer, carried_out, failure
from fsconsole.client.starting import begun_run, not_begun, not_stopped, was_undone
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.model.places import DEFAULT_SCRATCH_DIR
from fsconsole.tui.views.device_words import DEMO_SIZE, read_test_told
from fsconsole.tui.views.devices import Listing


async def read_test(children: Children, path: str) -> str:
    """Read from a device and return the figure in words. Raises ChildFailed."""
    return read_test_told(await answer(children, "readtest", path))


async def remove_scratch(children: Children, scratch_id: str) -> None:
    """Remove a scratch device with its file, by its id: a loop's number may be another's by now.

    Raises ChildFailed.
    """
    await carried_out(children, "scratch", "remove", scratch_id)


@dataclass(frozen=True, slots=True)
class Demo:
    """What a start of the demo came to: its run, none where it had none yet, and why that goes on though it was ended."""

    folder: RunFolder | None
    going_on: str = ""


async def start_demo(children: Children, runs_dir: str, end: asyncio.Event) -> Demo:
    """Start the demo; one that was ended before it had a run has taken back what it made.

    Raises ChildFailed.
    """
    place = ("--size", DEMO_SIZE, "--dir", DEFAULT_SCRATCH_DIR)
    done = await children.run_or_end(end, "demo", *place, "--detach", "--runs", runs_dir, "--json")
    folder = begun_run(done, runs_dir)
    if folder is None and not (end.is_set() and was_undone(done)):
        raise not_begun(done)
    if folder is None or not end.is_set():
        return Demo(folder)
    # Whatever the command's exit code: once it has told its run, only this console can stop that.
    return Demo(folder, await asyncio.to_thread(not_stopped, folder))


@dataclass(frozen=True, slots=True)
class Made:
    """A scratch device: its node now, and the id that it keeps."""

    device: str
    scratch_id: str


async def make_scratch(children: Children, size: str, directory: str, end: asyncio.Event) -> Made | None:
    """Make a scratch device; None where that was ended before it was made. Raises ChildFailed."""
    words = ("scratch", "create", "--size", size, "--dir", directory, "--json")
    done = await children.run_or_end(end, *words)
    if done.exit_code:
        if end.is_set():
            return None
        raise failure(done)
    try:
        told = json.loads(done.out)
        return Made(str(told["device"] or ""), str(told["scratch_id"] or ""))
    except (ValueError, KeyError, TypeError) as error:
        raise ChildFailed(
            words="scratch create", said="`fsconsole scratch create` told no device."
        ) from error


def is_first_start(listing: Listing, runs_dir: str) -> bool:
    """Return whether nothing was tried on this machine yet: no scratch device, no run."""
    from fsconsole.journal.store import list_runs  # noqa: PLC0415 - the first screen is there sooner without

    try:
        return not listing.has_scratch and not list_runs(runs_dir)
    except FsconsoleError:
        return False
