"""What the screens of one console share: where runs are kept, what is ticked, which run is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from fsconsole.client.children import Children
from fsconsole.journal.folder import RunFolder
from fsconsole.model.device import Identity
from fsconsole.tui.terminal import Terminal


@dataclass(slots=True)
class Session:
    """The console's own state; nothing of it is needed to see a run to its end."""

    terminal: Terminal
    children: Children
    """Through which everything is done: the console opens no device."""
    runs_dir: str
    is_root: bool
    ticks: dict[str, Identity] = field(default_factory=dict)
    """Device nodes that are ticked, in the order of ticking, and who each of them was then."""
    makes_arrays: bool = False
    """Whether the plan at hand makes arrays of all ticked devices together, rather than run on each in turn."""
    folder: RunFolder | None = None
    """The run that Run and Results show."""

    starts: list[Callable[[], object]] = field(default_factory=list)
    """What cancels each start of a run that is under way: nobody but this console hears what it has begun."""
    unstopped: list[str] = field(default_factory=list)
    """Sentences about runs that go on though their start was cancelled."""

    @contextmanager
    def starting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Hold the console while a run is being started; leaving cancels that first."""
        self.starts.append(cancel)
        try:
            yield
        finally:
            self.starts.remove(cancel)

    @property
    def targets(self) -> tuple[str, ...]:
        """Device nodes that are ticked, in the order of ticking."""
        return tuple(self.ticks)


class Host(Protocol):
    """The app, as its screens and widgets know it."""

    session: Session

    def action_go(self, mode: str) -> None:
        """Show one of the five screens."""
