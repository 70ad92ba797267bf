"""What the Devices screen has done by commands, and when it offers the first of them."""

from __future__ import annotations

from fsconsole.client.children import Children, answer, failure
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.views.device_words import folder_of, read_test_told
from fsconsole.tui.views.devices import Listing


async def read_test(children: Children, path: str) -> str:
    """Read from a device and return the figure in words. Raises ChildFailed, OSError."""
    return read_test_told(await answer(children, "readtest", path))


async def remove_scratch(children: Children, scratch_id: str) -> None:
    """Remove a scratch device with its file, by its id: a loop's number may be another's by now.

    Raises ChildFailed, OSError.
    """
    done = await children.run("scratch", "remove", scratch_id)
    if done.exit_code:
        raise failure(done)


async def start_demo(children: Children, runs_dir: str) -> RunFolder:
    """Start the demo and return its run. Raises ChildFailed, OSError."""
    return RunFolder(folder_of(await answer(children, "demo", "--detach", "--runs", runs_dir)))


async def make_scratch(children: Children, size: str, directory: str) -> str:
    """Make a scratch device and return its node. Raises ChildFailed, OSError."""
    made = await answer(children, "scratch", "create", "--size", size, "--dir", directory)
    device = made.get("device") if isinstance(made, dict) else None
    if not isinstance(device, str) or not device:
        raise ChildFailed(words="scratch create", said="`fsconsole scratch create` told no device.")
    return device


def is_first_start(listing: Listing, runs_dir: str) -> bool:
    """Return whether nothing was tried on this machine yet: no scratch device, no run."""
    from fsconsole.journal.store import list_runs  # noqa: PLC0415 - the first screen is there sooner without

    try:
        return not listing.has_scratch and not list_runs(runs_dir)
    except FsconsoleError:
        return False
