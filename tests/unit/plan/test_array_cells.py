"""Cells on arrays that the run makes: their members, their exact commands, their size, and what can't be made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import ArraySpec, Cell, StepKind
from fsconsole.plan.arrays import ARRAY_PATH, ArraySupport, usable_bytes
from fsconsole.plan.expand import array_uuid, build_plan, filesystem_of, moved_plan, rebuilt_steps
from fsconsole.plan.planfile import NO_DEVICE, QueueSpec, TargetSpec
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import VARIANT, WORKLOAD, build, parse

DISKS = tuple(
    TargetSpec(f"/dev/sd{letter}", GIB, disk=f"sd{letter}", queues=(QueueSpec(f"sd{letter}"),))
    for letter in "abcd"
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
        f"mdadm --create /dev/md400 --run --metadata=1.2 --uuid={array_uuid('run', 0)} --homehost=fsconsole"
        " --name=what-if --level=raid5 --raid-devices=3 --chunk=64K --assume-clean /dev/sda /dev/sdb /dev/sdc"
    ]
    assert commands(cell, StepKind.ARRAY_STOP) == [
        "mdadm --stop /dev/md400",
        *(f"mdadm --zero-superblock --metadata=1.2 /dev/sd{letter}" for letter in "abc"),
    ]
    assert all("/dev/md400" in argv for argv in commands(cell, StepKind.MKFS))


def test_what_is_not_a_target_stands_in_no_command():
    for cell in on_arrays('level = ["raid0", "raid1", "raid6", "linear", "raid10"]'):
        words = {word for step in cell.steps for argv in step.commands for word in argv}
        nodes = {word for word in words if word.startswith("/dev/")}
        assert nodes == {ARRAY_PATH, *(disk.path for disk in DISKS)}


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ('consistency_policy = ["bitmap"]', "--bitmap=internal --consistency-policy=bitmap"),
        ('consistency_policy = ["ppl"]', "--consistency-policy=ppl"),
        ('bitmap = ["none"]', "--bitmap=none"),
    ],
)
def test_bitmap_and_policy_are_said_as_mdadm_wants_them(array, words):
    (cell,) = on_arrays(f'level = ["raid5"]\n{array}')
    assert not cell.unavailable
    assert words in commands(cell, StepKind.ARRAY)[0]


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


@pytest.mark.parametrize("level", ["raid0", "linear"])
def test_nothing_is_waited_for_where_nothing_is_redundant(level):
    (cell,) = on_arrays(f'level = ["{level}"]')
    assert StepKind.ARRAY_SYNC not in [step.kind for step in cell.steps]


def test_nothing_is_waited_for_where_it_is_assumed_clean():
    (cell,) = on_arrays('level = ["raid1"]\nassume_clean = true')
    assert StepKind.ARRAY_SYNC not in [step.kind for step in cell.steps]
    assert "assumed clean" in next(step.title for step in cell.steps if step.kind is StepKind.ARRAY)


@pytest.mark.parametrize(
    ("array", "disks", "why"),
    [
        ('level = ["raid6"]', 3, "raid6 needs at least 4 members, and there are 3 targets"),
        ('level = ["raid5"]\nmembers = [4]', 3, "wants 4 members, and there are 3 targets"),
        ('level = ["raid1", "raid5"]\nconsistency_policy = ["ppl"]', 3, "only raid5 has one"),
        ('level = ["raid0"]\nchunk = ["1GiB"]', 3, "no room for raid0 with chunks of 1GiB"),
    ],
)
def test_what_mdadm_would_refuse_is_unavailable_with_the_reason(array, disks, why):
    assert any(why in cell.unavailable for cell in on_arrays(array, *DISKS[:disks]))


def test_a_level_that_the_kernel_lacks_is_unavailable_and_the_others_run():
    plan = build_plan(
        parse('schema = 1\n[[array]]\nlevel = ["linear", "raid0"]\n' + VARIANT + WORKLOAD),
        DISKS, load_catalog(), run_id="run", support=ArraySupport((("linear", "no md-linear here"),)),
    )  # fmt: skip
    whys = {cell.array.level: cell.unavailable for cell in plan.cells if cell.array is not None}
    assert whys == {"linear": "no md-linear here", "raid0": ""}


def test_sizes_fit_the_smallest_array_that_can_be_made():
    text = 'level = ["raid1", "raid0", "raid6"]\nmembers = [3]'
    cells = on_arrays(text, *DISKS, more='scale = "fit"')
    small = on_arrays('level = ["raid1"]\nmembers = [3]', *DISKS, more='scale = "fit"')
    assert {cell.workloads for cell in cells} == {small[0].workloads}


def test_a_target_that_becomes_no_member_is_noted():
    plan = build('schema = 1\n[[array]]\nlevel = ["raid1"]\nmembers = [2]\n' + VARIANT + WORKLOAD, *DISKS[:3])
    assert "/dev/sdc becomes a member of no array" in plan.notes


def test_a_plan_for_no_device_in_particular_shows_as_many_as_the_level_needs():
    (cell,) = on_arrays('level = ["raid6"]', NO_DEVICE)
    assert (cell.members, cell.unavailable) == (("DEVICE1", "DEVICE2", "DEVICE3", "DEVICE4"), "")


@pytest.mark.parametrize(
    ("spec", "sectors"),
    [
        (ArraySpec("raid5"), 389120),
        (ArraySpec("raid5", consistency_policy="ppl"), 380928),
        (ArraySpec("raid5", consistency_policy="ppl", chunk_bytes=MIB), 376832),
        (ArraySpec("raid10", bitmap="internal"), 288768),
        (ArraySpec("raid0", chunk_bytes=96 * 1024), 583104),
    ],
)
def test_the_size_is_rather_less_than_what_mdadm_makes_of_three_disks(spec, sectors):
    size_bytes = usable_bytes(spec, [96 * MIB] * 3)
    assert 0.9 * sectors * 512 < size_bytes <= sectors * 512


@pytest.mark.parametrize(
    ("level", "members_of_data"), [("raid6", 2), ("raid5", 3), ("raid1", 1), ("raid0", 4)]
)
def test_what_is_redundant_is_no_room(level, members_of_data):
    one = usable_bytes(ArraySpec("raid1", chunk_bytes=MIB), [GIB] * 4)
    whole = usable_bytes(ArraySpec(level, chunk_bytes=MIB), [GIB] * 4)
    assert 0 <= members_of_data * one - whole < 4 * MIB


def test_steps_made_once_more_are_the_same():
    (cell,) = on_arrays('level = ["raid6"]\nstripe_cache_size = [512]')
    assert rebuilt_steps(cell, DISKS, filesystem_of(cell, load_catalog()), "run") == cell.steps


def test_members_that_have_other_names_now_are_named_by_them():
    plan = build('schema = 1\n[[array]]\nlevel = ["raid1"]\nmembers = [2]\n' + VARIANT + WORKLOAD, *DISKS[:2])
    now = {"/dev/sda": replace(DISKS[2], path="/dev/sdx"), "/dev/sdb": DISKS[1]}
    moved = moved_plan(plan, now, load_catalog(), "run")
    assert moved.targets == ("/dev/sdx", "/dev/sdb")
    (cell,) = moved.cells
    assert (cell.target, cell.members) == (ARRAY_PATH, ("/dev/sdx", "/dev/sdb"))
    assert not any("/dev/sda" in argv for step in cell.steps for argv in step.commands)
    assert f"--uuid={array_uuid('run', 0)}" in commands(cell, StepKind.ARRAY)[0]


def test_the_resync_is_part_of_the_estimate():
    text = 'schema = 1\n[[array]]\nlevel = ["raid1"]\nassume_clean = {}\n' + VARIANT + WORKLOAD
    waited, assumed = (build(text.format(word), *DISKS).estimate.bytes_to_write for word in ("false", "true"))
    assert waited == assumed + GIB
