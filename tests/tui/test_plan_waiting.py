"""What the Plan screen says while it waits, and when a line can't be ticked."""

from __future__ import annotations

import asyncio
import json

import pytest

from fsconsole.client.children import Done
from fsconsole.tui.screens import plan as plan_screen
from tests.tui.at_plan import Hand, at_plan, catalog_answer
from tests.tui.harness import Scripted, console, picture

PROBED = json.dumps(
    [
        each | {"probed": True}
        for each in json.loads(catalog_answer())
        if each["filesystem"] in ("ext4", "xfs")
    ]
)


class Slow(Scripted):
    """Children of which the catalog answers when it is let go."""

    def __init__(self, held: str) -> None:
        super().__init__({"catalog": catalog_answer()})
        self.held, self.let_go = held, asyncio.Event()

    async def run(self, *words: str) -> Done:
        if " ".join(words) == self.held:
            await self.let_go.wait()
        return await super().run(*words)


def while_waiting(held: str, keys: str, words: str) -> None:
    async def look() -> None:
        children = Slow(held)
        async with console(children).run_test(size=(80, 24)) as pilot:
            hand = Hand(pilot)
            await hand.keys("2", *keys)
            await hand.sees(words)
            await hand.sees("2 variants, 6 cells", " 1 s")
            await hand.keys("down")
            assert hand.screen.section_key != "filesystems"
            children.let_go.set()
            await hand.until(lambda: words not in picture(pilot))

    asyncio.run(look())


def test_at_first_it_says_that_it_asks_what_this_machine_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_screen, "_TELL_S", 0.5)
    while_waiting("catalog --json", "", "Asking what this machine takes")


def test_while_options_are_tried_it_says_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_screen, "_TELL_S", 0.5)
    while_waiting("catalog ext4 xfs --probe --json", "p", "Trying the options of ext4, xfs")


def test_one_limit_in_two_units_is_refused_in_words_that_stay() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("settings")
        await hand.look_at("dirty_bytes")
        await hand.keys("space")
        await hand.look_at("dirty_ratio")
        await hand.keys("space")
        await hand.sees("limit: the kernel forgets one")
        assert dict(hand.screen.draft.plan.settings) == {"dirty_bytes": ("256MiB",)}

    at_plan(work)


@pytest.mark.parametrize(
    ("section", "key", "words"), [("run", "repeats", "How often"), ("workloads", "load 0", "Workload 1")]
)
def test_space_opens_what_has_no_tick(section: str, key: str, words: str) -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to(section)
        await hand.look_at(key)
        await hand.keys("space")
        await hand.sees(words, "enter Take")

    at_plan(work)


def test_trying_options_while_this_machine_is_asked_about_loses_no_answer() -> None:
    async def look() -> None:
        children = Slow("catalog --json")
        lacking = catalog_answer(unavailable={"btrfs": "no module btrfs"})
        children.answers = {"catalog --json": lacking, "catalog ext4 xfs --probe": PROBED}
        async with console(children).run_test(size=(80, 24)) as pilot:
            hand = Hand(pilot)
            await hand.keys("2")
            await hand.sees("Asking what this machine takes")
            await hand.keys("p")
            await hand.sees("Trying the options of ext4, xfs")
            children.let_go.set()
            await hand.sees("Tried on this machine: ext4, xfs.")
            assert dict(hand.screen.here.lacks) == {"btrfs": "no module btrfs"}

    asyncio.run(look())
