"""The sections of the Plan screen: the lines of each, what ticking a line does, and what opening it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.catalog.filesystem import Catalog, Filesystem, Option
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan import draft as arrays
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.draft import Draft, toggled_variant, with_variant
from fsconsole.plan.planfile import Checklist, VariantText
from fsconsole.show import plan as view
from fsconsole.show import plan_forms
from fsconsole.show.lines import Line, Mark
from fsconsole.show.plan import RowLine
from fsconsole.show.plan_forms import (
    ADD,
    complaints,
    form_fields,
    table_of,
    variant_of,
    words_complaint,
    words_fields,
    words_lines,
)
from fsconsole.tui.screens.dialogs import FormScreen, PromptScreen
from fsconsole.tui.screens.plan_dialogs import Asked, Desk, Section, ValuesScreen, number_in

_TYPED = ("chunk", "members", "stripe_cache_size", "group_thread_count")


class Arrays:
    """Which arrays are compared."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        is_counted = desk.counted.plan.arrays == desk.draft.plan.arrays
        return view.array_lines(desk.draft.plan, desk.outcome.plan if is_counted else None, desk.here.levels)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Tick a level, or untick it; take a knob from off to on, to compare, to off. Raises FsconsoleError."""
        name, number = _parted(key)
        said = arrays.words_of(arrays.array_at(desk.draft.plan, number))
        if name in LEVELS:
            now = said.get("level", ())
            if name in desk.here.levels and name not in now:
                return desk.draft
            levels = tuple(level for level in LEVELS if (level in now) != (level == name))
            return arrays.with_array(desk.draft, number, "level", levels)
        if name in view.KNOBS:
            values = view.next_values(view.KNOBS[name].offered, said.get(name, ()))
            return arrays.with_array(desk.draft, number, name, values)
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        name, number = _parted(key)
        knob = view.KNOBS.get(name)
        if knob is None or len(knob.offered) == 1:
            return None
        now = arrays.words_of(arrays.array_at(desk.draft.plan, number)).get(name, ())
        told = f"{knob.help} Several are compared; none: the default."
        typed = (lambda text: arrays.checked_array_value(name, text)) if name in _TYPED else None
        return Asked(
            ValuesScreen(name, told, [(value, "") for value in knob.offered], now, typed),
            lambda values: arrays.with_array(desk.draft, number, name, values),
        )


def arrays_doubled(draft: Draft, key: str) -> Draft:
    """Return the draft with another table like the one that is looked at. Raises FsconsoleError."""
    name, number = _parted(key)
    return draft if name == view.MADE else arrays.doubled_array(draft, number)


def arrays_dropped(draft: Draft, key: str) -> Draft:
    """Return the draft without the table that is looked at."""
    name, number = _parted(key)
    return draft if name == view.MADE else arrays.removed_array(draft, number)


def _parted(key: str) -> tuple[str, int]:
    return key.rpartition(" ")[0], number_in(key)


class WordsScreen(FormScreen[VariantText]):
    """Ends with a variant whose words have passed the allow-list and the rules, as those of a plan file."""

    def __init__(self, variant: VariantText, number: int, catalog: Catalog) -> None:
        """Show a variant; number is its place among those in words."""
        super().__init__("Custom options", words_fields(variant, catalog))
        self._number, self._catalog = number, catalog

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        return words_complaint(texts, self._number, self._catalog)

    def result(self, texts: Mapping[str, str]) -> VariantText:
        return variant_of(texts, self._number, self._catalog)


class Words:
    """The variants in the tools' own words."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return words_lines(desk.draft)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Leave one out, or take it in again."""
        return desk.draft if key == ADD else toggled_variant(desk.draft, number_in(key))

    def opened(self, desk: Desk, key: str) -> Asked | None:
        return words_form(desk, len(desk.draft.plan.variants) if key == ADD else number_in(key))


def words_form(desk: Desk, number: int) -> Asked:
    """Return the form of one; behind the last it is that of a new one, of the filesystem that is ticked first."""
    variants = desk.draft.plan.variants
    names = [desk.draft.plan.checklists[each].filesystem for each in desk.draft.checklists]
    new = VariantText(names[0] if names else desk.catalog.names[0])
    variant = variants[number] if number < len(variants) else new
    return Asked(
        WordsScreen(variant, number, desk.catalog), lambda taken: with_variant(desk.draft, number, taken)
    )


Table = dict[str, object]


class WorkloadScreen(FormScreen[Table]):
    """Ends with the workload's table as a plan file would have it; with nothing that the plan reader refuses."""

    def __init__(self, tables: Sequence[Mapping[str, object]], number: int) -> None:
        """Tables are all workloads of the plan, number the place of this one among them."""
        super().__init__(f"Workload {number + 1}: {tables[number]['kind']}", form_fields(tables[number]))
        self._tables, self._number = tuple(tables), number

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        before, after = self._tables[: self._number], self._tables[self._number + 1 :]
        return complaints((*before, self.result(texts), *after), self._number, tuple(texts))

    def result(self, texts: Mapping[str, str]) -> Table:
        return table_of(str(self._tables[self._number]["kind"]), texts)


class Filesystems:
    """Which filesystems are compared."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return view.filesystem_lines(desk.draft, desk.catalog, desk.here)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Tick one, or untick it, but for one that can't be used here."""
        lacks = desk.here.why_not(desk.catalog.get(key))
        if lacks and not desk.draft.is_ticked(key):
            return desk.draft
        return arrays.toggled_filesystem(desk.draft, key)

    def opened(self, _desk: Desk, _key: str) -> Asked | None:
        return None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one checklist."""

    number: int

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return view.option_lines(self._checklist(desk), self._filesystem(desk), desk.here)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Go from off to on, to compare, to off."""
        option, filesystem = self._option(desk, key), self._filesystem(desk)
        now = arrays.values_of(self._checklist(desk), option.scope, option.name)
        after = view.next_values(view.taken_values(filesystem, option, desk.here), now)
        return arrays.with_values(desk.draft, self.number, option.scope, option.name, after)

    def opened(self, desk: Desk, key: str) -> Asked | None:
        option, filesystem = self._option(desk, key), self._filesystem(desk)
        known = [(value, desk.here.refusal(filesystem, option, value)) for value in option.values_to_try]
        now = arrays.values_of(self._checklist(desk), option.scope, option.name)
        told = f"{option.help}. Several are compared; none: {filesystem.name}'s own choice."
        typed = (lambda text: _accepted(option, text)) if not option.texts else None
        return Asked(
            ValuesScreen(f"{filesystem.name}: {option.name} ({option.scope.value})", told, known, now, typed),
            lambda values: arrays.with_values(desk.draft, self.number, option.scope, option.name, values),
        )

    def _checklist(self, desk: Desk) -> Checklist:
        return desk.draft.plan.checklists[self.number]

    def _filesystem(self, desk: Desk) -> Filesystem:
        return desk.catalog.get(self._checklist(desk).filesystem)

    def _option(self, desk: Desk, key: str) -> Option:
        return view.option_of(self._filesystem(desk), key)


class Rows:
    """The variants as they arise."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        shown = tuple(row.line for row in view.row_lines(desk.counted, desk.outcome))
        more = view.left_over(desk.outcome)
        return (*shown, Line("more", more, is_heading=True)) if more else shown

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Leave one out, or take it in again."""
        for row in view.row_lines(desk.counted, desk.outcome):
            if row.line.key == key and row.line.mark is not Mark.BARRED and _is_still(desk, row):
                if row.of_checklist:
                    return arrays.toggled_combination(desk.draft, row.number, row.values)
                return arrays.toggled_variant(desk.draft, row.number)
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        for row in view.row_lines(desk.counted, desk.outcome):
            if row.line.key == key and not row.of_checklist and _is_still(desk, row):
                return words_form(desk, row.number)
        return None


def _is_still(desk: Desk, row: RowLine) -> bool:
    was, now = desk.counted.plan, desk.draft.plan
    number = row.number
    if not row.of_checklist:
        return was.variants[number : number + 1] == now.variants[number : number + 1]
    if number not in desk.draft.checklists:
        return False
    return replace(was.checklists[number], exclude=()) == replace(now.checklists[number], exclude=())


class Workloads:
    """What is done in every cell."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return plan_forms.workload_lines(desk.draft.plan)

    def ticked(self, desk: Desk, _key: str) -> Draft:
        """Change nothing: a workload is there, or x removes it."""
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        return form_of(desk, arrays.workload_tables(desk.draft), number_in(key))


class Settings:
    """Which settings of disks and kernel are varied."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return plan_forms.setting_lines(desk.draft.plan)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Go from off to on, to compare, to off."""
        if key not in plan_forms.SETTINGS:
            return desk.draft
        now = dict(desk.draft.plan.settings).get(key, ())
        return arrays.with_setting(desk.draft, key, view.next_values(plan_forms.SETTINGS[key].offered, now))

    def opened(self, desk: Desk, key: str) -> Asked | None:
        if key not in plan_forms.SETTINGS:
            return None
        setting = plan_forms.SETTINGS[key]
        now = dict(desk.draft.plan.settings).get(key, ())
        told = f"{setting.help} Several are compared; none: unchanged."
        dialog = ValuesScreen(
            key,
            told,
            [(value, "") for value in setting.offered],
            now,
            lambda text: arrays.checked_setting(key, text),
        )
        return Asked(dialog, lambda values: arrays.with_setting(desk.draft, key, values))


class Run:
    """How often, in which order, at which size, and what comes after."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        return plan_forms.run_lines(desk.draft.plan)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Take the next of its values."""
        after = plan_forms.next_run_value(desk.draft.plan, key)
        return desk.draft if after is None else arrays.with_key(desk.draft, key, after)

    def opened(self, desk: Desk, key: str) -> Asked | None:
        if key not in plan_forms.TYPED:
            return None

        def judged(text: str) -> str:
            try:
                arrays.with_key(desk.draft, key, plan_forms.typed_run_value(key, text))
            except PlanBadValue as error:
                return f"{error.why}: {error.wanted}"
            except FsconsoleError as error:
                return str(error)
            return ""

        line = next(line for line in self.lines(desk) if line.key == key)
        dialog = PromptScreen(key, line.value, hint=" ".join(line.about), check=judged)
        return Asked(
            dialog, lambda text: arrays.with_key(desk.draft, key, plan_forms.typed_run_value(key, text))
        )


def section_of(key: str) -> Section:
    """Return the section behind a line of the list of sections."""
    if key.startswith("options "):
        return Options(number_in(key))
    sections: dict[str, Section] = {
        "filesystems": Filesystems(),
        "variants": Rows(),
        "words": Words(),
        "workloads": Workloads(),
        "arrays": Arrays(),
        "settings": Settings(),
        "run": Run(),
    }
    return sections[key]


def doubled(draft: Draft, section: str, line: str) -> Draft:
    """Return the draft with another one like what is looked at. Raises FsconsoleError."""
    if _is_nothing(section, line):
        return draft
    if section == "workloads":
        return arrays.doubled_workload(draft, number_in(line))
    if section == "words":
        return arrays.doubled_variant(draft, number_in(line))
    if section == "arrays":
        return arrays_doubled(draft, line)
    return arrays.doubled_checklist(draft, number_in(section))


def dropped(draft: Draft, section: str, line: str) -> Draft:
    """Return the draft without what is looked at; a list of options is unticked alone. Raises FsconsoleError."""
    if _is_nothing(section, line):
        return draft
    if section == "workloads":
        return arrays.removed_workload(draft, number_in(line))
    if section == "words":
        return arrays.removed_variant(draft, number_in(line))
    if section == "arrays":
        return arrays_dropped(draft, line)
    return arrays.dropped_checklist(draft, number_in(section))


def form_of(desk: Desk, tables: list[dict[str, object]], number: int) -> Asked:
    """Return the form of one of these workloads."""

    def taken(table: dict[str, object]) -> Draft:
        return arrays.with_workloads(desk.draft, [*tables[:number], table, *tables[number + 1 :]])

    return Asked(WorkloadScreen(tables, number), taken)


def kind_lines() -> list[Line]:
    """Return the kinds of workloads, with a sentence on each."""
    return [Line(kind.value, kind.value, value=told) for kind, told, _ in arrays.STARTS]


def added_form(desk: Desk, kind: str) -> Asked:
    """Return the form of a new workload of a kind, at the end."""
    begun = arrays.start_of(WorkloadKind(kind), desk.draft.plan.workloads)
    tables = [*arrays.workload_tables(desk.draft), begun]
    return form_of(desk, tables, len(tables) - 1)


def _is_nothing(section: str, line: str) -> bool:
    """Tell whether it is a single line that is meant, and none is looked at, or only that which adds one."""
    return not section.startswith("options ") and line in ("", ADD)


def _accepted(option: Option, text: str) -> str:
    if not option.accepts(text):
        raise PlanBadValue("", option.name, text, f"{option.name} takes", option.wanted)
    return text


LINES_ARE = {"options": "options", "variants": "variants", "workloads": "workloads", "arrays": "arrays"}
"""What a section's lines are called where they are counted."""
DOUBLING = {
    "options": "A second list of the same filesystem: its variants are compared with those of the first.",
    "arrays": "A second list of arrays: they are compared with those of the first.",
}
"""What is said when a line was doubled and the new one doesn't speak for itself."""
_OFFERED = {
    "move": ("workloads",),
    "add": ("workloads", "words"),
    "double": ("workloads", "words", "options", "arrays"),
    "drop": ("workloads", "words", "options", "arrays"),
}


def kind_of(section: str) -> str:
    """Return the kind of a section: "options" for each list of options."""
    return section.partition(" ")[0]


def is_offered(action: str, section: str) -> bool:
    """Return whether a key does something in a section; what concerns no section is always offered."""
    return action not in _OFFERED or kind_of(section) in _OFFERED[action]
