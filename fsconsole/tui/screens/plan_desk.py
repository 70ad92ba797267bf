"""The draft behind the Plan screen: counted beside the screen, for the devices and the machine at hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from textual import work

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import answer, failure
from fsconsole.devices.identity import listed_identity
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.plan.target import TargetSpec
from fsconsole.system.host import kernel_release
from fsconsole.tui.beside import beside
from fsconsole.tui.draft import Draft, new_draft
from fsconsole.tui.here import Here, here_of, levels_of
from fsconsole.tui.outcome import Disk, Outcome, work_out
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.plan_section import Desk
from fsconsole.tui.views.devices import WORDS, Entry, parse_listing
from fsconsole.tui.views.who import others
from fsconsole.units import format_guess

_TELL_S = 2.0
"""How often it is told how long something has taken."""
_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""


class DeskScreen(ConsoleScreen):
    """Keeps a draft and what it comes to; subclasses show both."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = new_draft()
        self.kept = self.draft
        """As it was opened or saved last."""
        self.counted, self.outcome = self.draft, Outcome()
        self.is_counted = False
        self._counted_for: tuple[object, ...] = ()
        self.disks: tuple[Disk, ...] = ()
        self.missing: tuple[str, ...] = ()
        self.catalog = load_catalog()
        self.here = Here(kernel_release())
        self._told: dict[str, Mapping[str, object]] = {}
        self._asked_for: tuple[str, ...] = ()
        self._is_counting = self._is_stale = self._has_asked = self._knows_all = False
        self._has_asked_levels = False
        self._said = ""

    @property
    def desk(self) -> Desk:
        """All that a section looks at."""
        return Desk(self.draft, self.catalog, self.here, self.counted, self.outcome)

    @property
    def is_current(self) -> bool:
        """Whether the draft at hand was counted, for the devices and the machine at hand."""
        return self.is_counted and self.counted == self.draft and self._counted_for == (self.disks, self.here)

    def say(self, text: str, *, style: str = "") -> None:
        """Show a sentence; where none stands, nothing is painted for taking it back."""
        if text or self._said:
            super().say(text, style=style)
        self._said = text

    async def waiting(self, words: str, work: Awaitable[None]) -> None:
        """Say what is waited for, and for how long by now, until it is there or something else was said."""
        begun_s = time.monotonic()
        shown = words

        def tell() -> None:
            nonlocal shown
            if self._said == shown:
                shown = f"{words} {format_guess(time.monotonic() - begun_s)}"
                self.say(shown)

        self.say(shown)
        timer = self.set_interval(_TELL_S, tell)
        try:
            await work
        finally:
            timer.stop()
            if self._said == shown:
                self.say("")

    def show_draft(self) -> None:
        """Show the draft: it has changed."""

    def show_opened(self) -> None:
        """Show a draft that has nothing to do with the one before."""

    def show_outcome(self) -> None:
        """Show what the draft comes to: it has been counted."""

    def take(self, draft: Draft) -> None:
        """Go on with another draft."""
        if draft == self.draft:
            return
        self.draft = draft
        self.show_draft()
        self.count()

    def count(self) -> None:
        """Have the draft counted, once it has settled."""
        self.session.makes_arrays = bool(self.draft.plan_file.arrays)
        if self.session.makes_arrays:
            self.ask_levels()
        self._is_stale = True
        if not self._is_counting:
            self._is_counting = True
            self.run_worker(self._count(), group="count")

    def on_screen_resume(self) -> None:
        """Look at the devices that are ticked by now, and once at what is known of this machine."""
        targets = self.session.targets
        if targets or targets != self._asked_for:
            self._asked_for = targets
            self._look_at(targets)
        if not self._has_asked:
            self._has_asked = True
            asked = self.waiting("Asking what this machine takes of all this ...", self.ask_catalog())
            self.run_worker(asked, group="catalog", exclusive=True)
        if not self.is_counted:
            self.count()

    async def ask_catalog(self, *words: str) -> None:
        """Ask what this machine takes; with --probe it is tried. Raises nothing: what went wrong is said."""
        if words and not self._knows_all:
            # The question about all, which this one put an end to, or which failed.
            await self.ask_catalog()
        try:
            entries = cast("list[dict[str, object]]", await answer(self.session.children, "catalog", *words))
            told = self._told | {str(entry["filesystem"]): entry for entry in entries}
            self.here = replace(here_of(self.here.kernel, list(told.values())), levels=self.here.levels)
        except FsconsoleError as error:
            self.complain(error)
            return
        except (KeyError, TypeError) as error:
            self.complain(ChildFailed(words="catalog", said=f"The catalog gave no answer: {error}."))
            return
        self._told = told
        self._knows_all = self._knows_all or not words
        self.show_draft()
        self.count()

    def ask_levels(self) -> None:
        """Ask, once, which arrays this machine makes: a plan without any need not know."""
        if not self._has_asked_levels:
            self._has_asked_levels = True
            self.run_worker(self._ask_levels(), group="levels")

    async def _ask_levels(self) -> None:
        try:
            levels = levels_of(await answer(self.session.children, "catalog", "--arrays"))
        except FsconsoleError as error:
            self.complain(error)
            return
        self.here = replace(self.here, levels=levels)
        self.show_draft()
        self.count()

    async def _count(self) -> None:
        try:
            while self._is_stale:
                while self._is_stale:
                    self._is_stale = False
                    await asyncio.sleep(_SETTLE_S)
                draft, counted_for = self.draft, (self.disks, self.here)
                outcome = await beside(
                    partial(
                        work_out,
                        draft.plan_file,
                        self.disks,
                        self.catalog,
                        kernel=self.here.kernel,
                        known=self.here.known,
                        support=self.here.arrays,
                    )
                )
                self.counted, self.outcome, self.is_counted = draft, outcome, True
                self._counted_for = counted_for
                self.show_outcome()
        finally:
            self._is_counting = False

    @work(group="devices", exclusive=True)
    async def _look_at(self, targets: tuple[str, ...]) -> None:
        found, missing, lost = [], [], []
        for target in targets:
            try:
                entry = await self._listed(target)
            except FsconsoleError:
                missing.append(target)
                continue
            ticked = self.session.ticks.get(target)
            if ticked is not None and (other := others(ticked, listed_identity(entry.device))):
                del self.session.ticks[target]
                lost.append(f"{target} was unticked: another device stands there now ({other}).")
            else:
                found.append(_disk(entry))
        disks = tuple(found)
        if (disks, tuple(missing)) != (self.disks, self.missing):
            self.disks, self.missing = disks, tuple(missing)
            self.show_outcome()
            self.count()
        if lost:
            self.say_at_hand(" ".join(lost), style="$warning")

    async def _listed(self, target: str) -> Entry:
        done = await self.session.children.run(*WORDS, "--runs", self.session.runs_dir, target)
        entry = None if done.exit_code else parse_listing(done.out, done.err).at(target)
        if entry is None:
            raise failure(done)
        return entry


def _disk(entry: Entry) -> Disk:
    device = entry.device
    spec = TargetSpec(device.path, device.size_bytes, is_scratch=device.is_scratch)
    return Disk(spec, is_rotating=bool(device.rotational))
