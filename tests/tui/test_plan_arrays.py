"""The Plan screen by its keys: arrays are ticked, typed, doubled and removed, and kept in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.plan.planfile import ArrayAxis
from fsconsole.plan.read import read_plan
from fsconsole.text import KIB
from tests.tui.at_plan import Hand, at_plan, catalog_answer, device_at, levels_answer
from tests.tui.device_lists import listed
from tests.tui.harness import SIZES, Scripted
from tests.tui.test_plan_kept import open_file, save_as
from tests.unit.plan.examples import DESIGN
from tests.unit.plan.test_arrays import EVERY_KEY


async def ticks(hand: Hand, *keys: str) -> None:
    for key in keys:
        await hand.look_at(f"{key} 0")
        await hand.keys("space")


def arrays_of(hand: Hand) -> tuple[ArrayAxis, ...]:
    return hand.screen.draft.plan_file.arrays


@pytest.mark.parametrize("size", SIZES)
def test_levels_chunks_and_assume_clean_are_ticked_and_told(size: tuple[int, int]) -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await hand.sees("Level: all ticked devices are members", "[ ] raid5")
        await ticks(hand, "raid5", "raid10", "chunk", "chunk", "assume_clean")
        assert arrays_of(hand) == (ArrayAxis(("raid5", "raid10"), (64 * KIB, 512 * KIB), assume_clean=True),)
        await hand.settled()
        await hand.sees("Arrays       4", "[x] assume_clean", "24 cells", "labelled on every figure")
        await hand.keys("end")
        await hand.sees("raid10 512KiB, assume-clean")
        assert hand.screen.session.makes_arrays

    at_plan(work, size=size)


def test_a_knob_opens_its_values_which_may_be_typed_and_are_judged() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await ticks(hand, "raid5")
        await hand.look_at("stripe_cache_size 0")
        await hand.keys("enter", "tab")
        await hand.type("16")
        await hand.sees("must be at least 17")
        await hand.type("1024, 32768")
        await hand.keys("enter")
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        assert arrays_of(hand)[0].stripe_cache_sizes == (1024, 32768)

    at_plan(work)


def test_what_makes_no_sense_together_is_said_in_words() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await ticks(hand, "raid1", "chunk")
        await hand.sees("raid1 has no chunks")
        assert arrays_of(hand) == (ArrayAxis(("raid1",)),)

    at_plan(work)


def test_a_second_list_of_arrays_is_made_and_removed() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await ticks(hand, "raid5")
        await hand.keys("d")
        await hand.sees("A second list of arrays")
        await hand.look_at("raid6 1")
        await hand.keys("space")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",), ("raid5", "raid6")]
        await hand.keys("x")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",)]
        await hand.keys("end", "x", "d")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",)]

    at_plan(work)


def test_a_line_is_found_by_its_words() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("arrays")
        await hand.keys("slash", *"stripe")
        await hand.sees("[ ] stripe_cache_size")
        lines = [line.key for line in hand.screen.query_one("#lines").lines_shown]  # type: ignore[attr-defined]
        assert "raid0 0" not in lines

    at_plan(work)


@pytest.mark.parametrize(
    "source",
    [DESIGN, DESIGN[: DESIGN.index("[[array]]")] + EVERY_KEY + DESIGN[DESIGN.index("[[filesystem]]") :]],
)
def test_a_file_with_arrays_is_saved_as_it_was_where_nothing_was_changed(tmp_path: Path, source: str) -> None:
    path = tmp_path / "design.toml"
    path.write_text(source)

    async def work(hand: Hand) -> None:
        await open_file(hand, path)
        await hand.go_to("arrays")
        await hand.look_at("chunk 0")
        await hand.keys("enter", "escape")
        await ticks(hand, "raid5", "raid5")
        await hand.until(lambda: not hand.screen.is_changed)
        await save_as(hand, tmp_path / "again.toml")
        assert read_plan(tmp_path / "again.toml") == read_plan(path)

    at_plan(work)


DEVICES = tuple(f"/dev/loop{number}" for number in range(40, 46))


def test_that_all_ticked_devices_become_members_is_said_where_they_are_shown() -> None:
    answers = {
        "catalog": catalog_answer(),
        "catalog --arrays": levels_answer(),
        "devices": listed(*(device_at(path, 2**30) for path in DEVICES)),
    }

    async def work(hand: Hand) -> None:
        await hand.sees("on 6 devices: loop40 loop41 loop42 loop43 loop44 loop45")
        await hand.go_to("arrays")
        await ticks(hand, "raid5")
        await hand.sees("on arrays of 6 devices: loop40 loop41 loop42 loop43 loop44 loop45")
        await hand.keys("1")
        await hand.sees("6 targets ticked: members of the plan's arrays, together")
        await hand.keys("2")
        await hand.look_at("raid5 0")
        await hand.keys("space", "1")
        await hand.sees("6 targets ticked: the plan runs on each in turn")

    at_plan(work, targets=DEVICES, children=Scripted(answers))
