"""What the screens of one console share: where runs are kept, what is ticked, which run is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen

from fsconsole.client.children import Children
from fsconsole.journal.folder import RunFolder
from fsconsole.model.device import Identity
from fsconsole.show.terminal import Terminal

# Everything that can be done on a screen, for the list that ctrl+p shows: made from the bindings themselves.

Node = DOMNode


@dataclass(frozen=True, slots=True)
class Offered:
    """Something that can be done: a binding, and where its action is looked for."""

    node: Node
    binding: Binding


def offered(screen: Screen[Any]) -> list[Offered]:
    """Return what the keys of a screen do, then those of its widgets that haven't the focus, then the application's.

    What check_action refuses at present is left out, and so are keys without an id: those of Textual's own widgets.
    """
    found: dict[str, Offered] = {}
    for active in screen.active_bindings.values():
        if _has_place(active):
            found.setdefault(active.binding.id or "", Offered(active.node, active.binding))
    for node in screen.walk_children():
        for binding in declared(type(node)):
            if binding.id and node.display and binding.id not in found and _is_possible(node, binding):
                found[binding.id] = Offered(node, binding)
    return list(found.values())


def declared(node_type: type[Node]) -> Iterator[Binding]:
    """Yield the bindings of a class and those it inherits, one for each key."""
    for cls in node_type.__mro__:
        yield from Binding.make_bindings(vars(cls).get("BINDINGS", ()))


def _has_place(active: ActiveBinding) -> bool:
    return bool(active.binding.id) and active.enabled and not active.binding.system


def _is_possible(node: Node, binding: Binding) -> bool:
    name = binding.action.partition("(")[0].rpartition(".")[2]
    return node.check_action(name, ()) is True


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
