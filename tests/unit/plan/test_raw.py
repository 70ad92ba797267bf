"""A raw row writes and reads streams straight on the device: as many bytes as its workloads, and no more than fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import Cell, Step, StepKind
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.steps import BLOCK_BYTES, raw_bytes, stream_bytes
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import DEVICE, VARIANT, WORKLOAD, build

RAW = "schema = 1\nraw = true\n"
SIZED = WORKLOAD.replace('"1MiB"', '"8MiB"')


def raw_cell(text: str, target: TargetSpec = DEVICE) -> Cell:
    (cell,) = (cell for cell in build(text, target).cells if cell.variant.is_raw)
    return cell


def argvs(cell: Cell, kind: StepKind) -> list[tuple[str, ...]]:
    return [step.commands[0] for step in cell.steps if step.kind is kind]


def words_of(argv: tuple[str, ...]) -> dict[str, int]:
    return {name: int(argv[argv.index(f"--{name}") + 1]) for name in ("streams", "bytes", "block")}


def test_one_stream_and_as_many_as_threads_write_what_the_workload_writes_and_read_it_back() -> None:
    cell = raw_cell(RAW + SIZED)
    for kind, act in ((StepKind.RAW_WRITE, "write"), (StepKind.RAW_READ, "read")):
        one, many = argvs(cell, kind)
        assert one[1:6] == ("-I", "-m", "fsconsole.workloads.raw", act, "/dev/loop7")
        assert words_of(one) == {"streams": 1, "bytes": 32 * MIB, "block": MIB}
        assert words_of(many) == {"streams": 4, "bytes": 8 * MIB, "block": MIB}
    kinds = [step.kind for step in cell.steps]
    assert kinds.index(StepKind.RAW_READ) > max(
        n for n, kind in enumerate(kinds) if kind is StepKind.RAW_WRITE
    )


def test_with_one_thread_there_is_one_stream() -> None:
    assert len(argvs(raw_cell(RAW + SIZED.replace("threads = 4", "threads = 1")), StepKind.RAW_WRITE)) == 1


def test_each_workload_has_its_own_number_of_streams_which_is_its_steps_workload() -> None:
    cell = raw_cell(RAW + SIZED + SIZED.replace("threads = 4", "threads = 16").replace("large", "more"))
    steps: list[Step] = [step for step in cell.steps if step.kind is StepKind.RAW_WRITE]
    assert [(step.workload, words_of(step.commands[0])["streams"]) for step in steps] == [
        (None, 1), (0, 4), (1, 16),
    ]  # fmt: skip


def test_the_read_test_is_kept_with_the_run_and_ends_the_row() -> None:
    cell = raw_cell(RAW + SIZED)
    (argv,) = argvs(cell, StepKind.READTEST)
    assert argv[1:] == ("-I", "-m", "fsconsole", "readtest", "/dev/loop7", "--json", "--watched")
    assert [step.kind.value for step in cell.steps][-2:] == ["readtest", "release"]


def test_a_raw_row_says_what_it_overwrites_and_is_equalised_as_all_are() -> None:
    cell = raw_cell(RAW + SIZED)
    assert {step.changes for step in cell.steps if step.kind is StepKind.RAW_WRITE} == {
        "overwrites /dev/loop7"
    }
    assert [step.changes for step in cell.steps if step.kind is StepKind.EQUALISE] == [
        "discards all of /dev/loop7"
    ]


@given(
    device=st.integers(1, 4096).map(lambda blocks: blocks * MIB + 512),
    threads=st.integers(1, 64),
    size=st.integers(1, 2**33),
)
def test_no_stream_leaves_its_part_of_the_device(device: int, threads: int, size: int) -> None:
    load = f"[[workload]]\nkind = 'create'\nthreads = {threads}\nfile_size = {size}\nblock_size = 1\n"
    cell = raw_cell(RAW + load, TargetSpec("/dev/x", device))
    each = stream_bytes(device, cell.workloads, threads)
    assert each % BLOCK_BYTES == 0
    if device // threads < MIB:
        assert f"no room for {threads} raw streams" in cell.unavailable
        return
    assert cell.unavailable == ""
    assert each <= device // threads // BLOCK_BYTES * BLOCK_BYTES
    assert each * threads <= max(size * threads, threads * BLOCK_BYTES)


def test_what_raw_rows_write_is_in_the_estimate() -> None:
    cell = raw_cell(RAW + SIZED)
    assert raw_bytes(DEVICE.size_bytes, cell.workloads) == 2 * 32 * MIB
    assert build(RAW + "equalise = 'none'\n" + SIZED).estimate.bytes_to_write == 64 * MIB


def test_where_no_workload_writes_by_itself_a_gib_is_written() -> None:
    text = RAW + "[[workload]]\nkind = 'fio'\n"
    assert words_of(argvs(raw_cell(text), StepKind.RAW_WRITE)[0])["bytes"] == GIB


@pytest.mark.parametrize("repeats", [1, 3])
def test_every_setting_and_number_of_threads_has_its_raw_row(repeats: int) -> None:
    text = (
        f"schema = 1\nraw = true\nrepeats = {repeats}\n[settings]\nscheduler = ['none', 'mq-deadline']\n"
        + VARIANT
        + WORKLOAD.replace("threads = 4", "threads = [1, 4]")
    )
    cells = build(text).cells
    places = {
        raw: {(c.setting, c.workloads, c.repeat) for c in cells if c.variant.is_raw is raw}
        for raw in (True, False)
    }
    assert places[True] == places[False]
    assert len(places[True]) == 4 * repeats


def test_a_workloads_own_settings_hold_for_the_streams_that_stand_for_it() -> None:
    cell = raw_cell(RAW + SIZED + SIZED.replace("large", "more") + "with = { nr_requests = 8 }\n")
    around = [step.kind.value for step in cell.steps if step.workload == 1]
    own = ["settings", "raw-write", "settings-back", "settings", "raw-read", "settings-back"]
    assert around == ["quiesce", *own]
    assert {write.name for write in cell.writes} == {"nr_requests"}


def test_workloads_of_the_same_threads_share_their_streams() -> None:
    cell = raw_cell(
        RAW + SIZED + SIZED.replace("large", "more") + SIZED.replace("threads = 4", "threads = 2")
    )
    streams = [words_of(argv)["streams"] for argv in argvs(cell, StepKind.RAW_WRITE)]
    assert streams == [1, 4, 2]
