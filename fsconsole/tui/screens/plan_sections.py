"""The sections of the Plan screen: the lines of each, what ticking a line does, and what opening it asks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.catalog.filesystem import Filesystem, Option
from fsconsole.errors import FsconsoleError, PlanBadValue
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.planfile import Checklist
from fsconsole.tui import draft as drafts
from fsconsole.tui import draft_parts as parts
from fsconsole.tui import draft_words as words
from fsconsole.tui.draft import Draft
from fsconsole.tui.screens import plan_arrays as arrays
from fsconsole.tui.screens.plan_arrays import Arrays
from fsconsole.tui.screens.plan_section import Asked, Desk, Section, number_in
from fsconsole.tui.screens.plan_values import ValuesScreen
from fsconsole.tui.screens.plan_words import Words, words_form
from fsconsole.tui.screens.plan_workload import WorkloadScreen
from fsconsole.tui.screens.prompt import PromptScreen
from fsconsole.tui.views import plan_loads, plan_options, plan_rows
from fsconsole.tui.views.lines import Line, Mark
from fsconsole.tui.views.plan_rows import RowLine
from fsconsole.tui.views.plan_words import ADD


class Filesystems:
    """Which filesystems are compared."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each."""
        return plan_options.filesystem_lines(desk.draft, desk.catalog, desk.here)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Tick one, or untick it, but for one that can't be used here."""
        lacks = desk.here.why_not(desk.catalog.get(key))
        if lacks and not desk.draft.is_ticked(key):
            return desk.draft
        return drafts.toggled_filesystem(desk.draft, key)

    def opened(self, _desk: Desk, _key: str) -> Asked | None:
        """Ask nothing: opening is ticking."""
        return None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one checklist."""

    number: int

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each option, by groups."""
        return plan_options.option_lines(self._checklist(desk), self._filesystem(desk), desk.here)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Go from off to on, to compare, to off."""
        option, filesystem = self._option(desk, key), self._filesystem(desk)
        now = drafts.values_of(self._checklist(desk), option.scope, option.name)
        after = plan_options.next_values(filesystem, option, now, desk.here)
        return drafts.with_values(desk.draft, self.number, option.scope, option.name, after)

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for the values."""
        option, filesystem = self._option(desk, key), self._filesystem(desk)
        known = [(value, desk.here.refusal(filesystem, option, value)) for value in option.values_to_try]
        now = drafts.values_of(self._checklist(desk), option.scope, option.name)
        told = f"{option.help}. Several are compared; none: {filesystem.name}'s own choice."
        typed = (lambda text: _accepted(option, text)) if not option.texts else None
        return Asked(
            ValuesScreen(f"{filesystem.name}: {option.name} ({option.scope.value})", told, known, now, typed),
            lambda values: drafts.with_values(desk.draft, self.number, option.scope, option.name, values),
        )

    def _checklist(self, desk: Desk) -> Checklist:
        return desk.draft.plan.checklists[self.number]

    def _filesystem(self, desk: Desk) -> Filesystem:
        return desk.catalog.get(self._checklist(desk).filesystem)

    def _option(self, desk: Desk, key: str) -> Option:
        return plan_options.option_of(self._filesystem(desk), key)


class Rows:
    """The variants as they arise."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each."""
        shown = tuple(row.line for row in plan_rows.row_lines(desk.counted, desk.outcome))
        more = plan_rows.left_over(desk.outcome)
        return (*shown, Line("more", more, is_heading=True)) if more else shown

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Leave one out, or take it in again."""
        for row in plan_rows.row_lines(desk.counted, desk.outcome):
            if row.line.key == key and row.line.mark is not Mark.BARRED and _is_still(desk, row):
                if row.of_checklist:
                    return drafts.toggled_combination(desk.draft, row.number, row.values)
                return drafts.toggled_variant(desk.draft, row.number)
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for the words of one that is in the tools' own words; of others opening is ticking."""
        for row in plan_rows.row_lines(desk.counted, desk.outcome):
            if row.line.key == key and not row.of_checklist and _is_still(desk, row):
                return words_form(desk, row.number)
        return None


def _is_still(desk: Desk, row: RowLine) -> bool:
    """Tell whether a row of what was counted means the same in the draft at hand, which may have others ticked."""
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
        """Return a line for each, in their order."""
        return plan_loads.workload_lines(desk.draft.plan)

    def ticked(self, desk: Desk, _key: str) -> Draft:
        """Change nothing: a workload is there, or x removes it."""
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for its figures."""
        return form_of(desk, parts.workload_tables(desk.draft), number_in(key))


class Settings:
    """Which settings of disks and kernel are varied."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each."""
        return plan_loads.setting_lines(desk.draft.plan)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Go from off to on, to compare, to off."""
        if key not in plan_loads.SETTINGS:
            return desk.draft
        now = dict(desk.draft.plan.settings).get(key, ())
        return parts.with_setting(desk.draft, key, plan_loads.next_setting(key, now))

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for the values."""
        if key not in plan_loads.SETTINGS:
            return None
        about, known = plan_loads.SETTINGS[key]
        now = dict(desk.draft.plan.settings).get(key, ())
        told = f"{about} Several are compared; none: as the machine has it."
        dialog = ValuesScreen(
            key, told, [(value, "") for value in known], now, lambda text: parts.checked_setting(key, text)
        )
        return Asked(dialog, lambda values: parts.with_setting(desk.draft, key, values))


class Run:
    """How often, in which order, at which size, and what comes after."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each key."""
        return plan_loads.run_lines(desk.draft.plan)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Take the next of its values."""
        after = plan_loads.next_run_value(desk.draft.plan, key)
        return desk.draft if after is None else parts.with_key(desk.draft, key, after)

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for a value, where it can be typed."""
        if key not in plan_loads.TYPED:
            return None

        def judged(text: str) -> str:
            try:
                parts.with_key(desk.draft, key, plan_loads.typed_run_value(key, text))
            except PlanBadValue as error:
                return f"{error.why}: {error.wanted}"
            except FsconsoleError as error:
                return str(error)
            return ""

        line = next(line for line in self.lines(desk) if line.key == key)
        dialog = PromptScreen(key, line.value, hint=" ".join(line.about), check=judged)
        return Asked(
            dialog, lambda text: parts.with_key(desk.draft, key, plan_loads.typed_run_value(key, text))
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
        return parts.doubled_workload(draft, number_in(line))
    if section == "words":
        return words.doubled_variant(draft, number_in(line))
    if section == "arrays":
        return arrays.doubled(draft, line)
    return drafts.doubled_checklist(draft, number_in(section))


def dropped(draft: Draft, section: str, line: str) -> Draft:
    """Return the draft without what is looked at; a list of options is unticked alone. Raises FsconsoleError."""
    if _is_nothing(section, line):
        return draft
    if section == "workloads":
        return parts.removed_workload(draft, number_in(line))
    if section == "words":
        return words.removed_variant(draft, number_in(line))
    if section == "arrays":
        return arrays.dropped(draft, line)
    return drafts.dropped_checklist(draft, number_in(section))


def form_of(desk: Desk, tables: list[dict[str, object]], number: int) -> Asked:
    """Return the form of one of these workloads."""

    def taken(table: dict[str, object]) -> Draft:
        return parts.with_workloads(desk.draft, [*tables[:number], table, *tables[number + 1 :]])

    return Asked(WorkloadScreen(tables, number), taken)


def added_form(desk: Desk, kind: str) -> Asked:
    """Return the form of a new workload of a kind, at the end."""
    begun = parts.start_of(WorkloadKind(kind), desk.draft.plan.workloads)
    tables = [*parts.workload_tables(desk.draft), begun]
    return form_of(desk, tables, len(tables) - 1)


def _is_nothing(section: str, line: str) -> bool:
    """Tell whether it is a single line that is meant, and none is looked at, or only that which adds one."""
    return not section.startswith("options ") and line in ("", ADD)


def _accepted(option: Option, text: str) -> str:
    if not option.accepts(text):
        raise PlanBadValue("", option.name, text, f"{option.name} takes", option.wanted)
    return text
