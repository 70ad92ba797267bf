"""The Plan screen says which arrays this machine doesn't make, and what to do, before a plan with them is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.model.answers import LevelAnswer
from fsconsole.model.wire import decode
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.outcome import Lack, levels_of
from fsconsole.plan.planfile import ArrayAxis
from fsconsole.preflight import machine
from fsconsole.show import catalog
from fsconsole.tui.widgets.choices import Choices
from tests.tui.at_plan import Hand, at_plan, catalog_answer, levels_answer
from tests.tui.harness import SIZES, Scripted
from tests.tui.test_plan_kept import open_file
from tests.unit.plan.examples import SMALLEST

WHY = (
    "mdadm is not installed (Debian's package mdadm); this kernel makes no [/linear]: /proc/mdstat does not name it, "
    "and there is no module md-linear"
)
REMEDY = "Install mdadm. Use a kernel that has it, or an array that is there as the target."
"""All that can be said at once."""
NO_LINEAR = {"catalog": catalog_answer(), "catalog --arrays": levels_answer({"linear": (WHY, REMEDY)})}


def arrays_of(hand: Hand) -> tuple[ArrayAxis, ...]:
    return hand.screen.draft.plan_file.arrays


@pytest.mark.parametrize("size", SIZES)
def test_a_level_that_is_not_made_here_is_barred_and_says_why_and_what_to_do(size: tuple[int, int]) -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await hand.sees("[-] linear", "[ ] raid5")
        await hand.look_at("linear 0")
        await hand.sees(f"Not here: {WHY}. {REMEDY}")
        await hand.keys("space")
        assert arrays_of(hand) == ()
        await hand.look_at("raid5 0")
        await hand.keys("space")
        assert arrays_of(hand) == (ArrayAxis(("raid5",)),)

    at_plan(work, size=size, children=Scripted(NO_LINEAR))


def test_a_plan_file_with_such_a_level_is_told_and_its_level_can_be_unticked(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(SMALLEST + '[[array]]\nlevel = ["linear"]\n')

    async def work(hand: Hand) -> None:
        await open_file(hand, path)
        # Asked for the sake of the plan: nobody has looked at its arrays yet.
        await hand.until(lambda: hand.screen.here.levels)
        await hand.settled()
        plan = hand.screen.outcome.plan
        assert plan is not None
        assert all(WHY in cell.unavailable for cell in plan.cells)
        await hand.go_to("arrays")
        await hand.sees("[x] linear", "not here")
        await hand.look_at("linear 0")
        await hand.keys("space")
        assert arrays_of(hand) == ()

    at_plan(work, children=Scripted(NO_LINEAR))


def test_a_plan_without_arrays_asks_nothing_of_them() -> None:
    children = Scripted(NO_LINEAR)

    async def work(hand: Hand) -> None:
        # The list of sections is gone through from its top: what lies behind the arrays passes by them.
        await hand.go_to("workloads")
        assert ("catalog", "--arrays", "--json") not in children.asked
        await hand.go_to("arrays")
        await hand.until(lambda: hand.screen.here.levels)
        await hand.keys("escape")
        await hand.go_to("settings")
        await hand.go_to("arrays")
        assert children.asked.count(("catalog", "--arrays", "--json")) == 1

    at_plan(work, children=children)


def test_what_can_not_be_asked_is_said_and_bars_nothing() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await hand.sees("its answer is not understood")
        lines = hand.screen.query_one("#lines", Choices).lines_shown
        assert "[-]" not in {line.mark.value for line in lines}

    at_plan(work, children=Scripted({"catalog": catalog_answer()}))


def test_what_the_command_says_is_what_the_console_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "levels_here", lambda: tuple(level for level in LEVELS if level != "linear"))
    monkeypatch.setattr(machine, "find_program", lambda _: "/usr/sbin/mdadm")
    told = machine.every_level()
    assert [level.level for level in told] == list(LEVELS)
    why = "this kernel makes no linear: /proc/mdstat does not name it, and there is no module md-linear"
    remedy = "Use a kernel that has it, or an array that is there as the target."
    assert levels_of(decode(tuple[LevelAnswer, ...], catalog.levels_as_json(told))) == {
        "linear": Lack(why, remedy)
    }
    lines = list(catalog.lines(told, 80))
    assert max(map(len, lines)) <= 80
    assert f"not here: {why} {remedy}" in " ".join(" ".join(lines).split())
