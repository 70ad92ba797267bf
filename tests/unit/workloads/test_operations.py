"""What each operation does to files, where it stops, and the loop for files of one call each."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import ThreadCounters
from fsconsole.model.thresholds import Comparator, Requirement
from fsconsole.model.timed import Timed
from fsconsole.model.workload import (
    WHOLE_FILE,
    DataKind,
    Directories,
    End,
    Layout,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads import ops
from fsconsole.workloads.content import size_of_file
from fsconsole.workloads.ops import Limits, is_one_call_each
from fsconsole.workloads.tree import RemovalStopped, remove_tree
from tests.unit.workloads.load import Done, Thread, a_load, done, make_files, thread_of

KIB = 1024
LONG_AGO_S = 1e-9
"""A time limit that is over before the first look at the clock."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Four files of 10,000 bytes."""
    directory = tmp_path / "source"
    directory.mkdir()
    make_files(directory, 4, 10_000)
    return directory


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


KIND = WorkloadKind.CREATE


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """A limit at which the kernel cuts a write short, and refuses the next (man 2 setrlimit, RLIMIT_FSIZE)."""
    limit = 150_000
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, former[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, former)


def create(directory: Path, files: int, size: int, block: int = 65536, **more: object) -> Done:
    return done(a_load(KIND, files, size, block, **more), directory)


def test_files_have_exactly_the_size_asked_for(tmp_path: Path) -> None:
    for size in (0, 1, 65535, 65536, 65537, 200_000):
        made = create(tmp_path / str(size), 2, size)
        assert made.whole
        assert [path.stat().st_size for path in (tmp_path / str(size)).iterdir()] == [size, size]
        counters = made.counters
        assert (counters.bytes_done, counters.files_done, counters.read_bytes) == (2 * size, 2, 0)
        assert counters.operations == 2 * -(-size // 65536) == made.latencies[Timed.WRITE].count
        assert made.latencies[Timed.CREATE].count == 2


def test_sizes_of_a_range_are_drawn_the_same_each_time_and_lie_within_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        create(tmp_path / name, 50, 1000, 4096, file_size_max_bytes=9000, seed=7)
    sizes = [sorted(path.stat().st_size for path in (tmp_path / name).iterdir()) for name in ("a", "b")]
    assert sizes[0] == sizes[1]
    assert 1000 <= sizes[0][0] < 2500
    assert 7500 < sizes[0][-1] <= 9000


@given(st.integers(1, 2**40), st.integers(0, 2**40), st.integers(0, 2**63), st.integers(0, 2**30))
def test_a_drawn_size_lies_within_its_range_in_whole_sectors_where_it_has_to(
    smallest: int, span: int, seed: int, number: int
) -> None:
    load = a_load(KIND, 1, 512 * smallest, file_size_max_bytes=512 * (smallest + span), seed=seed, direct=True)
    assert 512 * smallest <= size_of_file(load, number) <= 512 * (smallest + span)
    assert size_of_file(load, number) % 512 == 0
    assert size_of_file(replace(load, direct=False), number) >= 512 * smallest


def test_another_seed_draws_other_sizes() -> None:
    load = a_load(KIND, 1, 1, file_size_max_bytes=2**40)
    drawn = {size_of_file(replace(load, seed=seed), number) for seed in range(30) for number in range(30)}
    assert len(drawn) == 900


def test_content_repeats_neither_within_a_file_nor_between_files(tmp_path: Path) -> None:
    create(tmp_path, 2, 1_000_000, 4096)
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    blocks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    assert len(set(blocks)) == len(blocks)


def test_a_short_write_is_continued_and_an_error_ends_the_thread(tmp_path: Path, file_size_limit: int) -> None:
    with thread_of(a_load(KIND, 1, 200_000), tmp_path) as thread:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as failure:
            thread.done()
        counters, (_, written) = thread.counters, thread.page.latencies((Timed.CREATE, Timed.WRITE))
    assert failure.value.errno == errno.EFBIG
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [file_size_limit]
    # The third write was cut short: its bytes count, as an operation it never ended.
    assert (counters.bytes_done, counters.operations, counters.files_done) == (file_size_limit, 2, 0)
    assert (written.count, written.sum_ns > 0) == (2, True)


@given(st.lists(st.integers(1, 65536), max_size=20), st.integers(1, 300_000), st.booleans())
def test_short_writes_of_any_length_add_up_to_the_file(cuts, size, quickly):
    # No filesystem here cuts writes at will: this stands in for one, between the loop and a real file.
    left, real_write, real_close = list(cuts), os.write, os.close
    sizes: list[int] = []
    with (
        pytest.MonkeyPatch.context() as patch,
        thread_of(a_load(KIND, 1, size, size if quickly else 65536), Path("/proc/self")) as thread,
    ):
        patch.setattr(os, "write", lambda fd, data: real_write(fd, data[: left.pop()] if left else data))
        patch.setattr(os, "open", lambda *args, **kwargs: os.memfd_create("file"))
        patch.setattr(os, "close", lambda fd: (sizes.append(os.fstat(fd).st_size), real_close(fd)))
        if quickly:
            assert ops.make_files(thread.means, -1, ["a"], Limits())
        else:
            assert ops.create(thread.means)(-1, "a", 0)
        patch.undo()
        counters = thread.counters
    assert sizes == [size]
    assert (counters.bytes_done, counters.operations) == (size, 1 if quickly else -(-size // 65536))
    assert counters.files_done == quickly


def test_a_stop_ends_before_the_next_file(tmp_path: Path) -> None:
    with thread_of(a_load(KIND, 3, 1000, 1000), tmp_path) as thread:

        def stops_after_one(page: CounterPage, todo: Iterator[object]) -> Iterator[object]:
            yield next(todo)
            page.request_stop()
            yield from todo

        thread.todo = stops_after_one(thread.page, thread.todo)
        assert not thread.done().whole
        assert thread.counters.files_done == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_there_already_is_neither_overwritten_nor_followed_nor_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    make_files(tmp_path, 3, 100)
    there = tmp_path / "f00000000"
    there.write_text("precious")
    with pytest.raises(FileExistsError):
        create(tmp_path, 1, 1000)
    assert there.read_text() == "precious"
    there.unlink()
    there.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="exists"):
        create(tmp_path, 1, 1000)
    assert not (tmp_path / "elsewhere").exists()
    assert len(os.listdir("/proc/self/fd")) == before


class Synced:
    """Each fsync and fdatasync, with the path and the size of its file; by the clock it takes 3 s, and all else no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, str, int]] = []
        monkeypatch.setattr(time, "monotonic_ns", lambda: 3 * 10**9 * len(self.calls))
        for call in SyncCall:
            monkeypatch.setattr(os, call.value, partial(self._sync, call.value))

    def _sync(self, call: str, fd: int) -> None:
        self.calls.append((call, os.readlink(f"/proc/self/fd/{fd}"), os.fstat(fd).st_size))


EACH_FILE, END = {"sync_at": SyncAt.EACH_FILE}, {"sync_at": SyncAt.END}
# What makes files, or works on four of 10,000 bytes; number and size of each file that is synced.
SYNCED: tuple[tuple[Workload, list[tuple[int, int]]], ...] = (
    (a_load(KIND, 4, 3000, 1000), []),
    (a_load(KIND, 2, 3000, 1000, fsync_every=1), [(n, size) for n in (0, 1) for size in (1000, 2000, 3000)]),
    # Over all files: the one that is written last; what was closed in between never.
    (a_load(KIND, 4, 3000, 1000, fsync_every=4), [(1, 1000), (2, 2000), (3, 3000)]),
    (a_load(KIND, 4, 1000, 1000, fsync_every=2), [(1, 1000), (3, 1000)]),
    (a_load(KIND, 4, 3000, 1000, fsync_every=13), []),
    # Small files, large ones, empty ones, once each, when they are whole.
    (a_load(KIND, 3, 700, 1000, **EACH_FILE), [(n, 700) for n in range(3)]),
    (a_load(KIND, 2, 2500, 1000, **EACH_FILE), [(n, 2500) for n in range(2)]),
    (a_load(KIND, 2, 0, 1000, **EACH_FILE), [(n, 0) for n in range(2)]),
    (a_load(WorkloadKind.APPEND, 0, 2000, 1000, **EACH_FILE), [(n, 12_000) for n in range(4)]),
    (a_load(WorkloadKind.RANDOM_WRITE, 0, 2000, 1000, **EACH_FILE), [(n, 10_000) for n in range(4)]),
    (a_load(WorkloadKind.RANDOM_WRITE, 2, 3000, 1000, fsync_every=4), [(1, 10_000)]),
    # At the end, each once, however often it was written.
    (a_load(KIND, 3, 2500, 1000, **END), [(n, 2500) for n in range(3)]),
    (a_load(KIND, 2, 0, 1000, **END), [(n, 0) for n in range(2)]),
    (a_load(WorkloadKind.APPEND, 8, 1000, 1000, **END), [(n, 12_000) for n in range(4)]),
    (a_load(WorkloadKind.RANDOM_WRITE, 6, 1000, 1000, **END), [(n, 10_000) for n in range(4)]),
    # A limit ends a load before its syncs at the end.
    (a_load(KIND, 0, 2000, 1000, limit_bytes=3000, **END), [(0, 2000), (1, 2000)]),
)


def test_files_are_synced_after_writes_with_each_file_or_at_the_end_and_it_is_in_the_latency(
    tmp_path: Path,
) -> None:
    for index, (load, wanted) in enumerate(SYNCED):
        own, source, call = tmp_path / f"{index}", tmp_path / f"source-{index}", list(SyncCall)[index % 2]
        source.mkdir()
        make_files(source, 4, 10_000)
        with pytest.MonkeyPatch.context() as patch:
            synced = Synced(patch)
            ended = done(replace(load, sync_call=call), own, source, (4,))
        assert ended.whole
        where = own if load.kind is KIND else source
        assert synced.calls == [(call.value, str(where / f"f{n:08d}"), size) for n, size in wanted], load
        slow = {kind: (one.over_2_s, one.sum_ns) for kind, one in ended.latencies.items()}
        syncs = (len(wanted), 3 * 10**9 * len(wanted))
        assert slow.pop(Timed(call.value), (0, 0)) == syncs, load
        # So is the call, or creation, that the sync follows; at the end it follows none.
        all_else = tuple(map(sum, zip(*slow.values(), strict=True)))
        assert all_else == ((0, 0) if load.sync_at is SyncAt.END else syncs), load


def test_a_sync_belongs_to_a_write_whatever_a_mix_does_in_between_and_to_no_read(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = (
        (WorkloadKind.READ, 3),
        (WorkloadKind.RANDOM_READ, 3),
        (WorkloadKind.RANDOM_WRITE, 2),
        (KIND, 2),
    )
    for more, every in (({"fsync_every": 3}, 3), (EACH_FILE, 2), (END, 0)):
        (tmp_path / str(every)).mkdir()
        synced = Synced(monkeypatch)
        load = a_load(WorkloadKind.MIX, 40, 2000, 1000, weights=weights, **more)
        ended = done(load, tmp_path / str(every), source, (4,))
        writes = sum(ended.latencies[kind].count for kind in (Timed.WRITE, Timed.RANDOM_WRITE))
        written = len({name for _, name, _ in synced.calls})
        assert len(synced.calls) == (writes // every if every else written), more


def test_a_mix_that_deletes_what_it_wrote_syncs_the_rest_at_its_end(tmp_path: Path) -> None:
    weights = ((KIND, 3), (WorkloadKind.DELETE, 2))
    ended = done(a_load(WorkloadKind.MIX, 60, 2000, 1000, weights=weights, **END), tmp_path)
    left = len(list(tmp_path.iterdir()))
    assert (ended.whole, ended.latencies[Timed.FSYNC].count) == (True, left)
    assert ended.latencies[Timed.DELETE].count > 0


def test_a_stop_ends_the_syncs_at_the_end_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[CounterPage] = []
    monkeypatch.setattr(os, "fsync", lambda fd: pages[0].request_stop())
    with thread_of(a_load(KIND, 3, 1000, 1000, **END), tmp_path) as thread:
        pages.append(thread.page)
        ended = thread.done()
    assert (ended.whole, ended.latencies[Timed.FSYNC].count) == (False, 1)


def test_files_beyond_the_first_directory_lie_in_the_next(tmp_path: Path) -> None:
    create(tmp_path, 5, 10, 10, directories=Directories(Layout.PER_COUNT, 2))
    assert [len(list(path.iterdir())) for path in sorted(tmp_path.iterdir())] == [2, 2, 1]


LOADS = {
    "small": a_load(KIND, 20, 4096, 4096),
    "less than a block": a_load(KIND, 20, 1000, 4096),
    "zeros": a_load(KIND, 3, 5000, 8192, data=DataKind.ZERO),
    "many directories": a_load(KIND, 20, 4096, 4096, directories=Directories(Layout.PER_COUNT, 3)),
    "one directory each": a_load(KIND, 20, 4096, 4096, directories=Directories(Layout.PER_THREAD)),
    "limited by bytes": a_load(KIND, 0, 4096, 4096, limit_bytes=50_000),
}


def tree(directory: Path) -> dict[str, int]:
    return {str(path.relative_to(directory)): path.stat().st_size for path in directory.rglob("*") if path.is_file()}


def by_loop(load: Workload, directory: Path, *, quickly: bool) -> ThreadCounters:
    with thread_of(load, directory) as thread:
        thread.quickly = quickly
        ended = thread.done()
    latencies = [ended.latencies[timed] for timed in (Timed.CREATE, Timed.WRITE)]
    assert ended.whole
    assert all(latency.sum_ns > 0 for latency in latencies)
    assert {latency.count for latency in latencies} == {ended.counters.files_done}
    return replace(ended.counters, started_ns=0, ended_ns=0)


def test_both_loops_make_the_same_files_and_count_the_same(tmp_path: Path) -> None:
    for name, load in LOADS.items():
        assert is_one_call_each(load), name
        quick, general = tmp_path / f"{name} quickly", tmp_path / name
        assert by_loop(load, quick, quickly=True) == by_loop(load, general, quickly=False), name
        assert tree(quick) == tree(general) != {}, name


def test_whatever_needs_a_look_in_between_is_not_done_in_one_call() -> None:
    load = a_load(KIND, 20, 4096, 4096)
    changes: tuple[dict[str, object], ...] = (
        {"kind": WorkloadKind.APPEND},
        {"file_size_bytes": 0},
        {"file_size_bytes": 4097},
        {"file_size_max_bytes": 5000},
        {"fsync_every": 1},
        EACH_FILE,
        END,
        {"duration_s": 1.0, "end": End.AT_ONCE},
    )
    assert is_one_call_each(load)
    assert [change for change in changes if is_one_call_each(replace(load, **change))] == []  # type: ignore[arg-type]


def test_blocks_of_its_files_are_unlike(tmp_path: Path) -> None:
    with thread_of(a_load(KIND, 3000, 4096, 4096), tmp_path) as thread:
        thread.quickly = True
        thread.done()
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3000


def test_a_stop_or_a_limit_ends_it_between_files(tmp_path: Path) -> None:
    def names(thread: Thread) -> Iterator[str]:
        yield "first"
        thread.page.request_stop()
        yield "second"

    with thread_of(a_load(KIND, 3, 1000, 1000), tmp_path / "stop") as thread:
        assert not ops.make_files(thread.means, thread.ground.own_fd, names(thread), Limits())
        assert thread.counters.files_done == 1
    assert [path.name for path in (tmp_path / "stop").iterdir()] == ["first"]
    with thread_of(a_load(KIND, 9, 1000, 1000), tmp_path / "limit") as thread:
        limits = Limits(budget_bytes=2500)
        assert ops.make_files(thread.means, thread.ground.own_fd, iter("abcdef"), limits)
    assert len(list((tmp_path / "limit").iterdir())) == 3


def test_bytes_count_of_a_file_that_could_not_be_finished_but_the_file_does_not(
    tmp_path: Path, file_size_limit: int
) -> None:
    with thread_of(a_load(KIND, 2, 200_000, 200_000), tmp_path) as thread:
        thread.quickly = True
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            thread.done()
        counters = thread.counters
    assert (counters.bytes_done, counters.files_done, counters.operations) == (file_size_limit, 0, 0)
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [file_size_limit]


AT_ITS_LIMIT = (
    (a_load(WorkloadKind.CREATE, 5, 1000, 4096), Timed.WRITE, 5),
    (a_load(WorkloadKind.CREATE, 2, 10_000, 4096), Timed.WRITE, 6),
    (a_load(WorkloadKind.READ, block=4096), Timed.READ, 12),
    (a_load(WorkloadKind.RANDOM_WRITE, 0, 3000, 1000, sync_at=SyncAt.EACH_FILE), Timed.FSYNC, 4),
    (a_load(WorkloadKind.RANDOM_READ, block=1000), Timed.RANDOM_READ, 40),
    (a_load(WorkloadKind.STAT, 11), Timed.STAT, 11),
    (a_load(WorkloadKind.APPEND, 0, 5000, 4096, fsync_every=2), Timed.FSYNC, 4),
)


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


def test_sizes_drawn_by_weight_have_their_shares() -> None:
    load = Workload("w", WorkloadKind.CREATE, 1, 1000, 0, 4096, size_weights=((4096, 3), (65536, 1)), seed=7)
    sizes = [size_of_file(load, number) for number in range(1000)]
    assert set(sizes) == {4096, 65536}
    assert 200 < sizes.count(65536) < 300
    assert (load.mean_file_bytes, load.largest_file_bytes) == ((3 * 4096 + 65536) // 4, 65536)


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


def test_ftruncate_sets_a_new_file_s_size_before_its_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[str, int]] = []
    truncate, write = os.ftruncate, os.write
    monkeypatch.setattr(os, "ftruncate", lambda fd, size: (called.append(("ftruncate", size)), truncate(fd, size))[1])
    monkeypatch.setattr(os, "write", lambda fd, data: (called.append(("write", len(data))), write(fd, data))[1])
    load = a_load(WorkloadKind.CREATE, 1, 10_000, 4096, ftruncate=True)
    assert not is_one_call_each(replace(load, block_size_bytes=16384))
    done(load, tmp_path / "own")
    # The page of counters is made before.
    assert called[-4:] == [("ftruncate", 10_000), ("write", 4096), ("write", 4096), ("write", 1808)]
