"""What the Plan screen's keys add to a plan, copy, remove and move."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft
from fsconsole.show.lines import Line
from fsconsole.show.plan_forms import ADD
from fsconsole.tui.screens import plan_sections as of_plan
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import PickScreen
from fsconsole.tui.screens.plan_dialogs import number_in
from fsconsole.tui.widgets.lists import Choices


class PlanEdits(ConsoleScreen):
    """The draft, and the changes that a key makes to it."""

    draft: Draft
    section_key: str

    @property
    def desk(self) -> of_plan.Desk:
        """All that a section looks at."""
        raise NotImplementedError

    def take(self, draft: Draft) -> None:
        """Have another draft, show it and count it."""
        raise NotImplementedError

    def action_open_plan(self) -> object:
        """Ask for a plan, and open it."""
        raise NotImplementedError

    def action_begin_anew(self) -> object:
        """Begin with a new plan."""
        raise NotImplementedError

    def action_new(self) -> None:
        """Ask what is to be new, the kind of the shown section first: a workload, a custom variant, a plan, or one of a recipe."""
        made: dict[str, tuple[str, Callable[[], object]]] = {
            "workloads": ("Workload", self._add_workload),
            "words": ("Custom variant", self._add_variant),
            "plan": ("New plan", self.action_begin_anew),
            "opened": ("Recipe or shipped plan..", self.action_open_plan),
        }
        lines = [Line(kind, name) for kind, (name, _) in made.items()]
        lines.sort(key=lambda line: line.key != of_plan.kind_of(self.section_key))
        self.ask(PickScreen("New", lines), lambda kind: made[kind][1]())

    def _add_workload(self) -> None:
        desk = of_plan.section_of(self.desk, "workloads")
        if isinstance(desk, of_plan.Workloads):
            kinds = [Line(kind.value, kind.value, value=told) for kind, told, _ in drafts.STARTS]
            self.ask(PickScreen("Add a workload", kinds), lambda kind: self.ask_for(desk.added(kind)))

    def _add_variant(self) -> None:
        asked = of_plan.section_of(self.desk, "words").opened(ADD)
        if asked is not None:
            self.ask_for(asked)

    def action_repeats(self) -> None:
        asked = of_plan.section_of(self.desk, "run").opened("repeats")
        if asked is not None:
            self.ask_for(asked)

    def action_double(self) -> None:
        self._remake(of_plan.DOUBLED)
        if told := of_plan.DOUBLING.get(of_plan.kind_of(self.section_key)):
            self.say(told)

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

    def change(self, make: drafts.Change) -> None:
        with self.complaining():
            draft: Draft = make()
            self.say("")
            self.take(draft)
