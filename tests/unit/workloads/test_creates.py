"""What creates make: sizes, content, syncs, where they stop, and the loop for files of one call each."""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import ThreadCounters
from fsconsole.model.timed import Timed
from fsconsole.model.workload import (
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
from tests.unit.workloads.load import Done, Thread, a_load, done, make_files, thread_of

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


def test_sizes_drawn_by_weight_have_their_shares() -> None:
    load = Workload("w", WorkloadKind.CREATE, 1, 1000, 0, 4096, size_weights=((4096, 3), (65536, 1)), seed=7)
    sizes = [size_of_file(load, number) for number in range(1000)]
    assert set(sizes) == {4096, 65536}
    assert 200 < sizes.count(65536) < 300
    assert (load.mean_file_bytes, load.largest_file_bytes) == ((3 * 4096 + 65536) // 4, 65536)


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
