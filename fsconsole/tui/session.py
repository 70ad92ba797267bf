"""State of the console that outlives its screens: devices that are ticked, the run that is followed, starts under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from textual.dom import DOMNode

from fsconsole.client.children import Children, Done, not_stopped, started_run, was_undone
from fsconsole.journal.folder import RunFolder
from fsconsole.model.device import Identity
from fsconsole.show.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Started:
    """The result of starting a run."""

    done: Done
    folder: RunFolder | None
    """The started run; None where the command named none."""
    going_on: str
    """A sentence on why the run goes on though its start was cancelled; empty where it doesn't."""
    was_undone: bool
    """True if it was cancelled before it had a run, and has undone what it had made."""


@dataclass(slots=True)
class Session:
    """The console's own state; a run needs none of it."""

    terminal: Terminal
    children: Children
    """Through which everything is done: the console opens no device."""
    runs_dir: str
    is_root: bool
    ticks: dict[str, Identity] = field(default_factory=dict)
    """Device nodes that are ticked, in the order of ticking, and who each of them was then."""
    makes_arrays: bool = False
    """True if the plan makes arrays of all ticked devices together, rather than run on each in turn."""
    folder: RunFolder | None = None
    """The run that Run and Results show."""
    plan_of: RunFolder | None = None
    """A run whose plan the Plan screen is to show next."""

    run_words: str = ""
    """Of the run that is followed: that it goes on, or how it ended; empty where none was."""
    is_tour: bool = False
    """True if the run is a recorded one, and each screen is explained."""
    guided: str = ""
    """The screen that a tour has explained last."""
    least_bytes: Callable[[], int] = lambda: 0
    """Works out the smallest scratch device for the plan, in some seconds at most; 0 where that isn't known."""
    starts: list[Callable[[], object]] = field(default_factory=list)
    """Cancel each start of a run that is under way: only this console reads which run it started."""
    unstopped: list[str] = field(default_factory=list)
    """Sentences about runs that go on though their start was cancelled."""
    unsaved: str = ""
    """A sentence on what the console alone has: it is lost with it. Empty where nothing is."""
    kept: str = ""
    """Message about the unsaved draft that is kept; empty if there is none."""

    async def start(self, children: Children, cancel: Callable[[], object], end: asyncio.Event, *words: str) -> Started:
        """Start a run; leaving the console cancels that first, which sets end. Raises ChildFailed."""
        self.starts.append(cancel)
        try:
            where = ("--detach", "--json", "--runs", self.runs_dir)
            done = await children.run_or_end(end, *words, *where)
            folder, going_on = started_run(done, self.runs_dir), ""
            if folder is not None and end.is_set():
                # Whatever the exit code: once the command has named its run, only this console can stop it.
                going_on = await asyncio.to_thread(not_stopped, folder)
                self.unstopped += [going_on] if going_on else []
            return Started(done, folder, going_on, was_undone=end.is_set() and was_undone(done))
        finally:
            self.starts.remove(cancel)

    @property
    def would_be_lost(self) -> tuple[str, ...]:
        """Sentences on what is lost where the console ends now."""
        starting = "A run is being started: that is cancelled, and what was made for it removed." if self.starts else ""
        return tuple(filter(None, (starting, self.unsaved)))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.ticks)


class _Holder(Protocol):
    session: Session


def session_of(node: DOMNode) -> Session:
    """Return the state of the console that a screen or a widget is in."""
    return cast("_Holder", node.app).session
