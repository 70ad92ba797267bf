"""What the screens of one console share: where runs are kept, what is ticked, which run is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from fsconsole.client.children import Children
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.terminal import Terminal


@dataclass(slots=True)
class Session:
    """The console's own state; nothing of it is needed to see a run to its end."""

    terminal: Terminal
    children: Children
    """Through which everything is done: the console opens no device."""
    runs_dir: str
    is_root: bool
    targets: list[str] = field(default_factory=list)
    """Device nodes that are ticked, in the order of ticking."""
    folder: RunFolder | None = None
    """The run that Run and Results show."""
