"""The keys by which all lists and texts are moved in."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding, BindingType

KEYS = ("up,k", "down,j", "pageup", "pagedown", "home", "end")
_NAMES = ("up", "down", "pageup", "pagedown", "home", "end")
_LABELS = ("Up", "Down", "Page up", "Page down", "First", "Last")


def moving(
    widget: str, thing: str, actions: Sequence[str], *, keys: Sequence[str] = KEYS
) -> list[BindingType]:
    """Return bindings for one thing up, one down, a page up, a page down, the first and the last, in this order."""
    tooltips = (
        f"A {thing} up", f"A {thing} down", "A page up", "A page down", f"The first {thing}", f"The last {thing}",
    )  # fmt: skip
    return [
        Binding(key, action, label, id=f"{widget}.{name}", tooltip=tooltip, show=False)
        for key, action, label, name, tooltip in zip(keys, actions, _LABELS, _NAMES, tooltips, strict=True)
    ]
