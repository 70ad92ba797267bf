"""Plan screen: filesystems, options, workloads, arrays and settings, and the cells that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.catalog.loader import load_catalog
from fsconsole.journal.folder import RunFolder
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.show import plan as view
from fsconsole.show import plan_options
from fsconsole.show.lines import Line, Mark
from fsconsole.show.plan_forms import MARKS
from fsconsole.text import shorten_middle
from fsconsole.tui import keys, planfiles
from fsconsole.tui.screens import plan_files, plan_start
from fsconsole.tui.screens import plan_sections as of_plan
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.plan_count import PlanCount, Totals
from fsconsole.tui.screens.plan_dialogs import CommandsScreen, number_in
from fsconsole.tui.screens.plan_edited import EditedPlan
from fsconsole.tui.screens.plan_machine import MachineSupport
from fsconsole.tui.terminal import plain
from fsconsole.tui.watch import in_background
from fsconsole.tui.widgets.chrome import ListFilter
from fsconsole.tui.widgets.lists import Choices
from fsconsole.tui.widgets.told import Told

_SETTLE_S = 0.1
"""A plan is counted when no key has changed it for so long."""
_LOAD_S = 5.0
"""Between looks at how busy the machine is; the kernel works its load out as often."""
_WIDE = 110
"""Columns from which the variants have a pane of their own."""
_NAME_CELLS = 28
"""Room for a run's name in a message of one line at 80 columns."""
_PARTS = frozenset(("sections", "lines", "rows", "plan-name", "marks", "about", "totals"))
_TALL = 32
"""Terminal height from which the help of a line gets more lines."""
_ABOUT, _ABOUT_TALL = 3, 8
"""Lines that the help of a line has at least."""
_PARTS_OF_HEIGHT = 4
"""It takes one of so many parts of the terminal's height at most."""


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
        self.catalog = load_catalog()
        self.edited = EditedPlan()
        self.machine = MachineSupport(self, self._show_and_count)
        self.count = PlanCount(self, self.edited, self.machine, self.catalog, self.show_outcome)
        self._asked_for: tuple[str, ...] = ()
        self.section_key = "options 0"
        self._lists_all = False
        """True if every option of the section is listed, not only the common ones."""
        self._way = plan_options.Way()
        """From the option at the cursor to the one that its left out value needs."""
        self._offered: tuple[object, ...] = ()
        self._section_shown = ""
        """The section whose lines are shown; empty where they are those of another plan."""
        self._reading = ""
        """Shown instead of the title while the plan of a run is read."""

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="plan-name")
        with Horizontal(id="plan"):
            yield Choices(id="sections", wraps=True)
            with Vertical(id="section"):
                yield ListFilter(Choices(id="lines"), "lines")
                yield Static(plain(""), id="marks")
                yield Told(plain(""), id="about")
            with Vertical(id="rows-pane"):
                yield Static(plain("Variants", "bold"))
                yield ListFilter(Choices(id="rows"), "variants")
        yield Totals(id="totals")

    def on_mount(self) -> None:
        self._take_over()
        self.show_draft()
        self.query_one("#sections").focus()
        self.run_worker(self._ask_catalog(), group="catalog", exclusive=True)
        self.app.mode_change_signal.subscribe(self, self._on_mode)
        self.run_alone("spread", self.count.look_back)
        self.while_shown(_LOAD_S, self._tell_totals)

    async def _ask_catalog(self) -> None:
        await self.waiting("Asking what this machine supports; marks may change ...", self.machine.ask_catalog())
        if self.edited.is_taken_over and not self.said:
            self.say("This plan was left unsaved, and is here again; n, then New plan, starts another.")

    def on_unmount(self) -> None:
        self.edited.close()

    def _take_over(self) -> None:
        """Go on with the draft that another console left, if there is one."""
        with self.complaining():
            if self.edited.take_over(self.session.runs_dir):
                self.count.forget()
                self.section_key = of_plan.first_section(self.draft, self.section_key)

    @property
    def draft(self) -> Draft:
        return self.edited.draft

    def _on_mode(self, mode: str) -> None:
        # A run may have ended since.
        if mode == self.MODE:
            self.run_alone("spread", self.count.look_back)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "-wide")
        self.set_class(self.size.height >= _TALL, "-tall")
        self.show_draft()

    def show_draft(self) -> None:
        if not self._is_whole:
            return
        counted, is_narrow = (self.count.draft, self.count.outcome), self.size.width < _WIDE
        sections = view.section_lines(self.draft, *counted, self.catalog, self.machine.here, with_variants=is_narrow)
        if self.section_key not in {line.key for line in sections}:
            self.section_key = of_plan.first_section(self.draft, self.section_key)
            self.refresh_bindings()
        self.query_one("#sections", Choices).show_lines(sections, at=self.section_key)
        self._show_section()
        # Where the variants have a pane of their own, that says both.
        is_counted = self.count.draft == self.draft
        rows = (
            (view.row_names(self.count.outcome), view.shared_told(self.count.outcome))
            if is_narrow and is_counted
            else ()
        )
        name = self._reading or view.name_line(self.draft, self.edited.unsaved_words, self.size.width, *rows)
        # The sizes of these texts stay: the rest of the screen need not be laid out for them.
        self.put("#plan-name", plain(name, "bold"), layout=False)
        self._tell_totals()

    def _tell_totals(self) -> None:
        if self._is_whole:
            self.query_one(Totals).tell(self.count, self.session.targets)

    @property
    def _is_whole(self) -> bool:
        """True if its widgets exist: at exit they are removed before the worker that counts a plan ends."""
        # Their names are compared here: a query works out selectors for each widget, and this is asked for every key.
        return {widget.id for widget in self.walk_children()} >= _PARTS

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
        if event.key == plan_options.MORE:
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
                self._change_list(section, section.toggled)
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
            for narrowed in self.walk_children(ListFilter):
                narrowed.clear()
        self.query_one("#lines" if self.query_one("#rows").has_focus else "#sections").focus()

    def label_of(self, action: str) -> str:
        """Return which filesystem remains, or where escape leads: to the list at the left, or to all lines again."""
        if action == "needed":
            return f"To {self._way.name}" if self._way.key else ""
        if action == "open":
            return self._opens
        if action == "only" and isinstance(section := self._section("lines"), of_plan.Options):
            return f"Only {section.name}"
        if action != "back" or self.focused is None:
            return ""
        if self.focused.id == "rows":
            return self._filter("lines").what.capitalize()
        return "All" if self.focused.id == "sections" else "Filesystems"

    def applies(self, action: str) -> bool:
        match action:
            case "find":
                # In the list at the left the footer has the keys of the plan; what is looked for are the options.
                return self.focused is None or self.focused.id != "sections"
            case "drop":
                at = self.query_one("#lines", Choices).key if self._is_whole else ""
                return of_plan.can_drop(self.section_key, at)
            case "probe":
                return bool(self.draft.filesystems)
            case "tick":
                line = self._looked_at
                return line is not None and (bool(line.chips) or line.mark in {Mark.ON, Mark.OFF})
            case "commands" | "repeats":
                return self.count.outcome.plan is not None and bool(self.count.outcome.plan.cells)
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"find", "repeats"}:
            return not any(shown_filter.is_typing for shown_filter in self.walk_children(ListFilter))
        if action == "back":
            is_left = self.focused is not None and self.focused.id != "sections"
            return is_left or any(each.is_narrowed for each in self.walk_children(ListFilter))
        if action == "needed":
            return bool(self._way.key)
        if action == "open":
            return bool(self._opens)
        kind = of_plan.kind_of(self.section_key)
        return kind in of_plan.OFFERED.get(action, {kind})

    @property
    def _looked_at(self) -> Line | None:
        """The line at the cursor, of the list with the focus."""
        return self.focused.looked_at if isinstance(self.focused, Choices) else None

    @property
    def _opens(self) -> str:
        """Footer label of enter on this line; empty where enter ticks, as space does."""
        line = self._looked_at
        if line is None or self.focused is None:
            return ""
        return of_plan.opens_section(line) if self.focused.id == "sections" else of_plan.opens_line(line)

    def action_open(self) -> None:
        if isinstance(self.focused, Choices):
            self.focused.action_open()

    def _filter(self, name: str) -> ListFilter:
        return self.query_one(f"#{name}").query_ancestor(ListFilter)

    def _section(self, list_id: str | None) -> of_plan.Section:
        return of_plan.section_of(self.desk, "variants" if list_id == "rows" else self.section_key)

    @property
    def desk(self) -> of_plan.Desk:
        return of_plan.Desk(self.draft, self.catalog, self.machine.here, self.count.draft, self.count.outcome)

    def _tell(self, widget: Widget) -> None:
        if not isinstance(widget, Choices) or not self._is_whole:
            return
        at = "rows" if self._filter("rows").has_focus_within else "lines"
        if widget.id == (self.focused.id if isinstance(self.focused, Choices) else at):
            is_narrowed = widget.id != "sections" and self._filter(widget.id or "").is_narrowed
            told = widget.looked_at or of_plan.nothing(is_narrowed=is_narrowed)
            least = _ABOUT_TALL if self.has_class("-tall") else _ABOUT
            self.query_one("#about", Told).tell(told, least, self.size.height // _PARTS_OF_HEIGHT)
            self._way = self._section("lines").way(widget.looked_at) if widget.id == "lines" else plan_options.Way()
            offered = (self._way, self._opens, *map(self.applies, ("commands", "drop", "probe", "tick")))
            if offered != self._offered:
                self._offered = offered
                self.refresh_bindings()

    def _show_section(self) -> None:
        if self.section_key == "arrays":
            self.machine.ask_levels()
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
            self.run_alone("devices", self.count.read_targets)
        if not self.count.is_done:
            self.count.start()

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
        if isinstance(section, of_plan.Options) and self._change_list(section, section.only):
            self.say(f"Only {section.name} is compared now. Space ticks others again.")

    def _change_list(self, section: of_plan.Options, make: drafts.Change) -> bool:
        """Tick a list of options, or untick it; where it can't be ticked, say why and return False."""
        if section.why_barred:
            self.say(section.why_barred)
        else:
            self.change(make)
        return not section.why_barred

    def action_needed(self) -> None:
        """Go to the option that the left out value at the cursor needs, and to its value there."""
        way, choices = self._way, self.query_one("#lines", Choices)
        self._filter("lines").clear()
        self._lists_all = self._lists_all or way.key not in {line.key for line in self._section("lines").lines()}
        self._show_section()
        choices.go_to(way.key)
        choices.go_to_chip(way.value)
        is_on = choices.looked_at is not None and choices.looked_at.chips[choices.chip].is_on
        self.say(f"{way.why}; space {'unticks' if is_on else 'ticks'} it.")

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
        await self.machine.try_options(sorted(self.draft.filesystems))

    @work(group="begin", exclusive=True)
    async def action_begin(self) -> None:
        with self.complaining():
            folder = await plan_start.begun(self, self.edited, self.count)
            if folder is not None:
                self.session.folder = folder
                self.app.switch_mode("run")

    @work(group="commands", exclusive=True)
    async def action_commands(self) -> None:
        await self.count.settled()
        if self.count.outcome.plan is None:
            self.say(f"{self.count.outcome.problem} {self.count.outcome.hint}".strip(), style="$error")
            return
        await self.app.push_screen(CommandsScreen(self.count.outcome.plan, self.draft.text))

    def take(self, draft: Draft) -> None:
        if draft != self.draft:
            self.edited.draft = draft
            self._show_and_count()

    def change(self, make: drafts.Change) -> None:
        with self.complaining():
            draft: Draft = make()
            self.say("")
            self.take(draft)

    def _show_and_count(self) -> None:
        self.show_draft()
        self.count.start()

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
        run = f"run {shorten_middle(folder.name, _NAME_CELLS)}"
        with self.complaining():
            with self._titled(f"Reading the plan of {run} ..."):
                plan = await in_background(partial(plan_files.plan_of, folder))
            self._begin_with(drafts.opened(plan, self.catalog), "")
            way = "F10 runs it again" if self.session.targets else "1 leads to the devices"
            # In one line: a second one would push lines of the lists off a small screen.
            self.say(f"Plan of {run}: w saves it, {way}.")

    @contextmanager
    def _titled(self, words: str) -> Iterator[None]:
        """Show words in the place of the plan's title."""
        self._reading = words
        self.show_draft()
        try:
            yield
        finally:
            self._reading = ""
            self.show_draft()

    @work(group="open", exclusive=True)
    async def action_begin_anew(self) -> None:
        if await self._may_be_lost():
            self._begin_with(new_draft(), "")

    @work(group="open", exclusive=True)
    async def action_save_plan(self) -> None:
        with self.complaining():
            if path := await plan_files.save(self, self.edited):
                self._show_and_count()
                self.say(f"Saved {path}.")

    async def _may_be_lost(self) -> bool:
        leaves = self.edited.may_be_left
        return leaves or await self.agreed("Leave this plan?", "It has unsaved changes.", yes="Discard")

    def _begin_with(self, draft: Draft, digest: str) -> None:
        self.edited.begin(draft, digest)
        self.count.forget()
        # Where the plan says what it compares.
        self.section_key, self._section_shown = of_plan.first_section(self.draft, self.section_key), ""
        if self._is_whole:
            self._filter("rows").show_lines(self._section("rows").lines(), afresh=True)
            self.query_one("#sections").focus()
        self.refresh_bindings()
        self._show_and_count()
