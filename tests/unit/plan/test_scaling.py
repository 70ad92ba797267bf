"""What scaling keeps: file sizes, number of files, fill, data to memory; what can't be kept is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import NoCellRuns, PlanBadValue
from fsconsole.model.plan import Keep, Plan, Scaling
from fsconsole.model.wire import decode, encode
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan, require_runnable
from fsconsole.plan.planfile import TargetSpec, written_bytes
from fsconsole.plan.read import parse_plan
from fsconsole.text import GIB, KIB, MIB, TIB

HEAD = "schema = 1\nrepeats = 1\norder = 'as-listed'\nscale = 'fit'\n"
VARIANT = "[[variant]]\ntype = 'ext4'\n"
WRITERS = """
[[workload]]
name = "large"
kind = "create"
threads = [1, 2, 48, 192]
file_size = "1GiB"
block_size = "64KiB"
[[workload]]
kind = "read"
cold = true
"""
MILLION = """
[[workload]]
name = "many"
kind = "create"
threads = 4
files = 1000000
file_size = "1MiB"
block_size = "128KiB"
directories = 1000
[[workload]]
kind = "random-read"
block_size = "64KiB"
files = 1000
[[workload]]
kind = "delete"
"""


def planned(text: str, size_bytes: int, memory_bytes: int = 0, *, tree: int = 0, head: str = HEAD) -> Plan:
    """Return a plan on one device; a copy finds a tree of so many bytes."""
    plan_file = parse_plan(head + text, "p.toml")
    assert parse_plan(plan_to_toml(plan_file), "again.toml") == plan_file
    loads = [replace(load, sources_bytes=tree) if load.sources else load for load in plan_file.workloads]
    target = TargetSpec("/dev/loop3", size_bytes, is_scratch=True)
    plan = build_plan(
        replace(plan_file, workloads=tuple(loads)), (target,), load_catalog(), run_id="r", memory_bytes=memory_bytes
    )
    assert decode(Plan, encode(plan)) == plan
    return plan


def test_file_sizes_stay_and_threads_shrink_in_their_ratio_and_equal_counts_are_one() -> None:
    plan = planned("keep = 'file-size'\n" + VARIANT + WRITERS, 16 * GIB)
    loads = [cell.workloads[0] for cell in plan.cells]
    assert [(load.threads, load.files, load.file_size_bytes) for load in loads] == [
        (1, 1, GIB),
        (2, 2, GIB),
        (9, 9, GIB),
    ]
    assert all(cell.workloads[1].source == 0 and not cell.unavailable for cell in plan.cells)
    assert plan.notes == (
        "loads scaled by 0.0417 to 1.00 (192.0 GiB -> 9.0 GiB a cell): fewer files, and threads where each has one; file sizes as written",
        "threads: 2 -> 1, 48 -> 2, 192 -> 9; 4 choices of threads became 3",
    )
    threads = ((2, 1), (48, 2), (192, 9))
    assert plan.scaling == Scaling(Keep.FILE_SIZE, 2 / 48, 1.0, is_scaled=True, threads=threads)


def test_files_beyond_one_for_each_thread_get_fewer_before_threads_do() -> None:
    load = '[[workload]]\nkind = "create"\nthreads = 8\nfiles = 4096\nfile_size = "4MiB"\n[[workload]]\nkind = "stat"\nthreads = 8\n'
    for size, files, threads in ((8 * GIB, 1209, 8), (64 * MIB, 9, 8), (40 * MIB, 5, 5)):
        made, stat = planned("keep = 'file-size'\n" + VARIANT + load, size).cells[0].workloads
        assert (made.files, made.threads, stat.threads, stat.files) == (files, threads, threads, 0)


def test_where_not_even_one_file_of_that_size_fits_the_cell_cannot_run_and_says_why() -> None:
    plan = planned("raw = true\nkeep = 'file-size'\n" + VARIANT + WRITERS, GIB)
    why = {cell.variant.filesystem: cell.unavailable for cell in plan.cells}
    assert why["raw"] == ""
    assert 'keep = "file-size": even with one file the loads write 1.0 GiB, more than 60 %' in why["ext4"]


def test_the_number_of_files_stays_while_they_get_smaller_than_a_block() -> None:
    plan = planned("keep = 'files'\n" + VARIANT + MILLION, 16 * GIB)
    many, reads, delete = plan.cells[0].workloads
    assert (many.files, many.threads, many.file_size_bytes) == (1_000_000, 4, 8 * KIB)
    assert many.block_size_bytes == reads.block_size_bytes == 8 * KIB
    assert (reads.files, delete.source, plan.cells[0].unavailable) == (1000, 0, "")
    assert plan.notes[0].startswith("loads scaled by 0.00781 (976.6 GiB -> 7.6 GiB a cell): smaller files, as many")
    small = planned("keep = 'files'\n" + VARIANT + MILLION, 4 * GIB)
    assert 'keep = "files": even with files of 4 KiB the loads write 3.8 GiB' in small.cells[0].unavailable


def test_the_share_of_the_device_stays_while_files_get_fewer_or_more() -> None:
    text = "keep = 'fill'\npublished = { device = '4TiB' }\n" + VARIANT + MILLION
    for size in (400 * MIB, 4 * GIB, 8 * TIB):
        plan = planned(text, size)
        many = plan.cells[0].workloads[0]
        assert many.file_size_bytes == MIB
        assert many.total_bytes / size == pytest.approx(1_000_000 * MIB / (4 * TIB), rel=0.02)
        assert "the share of the device, as written (24 %)" in plan.notes[0]
        assert plan.cells[0].unavailable == ""
    # A quarter of 8 MiB would be 1.9 files.
    assert "instead of 1.9 MiB" in planned(text, 8 * MIB).cells[0].unavailable


def test_the_ratio_of_data_to_memory_stays_for_the_machine_or_for_the_memory_that_the_plan_sets() -> None:
    load = '[[workload]]\nkind = "create"\nthreads = [1, 4]\nfile_size = "1GiB"\nfiles = 4\nblock_size = "16KiB"\n'
    text = "keep = 'data-to-ram'\npublished = { memory = '1GiB' }\n" + VARIANT + load
    for memory in (512 * MIB, 4 * GIB):
        plan = planned(text, 64 * GIB, memory)
        assert {written_bytes(cell.workloads) for cell in plan.cells} == {4 * memory}
        assert [cell.workloads[0].threads for cell in plan.cells] == [1, 4]
        assert "the ratio of data to memory as written (4.00)" in plan.notes[0]
    (why,) = {cell.unavailable for cell in planned(text, 8 * GIB, 4 * GIB).cells}
    assert "the data of 4.00 x memory is 16.0 GiB, more than 60 %" in why
    assert "limit the memory of the loads ([settings] memory)" in why
    # Where the size of the machine's memory isn't known nothing is scaled.
    assert planned(text, 64 * GIB).cells[0].workloads[0].file_size_bytes == GIB


def test_a_ratio_that_no_file_can_have_makes_the_cell_unavailable() -> None:
    load = '[[workload]]\nkind = "create"\nthreads = 2\nfile_size = "64TiB"\n'
    for keep, what in (("data-to-ram", "memory"), ("fill", "device")):
        plan = planned(f"keep = '{keep}'\npublished = {{ {what} = 1 }}\n" + VARIANT + load, 8 * GIB, 8 * GIB)
        assert all("instead of" in cell.unavailable for cell in plan.cells)


def test_threads_are_kept_unless_said_and_what_is_not_scaled_has_no_note() -> None:
    plan = planned(VARIANT + WRITERS, 8 * GIB)
    assert [cell.workloads[0].threads for cell in plan.cells] == [1, 2, 48, 192]
    assert "smaller files; their number, threads and blocks as written" in plan.notes[0]
    whole = planned(VARIANT + WRITERS, TIB)
    assert (whole.notes, whole.scaling, whole.is_scaled) == ((), Scaling(), False)


def test_what_a_pilot_sizes_does_not_count_as_scaled() -> None:
    plan = planned(VARIANT + '[[workload]]\nkind = "create"\nthreads = 2\nsize = "auto"\n', GIB)
    assert (plan.notes, plan.is_scaled) == ((), False)


def test_runs_of_before_tell_by_their_note_whether_they_were_scaled() -> None:
    plan = planned(VARIANT + WRITERS, TIB)
    old = "file sizes were scaled down; the cells show them as they will be"
    assert [replace(plan, scaling=None, notes=notes).is_scaled for notes in ((), ("other",), (old,))] == [
        False,
        False,
        True,
    ]


def test_keys_that_contradict_each_other_are_refused_with_what_is_wanted() -> None:
    for said, words in [
        ("keep = 'files'\nscale = 'none'", "nothing is scaled"),
        ("keep = 'fill'", "needs the size of the printed device"),
        ("keep = 'data-to-ram'", "needs the printed memory"),
        ("keep = 'fill'\nscale = 0.5\npublished = { device = '1TB' }", "computes the factor itself"),
        ("published = { memory = '1GiB' }", "nothing is computed from it"),
        ("keep = 'fill'\npublished = { device = '1TB', memory = '1GiB' }", "nothing is computed from it"),
        ("keep = 'fill'\npublished = { disk = '1TB' }", "disk"),
        ("keep = 'sizes'", "not a valid value"),
    ]:
        head = HEAD.replace("scale = 'fit'\n", "") if "scale" in said else HEAD
        with pytest.raises(Exception, match=words) as caught:
            parse_plan(head + said + "\n" + VARIANT + WRITERS, "p.toml")
        assert isinstance(caught.value, PlanBadValue) or "unknown" in str(caught.value)


COPY = '[[workload]]\nname = "cp"\nkind = "copy"\nsources = ["/usr"]\nat_most = "2GB"\n'


def test_of_a_copys_sources_as_many_files_are_taken_as_fit_and_the_plan_says_so() -> None:
    # Counted, or not yet; sources may have less than at_most.
    for counted, found in ((0, 2 * 10**9), (1_990_000_000, 1_990_000_000)):
        plan = planned(VARIANT + COPY, 400 * MIB, tree=counted)
        (load,) = plan.cells[0].workloads
        assert (plan.cells[0].unavailable, plan.is_scaled, load.sources_bytes) == ("", True, 0)
        assert load.at_most_bytes / (400 * MIB) == pytest.approx(0.6, rel=0.1)
        assert plan.scaling.least == pytest.approx(load.at_most_bytes / found)
        (note,) = [note for note in plan.notes if note.startswith("loads scaled by")]
        assert note.endswith("a cell): fewer files of the copy's sources, the first in sorted order")
        assert not planned(VARIANT + COPY, 8 * GIB, tree=counted).is_scaled


def test_a_copy_of_all_or_of_an_unscaled_plan_that_does_not_fit_says_both_sizes_and_what_to_do() -> None:
    whole = COPY.replace('at_most = "2GB"\n', "")
    for text, head, what in (
        (whole, HEAD, "use at_most for the copy, or a larger device"),
        (COPY, HEAD.replace("'fit'", "'none'"), 'use scale = "fit", or a smaller at_most for the copy'),
    ):
        # 2 GiB have no room for 1.9 GiB of small files beside a journal.
        for size in (400 * MIB, 2 * GIB):
            plan = planned(VARIANT + text, size, tree=1_990_000_000, head=head)
            (why,) = {cell.unavailable for cell in plan.cells}
            assert "the workloads write 1.9 GiB, /dev/loop3 has " in why
            assert "of which a copy may take" in why
            assert why.endswith(what)
            assert not plan.is_scaled
            with pytest.raises(NoCellRuns):
                require_runnable(plan, "p.toml")
        assert {cell.unavailable for cell in planned(VARIANT + text, 4 * GIB, tree=1_990_000_000, head=head).cells} == {
            ""
        }


@given(
    st.sampled_from([Keep.THREADS, Keep.FILE_SIZE, Keep.FILES]),
    st.lists(st.integers(1, 300), min_size=1, max_size=4, unique=True),
    st.integers(1, 10_000),
    st.integers(MIB, 64 * GIB),
)
def test_what_can_run_fits_and_keeps_what_it_should(keep: Keep, threads: list[int], size: int, device: int) -> None:
    load = f'[[workload]]\nkind = "create"\nthreads = {threads}\nfile_size = "{4 * size}KiB"\nblock_size = "4KiB"\n'
    plan = planned(f"keep = '{keep.value}'\n" + VARIANT + load, device)
    for cell in plan.cells:
        (load_,) = cell.workloads
        assert 0 < load_.block_size_bytes <= load_.file_size_bytes <= 4 * size * KIB
        assert load_.files == load_.threads
        if keep is Keep.FILE_SIZE:
            assert load_.file_size_bytes == 4 * size * KIB
        else:
            assert load_.threads in threads
        if not cell.unavailable and keep is not Keep.THREADS:
            assert load_.total_bytes <= 0.6 * device
