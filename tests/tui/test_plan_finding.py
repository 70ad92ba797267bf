"""Options found as words are typed, and what a narrowed list leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.plan.draft import Draft
from fsconsole.plan.read import parse_plan
from fsconsole.tui import planfiles
from fsconsole.tui.screens.base import offered
from fsconsole.tui.widgets.chrome import ListFilter
from fsconsole.tui.widgets.lists import Choices
from tests.tui.at_plan import LOAD, Hand, at_plan
from tests.tui.harness import ONE_OF_SIZES, picture

NARROW = (60, 20)


def shown(hand: Hand) -> list[str]:
    lines = hand.screen.query_one("#lines", Choices).lines_shown
    return [line.key for line in lines if not line.is_heading]


@pytest.mark.parametrize("size", [*ONE_OF_SIZES, pytest.param(NARROW, marks=pytest.mark.soak)])
async def test_options_are_found_as_words_are_typed_and_what_was_found_stays_until_escape(
    size: tuple[int, int],
) -> None:
    async with at_plan(size=size) as hand:
        await hand.go_to("options 0")
        every = shown(hand)
        await hand.keys("slash", *"journ")
        await hand.until(lambda: "mkfs journal_size" in shown(hand))
        await hand.keys(*"al_a")
        await hand.sees(
            f" of {len(load_catalog().get('ext4').options)} options match", "'journal_a'", "enter Keep", "esc All"
        )
        assert all(len(line) <= size[0] for line in picture(hand.pilot).splitlines())
        assert {"mount journal_async_commit", "mount journal_checksum"} & set(shown(hand))
        found = shown(hand)
        # What is told is of a line that was found, while words are still being typed.
        at = hand.screen.query_one("#lines", Choices)
        await hand.until(lambda: at.key in found and hand.about.startswith(at.looked_at.about[0]))
        await hand.keys("enter")
        await hand.sees("matches 'journal_a';", "clears.")
        assert hand.screen.query_one("#lines").has_focus
        await hand.keys("space")
        await hand.until(lambda: bool(hand.screen.draft.plan.checklists[0].mount))
        assert shown(hand) == found
        await hand.keys("escape")
        # What was set is listed among the common ones.
        await hand.until(lambda: set(shown(hand)) - set(every) == {found[0]})
        await hand.until(lambda: "options match" not in picture(hand.pilot))
        assert hand.screen.query_one("#lines").has_focus
        await hand.keys("escape")
        assert hand.screen.query_one("#sections").has_focus


async def test_escape_clears_a_narrowed_list_from_the_sections_too() -> None:
    async with at_plan() as hand:
        await hand.go_to("options 0")
        every = shown(hand)
        await hand.keys("slash", *"journal_a", "enter")
        await hand.sees("matches 'journal_a'; escape", "clears.")
        hand.screen.query_one("#sections").focus()
        await hand.keys("escape")
        await hand.until(lambda: shown(hand) == every)
        await hand.until(lambda: "journal_a" not in picture(hand.pilot))
        assert hand.screen.query_one("#sections").has_focus


async def test_an_option_is_found_by_its_old_name_its_group_its_help_and_the_tool_s_words() -> None:
    async with at_plan() as hand:
        found = {binding.id: binding for _, binding in offered(hand.screen)}
        assert "old names" in found["plan find"].tooltip
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
            await hand.until(lambda key=key: key in shown(hand) and shown(hand) != every)
            await hand.keys("escape")
            await hand.until(lambda: shown(hand) == every)
        # Letters are no keys meanwhile, and what matches nothing says so.
        await hand.keys("slash", *"gnosq12?")
        await hand.sees("0 of ", "options match 'gnosq12?'")
        assert hand.pilot.app.screen is hand.screen
        await hand.keys("down", "space", "escape")
        await hand.sees("delalloc")
        # Another section is shown whole.
        await hand.keys("slash", *"journal", "enter", "left", "down")
        await hand.until(lambda: hand.screen.section_key == "options 1")
        await hand.pilot.pause()
        assert "match" not in picture(hand.pilot)
        assert "mkfs reflink" in shown(hand)
        # Words are typed on after the field was left.
        await hand.keys("slash", *"reflin", "shift+tab")
        assert not any(one.has_focus_within for one in hand.screen.query(ListFilter))
        await hand.keys("slash", *"reflink=1")
        await hand.until(lambda: shown(hand) == ["mkfs reflink"])


WIDE = (120, 40)
HEAD = 'schema = 1\ntitle = "t"\n'
LOADS = "".join(f'[[workload]]\nname = "{name}"\nkind = "create"\nfile_size = "1MiB"\n' for name in ("aa", "bb", "cc"))


def keys(hand: Hand, name: str = "lines") -> list[str]:
    return [line.key for line in hand.screen.query_one(f"#{name}", Choices).lines_shown]


def looked_at(hand: Hand) -> str:
    line = hand.screen.query_one("#lines", Choices).looked_at
    return line.name if line is not None else ""


def names(hand: Hand) -> list[str]:
    return [load.name for load in hand.screen.draft.plan.workloads]


async def opened(hand: Hand, text: str) -> None:
    await hand.begin(Draft(parse_plan(HEAD + text, "plan.toml")), planfiles.digest_of_text(text))


async def find(hand: Hand, words: str) -> None:
    await hand.keys("slash")
    await hand.type(words)
    await hand.keys("enter")


async def test_no_line_that_matches_is_none_that_is_doubled_removed_or_moved() -> None:
    async with at_plan() as hand:
        for section in ("workloads", "words"):
            await opened(hand, LOADS + '[[variant]]\ntype = "ext4"\nmkfs = "-O ^has_journal"\n')
            before = hand.screen.draft
            await hand.go_to(section)
            await find(hand, "zzz")
            assert keys(hand) == []
            await hand.keys("x", "D", ">", "<")
            assert hand.screen.draft == before, section


async def test_a_workload_is_moved_in_a_narrowed_list_and_the_highlight_stays_on_it_also_where_it_may_not() -> None:
    async with at_plan() as hand:
        await opened(hand, LOADS + '[[filesystem]]\ntype = "ext4"\n')
        await hand.go_to("workloads")
        await find(hand, "cc")
        await hand.keys("<")
        assert names(hand) == ["aa", "cc", "bb"]
        assert looked_at(hand) == "2. cc"
        await hand.keys("<", ">", ">", ">")
        assert names(hand) == ["aa", "bb", "cc"]
        assert looked_at(hand) == "3. cc"
        read = '[[workload]]\nname = "again"\nkind = "read"\n'
        await opened(hand, LOAD + read + '[[filesystem]]\ntype = "ext4"\n')
        await hand.go_to("workloads")
        await hand.keys("end", "<")
        await hand.sees("no create comes before it")
        assert looked_at(hand) == "2. again"


async def test_rows_of_the_plan_before_are_gone_with_it_and_tick_nothing_in_another() -> None:
    async with at_plan(size=WIDE) as hand:
        await opened(hand, LOAD + '[[filesystem]]\ntype = "ext4"\nmkfs = { inode_size = [256, 512] }\n')
        screen, count = hand.screen, hand.screen.count
        counted, outcome = count.draft, count.outcome
        other = Draft(parse_plan(HEAD + LOAD + '[[variant]]\ntype = "xfs"\n', "plan.toml"))
        screen._begin_with(other, "")
        assert keys(hand, "rows") == []
        # A count that was under way ends with what the plan before comes to.
        count.draft, count.outcome, count.is_done = counted, outcome, True
        screen.show_outcome()
        rows = screen.query_one("#rows", Choices)
        assert len(rows.lines_shown) == 2
        rows.post_message(Choices.Ticked(rows, "row 1"))
        rows.post_message(Choices.Opened(rows, "row 1"))
        await hand.pilot.pause()
        assert screen.draft == other


async def test_another_plan_is_shown_whole_whatever_was_looked_for_in_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text(HEAD + LOAD + '[[filesystem]]\ntype = "xfs"\n')
    async with at_plan(size=WIDE) as hand:
        # The variants in their own pane are narrowed there.
        rows = hand.screen.query_one("#rows", Choices)
        rows.focus()
        await find(hand, "xfs")
        await hand.sees("1 of 2 variants matches 'xfs'")
        assert [line.name for line in rows.lines_shown] == ["xfs"]
        await hand.keys("space")
        await hand.settled()
        assert "xfs" not in hand.screen.draft.filesystems
        await hand.begin()
        rows.focus()
        await find(hand, "ext4")
        await hand.go_to("options 1")
        every = keys(hand)
        await find(hand, "reflink")
        await hand.keys("f")
        await hand.sees("Open a recipe")
        hand.pilot.app.screen.query_one("#path").focus()
        await hand.pilot.pause()
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.sees("Opened ")
        await hand.settled()
        assert keys(hand) == every
        assert len(keys(hand, "rows")) == 1
        assert "match" not in picture(hand.pilot)


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_nothing_is_told_of_a_line_that_is_not_shown(size: tuple[int, int]) -> None:
    async with at_plan(size=size) as hand:
        await hand.go_to("workloads")
        await hand.sees("create files by")
        await find(hand, "zzz")
        await hand.until(lambda: "create files by" not in picture(hand.pilot))
        await hand.keys("escape")
        await hand.sees("create files by")


@pytest.mark.parametrize(
    ("words", "key"),
    [
        pytest.param("async_commit", "mount journal_async_commit", marks=pytest.mark.soak),
        pytest.param("delalloc", "mount delalloc", marks=pytest.mark.soak),
        ("nodelalloc", "mount delalloc"),
        ("inode", "mkfs inode_size"),
        pytest.param("journal", "mkfs journal", marks=pytest.mark.soak),
        ("commit", "mount commit"),
        pytest.param("block", "mkfs block_size", marks=pytest.mark.soak),
    ],
)
async def test_the_cursor_is_on_the_best_match_in_sight_and_enter_keeps_it_there(words: str, key: str) -> None:
    async with at_plan() as hand:
        await hand.go_to("options 0")
        await hand.keys("end", "slash", *words)
        at = hand.screen.query_one("#lines", Choices)
        await hand.until(lambda: at.key == key and len(shown(hand)) < 40)
        for keys in ((), ("enter",)):
            await hand.keys(*keys)
            assert at.key == key
            assert at.scroll_offset.y <= at.rows.begins[at.cursor] < at.scroll_offset.y + at.size.height
        # An arrow goes to the next one, and a tick leaves the cursor where it is.
        await hand.keys("space")
        await hand.settled()
        assert at.key == key
