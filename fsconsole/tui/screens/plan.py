"""Plan: what is compared, with which options, under which load; and what that comes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.errors import FsconsoleError
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft
from fsconsole.show import plan as view
from fsconsole.show.lines import Mark
from fsconsole.tui.screens.plan_desk import PlanActs
from fsconsole.tui.screens.plan_dialogs import Asked, KindScreen, number_in
from fsconsole.tui.screens.plan_sections import Rows, added_form, doubled, dropped, section_of, words_form
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.choices import Choices, Sift

# What the sections of the Plan screen differ in beside their lines: what can be done in each, and how that is told.

_WHAT = {"options": "options", "variants": "variants", "workloads": "workloads", "arrays": "arrays"}
_DOUBLING = {
    "options": "A second list of the same filesystem: its variants are compared with those of the first.",
    "arrays": "A second list of arrays: they are compared with those of the first.",
}
_OFFERED = {
    "move": ("workloads",),
    "add": ("workloads", "words"),
    "double": ("workloads", "words", "options", "arrays"),
    "drop": ("workloads", "words", "options", "arrays"),
}


def is_offered(action: str, section: str) -> bool:
    """Return whether a key does something in a section; what concerns no section is always offered."""
    return action not in _OFFERED or _kind(section) in _OFFERED[action]


def what_lines_are(section: str) -> str:
    """Return what the lines of a section are called."""
    return _WHAT.get(_kind(section), "lines")


def doubling_told(section: str) -> str:
    """Return what is said when a line was doubled; empty where the new one speaks for itself."""
    return _DOUBLING.get(_kind(section), "")


def _kind(section: str) -> str:
    return section.partition(" ")[0]


_WIDE = 110
"""Columns from which the variants have a pane of their own."""
_PARTS = ("#sections", "#lines", "#rows", "#plan-name", "#about", "#totals")
_TALL = 32
"""Lines from which more is told of a line."""


class PlanScreen(PlanActs):
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
Whatever has no line here can be said in mkfs's and mount's own words: section "In words", key a.
To compare with and without an option that has one value, make a second list of the filesystem (d).
"""
    KEYS_LEFT_OUT: ClassVar[tuple[str, ...]] = ("probe", "commands", "save_plan")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add", id="plan.add", tooltip="Add a workload, or a variant in the tools' words"),
        Binding("d", "double", "Double", id="plan.double", tooltip="Another one like it: a workload, a variant in words, a list of options, or of arrays", show=False),
        Binding("x", "drop", "Remove", id="plan.drop", tooltip="Remove the workload, the variant in words or the list of arrays, or untick the list of options"),
        Binding("minus", "move(-1)", "Earlier", id="plan.earlier", tooltip="Do the workload earlier", key_display="-", show=False),
        Binding("plus", "move(1)", "Later", id="plan.later", tooltip="Do the workload later", key_display="+", show=False),
        Binding("slash", "find", "Find", id="plan.find", tooltip="Show only lines with some words: name, group, help, old names",
                key_display="/"),
        Binding("escape", "back", "Sections", id="plan.back", tooltip="Back to the list of sections", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.section_key = "filesystems"
        self._section_shown = ""
        """The section whose lines are shown; empty where they are those of another plan."""
        self._shown: dict[str, Content] = {}

    def content(self) -> Iterable[Widget]:
        """Give the lists and what stands below them."""
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
        """Begin with the filesystems."""
        self.show_draft()

    def on_resize(self) -> None:
        """Show the variants beside the rest where there is room."""
        self.set_class(self.is_wide, "-wide")
        self.set_class(self.size.height >= _TALL, "-tall")
        self.show_draft()

    @property
    def is_wide(self) -> bool:
        """Whether the variants have a pane of their own."""
        return self.size.width >= _WIDE

    def show_draft(self) -> None:
        """Show sections, lines and name of the draft at hand."""
        if not self._is_whole:
            return
        outcome = self.outcome if self.is_counted else None
        sections = view.section_lines(self.draft, outcome, with_variants=not self.is_wide)
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
        self.section_key = "filesystems" if self.draft.checklists or self.is_wide else "variants"
        self._section_shown = ""
        if self._is_whole:
            self._sift("rows").show_lines(Rows().lines(self.desk), afresh=True)
        self.show_draft()
        self.refresh_bindings()

    def show_outcome(self) -> None:
        """Show what the draft comes to."""
        if not (self._is_whole and self.app.is_running):
            return
        self._sift("rows").show_lines(Rows().lines(self.desk))
        self.show_draft()

    def on_choices_looked(self, event: Choices.Looked) -> None:
        """Show a section, or tell of a line."""
        if event.control.id == "sections":
            if event.line.key != self.section_key:
                self.section_key = event.line.key
                self._show_section()
                self.refresh_bindings()
        elif self._is_told_of(event.control):
            self._tell(event.control)

    def on_choices_emptied(self, event: Choices.Emptied) -> None:
        """Tell of no line where none is left."""
        if self._is_told_of(event.control):
            self._tell(event.control)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Tell of the line that is looked at in the list that has the keys now."""
        if isinstance(event.widget, Choices) and self._is_told_of(event.widget):
            self._tell(event.widget)

    def on_choices_opened(self, event: Choices.Opened) -> None:
        """Go into a section, or open a line."""
        if event.control.id == "sections":
            self.query_one("#lines").focus()
            return
        section = Rows() if event.control.id == "rows" else section_of(self.section_key)
        asked = section.opened(self.desk, event.key)
        if asked is None:
            self._tick(event.control, event.key)
        else:
            self._ask(asked)

    def on_choices_ticked(self, event: Choices.Ticked) -> None:
        """Tick a line."""
        if event.control.id == "sections":
            self.query_one("#lines").focus()
        else:
            self._tick(event.control, event.key)

    def on_choices_left(self, _event: Choices.Left) -> None:
        """Go back to the sections."""
        self.action_back()

    def action_back(self) -> None:
        """Go back to the sections."""
        self.query_one("#sections").focus()

    def action_find(self) -> None:
        """Narrow the list that has the keys, or that of the section."""
        rows = self._sift("rows")
        (rows if rows.has_focus_within else self._sift("lines")).find()

    def action_add(self) -> None:
        """Ask for the words of a variant; or for a kind of workload, then for its figures."""
        if self.section_key == "words":
            self._ask(words_form(self.desk, len(self.draft.plan.variants)))
        else:
            self.app.push_screen(KindScreen("Add a workload"), self._add)

    def action_double(self) -> None:
        """Make another one like what is looked at."""
        self._change(lambda: doubled(self.draft, self.section_key, self._line_key))
        if told := doubling_told(self.section_key):
            self.say(told)

    def action_drop(self) -> None:
        """Remove what is looked at."""
        self._change(lambda: dropped(self.draft, self.section_key, self._line_key))

    def action_move(self, step: int) -> None:
        """Move the workload that is looked at."""
        before, key = self.draft, self._line_key
        place = number_in(key) + step if key else -1
        if 0 <= place < len(before.plan.workloads):
            self._change(lambda: drafts.moved_workload(before, place - step, step))
            if self.draft != before:
                self.query_one("#lines", Choices).look_at(f"load {place}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 (Textual's)
        """Offer what concerns workloads where they are shown, and so on."""
        if action == "find":
            return not any(sift.is_typing for sift in self.query(Sift))
        return is_offered(action, self.section_key)

    @property
    def _line_key(self) -> str:
        line = self.query_one("#lines", Choices).looked_at
        return line.key if line is not None else ""

    def _sift(self, name: str) -> Sift:
        return self.query_one(f"#{name}").query_ancestor(Sift)

    def _add(self, kind: str | None) -> None:
        if kind is not None:
            self._ask(added_form(self.desk, kind))

    def _ask(self, asked: Asked) -> None:
        def answered(answer: object) -> None:
            if answer is not None:
                self._change(lambda: asked.then(answer))

        self.app.push_screen(asked.dialog, answered)

    def _tick(self, choices: Choices, key: str) -> None:
        section = Rows() if choices.id == "rows" else section_of(self.section_key)
        line = choices.looked_at
        try:
            draft = section.ticked(self.desk, key)
            asked = section.opened(self.desk, key) if line is not None and line.mark is Mark.NONE else None
        except FsconsoleError as error:
            self.complain(error)
            return
        if draft != self.draft or line is None:
            self._change(lambda: draft)
        elif asked is not None:
            self._ask(asked)
        else:
            self.say(line.about[0] if line.about else "")

    def _change(self, make: drafts.Change) -> None:
        try:
            draft: Draft = make()
        except FsconsoleError as error:
            self.complain(error)
            return
        self.say("")
        self.take(draft)

    def _tell(self, choices: Choices) -> None:
        nothing = "" if self._sift(choices.id or "").is_narrowed else "Nothing here yet."
        line = choices.looked_at
        self._put("#about", plain(nothing) if line is None else lines(*map(plain, line.about)))

    def _is_told_of(self, choices: Choices) -> bool:
        is_listed = choices.id != "sections" and self._is_whole
        return is_listed and self._sift("rows").has_focus_within == (choices.id == "rows")

    def _show_section(self) -> None:
        if self.section_key == "arrays":
            self.ask_levels()
        shown, sift = section_of(self.section_key).lines(self.desk), self._sift("lines")
        sift.what = what_lines_are(self.section_key)
        afresh, self._section_shown = self._section_shown != self.section_key, self.section_key
        sift.show_lines(shown, afresh=afresh)
        if not shown:
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
