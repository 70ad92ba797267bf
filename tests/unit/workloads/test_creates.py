"""Creates: the general loop, and the loop for files of one call each, which does the same."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import Timed
from fsconsole.model.workload import DataKind, Directories, End, Layout, Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads import ops
from fsconsole.workloads.content import size_of_file
from fsconsole.workloads.ops import Create, Limits, is_one_call_each
from tests.unit.workloads.load import Thread, a_load, carried_out, make_files, thread_of

KIND = WorkloadKind.CREATE


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """A limit at which the kernel cuts a write short, and refuses the next (man 2 setrlimit, RLIMIT_FSIZE)."""
    limit = 150_000
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, former[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, former)


def create(directory: Path, files: int, size: int, block: int = 65536, **more: object) -> Thread:
    with thread_of(a_load(KIND, files, size, block, **more), directory) as thread:
        carried_out(thread)
        thread.page.read()
        return Thread(_Kept(thread), thread.means, whole=thread.whole)  # type: ignore[arg-type]


class _Kept:
    """What a page held when its load ended."""

    def __init__(self, thread: Thread) -> None:
        self._read, self._operations = thread.page.read(), (Timed.CREATE, Timed.WRITE, Timed.FSYNC)
        regions = thread.page.regions
        self._latencies = thread.page.latencies(self._operations[:regions])

    def read(self) -> object:
        return self._read

    def latencies(self, _operations: object) -> object:
        return self._latencies


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 200_000])
def test_files_have_exactly_the_size_asked_for(tmp_path: Path, size: int) -> None:
    thread = create(tmp_path, 2, size)
    assert thread.whole
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [size, size]
    counters = thread.counters
    assert (counters.bytes_done, counters.files_done, counters.read_bytes) == (2 * size, 2, 0)
    assert counters.operations == 2 * -(-size // 65536) == thread.latencies(Timed.WRITE).count
    assert thread.latencies(Timed.CREATE).count == 2


def test_sizes_of_a_range_are_drawn_the_same_each_time_and_lie_within_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
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
    load = a_load(
        KIND, 1, 512 * smallest, file_size_max_bytes=512 * (smallest + span), seed=seed, direct=True
    )
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


def test_a_short_write_is_continued_and_an_error_ends_the_thread(
    tmp_path: Path, file_size_limit: int
) -> None:
    with thread_of(a_load(KIND, 1, 200_000), tmp_path) as thread:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as failure:
            carried_out(thread)
        counters, written = thread.counters, thread.latencies(Timed.WRITE)
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
            assert Create(thread.means).run(-1, "a", 0)
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
        assert not carried_out(thread).whole
        assert thread.counters.files_done == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_is_there_already_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "f00000000").write_text("precious")
    with pytest.raises(FileExistsError):
        create(tmp_path, 1, 1000)
    assert (tmp_path / "f00000000").read_text() == "precious"


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f00000000").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="exists"):
        create(tmp_path, 1, 1000)
    assert not (tmp_path / "elsewhere").exists()


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    make_files(tmp_path, 3, 100)
    with pytest.raises(FileExistsError):
        make_files(tmp_path, 3, 100)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(("every", "syncs"), [(1, 12), (4, 3), (5, 2), (13, 0)])
def test_an_fsync_comes_after_every_so_many_writes_over_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, syncs: int
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "fsync", asked.append)
    thread = create(tmp_path, 4, 3000, 1000, fsync_every=every)
    assert len(asked) == syncs == thread.latencies(Timed.FSYNC).count


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
    return {
        str(path.relative_to(directory)): path.stat().st_size
        for path in directory.rglob("*")
        if path.is_file()
    }


def done(load: Workload, directory: Path, *, quickly: bool) -> Thread:
    directory.mkdir()
    with thread_of(load, directory) as thread:
        thread.quickly = quickly
        carried_out(thread)
        counters, latencies = (
            thread.counters,
            [thread.latencies(timed) for timed in (Timed.CREATE, Timed.WRITE)],
        )
    assert all(latency.sum_ns > 0 for latency in latencies)
    assert {latency.count for latency in latencies} == {counters.files_done}
    thread.kept = (counters.bytes_done, counters.files_done, counters.operations, thread.whole)  # type: ignore[attr-defined]
    return thread


@pytest.mark.parametrize("name", LOADS)
def test_both_loops_make_the_same_files_and_count_the_same(name: str, tmp_path: Path) -> None:
    load = LOADS[name]
    assert is_one_call_each(load)
    one = done(load, tmp_path / "one", quickly=True)
    other = done(load, tmp_path / "other", quickly=False)
    assert one.kept == other.kept  # type: ignore[attr-defined]
    assert tree(tmp_path / "one") == tree(tmp_path / "other") != {}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": WorkloadKind.APPEND},
        {"file_size_bytes": 0},
        {"file_size_bytes": 4097},
        {"file_size_max_bytes": 5000},
        {"fsync_every": 1},
        {"duration_s": 1.0, "end": End.AT_ONCE},
    ],
)
def test_whatever_needs_a_look_in_between_is_not_done_in_one_call(change: dict[str, object]) -> None:
    load = a_load(KIND, 20, 4096, 4096)
    assert is_one_call_each(load)
    assert not is_one_call_each(replace(load, **change))  # type: ignore[arg-type]


def test_blocks_of_its_files_are_unlike(tmp_path: Path) -> None:
    with thread_of(a_load(KIND, 3000, 4096, 4096), tmp_path) as thread:
        thread.quickly = True
        carried_out(thread)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3000


def test_a_stop_ends_it_before_the_next_file(tmp_path: Path) -> None:
    def names(thread: Thread) -> Iterator[str]:
        yield "first"
        thread.page.request_stop()
        yield "second"

    with thread_of(a_load(KIND, 3, 1000, 1000), tmp_path) as thread:
        assert not ops.make_files(thread.means, thread.own_fd, names(thread), Limits())
        assert thread.counters.files_done == 1
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_limit_ends_it_between_files(tmp_path: Path) -> None:
    with thread_of(a_load(KIND, 9, 1000, 1000), tmp_path) as thread:
        assert ops.make_files(thread.means, thread.own_fd, iter("abcdef"), Limits(budget_bytes=2500))
    assert len(list(tmp_path.iterdir())) == 3


def test_bytes_count_of_a_file_that_could_not_be_finished_but_the_file_does_not(
    tmp_path: Path,
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with thread_of(a_load(KIND, 2, 4096, 4096), tmp_path) as thread:
        thread.quickly = True
        # The kernel cuts a write short there, and refuses the next (man 2 setrlimit).
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
        try:
            with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
                carried_out(thread)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        counters = thread.counters
    assert (counters.bytes_done, counters.files_done, counters.operations) == (3000, 0, 0)
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [3000]
