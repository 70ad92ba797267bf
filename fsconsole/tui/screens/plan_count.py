"""The draft of the Plan screen: what it comes to on this machine, counted in the background, and kept for the next console."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from textual import work

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import answer
from fsconsole.client.runs import last_spreads
from fsconsole.model.answers import CatalogAnswer, FilesystemsAnswer, LevelsAnswer
from fsconsole.model.plan import Loads
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.inodes import MKE2FS_CONF, parse_mke2fs_conf
from fsconsole.plan.outcome import Outcome, ThisMachine, levels_of, this_machine, work_out
from fsconsole.plan.planfile import TargetSpec
from fsconsole.system.files import kernel_release, memory_bytes, read_text_or
from fsconsole.tui import planfiles
from fsconsole.tui.screens import plan_files
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.watch import in_background

_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""


class DraftScreen(ConsoleScreen):
    """Holds a draft and what it comes to; subclasses show both."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = new_draft()
        self.kept = self.draft
        """As it was opened or saved last."""
        self.counted, self.outcome = self.draft, Outcome()
        self.is_counted = False
        self._counted_for: tuple[object, ...] = ()
        self.disks: tuple[TargetSpec, ...] = ()
        self.missing: tuple[str, ...] = ()
        self.catalog = load_catalog()
        self.here = ThisMachine(kernel_release())
        self.last_spreads: Mapping[Loads, float] = {}
        self._mke2fs = parse_mke2fs_conf(read_text_or(MKE2FS_CONF, ""))
        """Of the last run on this machine; None where there is none, or it isn't read yet."""
        self._told: dict[str, CatalogAnswer] = {}
        self._is_counting = self._is_stale = self._knows_all = False
        self._has_asked_levels = False
        self._store = planfiles.DraftStore()
        self.digest = ""
        """Of the file at plan.path, as it was opened or saved; empty where there is none."""

    def show_draft(self) -> None:
        """Show the draft, and what it came to as far as it is counted."""
        raise NotImplementedError

    def show_outcome(self) -> None:
        """Show what the draft came to."""
        raise NotImplementedError

    @property
    def is_up_to_date(self) -> bool:
        """True if the current draft was counted, for the current devices and machine."""
        return self.is_counted and self.counted == self.draft and self._counted_for == (self.disks, self.here)

    def take(self, draft: Draft) -> None:
        if draft != self.draft:
            self.draft = draft
            self.show_draft()
            self.count()

    def change(self, make: drafts.Change) -> None:
        with self.complaining():
            draft: Draft = make()
            self.say("")
            self.take(draft)

    @property
    def is_changed(self) -> bool:
        return self.draft.plan_file != self.kept.plan_file

    async def _look_back(self) -> None:
        """Count again with the spreads of the last runs, if there are any."""
        before = self.last_spreads
        self.last_spreads = await in_background(partial(last_spreads, self.session.runs_dir))
        if self.last_spreads != before:
            self.count()

    def _tell_kept(self) -> None:
        """Have whoever leaves told that a changed plan is kept, or asked where it isn't."""
        unkept = self._store.unkept
        self.session.unsaved = unkept if self.is_changed else ""
        self.session.kept = planfiles.KEPT if self.is_changed and not unkept else ""

    def count(self) -> None:
        self._tell_kept()
        self.session.makes_arrays = bool(self.draft.plan_file.arrays)
        if self.session.makes_arrays:
            self.ask_levels()
        self._is_stale = True
        if not self._is_counting:
            self._is_counting = True
            self.run_worker(self._count(), group="count")

    async def ask_catalog(self, *words: str) -> None:
        """Ask what this machine takes; with --probe it is tried. Raises nothing: what went wrong is said."""
        if words and not self._knows_all:
            # The question about all, which this one put an end to, or which failed.
            await self.ask_catalog()
        with self.complaining():
            found = await answer(self.session.children, FilesystemsAnswer, "catalog", *words)
            told = self._told | {entry.filesystem: entry for entry in found.filesystems}
            here = this_machine(self.here.kernel, list(told.values()))
            self._told, self.here = told, replace(here, levels=self.here.levels)
            self._knows_all = self._knows_all or not words
            self.show_draft()
            self.count()

    @work(group="levels")
    async def ask_levels(self) -> None:
        """Ask, once, which arrays this machine makes: a plan without any need not know."""
        if self._has_asked_levels:
            return
        self._has_asked_levels = True
        with self.complaining():
            found = await answer(self.session.children, LevelsAnswer, "catalog", "--arrays")
            levels = levels_of(found.levels)
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
                unkept = self._store.unkept
                await in_background(partial(self._store.keep, draft, self.kept, self.digest))
                self._tell_kept()
                if self._store.unkept and not unkept:
                    self.say(self._store.unkept, style="$warning")
                outcome = await in_background(
                    partial(
                        work_out,
                        draft.plan_file,
                        self.disks,
                        self.catalog,
                        kernel=self.here.kernel,
                        known=self.here.known,
                        support=self.here.arrays,
                        last_spreads=self.last_spreads,
                        memory_bytes=memory_bytes(),
                        mke2fs=self._mke2fs,
                    )
                )
                self.counted, self.outcome, self.is_counted = draft, outcome, True
                self._counted_for = counted_for
                plan_files.offer_least(self.session, draft, self.catalog, self.here, self._mke2fs)
                self.show_outcome()
        finally:
            self._is_counting = False

    async def _read_targets(self) -> None:
        """Look at the ticked devices again, and untick those that are another device by now."""
        disks, missing, lost = await plan_files.looked_at(self.session)
        if (disks, missing) != (self.disks, self.missing):
            self.disks, self.missing = disks, missing
            self.show_outcome()
            self.count()
        elif lost:
            self.show_draft()
        if lost:
            self.say_at_hand(" ".join(lost), style="$warning")

    async def _settled(self) -> None:
        while not self.is_up_to_date:
            await asyncio.sleep(0.05)
