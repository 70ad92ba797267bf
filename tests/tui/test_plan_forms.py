"""Enter takes what a form has, F10 does so from anywhere, and Escape leaves all as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fsconsole.tui.screens.plan import PlanScreen
from tests.tui.at_plan import Hand, at_plan, catalog_answer
from tests.tui.harness import Scripted


async def values_of(hand: Hand, key: str) -> None:
    await hand.go_to("options 0")
    await hand.look_at(key)
    await hand.keys("enter")
    await hand.until(lambda: not isinstance(hand.pilot.app.screen, PlanScreen))
    await hand.sees("enter Take", "esc Cancel")


def given(hand: Hand) -> dict[str, tuple[str, ...]]:
    checklist = hand.screen.draft.plan.checklists[0]
    return dict((*checklist.mkfs, *checklist.mount))


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (("down", "enter"), ("writeback",)),
        (("space", "down", "down", "space", "enter"), ("ordered", "journal")),
        (("space", "space", "enter"), ()),
        (("space", "f10"), ("ordered",)),
        (("space", "escape"), ()),
    ],
)
def test_values_are_taken_by_enter_as_they_are_ticked(keys: tuple[str, ...], values: tuple[str, ...]) -> None:
    async def work(hand: Hand) -> None:
        await values_of(hand, "mount data")
        await hand.keys(*keys)
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        assert given(hand).get("data", ()) == values

    at_plan(work)


def test_several_typed_values_are_taken_at_once_beside_those_that_are_ticked() -> None:
    async def work(hand: Hand) -> None:
        await values_of(hand, "mkfs flex_bg_size")
        await hand.keys("space", "tab")
        await hand.type("16, x")
        await hand.sees("flex_bg_size takes: a whole number")
        await hand.keys("enter")
        assert hand.pilot.app.screen is not hand.screen
        await hand.type("16, 128")
        await hand.keys("enter")
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        assert given(hand)["flex_bg_size"] == ("64", "16", "128")

    at_plan(work)


def test_what_this_machine_refuses_is_not_taken_by_enter_alone_and_says_why() -> None:
    async def work(hand: Hand) -> None:
        await values_of(hand, "mount data")
        await hand.sees("ordered: this machine refuses it (no such [/x])")
        await hand.keys("enter")
        assert hand.pilot.app.screen is not hand.screen
        await hand.keys("escape")
        assert given(hand) == {}

    at_plan(work, children=Scripted({"catalog": catalog_answer({"data": "no such [/x]"})}))


async def a_workload(hand: Hand) -> None:
    await hand.go_to("workloads")
    await hand.keys("enter")
    await hand.sees("Workload 1")
    hand.pilot.app.screen.query_one("#field-threads").focus()
    await hand.pilot.pause()
    await hand.type("8")


async def repeats(hand: Hand) -> None:
    await hand.go_to("run")
    await hand.look_at("repeats")
    await hand.keys("enter")
    await hand.sees("How often each cell is done")
    await hand.type("8")


async def read_ahead(hand: Hand) -> None:
    await hand.go_to("settings")
    await hand.keys("enter")
    await hand.sees("What the kernel reads ahead", "enter Take")
    await hand.keys("tab")
    await hand.type("8MiB")


@pytest.mark.parametrize(
    ("open_form", "found"),
    [
        (a_workload, lambda hand: hand.screen.draft.plan.workloads[0].threads == (8,)),
        (repeats, lambda hand: hand.screen.draft.plan.repeats == 8),
        (read_ahead, lambda hand: dict(hand.screen.draft.plan.settings).get("read_ahead") == ("8MiB",)),
    ],
)
@pytest.mark.parametrize("key", ["enter", "f10", "escape"])
def test_every_form_is_taken_by_enter_and_f10_and_left_by_escape(
    open_form: Callable[[Hand], object], found: Callable[[Hand], bool], key: str
) -> None:
    async def work(hand: Hand) -> None:
        await open_form(hand)
        await hand.sees("enter Take", "esc Cancel")
        await hand.keys(key)
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        assert found(hand) == (key != "escape")

    at_plan(work)
