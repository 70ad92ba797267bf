"""Plan: what is compared, with which options, under which load; and what that comes to."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import answer
from fsconsole.errors.targets import PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.model.answers import CatalogAnswer, LevelAnswer
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.outcome import Disk, Outcome, ThisMachine, levels_of, this_machine, work_out
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.read import configs_folder, list_configs, read_plan, resolve_plan
from fsconsole.show import plan as view
from fsconsole.show.lines import Mark
from fsconsole.show.plan import unable
from fsconsole.system.files import kernel_release
from fsconsole.tui import planfiles
from fsconsole.tui.screens import plan_sections as of_plan
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import PickScreen, PromptScreen
from fsconsole.tui.screens.plan_dialogs import (
    Asked,
    CommandsScreen,
    Desk,
    OpenScreen,
    PathSuggester,
    number_in,
)
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.watch import beside, look_at
from fsconsole.tui.widgets.chrome import Sift
from fsconsole.tui.widgets.lists import Choices
from fsconsole.units import format_guess

_TELL_S = 2.0
"""How often it is told how long something has taken."""
_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""
_NEW_NAME = "plan.toml"

_WIDE = 110
"""Columns from which the variants have a pane of their own."""
_PARTS = ("#sections", "#lines", "#rows", "#plan-name", "#about", "#totals")
_TALL = 32
"""Terminal height from which the help of a line gets more lines."""


class PlanScreen(ConsoleScreen):
    """Sections on the left, the lines of one in the middle, what all comes to at the bottom."""

    MODE: ClassVar[str] = "plan"
    CSS_PATH = "plan.tcss"
    HELP: ClassVar[str] = """
What is compared: filesystems, each with options; the loads they get; arrays made of all ticked devices
together, in each cell anew; settings of disks and kernel.
[ ] is off: the tools decide. [x] is given. [*] is compared: all its values are multiplied out.
[-] can't be had here; the lines below the list say why, in the kernel's words.
Space goes from one to the next; enter opens the values, which may be typed where any number goes.
/ shows only the lines with some words, such as journal, an old name, or what the tool calls it.
Options without a line here: section "Custom options", key a, takes words for mkfs and mount.
To compare with and without an option that has one value, make a second list of the filesystem (d).
"""
    KEYS_LEFT_OUT: ClassVar[tuple[str, ...]] = ("probe", "commands", "save_plan")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_plan", "Open", id="plan.open", tooltip="A shipped plan, or a plan file"),
        Binding("s", "save_plan", "Save", id="plan.save", tooltip="Save the plan as a file"),
        Binding("c", "commands", "Commands", id="plan.commands", tooltip="The exact commands of any cell"),
        Binding("p", "probe", "Try", id="plan.probe",
                tooltip="Find out on a small image what this machine takes of the ticked filesystems' options"),
        Binding("g", "begin", "Go", id="plan.go", tooltip="Confirm what is wiped, and run the plan"),
        Binding("n", "begin_anew", "New", id="plan.new", tooltip="Start a new plan", show=False),
        Binding("a", "add", "Add", id="plan.add", tooltip="Add a workload or a custom variant"),
        Binding("d", "double", "Double", id="plan.double", tooltip="Copy the workload, the custom variant, or the list of options or arrays", show=False),
        Binding("x", "drop", "Remove", id="plan.drop", tooltip="Remove the workload, the custom variant or the list of arrays, or untick the list of options"),
        Binding("minus", "move(-1)", "Earlier", id="plan.earlier", tooltip="Do the workload earlier", key_display="-", show=False),
        Binding("plus", "move(1)", "Later", id="plan.later", tooltip="Do the workload later", key_display="+", show=False),
        Binding("slash", "find", "Find", id="plan.find", tooltip="Show only lines with some words: name, group, help, old names",
                key_display="/"),
        Binding("escape", "back", "Sections", id="plan.back", tooltip="Back to the list of sections", show=False),
    ]  # fmt: skip

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
        self.here = ThisMachine(kernel_release())
        self._told: dict[str, CatalogAnswer] = {}
        self._asked_for: tuple[str, ...] = ()
        self._is_counting = self._is_stale = self._has_asked = self._knows_all = False
        self._has_asked_levels = False
        self._said = ""
        self.digest = ""
        """Of the file at plan.path, as it was opened or saved; empty where there is none."""
        self.section_key = "filesystems"
        self._section_shown = ""
        """The section whose lines are shown; empty where they are those of another plan."""
        self._shown: dict[str, Content] = {}

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="plan-name")
        with Horizontal(id="plan"):
            yield Choices(id="sections")
            with Vertical(id="section"):
                yield Sift(Choices(id="lines"), "lines")
                yield Static(plain(""), id="about")
            with Vertical(id="rows-pane"):
                yield Static(plain("Variants", "bold"))
                yield Sift(Choices(id="rows"), "variants")
        yield Static(plain(""), id="totals")

    def on_mount(self) -> None:
        self.show_draft()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "-wide")
        self.set_class(self.size.height >= _TALL, "-tall")
        self.show_draft()

    def show_draft(self) -> None:
        """Show sections, lines and name of the draft at hand."""
        if not self._is_whole:
            return
        outcome = self.outcome if self.is_counted else None
        sections = view.section_lines(self.draft, outcome, with_variants=self.size.width < _WIDE)
        if self.section_key not in {line.key for line in sections}:
            self.section_key = "filesystems"
            self.refresh_bindings()
        self.query_one("#sections", Choices).show_lines(sections, at=self.section_key)
        self._show_section()
        name = view.name_line(self.draft, is_changed=self.is_changed, width=self.size.width)
        self._put("#plan-name", plain(name, "bold"))
        self._show_totals()

    @property
    def _is_whole(self) -> bool:
        """Whether its parts are there: when the console ends they go before what counts a plan does."""
        return len(self.query(", ".join(_PARTS))) == len(_PARTS)

    def show_opened(self) -> None:
        """Show where the opened plan says what it compares."""
        self.section_key = "filesystems" if self.draft.checklists or self.size.width >= _WIDE else "variants"
        self._section_shown = ""
        if self._is_whole:
            self._sift("rows").show_lines(of_plan.Rows().lines(self.desk), afresh=True)
        self.show_draft()
        self.refresh_bindings()

    def show_outcome(self) -> None:
        """Show what the draft comes to."""
        if not (self._is_whole and self.app.is_running):
            return
        self._sift("rows").show_lines(of_plan.Rows().lines(self.desk))
        self._tell(self.query_one("#rows"))
        self.show_draft()

    def on_list_moved(self, event: Choices.Moved) -> None:
        if event.control.id != "sections":
            self._tell(event.control)
        elif event.key and event.key != self.section_key:
            self.section_key = event.key
            self._show_section()
            self.refresh_bindings()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._tell(event.widget)

    def on_list_opened(self, event: Choices.Opened) -> None:
        if event.control.id == "sections":
            self.query_one("#lines").focus()
            return
        section = of_plan.Rows() if event.control.id == "rows" else of_plan.section_of(self.section_key)
        asked = section.opened(self.desk, event.key)
        if asked is None:
            self._tick(self.query_one(f"#{event.control.id}", Choices), event.key)
        else:
            self._ask(asked)

    def on_list_ticked(self, event: Choices.Ticked) -> None:
        if event.control.id == "sections":
            self.query_one("#lines").focus()
        else:
            self._tick(self.query_one(f"#{event.control.id}", Choices), event.key)

    @on(Choices.Left)
    def action_back(self) -> None:
        self.query_one("#sections").focus()

    def action_find(self) -> None:
        rows = self._sift("rows")
        (rows if rows.has_focus_within else self._sift("lines")).find()

    def action_add(self) -> None:
        """Ask for the words of a variant; or for a kind of workload, then for its figures."""
        if self.section_key == "words":
            self._ask(of_plan.words_form(self.desk, len(self.draft.plan.variants)))
        else:
            self.app.push_screen(
                PickScreen("Add a workload", of_plan.kind_lines()),
                lambda kind: self._ask(of_plan.added_form(self.desk, kind)) if kind else None,
            )

    def action_double(self) -> None:
        self._change(lambda: of_plan.doubled(self.draft, self.section_key, self._line_key))
        if told := of_plan.DOUBLING.get(of_plan.kind_of(self.section_key)):
            self.say(told)

    def action_drop(self) -> None:
        self._change(lambda: of_plan.dropped(self.draft, self.section_key, self._line_key))

    def action_move(self, step: int) -> None:
        before, key = self.draft, self._line_key
        place = number_in(key) + step if key else -1
        if 0 <= place < len(before.plan.workloads):
            self._change(lambda: drafts.moved_workload(before, place - step, step))
            if self.draft != before:
                self.query_one("#lines", Choices).go_to(f"load {place}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "find":
            return not any(sift.is_typing for sift in self.query(Sift))
        return of_plan.is_offered(action, self.section_key)

    @property
    def _line_key(self) -> str:
        line = self.query_one("#lines", Choices).looked_at
        return line.key if line else ""

    def _sift(self, name: str) -> Sift:
        return self.query_one(f"#{name}").query_ancestor(Sift)

    def _ask(self, asked: Asked) -> None:
        def answered(answer: object) -> None:
            if answer is not None:
                self._change(lambda: asked.then(answer))

        self.app.push_screen(asked.dialog, answered)

    def _tick(self, choices: Choices, key: str) -> None:
        section = of_plan.Rows() if choices.id == "rows" else of_plan.section_of(self.section_key)
        line = choices.looked_at
        with self.complaining():
            draft = section.ticked(self.desk, key)
            asked = section.opened(self.desk, key) if line is not None and line.mark is Mark.NONE else None
            if draft != self.draft or line is None:
                self._change(lambda: draft)
            elif asked is not None:
                self._ask(asked)
            else:
                self.say(line.about[0] if line.about else "")

    def _change(self, make: drafts.Change) -> None:
        with self.complaining():
            draft: Draft = make()
            self.say("")
            self.take(draft)

    def _tell(self, widget: Widget) -> None:
        if not isinstance(widget, Choices) or widget.id == "sections" or not self._is_whole:
            return
        if self._sift("rows").has_focus_within == (widget.id == "rows"):
            line, nothing = (
                widget.looked_at,
                "" if self._sift(widget.id or "").is_narrowed else "Nothing here yet.",
            )
            self._put("#about", plain(nothing) if line is None else lines(*map(plain, line.about)))

    def _show_section(self) -> None:
        if self.section_key == "arrays":
            self.ask_levels()
        shown, sift = of_plan.section_of(self.section_key).lines(self.desk), self._sift("lines")
        sift.what = of_plan.LINES_ARE.get(of_plan.kind_of(self.section_key), "lines")
        afresh, self._section_shown = self._section_shown != self.section_key, self.section_key
        sift.show_lines(shown, afresh=afresh)
        self._tell(sift.choices)

    def _show_totals(self) -> None:
        outcome = self.outcome if self.is_current else None
        first, second = view.totals(outcome, self.disks, self.missing, self.size.width)
        is_wrong = outcome is not None and outcome.plan is None
        self.query_one("#totals").set_class(is_wrong, "-wrong")
        self._put("#totals", lines(plain(first, "$error" if is_wrong else "bold"), plain(second)))

    def _put(self, place: str, content: Content) -> None:
        """Show a text in its place, whose size stays: the rest of the screen need not be laid out for it."""
        if self._shown.get(place) != content:
            self._shown[place] = content
            self.query_one(place, Static).update(content, layout=False)

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

    def take(self, draft: Draft) -> None:
        """Go on with another draft."""
        if draft != self.draft:
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
        targets = self.session.targets
        if targets or targets != self._asked_for:
            self._asked_for = targets
            self._look_at()
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
        with self.complaining():
            kind = tuple[CatalogAnswer, ...]
            entries = await answer(self.session.children, kind, "catalog", *words)
            told = self._told | {entry.filesystem: entry for entry in entries}
            here = this_machine(self.here.kernel, list(told.values()))
            self._told, self.here = told, replace(here, levels=self.here.levels)
            self._knows_all = self._knows_all or not words
            self.show_draft()
            self.count()

    def ask_levels(self) -> None:
        """Ask, once, which arrays this machine makes: a plan without any need not know."""
        if not self._has_asked_levels:
            self._has_asked_levels = True
            self.run_worker(self._ask_levels(), group="levels")

    async def _ask_levels(self) -> None:
        with self.complaining():
            levels = levels_of(
                await answer(self.session.children, tuple[LevelAnswer, ...], "catalog", "--arrays")
            )
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
    async def _look_at(self) -> None:
        seen = await look_at(self.session)
        if (seen.disks, seen.missing) != (self.disks, self.missing):
            self.disks, self.missing = seen.disks, seen.missing
            self.show_outcome()
            self.count()
        if seen.lost:
            self.say_at_hand(" ".join(seen.lost), style="$warning")

    @property
    def is_changed(self) -> bool:
        """Whether something would be lost if another plan were opened."""
        return self.draft.plan_file != self.kept.plan_file

    @work(group="catalog", exclusive=True)
    async def action_probe(self) -> None:
        names = sorted({self.draft.plan.checklists[number].filesystem for number in self.draft.checklists})
        if not names:
            self.say("No filesystem is ticked whose options could be tried.")
            return
        words = f"Trying the options of {', '.join(names)} on small images in memory:"
        await self.waiting(words, self.ask_catalog(*names, "--probe"))
        if all(name in self.here.tried for name in names):
            self.say(f"Tried on this machine: {', '.join(names)}.")

    @work(group="begin", exclusive=True)
    async def action_begin(self) -> None:
        if not self.session.is_root:
            self.say(
                "Formatting and mounting need root: start fsconsole with sudo. The plan can be saved (s)."
            )
            return
        if not self.session.targets:
            self.say("No target is ticked: tick one on screen 1, or create a scratch device there.")
            return
        await self._settled()
        if why := unable(self.outcome):
            self.say(why, style="$error")
            return
        # Here, since what it starts is needed by nobody who only plans.
        from fsconsole.tui.screens.confirm import ConfirmScreen  # noqa: PLC0415

        with self.complaining():
            text = self.draft.text
            path = planfiles.keep_for_run(text)
            try:
                question = ConfirmScreen(path, self.session.ticks, planfiles.digest_of_text(text))
                folder = await self.app.push_screen_wait(question)
            finally:
                planfiles.forget(path)
            if folder is not None:
                self.session.folder = folder
                self.app.switch_mode("run")

    @work(group="commands", exclusive=True)
    async def action_commands(self) -> None:
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

    @work(group="open", exclusive=True)
    async def action_open_plan(self) -> None:
        if not await self._may_be_lost():
            return
        with self.complaining():
            shipped = [(path.stem, read_plan(path).title) for path in list_configs()]
            name = await self.app.push_screen_wait(OpenScreen(shipped))
            if name is None:
                return
            try:
                path = os.path.abspath(resolve_plan(os.path.expanduser(name)))
            except OSError as error:
                raise PlanMissing(name, str(error)) from error
            plan = await asyncio.to_thread(read_plan, path)
            self._begin_with(Draft(plan), planfiles.digest_of_text(plan.source))
            self.say(f"Opened {path}.")

    @work(group="open", exclusive=True)
    async def action_begin_anew(self) -> None:
        if await self._may_be_lost():
            self._begin_with(new_draft(), "")

    @work(group="open", exclusive=True)
    async def action_save_plan(self) -> None:
        now = self.draft.plan.path
        is_shipped = now and os.path.dirname(now) == str(configs_folder())
        offered = (os.path.basename(now) or _NEW_NAME) if is_shipped or not now else now
        hint = "Right arrow completes; enter saves."
        path = await self.app.push_screen_wait(
            PromptScreen("Save the plan as", offered, hint=hint, suggester=PathSuggester())
        )
        if path is None or not path.strip():
            return
        with self.complaining():
            try:
                whole = os.path.abspath(os.path.expanduser(path.strip()))
            except OSError as error:
                raise PlanUnwritable(path, str(error)) from error
            saved = await self._saved(whole)
            if saved is not None:
                plan, text, self.digest = saved
                self.draft = self.kept = Draft(replace(plan, path=whole, source=text))
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
        why = "Somebody else changed it while it was being saved." if is_anew else "The file exists already."
        if is_ours and not is_anew:
            why = "It was edited since it was opened here."
        told = f"{why} Its text would be lost."
        return await self.agreed(f"Replace {path}?", told, yes="Replace")

    async def _may_be_lost(self) -> bool:
        if not self.is_changed:
            return True
        told = "It has unsaved changes."
        return await self.agreed("Leave this plan?", told, yes="Discard")

    def _begin_with(self, draft: Draft, digest: str) -> None:
        self.draft = self.kept = draft
        self.counted, self.outcome = draft, Outcome()
        self.digest, self.is_counted = digest, False
        self.show_opened()
        self.count()
