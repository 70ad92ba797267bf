"""Finding a line among many on the Plan screen: words narrow the list as they are typed."""

from __future__ import annotations

import pytest

from fsconsole.tui.session import offered
from fsconsole.tui.widgets.choices import Choices
from tests.tui.at_plan import Hand, at_plan
from tests.tui.harness import SIZES, picture

NARROW = (60, 20)


def shown(hand: Hand) -> list[str]:
    lines = hand.screen.query_one("#lines", Choices).lines_shown
    return [line.key for line in lines if not line.is_heading]


@pytest.mark.parametrize("size", [*SIZES, NARROW])
def test_options_are_found_as_words_are_typed_and_what_was_found_stays_until_escape(
    size: tuple[int, int],
) -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        every = shown(hand)
        await hand.keys("slash", *"journ")
        await hand.until(lambda: len(shown(hand)) < len(every))
        await hand.keys(*"al_a")
        await hand.sees(f" of {len(every)} options match", "'journal_a'", "enter Keep", "esc All")
        assert all(len(line) <= size[0] for line in picture(hand.pilot).splitlines())
        assert {"mount journal_async_commit", "mount journal_checksum"} & set(shown(hand))
        found = shown(hand)
        await hand.keys("enter")
        await hand.sees("matches 'journal_a';", "clears.")
        assert hand.screen.query_one("#lines").has_focus
        await hand.keys("space")
        await hand.until(lambda: bool(hand.screen.draft.plan.checklists[0].mount))
        assert shown(hand) == found
        await hand.keys("escape")
        await hand.until(lambda: shown(hand) == every)
        await hand.until(lambda: "options match" not in picture(hand.pilot))
        assert hand.screen.query_one("#lines").has_focus
        await hand.keys("escape")
        assert hand.screen.query_one("#sections").has_focus

    at_plan(work, size=size)


def test_an_option_is_found_by_its_old_name_its_group_its_help_and_the_tool_s_words() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        every = shown(hand)
        for words, key in (
            ("uninit_groups", "mkfs uninit_bg"),
            ("JOURNAL ordered", "mount data"),
            ("written back", "mount delalloc"),
            ("nodelalloc", "mount delalloc"),
        ):
            await hand.keys("slash")
            await hand.type(words)
            await hand.until(lambda key=key: key in shown(hand) and len(shown(hand)) < len(every))
            await hand.keys("escape")
            await hand.until(lambda: shown(hand) == every)

    at_plan(work)


def test_what_matches_nothing_says_so_and_letters_are_no_keys_meanwhile() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        await hand.keys("slash", *"gnosq12?")
        await hand.sees("0 of ", "options match 'gnosq12?'")
        assert hand.pilot.app.screen is hand.screen
        await hand.keys("down", "space", "escape")
        await hand.sees("inode_size")

    at_plan(work)


def test_another_section_is_shown_whole() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        await hand.keys("slash", *"journal", "enter", "left", "down")
        await hand.until(lambda: hand.screen.section_key == "options 1")
        await hand.pilot.pause()
        assert "match" not in picture(hand.pilot)
        assert "mkfs block_size" in shown(hand)

    at_plan(work)


def test_the_variants_in_their_own_pane_are_narrowed_there() -> None:
    async def work(hand: Hand) -> None:
        hand.screen.query_one("#rows").focus()
        await hand.keys("slash", *"xfs", "enter")
        await hand.sees("1 of 2 variants matches 'xfs'")
        rows = hand.screen.query_one("#rows", Choices)
        assert [line.name for line in rows.lines_shown] == ["xfs"]
        await hand.keys("space")
        await hand.settled()
        assert not hand.screen.draft.is_ticked("xfs")

    at_plan(work, size=(120, 40))


def test_finding_is_in_the_list_of_all_that_can_be_done() -> None:
    async def work(hand: Hand) -> None:
        found = {one.binding.id: one.binding for one in offered(hand.screen)}
        assert "old names" in found["plan.find"].tooltip

    at_plan(work)
