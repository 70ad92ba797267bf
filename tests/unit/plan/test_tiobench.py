"""Threads and sizes that follow a create, as tiobench's do, and the study's plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import End, SyncAt, Workload, WorkloadKind
from fsconsole.plan.expand import build_plan, workload_choices
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import find_config, read_plan
from fsconsole.plan.steps import workload_title
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import VARIANT, build, parse

CREATE = '[[workload]]\nname = "write"\nkind = "create"\n'
FOLLOWERS = '[[workload]]\nkind = "read"\nthreads = "as-create"\n'
HEAD = "schema = 1\n" + VARIANT


def choices_of(text: str) -> list[tuple[Workload, ...]]:
    return list(workload_choices(parse(HEAD + text)))


def test_loads_as_their_create_follow_its_threads_and_make_no_cells_of_their_own() -> None:
    text = CREATE + 'threads = [1, 4]\nfile_size = "1MiB"\n' + FOLLOWERS + '[[workload]]\nkind = "stat"\nthreads = 2\n'
    assert [[load.threads for load in choice] for choice in choices_of(text)] == [[1, 1, 2], [4, 4, 2]]
    assert len(build(HEAD + text).cells) == 2


def test_a_total_is_shared_by_the_files_in_whole_blocks() -> None:
    text = CREATE + 'threads = [1, 3, 4]\ntotal_size = "10MiB"\nblock_size = "64KiB"\n'
    (one,), (three,), (four,) = choices_of(text)
    assert (one.files, one.file_size_bytes) == (1, 10 * MIB)
    assert (three.files, three.file_size_bytes) == (3, 10 * MIB // 3 // 65536 * 65536)
    assert (four.file_size_bytes, four.total_size_bytes) == (MIB * 5 // 2, 0)
    assert "10MiB in files by 1 or 3 or 4 threads" in workload_title(parse(HEAD + text).workloads[0])


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (CREATE + 'threads = "as-create"\nfile_size = "1MiB"\n', "threads", "no create"),
        (CREATE + 'file_size = "1MiB"\n' + FOLLOWERS.replace('"as-create"', '["as-create", 4]'), "threads", "alone"),
        (CREATE + 'threads = "many"\n', "threads", "not a valid value"),
        (CREATE + 'total_size = "1MiB"\nfile_size = "1MiB"\n', "total_size", "sizes its files already"),
        (CREATE + 'total_size = "1MiB"\nthreads = [1, 64]\nblock_size = "64KiB"\n', "total_size", "less than a block"),
        (CREATE + 'file_size = "1MiB"\n' + FOLLOWERS + "ftruncate = true\n", "ftruncate", "makes no files"),
        (CREATE + 'file_size = "1MiB"\n' + FOLLOWERS + 'total_size = "1MiB"\n', "total_size", "makes no files"),
    ],
)
def test_keys_that_contradict_are_refused_by_name(text: str, key: str, words: str) -> None:
    with pytest.raises(PlanBadValue) as caught:
        parse(HEAD + text)
    assert key in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(("name", "block"), [("cao-2005-tiobench", 16384), ("cao-2005-tiobench-as-printed", 16348)])
def test_the_study_of_2005_has_tiobench_s_sizes_counts_and_order(name: str, block: int) -> None:
    choices = workload_choices(read_plan(find_config(name)))
    assert [choice[0].threads for choice in choices] == [1, 2, 4, 8, 16, 32, 64]
    kinds = [WorkloadKind.CREATE, WorkloadKind.RANDOM_WRITE, WorkloadKind.READ, WorkloadKind.RANDOM_READ]
    for loads in choices:
        write, random_write, read, random_read = loads
        threads = write.threads
        assert [load.kind for load in loads] == kinds
        assert {load.threads for load in loads} == {threads}
        assert {load.block_size_bytes for load in loads} == {block}
        # tiotest: blocks of a thread = MiB of a thread / block; files are cut to whole blocks.
        assert write.file_size_bytes == 4 * GIB // threads // block * block
        assert (write.files, write.ftruncate, write.sync_at) == (threads, True, SyncAt.END)
        # tiobench.pl: int(4000 / threads) random calls of each thread.
        for load in (random_write, random_read):
            assert (load.limit_bytes // threads // block, load.end) == (4000 // threads, End.AT_ONCE)
        assert (random_write.sync_at, read.cold, random_read.cold) == (SyncAt.END, True, True)


def test_the_study_keeps_four_times_the_memory_whatever_the_machine_has() -> None:
    plan = read_plan(find_config("cao-2005-tiobench"))
    target = TargetSpec("/dev/loop3", 8 * GIB, is_scratch=True)
    for memory in (512 * MIB, 64 * GIB):
        built = build_plan(plan, (target,), load_catalog(), run_id="r", memory_bytes=memory)
        written = {cell.workloads[0].total_bytes for cell in built.cells}
        assert written == {4 * min(memory, GIB)}
    small = build_plan(plan, (replace(target, size_bytes=2 * GIB),), load_catalog(), run_id="r", memory_bytes=64 * GIB)
    assert all("limit the memory of the loads" in cell.unavailable for cell in small.cells)


def test_the_study_s_closing_question_is_axes_and_what_the_kernel_refuses_is_listed() -> None:
    plan = read_plan(find_config("cao-2005-tiobench"))
    (checklist,) = plan.checklists
    assert dict(checklist.mkfs)["extent"] == ("on", "off")
    assert dict(checklist.mount)["delalloc"] == ("on", "off")
    cells = build(plan.source).cells
    assert {cell.variant.label for cell in cells if "nomballoc" in cell.unavailable} == {"ext4 nomballoc"}
