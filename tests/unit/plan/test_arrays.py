"""[[array]]: what is read and refused, the arrays and cells it comes to, their commands, sizes and stripes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.md import parse_mdstat
from fsconsole.errors.targets import PlanBadValue, PlanUnknownKey
from fsconsole.model.device import Device, DeviceKind
from fsconsole.model.plan import ArraySpec, Cell, StepKind
from fsconsole.plan import expand
from fsconsole.plan.arrays import (
    ARRAY_PATH,
    BITMAPS,
    LEVELS,
    PARITY,
    POLICIES,
    array_objections,
    geometry,
    geometry_of,
    stripes_of,
    usable_bytes,
)
from fsconsole.plan.keys import ARRAY
from fsconsole.plan.planfile import NO_DEVICE, ArrayAxis, PlanFile, QueueSpec, TargetSpec
from fsconsole.text import GIB, KIB, MIB
from tests.unit.plan.examples import SMALLEST, VARIANT, WORKLOAD, build, parse

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
    return expand.array_choices(plan_with(*lines))


def refusal(*lines: str) -> PlanBadValue:
    with pytest.raises(PlanBadValue) as caught:
        plan_with(*lines)
    return caught.value


def test_every_key_is_read_with_all_its_values_which_are_multiplied_out() -> None:
    (axis,) = parse(SMALLEST + EVERY_KEY).arrays
    sizes, policies = (64 * KIB, 512 * KIB), ("resync", "bitmap")
    assert axis == ArrayAxis(
        ("raid5", "raid6"),
        sizes,
        (4, 5),
        (256, 4096),
        (0, 2),
        ("none", "internal"),
        policies,
        assume_clean=True,
    )
    arrays = expand.array_choices(parse(SMALLEST + EVERY_KEY))
    assert len(arrays) == len(set(arrays)) == 2**7
    assert arrays[0] == ArraySpec("raid5", 64 * KIB, 4, 256, 0, "none", "resync", assume_clean=True)


def test_each_array_is_chosen_once_with_the_knobs_that_its_level_has() -> None:
    lines = ("level = ['raid1', 'raid5', 'raid0']", "chunk = ['64KiB', '1MiB']", "assume_clean = true")
    assert choices(*lines) == (
        ArraySpec("raid1", assume_clean=True),
        ArraySpec("raid5", 64 * KIB, assume_clean=True),
        ArraySpec("raid5", 1024 * KIB, assume_clean=True),
        ArraySpec("raid0", 64 * KIB),
        ArraySpec("raid0", 1024 * KIB),
    )
    twice = choices("level = 'raid5'", "[[array]]", "level = ['raid5', 'raid6']")
    assert twice == (ArraySpec("raid5"), ArraySpec("raid6"))
    assert expand.array_choices(parse(SMALLEST)) == (None,)


def test_more_combinations_than_a_plan_may_have_cells_are_refused_before_they_are_counted_out() -> None:
    numbers = list(range(17, 1017))
    arrays = plan_with("level = 'raid5'", f"stripe_cache_size = {numbers}", f"group_thread_count = {numbers}")
    settings = parse(f"{SMALLEST}[settings]\nnr_requests = {numbers}\nstripe_cache_size = {numbers}")
    load = f"[[workload]]\nkind = 'create'\nfile_size = '1MiB'\nthreads = {numbers}\n"
    threads = parse("schema = 1\n" + VARIANT + load + load)
    many = {expand.array_choices: arrays, expand.setting_choices: settings, expand.workload_choices: threads}
    for choices_of, plan in many.items():
        with pytest.raises(PlanBadValue, match="too many"):
            choices_of(plan)


def test_what_cannot_be_is_refused_with_its_key_and_what_is_valid() -> None:
    for lines, key, words in [
        (("chunk = '64KiB'",), "level", "missing"),
        (("level = []",), "level", "empty"),
        (("level = 'raid50'",), "level", "not a valid value"),
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
        (("level = 'raid5'", "bitmap = '/root/bitmap'"), "bitmap", "not a valid value"),
        (("level = 'raid0'", "bitmap = 'internal'"), "bitmap", "nothing to resync"),
        (("level = 'raid5'", "consistency_policy = 'journal'"), "consistency_policy", "a device of its own"),
        (("level = 'raid5'", "consistency_policy = 'none'"), "consistency_policy", "not a valid value"),
        (("level = 'raid6'", "consistency_policy = 'ppl'"), "consistency_policy", "only raid5"),
        (("level = 'linear'", "assume_clean = true"), "assume_clean", "nothing to resync"),
        (("level = 'raid5'", "assume_clean = 'yes'"), "assume_clean", "must be true or false"),
    ]:
        error = refusal(*lines)
        assert error.key == f"array[0].{key}"
        assert words in error.why
        assert error.wanted
    twice = refusal("level = 'raid5'", "stripe_cache_size = 4096", "[settings]", "stripe_cache_size = 256")
    assert twice.key == "settings.stripe_cache_size"
    for key in ("devices", "write_journal", "spare", "name"):
        with pytest.raises(PlanUnknownKey) as caught:
            plan_with("level = 'raid5'", f"{key} = '/dev/sda'")
        assert caught.value.key == f"array[0].{key}"


def test_what_mdadm_refuses_is_said_in_words_and_nothing_against_what_it_makes() -> None:
    for spec, words in [
        (ArraySpec("raid6", members=3), "at least 4 members"),
        (ArraySpec("raid6", consistency_policy="ppl"), "raid6 has no partial parity log"),
        (ArraySpec("raid5", bitmap="none", consistency_policy="bitmap"), "needs a bitmap"),
        (ArraySpec("raid5", bitmap="internal", consistency_policy="resync"), 'not "resync"'),
        (ArraySpec("raid5", bitmap="internal", consistency_policy="ppl"), 'not "ppl"'),
    ]:
        assert any(words in reason for reason in array_objections(spec))
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


def test_each_key_says_in_a_line_what_it_is_and_why_others_lack_it() -> None:
    for key in ARRAY:
        assert len(key.help) <= 100
        assert bool(key.lacks) == (key.levels != LEVELS)
    assert {key.name for key in ARRAY if key.levels == PARITY} == {"stripe_cache_size", "group_thread_count"}


DISKS = tuple(
    TargetSpec(f"/dev/sd{letter}", GIB, disk=f"sd{letter}", queues=(QueueSpec(f"sd{letter}"),)) for letter in "abcd"
)


def on_arrays(array: str, *disks: TargetSpec, more: str = "") -> tuple[Cell, ...]:
    return build(f"schema = 1\n{more}\n[[array]]\n{array}\n" + VARIANT + WORKLOAD, *(disks or DISKS)).cells


def commands(cell: Cell, kind: StepKind) -> list[str]:
    return [" ".join(argv) for step in cell.steps if step.kind is kind for argv in step.commands]


def test_a_cell_goes_from_free_members_to_a_filesystem_and_back():
    (cell,) = on_arrays('level = ["raid5"]\nstripe_cache_size = [1024]', more="equalise = 'zero'")
    kinds = [step.kind.value for step in cell.steps]
    assert kinds[:9] == ["gate", *["equalise"] * 4, "array", "array-sync", "settings", "mkfs"]
    assert kinds[-2:] == ["array-stop", "release"]
    assert (cell.target, cell.members) == (ARRAY_PATH, tuple(disk.path for disk in DISKS))
    assert cell.devices == cell.members


def test_the_array_is_made_and_taken_apart_by_exactly_these_commands():
    (cell,) = on_arrays('level = ["raid5"]\nchunk = ["64KiB"]\nmembers = [3]\nassume_clean = true')
    assert commands(cell, StepKind.ARRAY) == [
        f"mdadm --create /dev/md400 --run --metadata=1.2 --uuid={expand.array_uuid('run', 0)} --homehost=fsconsole"
        " --name=what-if --level=raid5 --raid-devices=3 --chunk=64K --assume-clean /dev/sda /dev/sdb /dev/sdc"
    ]
    assert commands(cell, StepKind.ARRAY_STOP) == [
        "mdadm --stop /dev/md400",
        *(f"mdadm --zero-superblock --metadata=1.2 /dev/sd{letter}" for letter in "abc"),
    ]
    assert all("/dev/md400" in argv for argv in commands(cell, StepKind.MKFS))
    for array, words in [
        ('consistency_policy = ["bitmap"]', "--bitmap=internal --consistency-policy=bitmap"),
        ('consistency_policy = ["ppl"]', "--consistency-policy=ppl"),
        ('bitmap = ["none"]', "--bitmap=none"),
    ]:
        (cell,) = on_arrays(f'level = ["raid5"]\n{array}')
        assert not cell.unavailable
        assert words in commands(cell, StepKind.ARRAY)[0]


def test_a_cells_steps_name_no_device_but_its_targets_and_are_the_same_when_made_once_more():
    for cell in on_arrays('level = ["raid0", "raid1", "raid6", "linear", "raid10"]'):
        words = {word for step in cell.steps for argv in step.commands for word in argv}
        nodes = {word for word in words if word.startswith("/dev/")}
        assert nodes == {ARRAY_PATH, *(disk.path for disk in DISKS)}
        assert expand.rebuilt_steps(cell, DISKS, expand.filesystem_of(cell, load_catalog()), "run") == cell.steps


def test_knobs_are_written_before_the_settings_of_the_cell():
    (cell,) = on_arrays(
        'level = ["raid6"]\nstripe_cache_size = [512]\ngroup_thread_count = [2]',
        more='[settings]\nread_ahead = ["1MiB"]\nscheduler = ["none"]\n',
    )
    assert [write.path for write in cell.writes] == [
        "/sys/block/md400/md/stripe_cache_size",
        "/sys/block/md400/md/group_thread_cnt",
        "/sys/block/md400/queue/read_ahead_kb",
        *(f"/sys/block/sd{letter}/queue/scheduler" for letter in "abcd"),
    ]


def test_no_resync_is_waited_for_without_redundancy_or_where_it_is_assumed_clean():
    for array in ('level = "raid0"', 'level = "linear"', 'level = "raid1"\nassume_clean = true'):
        (cell,) = on_arrays(array)
        assert StepKind.ARRAY_SYNC not in [step.kind for step in cell.steps]
    assert "assumed clean" in next(step.title for step in cell.steps if step.kind is StepKind.ARRAY)


def test_what_mdadm_would_refuse_is_unavailable_with_the_reason() -> None:
    for array, disks, why in [
        ('level = ["raid6"]', 3, "raid6 needs at least 4 members, and there are 3 targets"),
        ('level = ["raid5"]\nmembers = [4]', 3, "wants 4 members, and there are 3 targets"),
        ('level = ["raid1", "raid5"]\nconsistency_policy = ["ppl"]', 3, "only raid5 has one"),
        ('level = ["raid0"]\nchunk = ["1GiB"]', 3, "no room for raid0 with chunks of 1GiB"),
    ]:
        assert any(why in cell.unavailable for cell in on_arrays(array, *DISKS[:disks]))
    plan = expand.build_plan(
        parse('schema = 1\n[[array]]\nlevel = ["linear", "raid0"]\n' + VARIANT + WORKLOAD),
        DISKS, load_catalog(), run_id="run", support={"linear": "no md-linear here"},
    )  # fmt: skip
    whys = {cell.array.level: cell.unavailable for cell in plan.cells if cell.array is not None}
    assert whys == {"linear": "no md-linear here", "raid0": ""}


def test_sizes_fit_the_smallest_array_that_can_be_made():
    text = 'level = ["raid1", "raid0", "raid6"]\nmembers = [3]'
    cells = on_arrays(text, *DISKS, more='scale = "fit"')
    small = on_arrays('level = ["raid1"]\nmembers = [3]', *DISKS, more='scale = "fit"')
    assert {cell.workloads for cell in cells} == {small[0].workloads}


def test_a_target_too_many_is_noted_and_without_devices_there_are_as_many_as_the_level_needs():
    plan = build('schema = 1\n[[array]]\nlevel = ["raid1"]\nmembers = [2]\n' + VARIANT + WORKLOAD, *DISKS[:3])
    assert "/dev/sdc becomes a member of no array" in plan.notes
    (cell,) = on_arrays('level = ["raid6"]', NO_DEVICE)
    assert (cell.members, cell.unavailable) == (("DEVICE1", "DEVICE2", "DEVICE3", "DEVICE4"), "")


def test_the_size_is_rather_less_than_what_mdadm_makes_and_without_what_is_redundant() -> None:
    for spec, sectors in [
        (ArraySpec("raid5"), 389120),
        (ArraySpec("raid5", consistency_policy="ppl"), 380928),
        (ArraySpec("raid5", consistency_policy="ppl", chunk_bytes=MIB), 376832),
        (ArraySpec("raid10", bitmap="internal"), 288768),
        (ArraySpec("raid0", chunk_bytes=96 * 1024), 583104),
    ]:
        size_bytes = usable_bytes(spec, [96 * MIB] * 3)
        assert 0.9 * sectors * 512 < size_bytes <= sectors * 512
    for level, members_of_data in [("raid6", 2), ("raid5", 3), ("raid1", 1), ("raid0", 4)]:
        one = usable_bytes(ArraySpec("raid1", chunk_bytes=MIB), [GIB] * 4)
        whole = usable_bytes(ArraySpec(level, chunk_bytes=MIB), [GIB] * 4)
        assert 0 <= members_of_data * one - whole < 4 * MIB


def test_members_that_have_other_names_now_are_named_by_them():
    plan = build('schema = 1\n[[array]]\nlevel = ["raid1"]\nmembers = [2]\n' + VARIANT + WORKLOAD, *DISKS[:2])
    now = {"/dev/sda": replace(DISKS[2], path="/dev/sdx"), "/dev/sdb": DISKS[1]}
    moved = expand.moved_plan(plan, now, load_catalog(), "run")
    assert moved.targets == ("/dev/sdx", "/dev/sdb")
    (cell,) = moved.cells
    assert (cell.target, cell.members) == (ARRAY_PATH, ("/dev/sdx", "/dev/sdb"))
    assert not any("/dev/sda" in argv for step in cell.steps for argv in step.commands)
    assert f"--uuid={expand.array_uuid('run', 0)}" in commands(cell, StepKind.ARRAY)[0]


def test_the_resync_is_part_of_the_estimate():
    text = 'schema = 1\n[[array]]\nlevel = ["raid1"]\nassume_clean = {}\n' + VARIANT + WORKLOAD
    waited, assumed = (build(text.format(word), *DISKS).estimate.bytes_to_write for word in ("false", "true"))
    assert waited == assumed + GIB


MDSTAT = """Personalities : [raid6] [raid5] [raid4]
md0 : active raid5 sdd1[4](S) sdc1[3](J) sdb1[1] sda1[0] sde1[2]
      1225728 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]
"""
(RAID5,) = parse_mdstat(MDSTAT)
SDA = Device("sda", "/dev/sda", DeviceKind.DISK, 8, 0, 2000 * MIB, physical_sector_bytes=4096)
MEMBER = Device("sda1", "/dev/sda1", DeviceKind.PARTITION, 8, 1, 600 * MIB, parent="sda", partition_start_bytes=MIB)
MD0 = Device(
    "md0", "/dev/md0", DeviceKind.MD, 9, 0, RAID5.size_bytes, lower=("sda1",), md=RAID5,
    minimum_io_bytes=64 * KIB, optimal_io_bytes=128 * KIB,
)  # fmt: skip
PART = Device(
    "md0p1", "/dev/md0p1", DeviceKind.PARTITION, 259, 0, 100 * MIB, parent="md0", partition_start_bytes=128 * KIB,
    minimum_io_bytes=64 * KIB, optimal_io_bytes=128 * KIB,
)  # fmt: skip
VOLUME = Device("dm-0", "/dev/dm-0", DeviceKind.DM, 253, 0, 50 * MIB, lower=("md0p1",))


def test_each_level_spreads_a_stripe_over_its_data_disks() -> None:
    for level, disks, near_copies, data_disks in [
        ("raid0", 4, 0, 4),
        ("raid4", 4, 0, 3),
        ("raid5", 4, 0, 3),
        ("raid6", 4, 0, 2),
        ("raid10", 4, 2, 2),
        # An odd number of disks, and copies that are far away: md counts all disks (drivers/md/raid10.c).
        ("raid10", 5, 2, 5),
        ("raid10", 4, 0, 4),
        ("raid10", 6, 3, 2),
        ("raid5", 2, 0, 1),
    ]:
        shape = geometry(level, 64 * KIB, disks, near_copies)
        assert shape is not None
        assert (shape.data_disks, shape.stripe_bytes) == (data_disks, data_disks * 64 * KIB)
        assert shape.ext4_words == f"-E stride=16,stripe_width={16 * data_disks}"
        assert shape.xfs_words == f"-d su=64k,sw={data_disks}"

    for level, chunk_bytes, disks in [
        ("linear", 64 * KIB, 4), ("raid1", 0, 4), ("", 0, 1), ("raid6", 64 * KIB, 2), ("raid0", 512, 2), ("faulty", 0, 1),
    ]:  # fmt: skip
        assert geometry(level, chunk_bytes, disks) is None


def test_spares_and_a_journal_hold_no_part_of_a_stripe_and_a_reshaped_array_has_none() -> None:
    shape = geometry_of(RAID5)
    assert shape is not None
    assert shape.data_disks == 2
    assert geometry_of(replace(RAID5, level="raid0", slots="")) == geometry("raid0", 64 * KIB, 3)
    assert geometry_of(replace(RAID5, action="reshape")) is None


def test_words_for_mkfs_are_told_of_a_device_on_one_array_and_whether_mkfs_sees_them() -> None:
    words = "ext4 -E stride=16,stripe_width=32; xfs -d su=64k,sw=2; "
    assert stripes_of(MD0, (SDA, MEMBER, MD0)).sentences == (
        f"/dev/md0 holds 64KiB on each of 2 data disks, 128KiB in all: {words}mkfs sees that itself",
    )
    small = stripes_of(replace(MD0, size_bytes=1023 * MIB), (SDA, MEMBER, MD0))
    assert small.words == f"{words}mkfs.ext4 sees that itself, mkfs.xfs only from 1 GiB on"
    volume = stripes_of(VOLUME, (SDA, MEMBER, MD0, PART, VOLUME))
    assert volume.words == f"{words}the kernel tells mkfs otherwise, so name it"
    over_two = replace(VOLUME, lower=("md0", "md1"))
    assert stripes_of(over_two, (SDA, MEMBER, MD0, replace(MD0, name="md1"), over_two)).sentences == ()
    assert stripes_of(SDA, (SDA, MEMBER, MD0)).sentences == ()


def test_a_partition_of_an_array_is_cautioned_about_where_it_begins() -> None:
    for start_bytes, why in [
        (31 * 512, "begins at byte 15872, no multiple of 4096: each block lies on two sectors"),
        (4 * KIB, "begins at byte 4096, inside a chunk of /dev/md0"),
        (64 * KIB, "begins at byte 65536, inside a stripe of /dev/md0"),
        (128 * KIB, ""),
    ]:
        part = replace(PART, partition_start_bytes=start_bytes)
        # Whoever looks at the volume on it is told too.
        for device in (part, VOLUME):
            cautions = stripes_of(device, (SDA, MEMBER, MD0, part, VOLUME)).cautions
            assert [why in caution for caution in cautions] == ([True] if why else []), cautions
    striped = replace(MD0, md=replace(RAID5, level="raid0", slots="UU"))
    part = replace(PART, partition_start_bytes=64 * KIB)
    assert stripes_of(part, (striped, part)).cautions == ()
    member = replace(MEMBER, partition_start_bytes=63 * 512)
    told = stripes_of(MD0, (SDA, member, MD0))
    assert told.cautions == ("/dev/sda1 begins at byte 32256, no multiple of 4096: each block lies on two sectors",)
