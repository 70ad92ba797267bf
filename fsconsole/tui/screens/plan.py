"""Plan screen: filesystems, options, workloads, arrays and settings, and the cells that they give."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import answer
from fsconsole.client.runs import last_spreads
from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import CatalogAnswer, FilesystemsAnswer, LevelsAnswer
from fsconsole.model.plan import Loads
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.inodes import MKE2FS_CONF, parse_mke2fs_conf
from fsconsole.plan.outcome import Outcome, ThisMachine, levels_of, this_machine
from fsconsole.plan.planfile import TargetSpec
from fsconsole.show import plan as view
from fsconsole.show.lines import Mark
from fsconsole.show.plan_forms import MARKS
from fsconsole.system.files import kernel_release, read_text_or
from fsconsole.tui import keys, planfiles
from fsconsole.tui.screens import plan_files
from fsconsole.tui.screens import plan_sections as of_plan
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.plan_dialogs import CommandsScreen, number_in
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.watch import in_background
from fsconsole.tui.widgets.chrome import ListFilter
from fsconsole.tui.widgets.lists import Choices

_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""
_WIDE = 110
"""Columns from which the variants have a pane of their own."""
_PARTS = ("#sections", "#lines", "#rows", "#plan-name", "#marks", "#about", "#totals")
_TALL = 32
"""Terminal height from which the help of a line gets more lines."""


class PlanScreen(ConsoleScreen):
    """Sections on the left, the lines of one in the middle, what all comes to at the bottom."""

    MODE: ClassVar[str] = "plan"
    CSS_PATH = "plan.tcss"
    HELP: ClassVar[str] = """
What is compared: filesystems (left) with their options (right), loads, arrays, settings of disks and kernel.
At the left space ticks a filesystem, or unticks it; enter or right leads to its options. O unticks all others.
In the options arrows go to a value; enter or space ticks it. Several ticked values are compared, in all combinations.
[on] is ticked. (default) applies as long as none is: the tools decide. [default] is compared with the others.
* ticks all values of an option.
-on- is not available here, and the lines below the list say why. other.. asks for a value.
/ finds an option by its name, an old name, or a word of its help.
Custom takes mkfs and mount options as the tools have them.
D makes a second list of the same filesystem, for options that go together.
Run.. shows what will be wiped, and asks.
Without mkfs, in a directory: `fsconsole run FILE --directory DIR`.
"""
    GUIDE: ClassVar[str] = (
        "2 of 5: what is compared. Space ticks filesystems at the left, right leads to their options: several ticked "
        "values are compared. Run.. shows first what is wiped."
    )
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("plan")

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
        """Of the last run on this machine; empty where there is none, or it isn't read yet."""
        self._mke2fs = parse_mke2fs_conf(read_text_or(MKE2FS_CONF, ""))
        self._started_text = ""
        self._told: dict[str, CatalogAnswer] = {}
        self._is_counting = self._is_stale = self._knows_all = self._has_asked_levels = False
        self._store = planfiles.DraftStore()
        self.digest = ""
        """Of the file at plan.path, as it was opened or saved; empty where there is none."""
        self._asked_for: tuple[str, ...] = ()
        self._taken_over: Draft | None = None
        """The draft that another console left."""
        self._kept_words = ""
        self.section_key = "options 0"
        self._lists_all = False
        """True if every option of the section is listed, not only the common ones."""
        self._section_shown = ""
        """The section whose lines are shown; empty where they are those of another plan."""

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="plan-name")
        with Horizontal(id="plan"):
            yield Choices(id="sections")
            with Vertical(id="section"):
                yield ListFilter(Choices(id="lines"), "lines")
                yield Static(plain(""), id="marks")
                yield Static(plain(""), id="about")
            with Vertical(id="rows-pane"):
                yield Static(plain("Variants", "bold"))
                yield ListFilter(Choices(id="rows"), "variants")
        yield Static(plain(""), id="totals")

    def on_mount(self) -> None:
        self._take_over()
        self.show_draft()
        self.query_one("#sections").focus()
        asked = self.waiting("Asking what this machine supports; marks may change ...", self.ask_catalog())
        self.run_worker(asked, group="catalog", exclusive=True)
        self.app.mode_change_signal.subscribe(self, self._on_mode)
        self.run_worker(self._look_back(), group="spread", exclusive=True)

    def on_unmount(self) -> None:
        self._store.keep(self.draft, self.kept, self.digest)
        self._store.release()

    def _take_over(self) -> None:
        """Go on with the draft that another console left, if there is one."""
        self._store = planfiles.DraftStore(self.session.runs_dir)
        with self.complaining():
            kept = self._store.claim()
            if kept is not None:
                self.draft, self.kept = kept.drafts()
                self.digest, self.counted, self.section_key = (
                    kept.digest,
                    self.draft,
                    of_plan.first_section(self.draft, self.section_key),
                )
                self._taken_over, self._kept_words = self.draft, plan_files.kept_words(kept, self.session.runs_dir)

    def _on_mode(self, mode: str) -> None:
        # A run may have ended since.
        if mode == self.MODE:
            self.run_worker(self._look_back(), group="spread", exclusive=True)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "-wide")
        self.set_class(self.size.height >= _TALL, "-tall")
        self.show_draft()

    def show_draft(self) -> None:
        if not self._is_whole:
            return
        counted, is_narrow = (self.counted, self.outcome), self.size.width < _WIDE
        sections = view.section_lines(self.draft, *counted, self.catalog, self.here, with_variants=is_narrow)
        if self.section_key not in {line.key for line in sections}:
            self.section_key = of_plan.first_section(self.draft, self.section_key)
            self.refresh_bindings()
        self.query_one("#sections", Choices).show_lines(sections, at=self.section_key)
        self._show_section()
        # Where the variants have a pane of their own, that says both.
        rows = (view.row_names(self.outcome), view.shared_told(self.outcome)) if is_narrow else ()
        kept = self._kept_words if self.draft is self._taken_over else ""
        unsaved = f"not saved{kept}" if self.is_changed else ""
        name = view.name_line(self.draft, unsaved, self.size.width, *rows)
        # The sizes of these texts stay: the rest of the screen need not be laid out for them.
        self.put("#plan-name", plain(name, "bold"), layout=False)
        looked_at = {*(disk.path for disk in self.disks), *self.missing}
        reading = [path for path in self.session.targets if path not in looked_at]
        outcome = self.outcome if self.is_up_to_date and not reading else None
        first, second = view.totals(outcome, self.disks, self.missing, self.size.width, reading)
        is_wrong = outcome is not None and outcome.plan is None
        self.query_one("#totals").set_class(is_wrong, "-wrong")
        told = (
            plain(first, "$error" if is_wrong else "bold"),
            plain(second),
            of_plan.last_total(outcome, self.size.width),
        )
        self.put("#totals", lines(*told), layout=False)

    @property
    def _is_whole(self) -> bool:
        """True if its widgets exist: at exit they are removed before the worker that counts a plan ends."""
        return len(self.query(", ".join(_PARTS))) == len(_PARTS)

    def show_outcome(self) -> None:
        if not (self._is_whole and self.app.is_running):
            return
        self._filter("rows").show_lines(self._section("rows").lines())
        self._tell(self.query_one("#rows"))
        self.show_draft()

    def on_list_topped(self, event: Choices.Topped) -> None:
        self.say(view.TOPS.get(event.control.id or "", ""))

    def on_list_moved(self, event: Choices.Moved) -> None:
        self._tell(event.control)
        if self.said in view.TOPS.values():
            self.say("")
        if event.control.id == "sections" and event.key and event.key != self.section_key:
            self.section_key = event.key
            self._show_section()
            self.refresh_bindings()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._tell(event.widget)

    def on_list_opened(self, event: Choices.Opened) -> None:
        if event.control.id == "sections" and event.key == view.START:
            self.action_begin()
            return
        if event.control.id == "sections":
            choices = self.query_one("#lines", Choices)
            if self.section_key == "run":
                choices.go_to("repeats")
            choices.focus()
            return
        asked = self._section(event.control.id).opened(event.key)
        if event.key == view.MORE:
            self._lists_all = True
            self._show_section()
        elif asked is None:
            self.on_list_ticked(event)
        else:
            self.ask_for(asked)

    def on_list_ticked(self, event: Choices.Ticked | Choices.Opened) -> None:
        choices = event.control
        if not isinstance(choices, Choices):
            return
        section, line = self._section(choices.id), choices.looked_at
        if choices.id == "sections":
            if isinstance(section, of_plan.Options):
                if section.why_barred:
                    self.say(section.why_barred)
                else:
                    self.change(section.toggled)
            return
        with self.complaining():
            draft = section.ticked(event.key, event.chip)
            opens = line is not None and line.mark is Mark.NONE and not event.chip
            asked = section.opened(event.key) if opens else None
            if draft != self.draft or line is None:
                self.say("")
                self.take(draft)
            elif asked is not None:
                self.ask_for(asked)
            else:
                self.say(section.why_not(line, event.chip))

    def action_find(self) -> None:
        rows = self._filter("rows")
        (rows if rows.has_focus_within else self._filter("lines")).find()

    def action_back(self) -> None:
        """Go from the variants to the lines, from those to the sections; there, look for nothing any more."""
        if self.query_one("#sections").has_focus:
            for narrowed in self.query(ListFilter):
                narrowed.clear()
        self.query_one("#lines" if self.query_one("#rows").has_focus else "#sections").focus()

    def label_of(self, action: str) -> str:
        """Return which filesystem remains, or where escape leads: to the list at the left, or to all lines again."""
        if action == "only" and isinstance(section := self._section("lines"), of_plan.Options):
            return f"Only {section.name}"
        if action != "back" or self.focused is None:
            return ""
        if self.focused.id == "rows":
            return self._filter("lines").what.capitalize()
        return "All" if self.focused.id == "sections" else "Filesystems"

    def applies(self, action: str) -> bool:
        # In the list at the left the footer has the keys of the plan; what is looked for are the options.
        return action != "find" or self.focused is None or self.focused.id != "sections"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"find", "repeats"}:
            return not any(shown_filter.is_typing for shown_filter in self.query(ListFilter))
        if action == "back":
            is_left = self.focused is not None and self.focused.id != "sections"
            return is_left or any(each.is_narrowed for each in self.query(ListFilter))
        kind = of_plan.kind_of(self.section_key)
        return kind in of_plan.OFFERED.get(action, {kind})

    def _filter(self, name: str) -> ListFilter:
        return self.query_one(f"#{name}").query_ancestor(ListFilter)

    def _section(self, list_id: str | None) -> of_plan.Section:
        return of_plan.section_of(self.desk, "variants" if list_id == "rows" else self.section_key)

    @property
    def desk(self) -> of_plan.Desk:
        return of_plan.Desk(self.draft, self.catalog, self.here, self.counted, self.outcome)

    def _tell(self, widget: Widget) -> None:
        if not isinstance(widget, Choices) or not self._is_whole:
            return
        at = "rows" if self._filter("rows").has_focus_within else "lines"
        if widget.id == (self.focused.id if isinstance(self.focused, Choices) else at):
            is_narrowed = widget.id != "sections" and self._filter(widget.id or "").is_narrowed
            nothing = "" if is_narrowed else "Nothing here yet."
            line = widget.looked_at
            warning = [plain(line.warning, "$warning")] if line is not None and line.warning else []
            about = (nothing,) if line is None else line.about
            self.put("#about", lines(*warning, *map(plain, about)), layout=False)

    def _show_section(self) -> None:
        if self.section_key == "arrays":
            self.ask_levels()
        shown_filter, kind = self._filter("lines"), of_plan.kind_of(self.section_key)
        shown_filter.what = {"words": "variants", view.START: "variants", "run": "keys"}.get(kind, kind)
        self.put("#marks", plain(MARKS.get(kind, "")), layout=False)
        afresh, self._section_shown = self._section_shown != self.section_key, self.section_key
        self._lists_all = self._lists_all and not afresh
        section = self._section("lines")
        own = section.lines()
        every = section.all_lines() if isinstance(section, of_plan.Options) else own
        shown_filter.show_lines(every if self._lists_all else own, among=every, afresh=afresh)
        focused = self.focused
        self._tell(focused if isinstance(focused, Choices) else shown_filter.choices)

    def on_screen_resume(self) -> None:
        folder, self.session.plan_of = self.session.plan_of, None
        if folder is not None:
            self._open_run(folder)
        targets = self.session.targets
        if targets or targets != self._asked_for:
            self._asked_for = targets
            self.show_draft()
            self._look_at()
        if not self.is_counted:
            self.count()

    @work(group="devices", exclusive=True)
    async def _look_at(self) -> None:
        await self._read_targets()

    def action_new(self) -> None:
        """Ask what is to be new, the kind of the shown section first."""
        plans: dict[str, tuple[str, Callable[[], object]]] = {
            "plan": ("New plan", self.action_begin_anew),
            "opened": ("Recipe or shipped plan..", self.action_open_plan),
        }
        of_plan.ask_new(self, self.desk, of_plan.kind_of(self.section_key), self.ask_for, plans)

    def action_repeats(self) -> None:
        asked = of_plan.section_of(self.desk, "run").opened("repeats")
        if asked is not None:
            self.ask_for(asked)

    def action_double(self) -> None:
        self._remake(of_plan.DOUBLED)
        if told := of_plan.DOUBLING.get(of_plan.kind_of(self.section_key)):
            self.say(told)

    def action_only(self) -> None:
        section = self._section("lines")
        if not isinstance(section, of_plan.Options):
            return
        if section.why_barred:
            self.say(section.why_barred)
        else:
            name = section.name
            self.change(section.only)
            self.say(f"Only {name} is compared now. Space ticks others again.")

    def action_drop(self) -> None:
        self._remake(of_plan.DROPPED)

    def _remake(self, acts: Mapping[str, Callable[[Draft, int], Draft]]) -> None:
        number = of_plan.number_at(self.section_key, self.query_one("#lines", Choices).key)
        if number is not None:
            self.change(lambda: acts[of_plan.kind_of(self.section_key)](self.draft, number))

    def action_move(self, step: int) -> None:
        before, key = self.draft, self.query_one("#lines", Choices).key
        place = number_in(key) + step if key else -1
        if 0 <= place < len(before.plan.workloads):
            self.change(lambda: drafts.moved_workload(before, place - step, step))
            if self.draft != before:
                self.query_one("#lines", Choices).go_to(f"load {place}")

    def ask_for(self, asked: of_plan.Asked) -> None:
        self.ask(asked.dialog, lambda answer: self.change(lambda: asked.then(answer)))

    @work(group="catalog", exclusive=True)
    async def action_probe(self) -> None:
        names = sorted(self.draft.filesystems)
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
            self.say("Formatting and mounting need root: start fsconsole with sudo. The plan can be saved (w).")
            return
        if not (await self._is_able() and await self._has_target() and await self._is_able()):
            return
        with self.complaining():
            folder = await plan_files.confirmed(self, self.draft.text, self.outcome.plan)
            if folder is not None:
                self.session.folder, self._started_text = folder, self.draft.text
                self.app.switch_mode("run")

    async def _is_able(self) -> bool:
        await self._settled()
        why = view.unable(self.outcome)
        if why:
            self.say(why, style="$error")
        return not why

    async def _has_target(self) -> bool:
        if not self.session.targets:
            with self.complaining():
                await plan_files.make_target(self)
            await self._read_targets()
            # Looking took a while: an answer to what was opened meanwhile must not be one to Confirm.
            return bool(self.session.targets) and self.is_active
        return True

    @work(group="commands", exclusive=True)
    async def action_commands(self) -> None:
        await self._settled()
        if self.outcome.plan is None:
            self.say(f"{self.outcome.problem} {self.outcome.hint}".strip(), style="$error")
            return
        await self.app.push_screen(CommandsScreen(self.outcome.plan, self.draft.text))

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
                outcome = await plan_files.counted(
                    draft, self.disks, self.catalog, self.here, self.last_spreads, self._mke2fs
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

    @work(group="open", exclusive=True)
    async def action_open_plan(self) -> None:
        with self.complaining():
            plan = await plan_files.picked(self)
            if plan is not None and await self._may_be_lost():
                self._begin_with(drafts.opened(plan, self.catalog), planfiles.digest_of_text(plan.source))
                self.say(f"Opened {plan.path}.")

    @work(group="open", exclusive=True)
    async def _open_run(self, folder: RunFolder) -> None:
        """Show the plan of a run, as it was when it started."""
        if not await self._may_be_lost():
            return
        with self.complaining():
            plan = await in_background(partial(plan_files.plan_of, folder))
            self._begin_with(drafts.opened(plan, self.catalog), "")
            way = ", F10 runs it again" if self.session.targets else "; 1 leads to the devices to run it on"
            self.say(f"The plan of run {folder.name}: w saves it{way}.")

    @work(group="open", exclusive=True)
    async def action_begin_anew(self) -> None:
        if await self._may_be_lost():
            self._begin_with(new_draft(), "")

    @work(group="open", exclusive=True)
    async def action_save_plan(self) -> None:
        with self.complaining():
            path = await plan_files.asked_path(self, self.draft.plan.path)
            saved = await plan_files.saved(self, self.draft, self.digest, path) if path else None
            if saved is None:
                return
            self.digest = planfiles.digest_of_text(saved.source)
            self.draft = self.kept = Draft(saved)
            self.show_draft()
            self.count()
            self.say(f"Saved {path}.")

    async def _may_be_lost(self) -> bool:
        is_kept = not self.is_changed or self.draft.text == self._started_text
        return is_kept or await self.agreed("Leave this plan?", "It has unsaved changes.", yes="Discard")

    def _begin_with(self, draft: Draft, digest: str) -> None:
        self.draft = self.kept = draft
        self.counted, self.outcome = draft, Outcome()
        self.digest, self.is_counted = digest, False
        # Where the plan says what it compares.
        self.section_key, self._section_shown = of_plan.first_section(self.draft, self.section_key), ""
        if self._is_whole:
            self._filter("rows").show_lines(self._section("rows").lines(), afresh=True)
            self.query_one("#sections").focus()
        self.show_draft()
        self.refresh_bindings()
        self.count()
