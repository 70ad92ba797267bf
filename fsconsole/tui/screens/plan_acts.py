"""What can be done with a whole plan: opened, saved, looked through, tried and begun."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from fsconsole.errors import FsconsoleError, PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.journal.folder import RunFolder
from fsconsole.plan.configs import configs_folder, list_configs, resolve_plan
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.reader import read_plan
from fsconsole.tui import planfiles
from fsconsole.tui.draft import Draft, new_draft
from fsconsole.tui.outcome import Outcome
from fsconsole.tui.screens.ask import AskScreen
from fsconsole.tui.screens.plan_commands import CommandsScreen
from fsconsole.tui.screens.plan_desk import DeskScreen
from fsconsole.tui.screens.plan_open import OpenScreen, PathSuggester
from fsconsole.tui.screens.prompt import PromptScreen
from fsconsole.tui.views.plan import unable

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
