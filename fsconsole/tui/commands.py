"""Everything that can be done on a screen, for the list that ctrl+p shows: made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen

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
