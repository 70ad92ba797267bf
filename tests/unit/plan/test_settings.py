"""Settings of a plan: what each may be, which writes it comes to, and where it can't be had."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.plan import Cell, Step, StepKind
from fsconsole.plan.expand import setting_choices
from fsconsole.plan.keys import MACHINE_WIDE, MEMORY, SETTING_NAMES
from fsconsole.plan.planfile import NO_DEVICE, QueueSpec, TargetSpec
from fsconsole.plan.settings import writes_of
from fsconsole.text import GIB, KIB, MIB
from fsconsole.units import format_bytes_exact
from tests.unit.plan.examples import DEVICE, SMALLEST, WORKLOAD, build, parse

OFFERED = ("none", "mq-deadline")
LOOP = TargetSpec("/dev/loop7", 4 * GIB, disk="loop7", queues=(QueueSpec("loop7", OFFERED),))
ARRAY = TargetSpec(
    "/dev/md0", 4 * GIB, disk="md0", queues=(QueueSpec("sda", OFFERED), QueueSpec("sdb", ("none", "bfq")))
)


def with_settings(*lines: str) -> str:
    return "order = 'as-listed'\n" + SMALLEST + "[settings]\n" + "\n".join(lines) + "\n"


def settings_step(cell: Cell) -> Step:
    (step,) = (step for step in cell.steps if step.kind is StepKind.SETTINGS)
    return step


def test_a_setting_becomes_what_the_kernels_files_take_in_the_order_of_writing() -> None:
    head, proc = "/sys/block/", "/proc/sys/vm"
    several = (
        "nr_requests = 64", "read_ahead = '2MiB'", "dirty_background_bytes = '8MiB'", "scheduler = 'mq-deadline'",
        "dirty_bytes = '64MiB'",
    )  # fmt: skip
    of_array = ("read_ahead = '4KiB'", "nr_requests = 32", "scheduler = 'none'")
    partition, controller = TargetSpec("/dev/sda3", GIB, disk="sda"), TargetSpec("/dev/cciss/c0d0", GIB)
    for lines, target, writes in [
        (several, LOOP, [
            (f"{head}loop7/queue/read_ahead_kb", "2048"), (f"{head}loop7/queue/scheduler", "mq-deadline"),
            (f"{head}loop7/queue/nr_requests", "64"), (f"{proc}/dirty_bytes", "67108864"),
            (f"{proc}/dirty_background_bytes", "8388608"),
        ]),
        (("read_ahead = 0",), partition, [(f"{head}sda/queue/read_ahead_kb", "0")]),
        (("nr_requests = 8",), controller, [(f"{head}cciss!c0d0/queue/nr_requests", "8")]),
        (("nr_requests = 8",), NO_DEVICE, [(f"{head}DEVICE/queue/nr_requests", "8")]),
        # An array reads ahead itself and is scheduled by its members.
        (of_array, ARRAY, [
            (f"{head}md0/queue/read_ahead_kb", "4"), (f"{head}sda/queue/scheduler", "none"),
            (f"{head}sdb/queue/scheduler", "none"), (f"{head}sda/queue/nr_requests", "32"),
            (f"{head}sdb/queue/nr_requests", "32"),
        ]),
        (("stripe_cache_size = 4096",), ARRAY, [(f"{head}md0/md/stripe_cache_size", "4096")]),
    ]:  # fmt: skip
        (cell,) = build(with_settings(*lines), target).cells
        assert [(write.path, write.value) for write in settings_step(cell).writes] == writes


def test_a_size_may_be_a_number_of_bytes_and_is_named_as_the_same_size() -> None:
    (cell,) = build(with_settings("read_ahead = 131072")).cells
    assert cell.setting.values == (("read_ahead", "128KiB"),)
    assert parse(with_settings("read_ahead = [131072, '128KiB']")).settings == (("read_ahead", ("128KiB",)),)


AXES = {
    "read_ahead": st.integers(0, 1024).map(lambda pages: format_bytes_exact(pages * 4 * KIB)),
    "scheduler": st.sampled_from(OFFERED),
    "nr_requests": st.integers(4, 10240).map(str),
    "dirty_bytes": st.integers(8 * KIB, 64 * MIB).map(format_bytes_exact),
}


@given(
    axes=st.lists(st.sampled_from(list(AXES)), unique=True).flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.lists(AXES[name], min_size=1, max_size=3, unique=True) for name in names}
        )
    )
)
def test_lists_are_multiplied_out_each_combination_once(axes: dict[str, list[str]]) -> None:
    lines = [f"{name} = {values}" for name, values in axes.items()]
    plan = parse(with_settings(*lines))
    choices = [setting.values for setting in setting_choices(plan)]
    expected = [tuple(zip(axes, values, strict=True)) for values in product(*axes.values())]
    assert choices == expected
    cells = build(with_settings(*lines), LOOP).cells
    assert [cell.setting.values for cell in cells] == expected
    assert not any(cell.unavailable for cell in cells)


def test_what_no_kernel_takes_is_an_error_of_the_plan() -> None:
    for line, why in [
        ("read_ahead = '1KiB'", "in pages"),
        ("read_ahead = '2GiB'", "too large"),
        ("nr_requests = 3", "at least 4"),
        ("nr_requests = 10241", "at most 10240"),
        ("nr_requests = '1e3'", "whole number"),
        ("dirty_bytes = 4096", "too small"),
        ("dirty_background_bytes = 0", "too small"),
        ("dirty_ratio = 0", "at least 1"),
        ("stripe_cache_size = 16", "at least 17"),
        ("scheduler = '[none]'", "not a valid name"),
        ("scheduler = []", "list is empty"),
        ("dirty_ratio = 10\ndirty_bytes = '1GiB'", "one limit"),
    ]:
        with pytest.raises(PlanBadValue, match=why):
            parse(with_settings(line))


def test_a_setting_that_target_or_kernel_cannot_have_makes_its_cells_unavailable_with_the_reason() -> None:
    cells = build(with_settings("scheduler = ['none', 'bfq']"), LOOP).cells
    assert [bool(cell.unavailable) for cell in cells] == [False, True]
    assert "loop7 has no scheduler bfq, it offers none, mq-deadline" in cells[1].unavailable
    (cell,) = build(with_settings("scheduler = 'bfq'"), ARRAY).cells
    assert "sda has no" in cell.unavailable
    assert "sdb has no" not in cell.unavailable
    assert build(with_settings("scheduler = 'bfq'"), DEVICE).cells[0].unavailable == ""
    own = build(SMALLEST + "with = { scheduler = 'bfq' }\n", LOOP).cells[0]
    assert "no scheduler bfq" in own.unavailable
    limits = with_settings("dirty_bytes = ['64MiB', '8MiB']", "dirty_background_bytes = '8MiB'")
    assert ["dirty_background_bytes" in cell.unavailable for cell in build(limits).cells] == [False, True]
    plain = TargetSpec("/dev/sda", GIB, has_stripe_cache=False)
    assert "no stripe cache" in build(with_settings("stripe_cache_size = 4096"), plain).cells[0].unavailable


def test_a_workloads_own_setting_is_written_before_it_and_written_back_after_its_drain() -> None:
    text = SMALLEST + WORKLOAD.replace("large files", "read") + "with = { read_ahead = '4MiB' }\n"
    (cell,) = build(text, LOOP).cells
    of_settings = (StepKind.SETTINGS, StepKind.SETTINGS_BACK)
    around = [step.kind.value for step in cell.steps if step.workload == 1 or step.kind in of_settings]
    assert around[:5] == ["settings", "quiesce", "workload", "drain", "settings-back"]
    assert [(w.name, w.value) for w in settings_step(cell).writes] == [("read_ahead", "4096")]
    assert cell.workloads[1].settings == (("read_ahead", "4MiB"),)
    assert cell.workloads[0].settings == ()


def test_a_workloads_own_scheduler_takes_the_cells_number_of_requests_with_it() -> None:
    text = with_settings("nr_requests = 64") + WORKLOAD + "with = { scheduler = 'none' }\n"
    (cell,) = build(text, LOOP).cells
    own = [step for step in cell.steps if step.kind is StepKind.SETTINGS and step.workload == 1]
    assert {write.name: write.value for write in own[0].writes} == {"scheduler": "none", "nr_requests": "64"}


def test_the_memory_of_a_load_is_a_limit_in_whole_pages_and_needs_a_memory_controller() -> None:
    limit = "/sys/fs/cgroup/memory/fsconsole-loop7/memory.limit_in_bytes"
    (write,) = writes_of({"memory": "64MiB"}, replace(LOOP, memory_limit=limit))
    assert (write.name, write.path, write.value) == ("memory", limit, str(64 * 2**20))
    (cell,) = build(with_settings("memory = '64MiB'"), replace(LOOP, memory_limit="")).cells
    assert "no memory cgroups" in cell.unavailable
    for wrong in ("'8MiB'", "'65537'", "64", "'2PiB'"):
        with pytest.raises(PlanBadValue):
            build(with_settings(f"memory = {wrong}"), LOOP)


def test_every_setting_has_its_place_in_the_order_of_writing_and_a_file() -> None:
    for name in SETTING_NAMES:
        value = {"scheduler": "none"}.get(name, "64KiB" if "bytes" in name or name == "read_ahead" else "50")
        if name == MEMORY:
            continue
        (write,) = writes_of({name: value}, LOOP)
        assert write.path.startswith("/proc/sys/vm/dirty_" if name in MACHINE_WIDE else "/sys/block/loop7/")
    assert SETTING_NAMES.index("scheduler") < SETTING_NAMES.index("nr_requests")
