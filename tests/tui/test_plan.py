"""The Plan screen by its keys: filesystems, options, variants."""

from __future__ import annotations

import re

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import Done
from fsconsole.plan.draft import Draft
from fsconsole.plan.read import parse_plan
from fsconsole.tui.screens import plan as plan_screen
from fsconsole.tui.screens import plan_count, plan_machine
from fsconsole.tui.widgets.lists import Choices
from tests.tui.at_devices import Held
from tests.tui.at_plan import LOAD, at_plan, catalog_answer
from tests.tui.harness import SIZES, Scripted, picture
from tests.tui.snapshots import assert_looks_as_kept

CUSTOM = f"""schema = 1
repeats = 1
[[filesystem]]
type = "ext4"
[[variant]]
type = "xfs"
label = "by hand"
{LOAD}"""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_screen_and_its_dialogs_look_as_they_were_drawn(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_machine, "kernel_release", lambda: "6.18.0")
    async with at_plan(size=size) as hand:

        async def looks(name: str) -> None:
            await hand.pilot.pause()
            assert_looks_as_kept(hand.pilot, f"{name}-{size[0]}x{size[1]}")

        seen = await hand.sees("New plan", "2 variants, 10 cells; about 2 min 13 s, at 500 MB/s", "No device is ticked")
        assert "[x] ext4" in seen
        assert "[ ] btrfs" in seen
        assert all(len(line) <= size[0] for line in seen.splitlines())
        await looks("plan")
        await hand.go_to("options 0")
        await hand.tick("mount data", "ordered", "writeback", "journal")
        await hand.tick("mount delalloc", "on", "off")
        await hand.settled()
        await looks("plan-options")
        await hand.tick("mount commit", "other..")
        await looks("plan-values")
        await hand.keys("escape")
        await hand.go_to("workloads")
        await hand.keys("enter")
        await hand.pilot.pause()
        await hand.type("")
        hand.pilot.app.screen.query_one("#field-file_size").focus()
        await hand.pilot.pause()
        await hand.type("1XB")
        await looks("plan-workload")


async def test_as_long_as_the_machine_is_busy_the_plan_says_that_its_estimates_are_for_a_quiet_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = [9.0]
    monkeypatch.setattr(plan_count, "load_average", lambda: load[0])
    monkeypatch.setattr(plan_count, "cpu_count", lambda: 2)
    monkeypatch.setattr(plan_screen, "_LOAD_S", 0.05)
    async with at_plan() as hand:
        await hand.sees("Busy: load 9.0 on 2 CPUs. Est. is for a quiet machine; + adds rounds, 27 s each")
        assert "Finds differences" not in picture(hand.pilot)
        load[0] = 2.0
        await hand.sees("Finds differences of 13 %")
        assert "Busy" not in picture(hand.pilot)


async def test_space_ticks_a_filesystem_and_enter_an_option_s_value_and_what_arises_is_counted() -> None:
    children = Scripted({"catalog": catalog_answer(unavailable={"jfs": "no driver for jfs"})})
    async with at_plan(children=children) as hand:
        await hand.filesystem("btrfs")
        await hand.sees("[x] btrfs      1", "3 variants, 15 cells")
        assert hand.screen.section_key == "options 2"
        await hand.keys("space")
        await hand.sees("[ ] btrfs ", "2 variants, 10 cells")
        # One that is not here can't be ticked, and says why.
        await hand.filesystem("jfs")
        await hand.sees(
            "[-] jfs", "It can't be used here: no driver for jfs", "jfs can't be used here: no driver for jfs"
        )
        assert "jfs" not in hand.screen.draft.filesystems
        await hand.keys("down")
        await hand.keys("up", "enter")
        for key in ("enter", "space", "*"):
            hand.screen.say("")
            await hand.keys(key)
            await hand.sees("jfs can't be used here: no driver for jfs")
            assert "jfs" not in hand.screen.draft.filesystems
        await hand.go_to("options 0")
        for value, values, rows in (
            ("ordered", ("ordered",), "2 variants"),
            ("writeback", ("ordered", "writeback"), "3 variants"),
            ("default", ("default", "ordered", "writeback"), "4 variants"),
            ("ordered", ("default", "writeback"), "3 variants"),
        ):
            await hand.tick("mount data", value)
            await hand.settled()
            seen = await hand.sees(rows, "[x] ext4")
            line = next(line for line in seen.splitlines() if " data  " in line)
            assert all(f"[{each}]" in line for each in values)
        # A value of a filesystem that is not ticked ticks it.
        await hand.go_to("new f2fs")
        await hand.keys("right", "enter")
        await hand.until(lambda: "f2fs" in hand.screen.draft.filesystems)
        assert hand.screen.draft.plan.checklists[-1].mount == (("mode", ("adaptive",)),)


async def test_the_screen_opens_at_the_first_ticked_filesystem_space_ticks_it_and_right_leads_to_its_options() -> None:
    async with at_plan() as hand:
        footer = "f10 Run.. enter Options space Tick f Recipes w Save l Commands ? Keys q Quit"
        assert (await hand.sees("ext4: journal, extents")).splitlines()[-1] == footer
        assert hand.screen.query_one("#sections", Choices).key == "options 0"
        for names in (("xfs",), ("ext4", "xfs")):
            await hand.keys("space")
            await hand.until(lambda names=names: hand.screen.draft.filesystems == names)
        await hand.keys("right")
        assert hand.screen.query_one("#lines").has_focus
        await hand.sees(">(default)", "esc Filesystems / Find f Recipes")
        # A plan that is opened shows its filesystems first, too.
        await hand.begin()
        assert hand.screen.query_one("#sections").has_focus


async def test_o_leaves_one_filesystem_from_the_left_list_and_from_its_options_and_says_how_others_come_back() -> None:
    children = Scripted({"catalog": catalog_answer(unavailable={"jfs": "no driver for jfs"})})
    async with at_plan(children=children) as hand:
        await hand.keys("right", "*", "O")
        await hand.sees("Only ext4 is compared now. Space ticks others again.", "[x] ext4       2", "[ ] xfs")
        assert hand.screen.draft.filesystems == ("ext4",)
        # What is unticked keeps its values; one that was never ticked is taken as the tools make it.
        await hand.go_to("new btrfs")
        await hand.keys("O")
        await hand.sees("Only btrfs is compared now.", "[ ] ext4", "[x] btrfs      1")
        await hand.go_to("options 0")
        await hand.keys("O")
        await hand.sees("[x] ext4       2", "[ ] btrfs")
        # Custom variants are others, too.
        await hand.begin(Draft(parse_plan(CUSTOM, "plan.toml")))
        await hand.sees("2 variants")
        await hand.keys("O")
        await hand.sees("1 variant, ")
        before = hand.screen.draft
        await hand.go_to("new jfs")
        await hand.keys("O")
        await hand.sees("jfs can't be used here: no driver for jfs")
        assert hand.screen.draft == before
        await hand.go_to("workloads")
        await hand.until(lambda: "O" not in hand.screen.active_bindings)


async def test_the_cursor_comes_to_the_value_that_applies_and_left_from_there_leads_to_the_sections() -> None:
    async with at_plan() as hand:
        lines = hand.screen.query_one("#lines", Choices)

        def chip() -> str:
            assert lines.looked_at is not None
            return lines.looked_at.chips[lines.chip].value

        await hand.keys("enter")
        for ticked in ("default", "off"):
            await hand.keys("down", "right", "right", "up")
            assert chip() == ticked
            # The list of another filesystem, and back.
            await hand.keys("escape", "down", "up", "enter")
            assert chip() == ticked
            await hand.keys(*["left"] * (lines.chip + 1))
            assert hand.screen.query_one("#sections").has_focus
            await hand.keys("enter", *["right"] * 2, "space")
            await hand.settled()
        # A value that is unticked leaves the cursor where it is.
        assert chip() == "off"


async def test_only_the_list_that_has_the_focus_shows_a_cursor() -> None:
    async with at_plan() as hand:
        await hand.sees("(default)")
        assert ">" not in picture(hand.pilot)
        await hand.keys("enter")
        await hand.sees(">(default)")
        await hand.keys("escape")
        await hand.until(lambda: ">" not in picture(hand.pilot))


async def test_star_ticks_all_values_of_an_option_and_then_none() -> None:
    async with at_plan() as hand:
        every = (("data", ("ordered", "writeback", "journal")),)
        await hand.go_to("options 0")
        await hand.look_at("mount data")
        await hand.keys("*")
        await hand.sees("default  [ordered] [writeback] [journal]")
        await hand.tick("mount data", "default", "writeback")
        for mount in (every, ()):
            await hand.keys("*")
            await hand.until(lambda mount=mount: hand.screen.draft.plan.checklists[0].mount == mount)
        # The value of a key of the run is one, and stays.
        before = hand.screen.draft
        await hand.go_to("run")
        await hand.look_at("order")
        await hand.keys("*")
        assert hand.screen.draft == before


async def test_a_line_explains_the_marks_and_the_other_options_stay_in_sight() -> None:
    async with at_plan() as hand:
        seen = (await hand.sees("more options: / finds one, enter lists all")).splitlines()
        at = next(number for number, line in enumerate(seen) if "more options" in line)
        assert seen[at + 1].endswith("(default) if no tick; [default] [on] compared; -on- barred")
        assert hand.screen.query_one("#about").size.height == 3
        await hand.go_to("variants")
        await hand.sees("[x] compared; [ ] unticked; [-] left out by a rule")
        await hand.go_to("run")
        await hand.until(lambda: "compared;" not in picture(hand.pilot))


@pytest.mark.parametrize(("times", "height"), [(1, 4), (12, 6)])
async def test_what_is_told_of_a_filesystem_stands_whole_on_the_screen_or_ends_with_three_dots(
    times: int, height: int
) -> None:
    why = "no driver for jfs"
    children = Scripted({"catalog": catalog_answer(unavailable={"jfs": ", ".join(times * [why])})})
    async with at_plan(children=children) as hand:
        sections, about = hand.screen.query_one("#sections", Choices), hand.screen.query_one("#about")
        await hand.sees("[-] jfs")
        ends = {one.name: f"Check: {one.check_note}." for one in load_catalog().filesystems}
        for name, end in (ends if times == 1 else {**ends, "jfs": "..."}).items():
            sections.go_to(next(line.key for line in sections.lines_shown if line.name == name))
            await hand.until(lambda end=end: hand.about.endswith(end))
            if name == "jfs":
                assert hand.about.startswith(f"It can't be used here: {why}")
                assert about.size.height == height
        # The list above gets its rows back.
        sections.go_to("options 0")
        await hand.until(lambda: about.size.height == 3)


async def test_an_option_of_all_variants_is_said_once_above_them() -> None:
    async with at_plan() as hand:
        await hand.go_to("options 0")
        await hand.tick("mount delalloc", "on", "off")
        await hand.tick("mount data", "writeback")
        await hand.settled()
        await hand.go_to("variants")
        await hand.sees("all ext4: data=writeback", "[x] ext4 delalloc", "[x] ext4 nodelalloc", "[x] xfs")
        # The title says it too; it takes the place of names where there is no room for both.
        await hand.sees("New plan  (not saved): ext4 delalloc and 2 more; all ext4: data=writeback")
        await hand.filesystem("xfs")
        await hand.settled()
        await hand.go_to("variants")
        await hand.sees("all: data=writeback")
        await hand.sees("New plan  (not saved): ext4 delalloc, ext4 nodelalloc; all: data=writeback")


async def test_a_click_ticks_the_value_that_is_clicked() -> None:
    async with at_plan() as hand:
        seen = (await hand.sees("delalloc")).splitlines()
        y = next(number for number, line in enumerate(seen) if "delalloc" in line)
        for value, values in (("off", ("off",)), ("on", ("on", "off")), ("default", ("default", "on", "off"))):
            await hand.pilot.click(offset=(re.search(rf"\b{value}\b", seen[y]).start(), y))
            await hand.settled()
            assert hand.screen.draft.plan.checklists[0].mount == (("delalloc", values),)
        # Its name moves the cursor, and ticks nothing.
        before = hand.screen.draft
        await hand.pilot.click(offset=(seen[y].index("delalloc"), y + 1))
        await hand.settled()
        assert hand.screen.draft == before
        assert hand.screen.query_one("#lines", Choices).key == "mount data"


async def test_the_common_options_come_first_and_enter_lists_the_others() -> None:
    async with at_plan() as hand:
        await hand.keys("enter")
        await hand.sees("Common options of ext4", "delalloc      >(default)  on   off")
        lines = hand.screen.query_one("#lines", Choices)
        assert len(lines.lines_shown) == 12
        await hand.keys("end")
        await hand.sees("more options: / finds one, enter lists all")
        await hand.keys("enter")
        await hand.until(lambda: "mkfs uninit_bg" in [line.key for line in lines.lines_shown])
        # Of another filesystem the common ones are shown first again.
        await hand.go_to("options 1")
        await hand.sees("Common options of xfs", "more options")


async def test_a_key_leads_from_a_left_out_value_to_the_one_that_it_needs_and_the_totals_say_why_whole() -> None:
    async with at_plan() as hand:
        await hand.go_to("options 0")
        choices = hand.screen.query_one("#lines", Choices)
        assert " J " not in picture(hand.pilot).splitlines()[-1]
        await hand.keys("/")
        await hand.type("async_commit")
        await hand.keys("enter", "right", "space")
        await hand.settled()
        await hand.sees("J To data", "J goes to data")
        await hand.sees("1 left out: journal_async_commit needs data=writeback or data=journal")
        await hand.keys("J")
        await hand.until(lambda: choices.key == "mount data")
        await hand.sees("needs data=writeback or data=journal; space ticks it.")
        assert choices.looked_at is not None
        assert choices.looked_at.chips[choices.chip].value == "writeback"
        await hand.keys("space")
        await hand.settled()
        assert ("data", ("writeback",)) in hand.screen.draft.plan.checklists[0].mount
        assert "left out" not in picture(hand.pilot)
        assert " J " not in picture(hand.pilot).splitlines()[-1]


async def test_a_variant_is_unticked_and_one_that_cannot_be_says_why() -> None:
    async with at_plan() as hand:
        await hand.go_to("options 0")
        await hand.tick("mount data", "ordered", "writeback", "journal")
        await hand.tick("mount delalloc", "on", "off")
        await hand.settled()
        await hand.go_to("variants")
        await hand.sees("[-] ext4 data=journal delalloc", "left out")
        await hand.keys("home", "space")
        await hand.settled()
        await hand.sees("[ ] ext4 data=ordered delalloc")
        assert hand.screen.draft.plan.checklists[0].exclude == ((("data", "ordered"), ("delalloc", "on")),)
        await hand.look_at("row 4")
        await hand.sees("can't mount with both data=journal and delalloc")
        await hand.keys("space")
        assert len(hand.screen.draft.plan.checklists[0].exclude) == 1


async def test_the_variants_have_a_pane_of_their_own_where_there_is_room() -> None:
    async with at_plan(size=(120, 40)) as hand:
        await hand.sees("Variants", "[x] ext4 ")
        assert "variants" not in [line.key for line in hand.screen.query_one("#sections", Choices).lines_shown]
        await hand.keys("tab", "tab", "space")
        await hand.settled()
        assert "ext4" not in hand.screen.draft.filesystems


async def test_left_and_escape_go_one_column_back_and_up_at_the_top_says_where_to_go() -> None:
    async with at_plan(size=(120, 40)) as hand:

        def at() -> str | None:
            return hand.screen.focused.id if hand.screen.focused is not None else None

        await hand.go_to("options 0")
        for back in ("left", "escape"):
            await hand.keys("tab")
            assert at() == "rows"
            await hand.keys(back)
            assert at() == "lines"
        await hand.keys("g", "up")
        await hand.sees(
            "This is the first line: enter opens it, or ticks the value at the cursor; esc goes to the filesystems."
        )
        await hand.keys("down")
        await hand.until(lambda: "first line" not in picture(hand.pilot))
        await hand.keys("g", "left")
        assert at() == "sections"


@pytest.mark.parametrize("column", ["sections", "lines", "rows"])
async def test_a_new_plan_begins_in_the_sections_wherever_it_was_asked_for(column: str) -> None:
    async with at_plan(size=(120, 40)) as hand:
        hand.screen.query_one(f"#{column}").focus()
        await hand.keys("n")
        await hand.sees("Recipe or shipped plan..")
        await hand.keys("end", "up", "enter")
        await hand.until(lambda: hand.screen.focused is not None and hand.screen.focused.id == "sections")
        assert hand.screen.query_one("#sections", Choices).key == "options 0"


async def test_capital_t_tries_the_options_of_what_is_ticked_and_what_was_refused_is_shown_so_and_not_ticked() -> None:
    refused = catalog_answer({"data": "EXT4-fs: what [/x] is that"})
    children = Scripted({"catalog": catalog_answer(), "catalog ext4 xfs --probe": refused})
    async with at_plan(children=children) as hand:
        assert not any("--probe" in words for words in children.asked)
        await hand.keys("T")
        await hand.sees("Tried on this machine: ext4, xfs.")
        await hand.go_to("options 0")
        await hand.look_at("mount data")
        for keys in (("space",), ("*",), ("right", "space"), ("enter",)):
            hand.screen.say("")
            await hand.keys(*keys)
            await hand.sees("-ordered-")
            await hand.until(lambda: "this machine refuses it (EXT4-fs: what [/x] is that)" in hand.screen.said)
            assert hand.screen.draft.plan.checklists[0].mount == ()


async def test_a_catalog_that_gives_no_answer_is_told_and_the_plan_goes_on() -> None:
    children = Scripted({"catalog": Done(("catalog",), 1, "", "fsconsole: something broke\nhint: mend it\n")})
    async with at_plan(children=children) as hand:
        await hand.sees("something broke", "2 variants, 10 cells")


async def test_a_filesystem_has_a_question_mark_until_the_machine_is_asked_and_a_tick_of_it_is_judged_then() -> None:
    children = Held({"catalog": catalog_answer(unavailable={"jfs": "no driver for jfs"})}, held=("catalog",))
    async with at_plan(children=children) as hand:
        await hand.sees("[?] jfs", "[?] f2fs")
        # Ticks it.
        await hand.filesystem("jfs")
        await hand.sees("[x] jfs", "Not known yet whether it can be used here.")
        children.release.set()
        await hand.sees("[ ] f2fs", "[x] jfs", "no driver for jfs")
        assert "jfs" in hand.screen.draft.filesystems
