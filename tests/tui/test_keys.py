"""The line of keys: whole keys where there is room for them, and a sign where there are more."""

from __future__ import annotations

import pytest

from tests.tui.at_plan import Hand, at_plan
from tests.tui.harness import picture


def keys_of(hand: Hand) -> str:
    return picture(hand.pilot).splitlines()[-1]


SECTIONS = ("filesystems", "options 0", "words", "workloads", "settings", "run")


@pytest.mark.parametrize("size", [(60, 20), (70, 24), (80, 24), (120, 40)])
def test_no_key_is_clipped_and_where_some_are_left_out_help_says_that_there_are_more(
    size: tuple[int, int],
) -> None:
    async def work(hand: Hand) -> None:
        for section in SECTIONS:
            await hand.go_to(section)
            await hand.pilot.pause()
            line = keys_of(hand)
            assert "space Tick" in line
            assert "g Go" in line
            assert "q Quit" in line
            assert len(line) <= size[0]
            whole = {"c Commands", "s Save", "p Try", "o Open"}
            assert ("? Help" in line) == all(key in line for key in whole)
            assert ("? More" in line) != ("? Help" in line)
            assert ("a Add" in line) == (section in ("words", "workloads"))

    at_plan(work, size=size)


def test_keys_come_back_when_the_terminal_grows() -> None:
    async def work(hand: Hand) -> None:
        assert "? More" in keys_of(hand)
        await hand.pilot.resize_terminal(120, 40)
        await hand.sees("p Try", "? Help", "c Commands")

    at_plan(work, size=(60, 20))
