"""The keys at the bottom: Textual's line, made anew only where it would be another one.

Textual makes it anew at every change of the focus and at every refresh of the bindings; that was most of the work of a key.
"""

from __future__ import annotations

from textual import widgets

Key = tuple[str, str, str, str, bool, str]


class Footer(widgets.Footer):
    """The keys of the screen, in one line."""

    _keys_shown: tuple[Key, ...] = ()

    async def recompose(self) -> None:
        """Make the keys anew, where they are others than before."""
        if not self.is_attached:  # Its screen has gone meanwhile.
            return
        keys = self._keys()
        if keys != self._keys_shown:
            self._keys_shown = keys
            await super().recompose()

    def _keys(self) -> tuple[Key, ...]:
        return tuple(
            (
                active.binding.key,
                self.app.get_key_display(active.binding),
                active.binding.description,
                active.binding.action,
                active.enabled,
                active.tooltip,
            )
            for active in self.screen.active_bindings.values()
            if active.binding.show
        )
