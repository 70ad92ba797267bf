"""The arrays of a draft: ticked, checked by the plan reader's code, and told in lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan import draft as arrays
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.keys import ARRAY
from fsconsole.plan.outcome import Outcome, ThisMachine, work_out
from fsconsole.plan.planfile import ArrayAxis, TargetSpec
from fsconsole.show import plan as plan_view
from fsconsole.show.devices import ticks_told
from fsconsole.show.lines import Chip, Line, Mark
from fsconsole.text import GIB, KIB
from tests.unit.plan.examples import parse
from tests.unit.plan.test_arrays import AXES

DISKS = tuple(TargetSpec(f"/dev/loop{n}", 4 * GIB) for n in range(3))


def ticked(*choices: tuple[str, tuple[str, ...]], draft: Draft | None = None) -> Draft:
    made = draft or new_draft()
    for name, values in choices:
        made = arrays.with_array(made, 0, name, values)
    return made


RAID5 = ("level", ("raid5",))


def lines_of(draft: Draft) -> dict[str, Line]:
    return {line.key: line for line in plan_view.array_lines(draft.plan, None)}


@given(AXES)
def test_a_table_taken_in_words_key_by_key_is_the_table_again(axis: ArrayAxis) -> None:
    draft = new_draft()
    for name, values in arrays.words_of(axis).items():
        draft = arrays.with_array(draft, 0, name, values)
    assert draft.plan.arrays == (axis,)


def test_knobs_may_be_ticked_before_a_level_and_come_into_no_plan_until_there_is_one() -> None:
    draft = ticked(("chunk", ("64KiB",)), ("assume_clean", ("yes",)))
    assert draft.plan_file.arrays == ()
    assert "array" not in draft.text
    draft = ticked(RAID5, draft=draft)
    assert draft.plan_file.arrays == (ArrayAxis(("raid5",), (64 * KIB,), assume_clean=True),)
    assert parse(draft.text) == draft.plan_file


def test_a_level_that_is_unticked_leaves_its_knobs_to_the_next_one_and_a_table_without_any_goes() -> None:
    draft = ticked(RAID5, ("stripe_cache_size", ("4096",)), ("level", ()))
    assert draft.plan_file.arrays == ()
    assert ticked(("level", ("raid6",)), draft=draft).plan.arrays[0].stripe_cache_sizes == (4096,)
    for empty in (
        ticked(RAID5, ("level", ())),
        *(arrays.removed_array(d, 0) for d in (ticked(RAID5), new_draft())),
    ):
        assert empty.plan.arrays == ()


def test_a_table_is_doubled_to_be_ticked_otherwise() -> None:
    draft = arrays.doubled_array(ticked(RAID5), 0)
    draft = arrays.with_array(draft, 1, "level", ("raid10",))
    assert [axis.levels for axis in draft.plan.arrays] == [("raid5",), ("raid10",)]
    assert [axis.levels for axis in arrays.removed_array(draft, 0).plan.arrays] == [("raid10",)]
    assert arrays.doubled_array(new_draft(), 0).plan.arrays == ()


def test_what_makes_no_sense_is_refused_in_the_reader_s_words() -> None:
    for level, name, value, words in (
        ("raid1", "chunk", "64KiB", "raid1 has no chunks"),
        ("raid10", "stripe_cache_size", "256", "raid10 has no stripe cache"),
        ("raid6", "consistency_policy", "ppl", "only raid5"),
        ("raid6", "members", "3", "too few"),
        ("linear", "assume_clean", "yes", "nothing to resync"),
        ("raid5", "chunk", "48KiB", "power of two"),
        ("raid5", "members", "many", "must be a whole number"),
    ):
        with pytest.raises(PlanBadValue, match=words):
            ticked(("level", (level,)), (name, (value,)))


def test_the_stripe_cache_is_set_in_one_place() -> None:
    draft = arrays.with_setting(ticked(RAID5), "stripe_cache_size", ("256",))
    with pytest.raises(PlanBadValue, match="sets it too"):
        ticked(("stripe_cache_size", ("4096",)), draft=draft)
    with pytest.raises(PlanBadValue, match="sets it too"):
        arrays.with_setting(ticked(RAID5, ("stripe_cache_size", ("4096",))), "stripe_cache_size", ("256",))


def test_a_typed_value_is_taken_as_the_plan_has_it_or_refused() -> None:
    for name, typed, taken in (
        ("chunk", "131072", "128KiB"), ("members", "5", "5"), ("stripe_cache_size", "0017", "17")
    ):  # fmt: skip
        assert arrays.checked_array_value(name, typed) == taken
    for name, typed in (
        ("chunk", "x"), ("members", "1"), ("members", "³"), ("group_thread_count", "9" * 30), ("chunk", "")
    ):  # fmt: skip
        with pytest.raises(PlanBadValue):
            arrays.checked_array_value(name, typed)


def test_every_level_and_knob_has_a_line_with_help() -> None:
    lines = lines_of(new_draft())
    assert set(lines) >= {f"{name} 0" for name in (*LEVELS, *plan_view.KNOBS)}
    assert set(plan_view.KNOBS) == {key.name for key in ARRAY} - {"level"}
    for line in lines.values():
        assert line.is_heading or (
            line.about and (line.mark is Mark.OFF or line.chips[0] == Chip("default", is_implied=True))
        )


def test_a_line_says_what_is_given_and_what_is_compared() -> None:
    lines = lines_of(ticked(RAID5, ("chunk", ("64KiB", "512KiB")), ("assume_clean", ("yes",))))
    assert lines["raid5 0"].mark is Mark.ON
    assert [chip.value for chip in lines["chunk 0"].chips if chip.is_on] == ["64KiB", "512KiB"]
    assert [chip.value for chip in lines["assume_clean 0"].chips if chip.is_on] == ["yes"]
    assert lines["made 1"].name == "raid5 512KiB, assume-clean"


def test_each_value_is_ticked_and_unticked_by_itself_and_without_one_the_default_applies() -> None:
    def ticks(*values: str, compares_default: bool = True) -> tuple[str, ...]:
        now: tuple[str, ...] = ()
        for value in values:
            chips = plan_view.chips_of(("on", "off"), now)
            assert chips[0].is_implied == (not now)
            now = plan_view.ticked_values(chips, value, compares_default=compares_default)
        return now

    assert ticks("on") == ("on",)
    assert ticks("on", "off") == ticks("off", "on") == ("on", "off")
    assert ticks("on", "default") == ticks("default", "on") == ("default", "on")
    assert ticks("on", "default", "on") == ticks("default") == ("default",)
    assert ticks("on", "on") == ticks("default", "default") == ()
    # A default that no value stands for can't be compared: it takes the place of the others.
    assert ticks("on", "off", "default", compares_default=False) == ()


def test_an_array_that_makes_no_sense_is_barred_and_says_why() -> None:
    draft = ticked(RAID5, ("bitmap", ("internal",)), ("consistency_policy", ("resync", "bitmap")))
    lines = lines_of(draft)
    assert (lines["made 0"].mark, lines["made 1"].mark) == (Mark.BARRED, Mark.NONE)
    assert 'a bitmap makes consistency_policy "bitmap", not "resync"' in lines["made 0"].about[0]


def test_many_arrays_are_listed_in_part_and_too_many_not_at_all() -> None:
    numbers = tuple(map(str, range(17, 417)))
    draft = ticked(RAID5, ("stripe_cache_size", numbers))
    lines = lines_of(draft)
    assert lines["made more"].name == "... and 200 more, which are not listed."
    assert len(plan_view.made_arrays(draft.plan)) == 400
    draft = ticked(("group_thread_count", numbers), draft=draft)
    assert len(plan_view.made_arrays(draft.plan)) == 0
    assert "made 0" not in lines_of(draft)


def test_an_array_of_which_no_cell_can_run_is_barred_with_the_reason() -> None:
    draft = ticked(("level", ("raid5", "raid6")))
    plan = work_out(draft.plan_file, DISKS, load_catalog(), kernel="6.18.0").plan
    assert plan is not None
    why = {"raid5": "", "raid6": "raid6 needs at least 4 members, and there are 3 targets"}
    cells = tuple(replace(cell, unavailable=why[cell.array.level]) for cell in plan.cells if cell.array)
    lines = {line.key: line for line in plan_view.array_lines(draft.plan, replace(plan, cells=cells))}
    assert lines["made 0"].mark is Mark.NONE
    assert lines["made 1"].mark is Mark.BARRED
    assert lines["made 1"].about == (f"It can't be made: {why['raid6']}.",)


def test_sections_count_the_arrays_and_totals_say_that_all_devices_are_members() -> None:
    draft = ticked(RAID5, ("chunk", ("64KiB", "512KiB")))
    sections = {
        line.key: line.value
        for line in plan_view.section_lines(
            draft, draft, Outcome(), load_catalog(), ThisMachine("6.18.0"), with_variants=False
        )
    }
    assert (sections["arrays"], sections["settings"]) == ("2", "")
    outcome = work_out(draft.plan_file, DISKS, load_catalog(), kernel="6.18.0")
    assert plan_view.totals(outcome, DISKS, (), 80)[1].startswith("on arrays of /dev/loop0 (4.0 GiB), ")


def test_the_list_of_devices_says_what_several_ticks_mean() -> None:
    assert ticks_told(3) == "3 targets ticked: the plan runs on each in turn"
    assert ticks_told(3, makes_arrays=True) == "3 targets ticked: members of the plan's arrays, together"
    assert ticks_told(1, makes_arrays=True) == "1 target ticked: arrays want more"
    assert ticks_told(0, makes_arrays=True) == "no target ticked"


def test_a_level_alone_is_enough() -> None:
    for level in LEVELS:
        draft = ticked(("level", (level,)))
        assert lines_of(draft)["made 0"].name == level
        assert draft.plan_file.arrays == (ArrayAxis((level,)),)
