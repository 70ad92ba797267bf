"""The sections of the Plan screen: the lines of each, what ticking a line does, and what opening it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from textual.suggester import SuggestFromList

from fsconsole.catalog.filesystem import DEFAULT, Catalog, Filesystem, Option
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan import draft as drafts
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.draft import Draft
from fsconsole.plan.keys import Key
from fsconsole.plan.outcome import Outcome, ThisMachine
from fsconsole.plan.planfile import Checklist, VariantText
from fsconsole.plan.power import power_with
from fsconsole.plan.rows import Candidate
from fsconsole.show import plan as view
from fsconsole.show import plan_forms, plan_options
from fsconsole.show.lines import EVERY, Line, Mark
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import Dialog, FormScreen, PickScreen, PromptScreen, RoundsScreen
from fsconsole.tui.screens.plan_dialogs import ValuesScreen, number_in

Table = dict[str, object]


@dataclass(frozen=True, slots=True)
class Desk:
    """All that a section looks at; outcome is that of counted, which may be an older draft."""

    draft: Draft
    catalog: Catalog
    here: ThisMachine
    counted: Draft
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A dialog, and what its answer makes of the draft; then may raise FsconsoleError."""

    dialog: Dialog[Any]
    then: Callable[[Any], Draft]


@dataclass(frozen=True, slots=True)
class Section:
    """One section: lines that can be ticked and opened."""

    desk: Desk

    @property
    def draft(self) -> Draft:
        return self.desk.draft

    def lines(self) -> tuple[Line, ...]:
        """Return what is shown."""
        raise NotImplementedError

    def ticked(self, _key: str, _chip: str) -> Draft:
        """Return the draft after a tick on a line, or on one of its chips. Raises FsconsoleError."""
        return self.draft

    def opened(self, _key: str) -> Asked | None:
        """Return what to ask when a line is opened; None where opening is ticking."""
        return None

    def way(self, _line: Line | None) -> plan_options.Way:
        """Return the way from a line with a value that is left out to the option that decides that."""
        return plan_options.Way()

    def why_not(self, line: Line, chip: str) -> str:
        """Return why a line, or one of its chips, can't be ticked."""
        return plan_options.why_barred(line, chip)


def _values_of_key(
    key: Key, now: tuple[str, ...], check: Callable[[str], str], then: Callable[[tuple[str, ...]], Draft]
) -> Asked:
    told = f"{key.help} Several are compared; none: the default."
    known = dict.fromkeys(key.offered, "")
    return Asked(ValuesScreen(key.name, told, known, now, check if key.kind.is_typed else None), then)


class Arrays(Section):
    """Section of the arrays to compare."""

    def lines(self) -> tuple[Line, ...]:
        is_counted = self.desk.counted.plan.arrays == self.draft.plan.arrays
        outcome = self.desk.outcome.plan if is_counted else None
        return view.array_lines(self.draft.plan, outcome, self.desk.here.levels)

    def ticked(self, key: str, chip: str) -> Draft:
        """Tick a level or a value of a knob, or untick it. Raises FsconsoleError."""
        name, number, said = self._parted(key)
        if name in LEVELS:
            now = said.get("level", ())
            if name in self.desk.here.levels and name not in now:
                return self.draft
            levels = tuple(level for level in LEVELS if (level in now) != (level == name))
            return drafts.with_array(self.draft, number, "level", levels)
        if name in view.KNOBS:
            chips = view.chips_of(view.KNOBS[name].offered, said.get(name, ()))
            values = view.ticked_values(chips, chip, compares_default=False)
            return drafts.with_array(self.draft, number, name, values)
        return self.draft

    def opened(self, key: str) -> Asked | None:
        name, number, said = self._parted(key)
        if name not in view.KNOBS:
            return None
        return _values_of_key(
            view.KNOBS[name],
            said.get(name, ()),
            lambda text: drafts.checked_array_value(name, text),
            lambda values: drafts.with_array(self.draft, number, name, values),
        )

    def _parted(self, key: str) -> tuple[str, int, dict[str, tuple[str, ...]]]:
        number = number_in(key)
        return key.rpartition(" ")[0], number, drafts.words_of(drafts.array_at(self.draft.plan, number))


class Words(Section):
    """The variants with custom options."""

    def lines(self) -> tuple[Line, ...]:
        return plan_forms.words_lines(self.draft)

    def ticked(self, key: str, _chip: str) -> Draft:
        return self.draft if key == plan_forms.ADD else drafts.toggled_variant(self.draft, number_in(key))

    def opened(self, key: str) -> Asked:
        """Ask for one; behind the last for a new one, of the filesystem that is ticked first."""
        variants, catalog = self.draft.plan.variants, self.desk.catalog
        number = len(variants) if key == plan_forms.ADD else number_in(key)
        new = VariantText((*self.draft.filesystems, *catalog.names)[0])
        dialog = FormScreen(
            "Custom options",
            plan_forms.words_fields((*variants, new)[number], catalog),
            lambda texts: plan_forms.words_complaint(texts, number, catalog),
            lambda texts: plan_forms.variant_of(texts, number, catalog),
            yes="Add" if number == len(variants) else "",
        )
        return Asked(dialog, lambda taken: drafts.with_variant(self.draft, number, taken))


class Workloads(Section):
    """Section of the workloads."""

    def lines(self) -> tuple[Line, ...]:
        return plan_forms.workload_lines(self.draft.plan)

    def opened(self, key: str) -> Asked:
        return self._form(drafts.workload_tables(self.draft), number_in(key))

    def added(self, kind: str) -> Asked:
        new = drafts.start_of(WorkloadKind(kind), self.draft.plan.workloads)
        tables = [*drafts.workload_tables(self.draft), new]
        return self._form(tables, len(tables) - 1, yes="Add")

    def _form(self, tables: list[Table], number: int, *, yes: str = "") -> Asked:
        table = tables[number]
        kind, before, after = str(table["kind"]), tables[:number], tables[number + 1 :]

        def typed(texts: Mapping[str, str]) -> Table:
            return plan_forms.table_of(kind, texts)

        dialog = FormScreen(
            f"Workload {number + 1}: {kind}",
            plan_forms.form_fields(table),
            lambda texts: plan_forms.complaints((*before, typed(texts), *after), number, tuple(texts)),
            typed,
            yes=yes,
        )
        return Asked(dialog, lambda taken: drafts.with_workloads(self.draft, [*before, taken, *after]))


@dataclass(frozen=True, slots=True)
class Options(Section):
    """The options of one checklist, or of a filesystem that the draft says nothing of yet."""

    filesystem: Filesystem
    number: int | None
    """Position of the checklist."""

    def lines(self) -> tuple[Line, ...]:
        """Return the common options, and those that are set."""
        return plan_options.common_lines(self._checklist, self.filesystem, self.desk.here, self._made)

    def all_lines(self) -> tuple[Line, ...]:
        """Return every option."""
        return plan_options.option_lines(self._checklist, self.filesystem, self.desk.here, self._made)

    def way(self, line: Line | None) -> plan_options.Way:
        # Looking for it takes a while where there are thousands of variants.
        key = line.key if line is not None and line.warning else ""
        found = (option for option in self.filesystem.options if plan_options.key_of(option) == key)
        ways = (plan_options.way_of(self._checklist, self.filesystem, option, self._made) for option in found)
        return next(ways, plan_options.Way())

    @property
    def _made(self) -> tuple[Candidate, ...]:
        return () if self.number is None else plan_options.made_by(self.desk.counted, self.desk.outcome, self.number)

    @property
    def why_barred(self) -> str:
        """Return why the list can't be ticked; empty where it can, or is ticked."""
        is_off = self.number is None or self.number in self.draft.off_checklists
        lacks = self.desk.here.why_not(self.filesystem) if is_off else ""
        return f"{self.filesystem.name} can't be used here: {lacks}" if lacks else ""

    @property
    def name(self) -> str:
        """Return the filesystem, counted where there are several lists of it."""
        return self.filesystem.name if self.number is None else view.checklist_name(self.draft, self.number)

    def why_not(self, line: Line, chip: str) -> str:
        return (self.number is None and self.why_barred) or plan_options.why_barred(line, chip)

    def toggled(self) -> Draft:
        """Return the draft with the list ticked, or unticked; one that can't be used here isn't ticked."""
        if self.why_barred:
            return self.draft
        if self.number is None:
            return drafts.with_filesystem(self.draft, self.filesystem.name)
        return drafts.toggled_checklist(self.draft, self.number)

    def only(self) -> Draft:
        """Return the draft with this list alone."""
        if self.number is not None:
            return drafts.only_checklist(self.draft, self.number)
        return drafts.only_checklist(self.toggled(), len(self.draft.plan.checklists))

    def ticked(self, key: str, chip: str) -> Draft:
        if key == plan_options.MORE:
            return self.draft
        line = next(line for line in self.all_lines() if line.key == key)
        if line.is_faint or any(each.value == chip and each.is_barred for each in line.chips):
            return self.draft
        return self._with_values(plan_options.option_of(self.filesystem, key), view.ticked_values(line.chips, chip))

    def opened(self, key: str) -> Asked | None:
        """Ask for values that are typed."""
        if key == plan_options.MORE:
            return None
        filesystem, option = self.filesystem, plan_options.option_of(self.filesystem, key)
        now = drafts.values_of(self._checklist, option.scope, option.name)
        refusals = {value: self.desk.here.refusal(filesystem, option, value) for value in option.values_to_try}

        def accepted(text: str) -> str:
            if option.has_words(text) and not option.accepts(text):
                raise PlanBadValue("", option.name, text, f"{option.name} takes", option.wanted)
            return text

        title = f"{filesystem.name}: {option.name} ({option.scope.value})"
        told = f"{option.help}. Several are compared; {DEFAULT}, or none: {filesystem.name}'s own choice."
        dialog = ValuesScreen(title, told, {DEFAULT: ""} | refusals, now, accepted)
        return Asked(dialog, lambda values: self._with_values(option, () if values == (DEFAULT,) else values))

    def _with_values(self, option: Option, values: tuple[str, ...]) -> Draft:
        if self.number is not None:
            return drafts.with_values(self.draft, self.number, option.scope, option.name, values)
        draft = self.toggled()
        if draft == self.draft:
            return draft
        return drafts.with_values(draft, len(draft.plan.checklists) - 1, option.scope, option.name, values)

    @property
    def _checklist(self) -> Checklist:
        is_new = self.number is None
        return Checklist(self.filesystem.name) if is_new else self.draft.plan.checklists[self.number or 0]


class Variants(Section):
    """The variants as they arise."""

    def lines(self) -> tuple[Line, ...]:
        rows = (row.line for row in view.row_lines(self.desk.counted, self.desk.outcome))
        shared = (Line(f"shared {told}", told, is_heading=True) for told in view.shared_told(self.desk.outcome))
        shown = (*shared, *rows)
        more = view.left_over(self.desk.outcome)
        return (*shown, Line("more", more, is_heading=True)) if more else shown

    def ticked(self, key: str, _chip: str) -> Draft:
        row = self._row(key)
        if row is None or row.line.mark is Mark.BARRED:
            return self.draft
        if row.of_checklist:
            return drafts.toggled_combination(self.draft, row.number, row.values)
        return drafts.toggled_variant(self.draft, row.number)

    def opened(self, key: str) -> Asked | None:
        row = self._row(key)
        return None if row is None or row.of_checklist else Words(self.desk).opened(f"words {row.number}")

    def _row(self, key: str) -> view.RowLine | None:
        """Return a row, unless what it was made of has changed since the draft was counted."""
        rows = view.row_lines(self.desk.counted, self.desk.outcome)
        row = next((row for row in rows if row.line.key == key), None)
        was, now = self.desk.counted.plan, self.draft.plan
        if row is None:
            return None
        number = row.number
        if not row.of_checklist:
            is_still = was.variants[number : number + 1] == now.variants[number : number + 1]
        else:
            is_still = number in self.draft.checklists and replace(was.checklists[number], exclude=()) == replace(
                now.checklists[number], exclude=()
            )
        return row if is_still else None


class Settings(Section):
    """Section of the settings of disks and kernel to vary."""

    def lines(self) -> tuple[Line, ...]:
        given = dict(self.draft.plan.settings)
        known = plan_forms.SETTINGS.items()
        return tuple(view.knob_line(key, name, given.get(name, ())) for name, key in known)

    def ticked(self, key: str, chip: str) -> Draft:
        now = dict(self.draft.plan.settings).get(key, ())
        chips = view.chips_of(plan_forms.SETTINGS[key].offered, now)
        return drafts.with_setting(self.draft, key, view.ticked_values(chips, chip, compares_default=False))

    def opened(self, key: str) -> Asked:
        return _values_of_key(
            plan_forms.SETTINGS[key],
            dict(self.draft.plan.settings).get(key, ()),
            lambda text: drafts.checked_setting(key, text),
            lambda values: drafts.with_setting(self.draft, key, values),
        )


class Run(Section):
    """Section of rounds, order, size, and the steps after the loads."""

    def lines(self) -> tuple[Line, ...]:
        is_counted = self.desk.counted == self.draft
        return plan_forms.run_lines(self.draft.plan, self.desk.outcome.power if is_counted else None)

    def ticked(self, key: str, chip: str) -> Draft:
        if chip in {"", EVERY}:
            # One value at a time.
            return self.draft
        return drafts.with_key(self.draft, key, plan_forms.typed_run_value(key, chip))

    def opened(self, key: str) -> Asked | None:
        if key not in plan_forms.TYPED:
            return None

        def taken(text: str) -> Draft:
            return drafts.with_key(self.draft, key, plan_forms.typed_run_value(key, text))

        def judged(text: str) -> str:
            try:
                taken(text)
            except PlanBadValue as error:
                return f"{error.why}: {error.wanted}"
            except FsconsoleError as error:
                return str(error)
            return ""

        def told(text: str) -> str:
            """Return the line's words, or what the typed number of rounds can find."""
            plan, power = self.desk.outcome.plan, self.desk.outcome.power
            if key == "repeats" and plan is not None and power is not None and not judged(text):
                wanted, last = taken(text).plan, power.last.spread if power.last is not None else None
                found = power_with(plan, wanted.repeats, is_auto=wanted.is_auto, last_spread=last)
                return "\n".join(plan_forms.rounds_told(found))
            about = next(line for line in self.lines() if line.key == key).about
            return " ".join((*about, *(["Right arrow completes."] if offered else [])))

        offered = plan_forms.RUN[key].offered
        value = next(line for line in self.lines() if line.key == key).value
        suggester = SuggestFromList(offered, case_sensitive=False) if offered else None
        if key == "repeats":
            return Asked(RoundsScreen("Rounds", value, hint=told, check=judged, suggester=suggester), taken)
        return Asked(PromptScreen(key, value, hint=told, check=judged, suggester=suggester), taken)


_SECTIONS: Mapping[str, type[Section]] = {
    view.START: Variants,
    "variants": Variants,
    "words": Words,
    "workloads": Workloads,
    "arrays": Arrays,
    "settings": Settings,
    "run": Run,
}


def section_of(desk: Desk, key: str) -> Section:
    """Return the section behind a line of the list of sections."""
    kind, _, which = key.partition(" ")
    if kind == view.NEW:
        return Options(desk, desk.catalog.get(which), None)
    if kind == "options":
        number = int(which)
        return Options(desk, desk.catalog.get(desk.draft.plan.checklists[number].filesystem), number)
    return _SECTIONS[key](desk)


def nothing(*, is_narrowed: bool) -> Line:
    """Return what is told where a list has no line at the cursor; is_narrowed: there may be lines that are not shown."""
    return Line("nothing", "", about=() if is_narrowed else ("Nothing here yet.",))


def first_section(draft: Draft, section: str) -> str:
    """Return the list of a filesystem that has just got one, or the first ticked one; else where the plan has its variants."""
    kind, _, name = section.partition(" ")
    own = view.checklists_of(draft, name) if kind == view.NEW else draft.checklists
    return f"options {own[0]}" if own else "words"


def kind_of(section: str) -> str:
    """Return the kind of a section: "options" for each list of options."""
    return section.partition(" ")[0]


DOUBLED = {
    "workloads": drafts.doubled_workload,
    "words": drafts.doubled_variant,
    "options": drafts.doubled_checklist,
    "arrays": drafts.doubled_array,
}
"""Function that doubles a line, or a list of options. Raises FsconsoleError."""
DROPPED = {
    "workloads": drafts.removed_workload,
    "words": drafts.removed_variant,
    "options": drafts.removed_checklist,
    "arrays": drafts.removed_array,
}
"""Function that removes a line; the only list of a filesystem's options is unticked. Raises FsconsoleError."""
DOUBLING = {
    "options": "A second list of the same filesystem: its variants are compared with those of the first.",
    "arrays": "A second list of arrays: they are compared with those of the first.",
}
"""Message after a line was doubled, where the new one isn't enough."""
OFFERED = {"move": {"workloads"}, "double": set(DOUBLED), "drop": set(DROPPED), "only": {"options", view.NEW}}
"""The kinds of sections in which a key does something; a key that isn't here is always offered."""


def number_at(section: str, line: str) -> int | None:
    """Return the number of what is doubled and dropped: the list of options, or what a line is of; None for none."""
    if section.startswith("options "):
        return number_in(section)
    if line in ("", plan_forms.ADD) or line.startswith(f"{view.MADE} "):
        return None
    return number_in(line)


def opens_section(line: Line) -> str:
    """Return what enter does on a line of the list of sections, in a word for the footer."""
    if line.key == view.START:
        return "Run.."
    return "Options" if kind_of(line.key) in OFFERED["only"] else "Open"


def opens_line(line: Line) -> str:
    """Return what enter does on a line of a section, in a word for the footer; empty where it ticks, as space does."""
    if line.key in _OPENED:
        return _OPENED[line.key]
    opens = not line.chips and (line.mark is Mark.NONE or kind_of(line.key) == "words")
    return "Edit" if opens else ""


_OPENED = {plan_options.MORE: "All options", plan_forms.ADD: "Add"}


def can_drop(section: str, line: str) -> bool:
    """Return whether there is something to remove: the list of options, or what a line is of."""
    if kind_of(section) == "options":
        return True
    # The line may still be one of the section before.
    is_numbered = line.rpartition(" ")[2].isdecimal()
    return kind_of(section) in DROPPED and is_numbered and number_at(section, line) is not None


def ask_new(
    screen: ConsoleScreen,
    desk: Desk,
    first: str,
    ask_for: Callable[[Asked], None],
    plans: Mapping[str, tuple[str, Callable[[], object]]],
) -> None:
    """Ask what is to be new, the kind that is named first: a workload, a custom variant, or one of the plans."""

    def add_workload() -> None:
        section = section_of(desk, "workloads")
        if isinstance(section, Workloads):
            kinds = [Line(kind.value, kind.value, value=told) for kind, told, _ in drafts.STARTS]
            screen.ask(PickScreen("Add a workload", kinds), lambda kind: ask_for(section.added(kind)))

    def add_variant() -> None:
        asked = section_of(desk, "words").opened(plan_forms.ADD)
        if asked is not None:
            ask_for(asked)

    made = {"workloads": ("Workload", add_workload), "words": ("Custom variant", add_variant), **plans}
    lines = [Line(kind, name) for kind, (name, _) in made.items()]
    lines.sort(key=lambda line: line.key != first)
    screen.ask(PickScreen("New", lines), lambda kind: made[kind][1]())
