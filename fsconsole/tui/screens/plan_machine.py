"""Support of this machine for filesystems, options and arrays, as far as the Plan screen has asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fsconsole.client.children import answer
from fsconsole.model.answers import CatalogAnswer, FilesystemsAnswer, LevelsAnswer
from fsconsole.plan.outcome import ThisMachine, levels_of, this_machine
from fsconsole.system.files import kernel_release
from fsconsole.tui.screens.base import ConsoleScreen


class MachineSupport:
    """Asks `fsconsole catalog`; what is known until then is the kernel's release."""

    def __init__(self, screen: ConsoleScreen, changed: Callable[[], None]) -> None:
        """Take the screen that says what went wrong, and what is called when more is known."""
        self._screen, self._changed = screen, changed
        self.here = ThisMachine(kernel_release(), is_asked=False)
        self._told: dict[str, CatalogAnswer] = {}
        self._knows_all = self._has_asked_levels = False

    async def ask_catalog(self, *words: str) -> None:
        """Ask what this machine takes; with --probe it is tried. Raises nothing: what went wrong is said."""
        if words and not self._knows_all:
            # The question about all, which this one put an end to, or which failed.
            await self.ask_catalog()
        with self._screen.complaining():
            found = await answer(self._screen.session.children, FilesystemsAnswer, "catalog", *words)
            told = self._told | {entry.filesystem: entry for entry in found.filesystems}
            here = this_machine(self.here.kernel, list(told.values()))
            self._knows_all = self._knows_all or not words
            self._told, self.here = told, replace(here, levels=self.here.levels, is_asked=self._knows_all)
            self._changed()

    def ask_levels(self) -> None:
        """Ask, once, which arrays this machine makes: a plan without any need not know."""
        if not self._has_asked_levels:
            self._has_asked_levels = True
            self._screen.run_worker(self._ask_levels(), group="levels")

    async def try_options(self, names: Sequence[str]) -> None:
        """Find out which options of these filesystems this machine takes, and say so."""
        if not names:
            self._screen.say("No filesystem is ticked whose options could be tried.")
            return
        words = f"Trying the options of {', '.join(names)} on small images in memory:"
        await self._screen.waiting(words, self.ask_catalog(*names, "--probe"))
        if all(name in self.here.tried for name in names):
            self._screen.say(f"Tried on this machine: {', '.join(names)}.")

    async def _ask_levels(self) -> None:
        with self._screen.complaining():
            found = await answer(self._screen.session.children, LevelsAnswer, "catalog", "--arrays")
            self.here = replace(self.here, levels=levels_of(found.levels))
            self._changed()
