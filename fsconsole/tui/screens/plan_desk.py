"""The draft behind the Plan screen: counted beside the screen, for the devices and the machine at hand."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, cast

from textual import work
from textual.binding import Binding, BindingType

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import answer, failure
from fsconsole.devices.identity import listed_identity
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.errors.targets import PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.journal.folder import RunFolder
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.outcome import Disk, Here, Outcome, here_of, levels_of, work_out
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.read import configs_folder, list_configs, read_plan, resolve_plan
from fsconsole.show.devices import WORDS, Entry, others, parse_listing
from fsconsole.show.plan import unable
from fsconsole.system.files import kernel_release
from fsconsole.tui import planfiles
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import AskScreen, PromptScreen
from fsconsole.tui.screens.plan_dialogs import CommandsScreen, Desk, OpenScreen, PathSuggester
from fsconsole.tui.watch import beside
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


# What can be done with a whole plan: opened, saved, looked through, tried and begun.

_NEW_NAME = "plan.toml"


class PlanActs(DeskScreen):
    """The keys that concern the plan as a whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_plan", "Open", id="plan.open", tooltip="A shipped plan, or a plan file"),
        Binding("s", "save_plan", "Save", id="plan.save", tooltip="Save the plan as a file"),
        Binding("c", "commands", "Commands", id="plan.commands", tooltip="The exact commands of any cell"),
        Binding("p", "probe", "Try", id="plan.probe",
                tooltip="Find out on a small image what this machine takes of the ticked filesystems' options"),
        Binding("g", "begin", "Go", id="plan.go", tooltip="Confirm what is wiped, and run the plan"),
        Binding("n", "begin_anew", "New", id="plan.new", tooltip="Begin another plan", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.digest = ""
        """Of the file at plan.path, as it was opened or saved; empty where there is none."""

    @property
    def is_changed(self) -> bool:
        """Whether something would be lost if another plan were opened."""
        return self.draft.plan_file != self.kept.plan_file

    def action_open_plan(self) -> None:
        """Choose a plan and open it."""
        self.run_worker(self._open(), group="open", exclusive=True)

    def action_begin_anew(self) -> None:
        """Begin with another plan."""
        self.run_worker(self._anew(), group="open", exclusive=True)

    def action_save_plan(self) -> None:
        """Ask for a path, and save."""
        self.run_worker(self._save(), group="open", exclusive=True)

    def action_commands(self) -> None:
        """Show the commands of the cells."""
        self.run_worker(self._show_commands(), group="commands", exclusive=True)

    def action_probe(self) -> None:
        """Try the options of what is ticked."""
        names = sorted({self.draft.plan.checklists[number].filesystem for number in self.draft.checklists})
        if not names:
            self.say("No filesystem is ticked whose options could be tried.")
            return
        words = f"Trying the options of {', '.join(names)} on small images in memory:"
        self.run_worker(self.waiting(words, self._probe(*names)), group="catalog", exclusive=True)

    def action_begin(self) -> None:
        """Go on to what would be lost, and to the run."""
        if not self.session.is_root:
            self.say(
                "Formatting and mounting need root: start fsconsole with sudo. Until then the plan can be saved (s)."
            )
        elif not self.session.targets:
            self.say(
                "No device is ticked that the plan could run on: tick one on screen 1, or make a scratch device there."
            )
        else:
            self.run_worker(self._begin(), group="begin", exclusive=True)

    async def _show_commands(self) -> None:
        await self._settled()
        if self.outcome.plan is None:
            self.say(f"{self.outcome.problem} {self.outcome.hint}".strip(), style="$error")
            return
        session, cells = self.session, self.outcome.plan.cells
        # To look at what a device holds needs root; without it the commands have the word DEVICE.
        targets = session.targets if session.is_root else ()
        screen = CommandsScreen(cells, self.draft.text, targets, session.children, session.runs_dir)
        await self.app.push_screen(screen)

    async def _settled(self) -> None:
        while not self.is_current:
            await asyncio.sleep(0.05)

    async def _open(self) -> None:
        if not await self._may_be_lost():
            return
        name: str | None = None
        try:
            shipped = [(path.stem, read_plan(path).title) for path in list_configs()]
            name = await self.app.push_screen_wait(OpenScreen(shipped))
            if name is None:
                return
            path = os.path.abspath(resolve_plan(os.path.expanduser(name)))
            plan = await asyncio.to_thread(read_plan, path)
        except FsconsoleError as error:
            self.complain(error)
            return
        except OSError as error:
            self.complain(PlanMissing(name or "", str(error)))
            return
        self._begin_with(Draft(plan), planfiles.digest_of_text(plan.source))
        self.say(f"Opened {path}.")

    async def _anew(self) -> None:
        if await self._may_be_lost():
            self._begin_with(new_draft(), "")

    async def _save(self) -> None:
        now = self.draft.plan.path
        is_shipped = now and os.path.dirname(now) == str(configs_folder())
        offered = (os.path.basename(now) or _NEW_NAME) if is_shipped or not now else now
        hint = "Right arrow completes; enter saves."
        path = await self.app.push_screen_wait(
            PromptScreen("Save the plan as", offered, hint=hint, suggester=PathSuggester())
        )
        if path is None or not path.strip():
            return
        try:
            whole = os.path.abspath(os.path.expanduser(path.strip()))
            saved = await self._saved(whole)
            if saved is None:
                return
            plan, text, digest = saved
        except FsconsoleError as error:
            self.complain(error)
            return
        except OSError as error:
            self.complain(PlanUnwritable(path, str(error)))
            return
        self.draft = self.kept = Draft(_at(plan, whole, text))
        self.digest = digest
        self.show_draft()
        self.count()
        self.say(f"Saved {whole}.")

    async def _saved(self, whole: str) -> tuple[PlanFile, str, str] | None:
        """Save the plan, once what it replaces was agreed to; asked anew as often as somebody else is there first."""
        is_anew = False
        while True:
            found = planfiles.digest_of(whole)
            if found and not await self._may_be_replaced(whole, found, is_anew=is_anew):
                return None
            plan, text = self.draft.plan_file, self.draft.text
            try:
                return plan, text, planfiles.save(whole, text, found)
            except PlanChanged:
                is_anew = True

    async def _may_be_replaced(self, path: str, found: str, *, is_anew: bool) -> bool:
        is_ours = path == self.draft.plan.path
        if is_ours and found == self.digest:
            return True
        why = "It was edited since it was opened here." if is_ours else "There is a file of that name."
        if is_anew:
            why = "Somebody else changed it just now, while it was being saved."
        question = AskScreen(
            f"Replace {path}?", f"{why} Its text would be lost.", yes="Replace it", no="Leave it"
        )
        return await self.app.push_screen_wait(question)

    async def _may_be_lost(self) -> bool:
        if not self.is_changed:
            return True
        question = AskScreen(
            "Leave this plan?",
            "It was changed, and its changes are not saved.",
            yes="Lose them",
            no="Go on with it",
        )
        return await self.app.push_screen_wait(question)

    def _begin_with(self, draft: Draft, digest: str) -> None:
        self.draft = self.kept = draft
        self.counted, self.outcome = draft, Outcome()
        self.digest, self.is_counted = digest, False
        self.show_opened()
        self.count()

    async def _probe(self, *names: str) -> None:
        await self.ask_catalog(*names, "--probe")
        if all(name in self.here.tried for name in names):
            self.say(f"Tried on this machine: {', '.join(names)}.")

    async def _begin(self) -> None:
        await self._settled()
        if why := unable(self.outcome):
            self.say(why, style="$error")
            return
        try:
            text = self.draft.text
            path = planfiles.keep_for_run(text)
        except FsconsoleError as error:
            self.complain(error)
            return
        try:
            folder = await self._confirmed(path, planfiles.digest_of_text(text))
        finally:
            planfiles.forget(path)
        if folder is not None:
            self.session.folder = folder
            self.app.switch_mode("run")

    async def _confirmed(self, path: str, digest: str) -> RunFolder | None:
        # Here, since what it starts is needed by nobody who only plans.
        from fsconsole.tui.screens.confirm import ConfirmScreen  # noqa: PLC0415

        return await self.app.push_screen_wait(ConfirmScreen(path, self.session.ticks, digest))


def _at(plan: PlanFile, path: str, text: str) -> PlanFile:
    """Return a plan as it would be read from the file that was just written."""
    return replace(plan, path=path, source=text)
