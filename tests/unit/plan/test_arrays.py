"""[[array]]: what is read, what is refused and why, and which arrays it comes to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.targets import PlanBadValue, PlanUnknownKey
from fsconsole.model.plan import ArraySpec
from fsconsole.plan.arrays import BITMAPS, LEVELS, PARITY, POLICIES, array_objections
from fsconsole.plan.expand import array_choices, setting_choices, workload_choices
from fsconsole.plan.keys import ARRAY
from fsconsole.plan.planfile import ArrayAxis, PlanFile
from fsconsole.plan.write import plan_to_toml
from fsconsole.text import KIB
from tests.unit.plan.examples import SMALLEST, VARIANT, parse

EVERY_KEY = """
[[array]]
level = ["raid5", "raid6"]
chunk = ["64KiB", 524288]
members = [4, 5]
stripe_cache_size = [256, 4096]
group_thread_count = [0, 2]
bitmap = ["none", "internal"]
consistency_policy = ["resync", "bitmap"]
assume_clean = true
"""


def plan_with(*lines: str) -> PlanFile:
    return parse(SMALLEST + "\n[[array]]\n" + "\n".join(lines))


def choices(*lines: str) -> tuple[ArraySpec | None, ...]:
    return array_choices(plan_with(*lines))


def refusal(*lines: str) -> PlanBadValue:
    with pytest.raises(PlanBadValue) as caught:
        plan_with(*lines)
    return caught.value


def test_every_key_is_read_with_all_its_values() -> None:
    (axis,) = parse(SMALLEST + EVERY_KEY).arrays
    assert axis == ArrayAxis(
        levels=("raid5", "raid6"),
        chunks_bytes=(64 * KIB, 512 * KIB),
        members=(4, 5),
        stripe_cache_sizes=(256, 4096),
        group_thread_counts=(0, 2),
        bitmaps=("none", "internal"),
        consistency_policies=("resync", "bitmap"),
        assume_clean=True,
    )


def test_all_values_are_multiplied_out() -> None:
    arrays = array_choices(parse(SMALLEST + EVERY_KEY))
    assert len(arrays) == len(set(arrays)) == 2**7
    assert arrays[0] == ArraySpec("raid5", 64 * KIB, 4, 256, 0, "none", "resync", assume_clean=True)


def test_a_level_alone_is_an_array_as_mdadm_makes_it_of_all_targets() -> None:
    assert choices("level = 'raid5'") == (ArraySpec("raid5"),)


def test_without_a_table_the_targets_are_used_as_they_are() -> None:
    assert array_choices(parse(SMALLEST)) == (None,)


def test_levels_that_lack_a_knob_share_a_table_with_those_that_have_it() -> None:
    lines = ("level = ['raid1', 'raid5', 'raid0']", "chunk = ['64KiB', '1MiB']", "assume_clean = true")
    assert choices(*lines) == (
        ArraySpec("raid1", assume_clean=True),
        ArraySpec("raid5", 64 * KIB, assume_clean=True),
        ArraySpec("raid5", 1024 * KIB, assume_clean=True),
        ArraySpec("raid0", 64 * KIB),
        ArraySpec("raid0", 1024 * KIB),
    )


def test_two_tables_that_ask_for_the_same_array_give_it_once() -> None:
    assert choices("level = 'raid5'", "[[array]]", "level = ['raid5', 'raid6']") == (
        ArraySpec("raid5"),
        ArraySpec("raid6"),
    )


def test_more_combinations_than_a_plan_may_have_cells_are_refused_before_they_are_counted_out() -> None:
    numbers = list(range(17, 1017))
    arrays = plan_with("level = 'raid5'", f"stripe_cache_size = {numbers}", f"group_thread_count = {numbers}")
    settings = parse(f"{SMALLEST}[settings]\nnr_requests = {numbers}\nstripe_cache_size = {numbers}")
    threads = parse(
        "schema = 1\n"
        + VARIANT
        + "".join(
            f"[[workload]]\nname = '{name}'\nkind = 'create'\nfile_size = '1MiB'\nthreads = {numbers}\n"
            for name in ("one", "two")
        )
    )
    for choices_of, plan in (
        (array_choices, arrays),
        (setting_choices, settings),
        (workload_choices, threads),
    ):
        with pytest.raises(PlanBadValue, match="too many"):
            choices_of(plan)


def test_one_knob_is_set_in_one_place() -> None:
    text = (
        SMALLEST + "[[array]]\nlevel = 'raid5'\nstripe_cache_size = 4096\n[settings]\nstripe_cache_size = 256"
    )
    with pytest.raises(PlanBadValue) as caught:
        parse(text)
    assert caught.value.key == "settings.stripe_cache_size"


@pytest.mark.parametrize(
    ("lines", "key", "words"),
    [
        (("chunk = '64KiB'",), "level", "missing"),
        (("level = []",), "level", "empty"),
        (("level = 'raid50'",), "level", "no such level"),
        (("level = 'raid5'", "chunk = '48KiB'"), "chunk", "power of two"),
        (("level = 'raid5'", "chunk = 2048"), "chunk", "too small"),
        (("level = 'raid5'", "chunk = '2GiB'"), "chunk", "too large"),
        (("level = ['raid1', 'linear']", "chunk = '64KiB'"), "chunk", "raid1, linear has no chunks"),
        (("level = 'raid5'", "members = 1"), "members", "at least 2"),
        (("level = 'raid5'", "members = 257"), "members", "at most 256"),
        (("level = 'raid6'", "members = [3]"), "members", "too few"),
        (("level = 'raid5'", "stripe_cache_size = 16"), "stripe_cache_size", "at least 17"),
        (("level = 'raid5'", "stripe_cache_size = 32769"), "stripe_cache_size", "at most 32768"),
        (("level = 'raid10'", "stripe_cache_size = 256"), "stripe_cache_size", "raid10 has no stripe cache"),
        (("level = 'raid5'", "group_thread_count = 8193"), "group_thread_count", "at most 8192"),
        (("level = 'raid5'", "group_thread_count = -1"), "group_thread_count", "at least 0"),
        (("level = 'raid5'", "bitmap = '/root/bitmap'"), "bitmap", "no such bitmap"),
        (("level = 'raid0'", "bitmap = 'internal'"), "bitmap", "nothing to resync"),
        (("level = 'raid5'", "consistency_policy = 'journal'"), "consistency_policy", "a device of its own"),
        (("level = 'raid5'", "consistency_policy = 'none'"), "consistency_policy", "no such"),
        (("level = 'raid6'", "consistency_policy = 'ppl'"), "consistency_policy", "only raid5"),
        (("level = 'linear'", "assume_clean = true"), "assume_clean", "nothing to resync"),
        (("level = 'raid5'", "assume_clean = 'yes'"), "assume_clean", "must be true or false"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key_and_what_is_valid(
    lines: tuple[str, ...], key: str, words: str
) -> None:
    error = refusal(*lines)
    assert error.key == f"array[0].{key}"
    assert words in error.why
    assert error.wanted


def test_a_key_that_names_a_device_is_unknown() -> None:
    for key in ("devices", "write_journal", "spare", "name"):
        with pytest.raises(PlanUnknownKey) as caught:
            plan_with("level = 'raid5'", f"{key} = '/dev/sda'")
        assert caught.value.key == f"array[0].{key}"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ArraySpec("raid6", members=3), "at least 4 members"),
        (ArraySpec("raid6", consistency_policy="ppl"), "raid6 has no partial parity log"),
        (ArraySpec("raid5", bitmap="none", consistency_policy="bitmap"), "needs a bitmap"),
        (ArraySpec("raid5", bitmap="internal", consistency_policy="resync"), 'not "resync"'),
        (ArraySpec("raid5", bitmap="internal", consistency_policy="ppl"), 'not "ppl"'),
    ],
)
def test_what_makes_no_sense_together_is_said_in_words(spec: ArraySpec, words: str) -> None:
    assert any(words in reason for reason in array_objections(spec))


def test_nothing_is_said_against_what_mdadm_makes() -> None:
    assert not array_objections(ArraySpec("raid5", members=2, bitmap="none", consistency_policy="ppl"))
    assert not array_objections(ArraySpec("raid1", bitmap="internal", consistency_policy="bitmap"))
    assert not any(array_objections(ArraySpec(level)) for level in LEVELS)


def some(values: st.SearchStrategy[int] | st.SearchStrategy[str]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=3, unique=True).map(tuple)


AXES = st.builds(
    ArrayAxis,
    levels=st.lists(st.sampled_from(LEVELS), max_size=3, unique=True).map(lambda more: ("raid5", *more[:2])),
    chunks_bytes=some(st.sampled_from([4 * KIB << bit for bit in range(18)])),
    members=some(st.integers(2, 256)),
    stripe_cache_sizes=some(st.integers(17, 32768)),
    group_thread_counts=some(st.integers(0, 8192)),
    bitmaps=some(st.sampled_from(BITMAPS)),
    consistency_policies=some(st.sampled_from(POLICIES)),
    assume_clean=st.booleans(),
).map(lambda axis: axis if len(set(axis.levels)) == len(axis.levels) else ArrayAxis(("raid5",)))


@given(AXES)
def test_any_table_of_arrays_reads_back_as_it_was_written(axis: ArrayAxis) -> None:
    plan = PlanFile("", parse(SMALLEST).workloads, variants=parse(SMALLEST).variants, arrays=(axis,))
    assert parse(plan_to_toml(plan)) == plan


def test_each_key_says_in_a_line_what_it_is_and_why_others_lack_it() -> None:
    for key in ARRAY:
        assert len(key.help) <= 100
        assert bool(key.lacks) == (key.levels != LEVELS)
    assert {key.name for key in ARRAY if key.levels == PARITY} == {"stripe_cache_size", "group_thread_count"}
