"""What each operation does to files, and where it stops."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fsconsole.model.thresholds import Comparator, Requirement
from fsconsole.model.timed import Timed
from fsconsole.model.workload import (
    WHOLE_FILE,
    DataKind,
    End,
    SyncAt,
    Workload,
    WorkloadKind,
)
from fsconsole.system.files import opened
from fsconsole.workloads.ops import is_one_call_each
from fsconsole.workloads.tree import RemovalStopped, remove_tree
from tests.unit.workloads.load import a_load, done, thread_of

KIB = 1024
LONG_AGO_S = 1e-9
"""A time limit that is over before the first look at the clock."""


def contents(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(directory.iterdir())]


def test_a_read_takes_every_byte_of_every_file_once(source: Path, tmp_path: Path) -> None:
    read = done(a_load(WorkloadKind.READ, block=4096), tmp_path, source, (4,))
    counters = read.counters
    assert read.whole
    assert (counters.bytes_done, counters.read_bytes, counters.files_done) == (40_000, 40_000, 4)
    assert counters.operations == 4 * 3 == read.latencies[Timed.READ].count


AMOUNTS = (
    # The beginning of each file alone.
    (a_load(WorkloadKind.READ, 0, 5000, 4096), {"read_bytes": 4 * 5000}),
    # Files are gone through again where a number of them asks for it.
    (a_load(WorkloadKind.STAT, 11), {"files_done": 11, "operations": 11}),
    (a_load(WorkloadKind.STAT, 3), {"files_done": 3}),
    # As many blocks as a file holds; one that is smaller than a block is read whole.
    (a_load(WorkloadKind.RANDOM_READ, block=1000), {"operations": 40, "read_bytes": 40_000}),
    (a_load(WorkloadKind.RANDOM_READ, block=65536), {"read_bytes": 40_000}),
    # A limit by bytes ends between whole random blocks.
    (
        a_load(WorkloadKind.RANDOM_READ, 0, 0, 1000, limit_bytes=25_500, end=End.AT_ONCE),
        {"bytes_done": 25_000},
    ),
)


def test_a_load_does_as_much_as_it_says(source: Path, tmp_path: Path) -> None:
    for load, figures in AMOUNTS:
        ended = done(load, tmp_path, source, (4,))
        assert ended.whole
        assert {name: getattr(ended.counters, name) for name in figures} == figures, load
        if load.kind is WorkloadKind.STAT:
            assert ended.latencies[Timed.STAT].count == load.files


def test_an_append_makes_each_file_longer_and_leaves_what_was_there(source: Path, tmp_path: Path) -> None:
    before = contents(source)
    appended = done(a_load(WorkloadKind.APPEND, 0, 5000, 4096), tmp_path, source, (4,))
    assert appended.counters.bytes_done == 20_000
    after = contents(source)
    assert [len(data) for data in after] == [15_000] * 4
    assert [data[:10_000] for data in after] == before


def test_a_random_write_changes_whole_blocks_within_the_file(source: Path, tmp_path: Path) -> None:
    befores = contents(source)
    written = done(a_load(WorkloadKind.RANDOM_WRITE, 0, 3000, 1000), tmp_path, source, (4,))
    assert written.counters.bytes_done == 12_000
    for before, after in zip(befores, contents(source), strict=True):
        assert len(after) == 10_000
        changed = [at for at in range(0, 10_000, 1000) if before[at : at + 1000] != after[at : at + 1000]]
        assert 1 <= len(changed) <= 3


def test_random_places_are_the_same_for_a_seed_and_others_for_another(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets: list[int] = []
    real = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, to, at: (offsets.append(at), real(fd, to, at))[1])
    for seed in (1, 1, 2):
        done(a_load(WorkloadKind.RANDOM_READ, block=100, seed=seed), tmp_path, source, (4,))
    first, again, other = offsets[:400], offsets[400:800], offsets[800:]
    assert first == again != other
    assert {at % 100 for at in offsets} == {0}
    assert set(first[:100]) < set(range(0, 10_000, 100))


def test_a_delete_removes_each_file_once_however_many_are_asked_for(source: Path, tmp_path: Path) -> None:
    deleted = done(a_load(WorkloadKind.DELETE, 99), tmp_path, source, (4,))
    assert (deleted.whole, deleted.counters.files_done) == (True, 4)
    assert list(source.iterdir()) == []


def test_an_operation_on_a_file_that_is_gone_is_an_error(source: Path, tmp_path: Path) -> None:
    (source / "f00000002").unlink()
    for kind in (WorkloadKind.READ, WorkloadKind.STAT, WorkloadKind.APPEND, WorkloadKind.DELETE):
        with thread_of(a_load(kind, 0, 10, 10), tmp_path, source, (4,)) as thread:
            with pytest.raises(FileNotFoundError):
                thread.done()
            # A delete has removed the first two by then.
            assert thread.counters.files_done == 2


def mix(*weights: tuple[WorkloadKind, int], files: int = 0, **more: object) -> Workload:
    return a_load(WorkloadKind.MIX, files, 2000, 1000, weights=weights, **more)


def test_a_mix_draws_whole_operations_by_their_weights(source: Path, tmp_path: Path) -> None:
    load = mix((WorkloadKind.READ, 3), (WorkloadKind.RANDOM_WRITE, 1), files=2000)
    with thread_of(load, tmp_path, source, (4,)) as thread:
        drawn = Counter(operation for operation, *_ in thread.todo).most_common()
    assert sum(times for _, times in drawn) == 2000
    assert drawn[0][1] == pytest.approx(1500, abs=100)


def test_a_mix_works_on_what_it_made_and_forgets_what_it_removed(tmp_path: Path) -> None:
    load = mix((WorkloadKind.CREATE, 3), (WorkloadKind.DELETE, 2), (WorkloadKind.READ, 2), files=500)
    mixed = done(load, tmp_path)
    counters = mixed.counters
    made, removed, read = (mixed.latencies[Timed(word)].count for word in ("create", "delete", "read"))
    assert mixed.whole
    assert counters.files_done == 500
    assert made + removed + read / 2 == 500
    assert len(list(tmp_path.iterdir())) == made - removed > 0
    assert counters.read_bytes == read * 1000
    assert counters.bytes_done == counters.read_bytes + made * 2000


def test_a_mix_that_has_removed_its_last_file_and_makes_none_ends(source: Path, tmp_path: Path) -> None:
    load = mix((WorkloadKind.STAT, 1), (WorkloadKind.DELETE, 1), duration_s=3600.0)
    assert done(load, tmp_path, source, (4,)).whole
    assert list(source.iterdir()) == []


def test_a_limit_lets_the_file_at_hand_be_finished_and_none_begin(tmp_path: Path) -> None:
    made = done(a_load(WorkloadKind.CREATE, 0, 10_000, 1000, limit_bytes=25_000), tmp_path / "bytes")
    assert (made.whole, made.counters.bytes_done, made.counters.files_done) == (True, 30_000, 3)
    made = done(a_load(WorkloadKind.CREATE, 0, 10_000, 1000, duration_s=LONG_AGO_S), tmp_path / "time")
    assert (made.whole, made.counters.operations) == (True, 0)
    assert list((tmp_path / "time").iterdir()) == []


def test_a_limit_at_once_ends_in_the_middle_of_a_file(source: Path, tmp_path: Path) -> None:
    for kind in (WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.READ, WorkloadKind.RANDOM_WRITE):
        if kind is not WorkloadKind.RANDOM_WRITE:
            load = a_load(kind, 0, 10_000, 1000, limit_bytes=25_500, end=End.AT_ONCE)
            cut = done(load, tmp_path / kind.value, source, (4,))
            counted = (cut.whole, cut.counters.bytes_done, cut.counters.files_done)
            assert counted == (True, 25_500, 2), kind
        # A deadline ends after the call at hand and not before.
        with thread_of(a_load(kind, 1, 10_000, 1000), tmp_path / f"{kind.value}-1", source, (4,)) as thread:
            thread.means.deadline_ns = 0
            cut = thread.done()
        assert (cut.whole, cut.counters.operations, cut.counters.files_done) == (True, 1, 0), kind


def test_direct_io_works_where_the_filesystem_has_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    load = a_load(WorkloadKind.CREATE, 2, 64 * KIB, 4 * KIB, direct=True, data=DataKind.COMPRESSIBLE, zero_share=0.5)
    try:
        done(load, source)
    except OSError as refused:
        pytest.skip(f"no O_DIRECT on {tmp_path}: {refused.strerror}")
    for kind in (WorkloadKind.READ, WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE, WorkloadKind.APPEND):
        moved = done(a_load(kind, 0, 16 * KIB, 4 * KIB, direct=True), tmp_path, source, (2,))
        assert moved.counters.bytes_done == 32 * KIB


def test_a_tree_is_removed_with_all_that_is_in_it_and_nothing_else(tmp_path: Path) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    kept.mkdir()
    (kept / "precious").write_text("x")
    (tree / "a" / "b" / "file").write_text("x")
    (tree / "link").symlink_to(kept)
    parent = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="another filesystem"):
            remove_tree("tree", parent, -1, lambda: False)
        with pytest.raises(RemovalStopped):
            remove_tree("tree", parent, tmp_path.stat().st_dev, lambda: True)
        remove_tree("tree", parent, tmp_path.stat().st_dev, lambda: False)
    finally:
        os.close(parent)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "precious").exists()


AT_ITS_LIMIT = (
    (a_load(WorkloadKind.CREATE, 5, 1000, 4096), Timed.WRITE, 5),
    (a_load(WorkloadKind.CREATE, 2, 10_000, 4096), Timed.WRITE, 6),
    (a_load(WorkloadKind.READ, block=4096), Timed.READ, 12),
    (a_load(WorkloadKind.RANDOM_WRITE, 0, 3000, 1000, sync_at=SyncAt.EACH_FILE), Timed.FSYNC, 4),
    (a_load(WorkloadKind.RANDOM_READ, block=1000), Timed.RANDOM_READ, 40),
    (a_load(WorkloadKind.STAT, 11), Timed.STAT, 11),
    (a_load(WorkloadKind.APPEND, 0, 5000, 4096, fsync_every=2), Timed.FSYNC, 4),
)


def test_remove_tree_removes_deeper_than_python_recurses(tmp_path: Path) -> None:
    for name in ("kept", "tree"):
        (tmp_path / name).mkdir()
    (tmp_path / "kept" / "precious").write_text("x")
    with opened(str(tmp_path), os.O_RDONLY) as parent:
        fd = os.open("tree", os.O_RDONLY, dir_fd=parent)
        for _ in range(3000):
            os.mkdir("d", dir_fd=fd)
            inner = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = inner
        os.symlink(str(tmp_path / "kept"), "link", dir_fd=fd)
        os.close(fd)
        with pytest.raises(RemovalStopped):
            remove_tree("tree", parent, tmp_path.stat().st_dev, iter([*[False] * 500, True]).__next__)
        remove_tree("tree", parent, tmp_path.stat().st_dev, lambda: False)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "precious").exists()


def test_operations_at_a_limit_of_the_plan_are_counted_exactly(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every look at the clock comes 10,000,000 ns after the one before: so long does each operation take.
    step_ns = 10_000_000
    monkeypatch.setattr("time.monotonic_ns", partial(next, itertools.count(0, step_ns)))
    for planned, timed, count in AT_ITS_LIMIT:
        of = "fsync" if timed is Timed.FSYNC else "latency"
        limits = {f"{of}_p50": step_ns - 1, f"{of}_p95": step_ns, f"{of}_p99": step_ns + 1}
        require = tuple(
            Requirement(name, Comparator.AT_MOST, edge_ns / 1e6, f"{edge_ns}ns") for name, edge_ns in limits.items()
        )
        (tmp_path / timed.value).mkdir(exist_ok=True)
        load = replace(planned, require=require)
        with thread_of(load, tmp_path / timed.value / str(count), source, (4,)) as thread:
            thread.quickly = is_one_call_each(load)
            ended = thread.done()
        assert ended.latencies[timed].count == count, load
        assert [(one.edge_ns, one.count) for one in ended.latencies[timed].beyond] == [
            (step_ns - 1, count),
            (step_ns, 0),
            (step_ns + 1, 0),
        ], load


def test_operations_of_a_mix_on_files_that_are_there_have_a_size_of_their_own(source: Path, tmp_path: Path) -> None:
    weights = ((WorkloadKind.APPEND, 1),)
    mix = a_load(WorkloadKind.MIX, 8, 5000, 4096, weights=weights, operation_bytes=100, picks_all=True)
    assert done(mix, tmp_path / "own", source, (4,)).counters.bytes_done == 800
    weights = ((WorkloadKind.READ, 1),)
    mix = a_load(WorkloadKind.MIX, 3, 100, 4096, weights=weights, operation_bytes=WHOLE_FILE)
    read = done(mix, tmp_path / "own", source, (4,)).counters.read_bytes
    assert read >= 3 * 10_000


def test_a_mix_that_picks_all_draws_from_the_files_of_every_thread(source: Path, tmp_path: Path) -> None:
    for picks_all, expected in ((True, {0, 1, 2, 3}), (False, {0, 2})):
        mix = replace(
            a_load(WorkloadKind.MIX, 200, block=4096, weights=((WorkloadKind.STAT, 1),)), threads=2, picks_all=picks_all
        )
        with thread_of(mix, tmp_path / "own", source, (2, 2)) as thread:
            assert {number for _, _, _, number in thread.todo} == expected
