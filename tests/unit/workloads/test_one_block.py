"""The loop for files of one call each does what the general loop does."""

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
from fsconsole.workloads import ops
from fsconsole.workloads.ops import Limits, is_one_call_each
from tests.unit.workloads.load import Thread, a_load, carried_out, thread_of

CREATE = WorkloadKind.CREATE
LOADS = {
    "small": a_load(CREATE, 20, 4096, 4096),
    "less than a block": a_load(CREATE, 20, 1000, 4096),
    "zeros": a_load(CREATE, 3, 5000, 8192, data=DataKind.ZERO),
    "many directories": a_load(CREATE, 20, 4096, 4096, directories=Directories(Layout.PER_COUNT, 3)),
    "one directory each": a_load(CREATE, 20, 4096, 4096, directories=Directories(Layout.PER_THREAD)),
    "limited by bytes": a_load(CREATE, 0, 4096, 4096, limit_bytes=50_000),
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
    load = a_load(CREATE, 20, 4096, 4096)
    assert is_one_call_each(load)
    assert not is_one_call_each(replace(load, **change))  # type: ignore[arg-type]


def test_blocks_of_its_files_are_unlike(tmp_path: Path) -> None:
    with thread_of(a_load(CREATE, 3000, 4096, 4096), tmp_path) as thread:
        thread.quickly = True
        carried_out(thread)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3000


def test_a_stop_ends_it_before_the_next_file(tmp_path: Path) -> None:
    def names(thread: Thread) -> Iterator[str]:
        yield "first"
        thread.page.request_stop()
        yield "second"

    with thread_of(a_load(CREATE, 3, 1000, 1000), tmp_path) as thread:
        assert not ops.make_files(thread.means, thread.own_fd, names(thread), Limits())
        assert thread.counters.files_done == 1
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_limit_ends_it_between_files(tmp_path: Path) -> None:
    with thread_of(a_load(CREATE, 9, 1000, 1000), tmp_path) as thread:
        assert ops.make_files(thread.means, thread.own_fd, iter("abcdef"), Limits(budget_bytes=2500))
    assert len(list(tmp_path.iterdir())) == 3


def test_bytes_count_of_a_file_that_could_not_be_finished_but_the_file_does_not(
    tmp_path: Path,
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with thread_of(a_load(CREATE, 2, 4096, 4096), tmp_path) as thread:
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


@given(st.lists(st.integers(1, 4096), max_size=20), st.integers(1, 4096))
def test_short_writes_of_any_length_add_up_to_the_file(cuts: list[int], size: int) -> None:
    # No filesystem here cuts writes at will: this stands in for one, between the loop and a real file.
    left, real_write, real_close = list(cuts), os.write, os.close
    sizes: list[int] = []
    with (
        pytest.MonkeyPatch.context() as patch,
        thread_of(a_load(CREATE, 1, size, 4096), Path("/proc/self")) as thread,
    ):
        patch.setattr(os, "write", lambda fd, data: real_write(fd, data[: left.pop()] if left else data))
        patch.setattr(os, "open", lambda *args, **kwargs: os.memfd_create("file"))
        patch.setattr(os, "close", lambda fd: (sizes.append(os.fstat(fd).st_size), real_close(fd)))
        assert ops.make_files(thread.means, -1, ["a"], Limits())
        patch.undo()
        counters = thread.counters
    assert sizes == [size]
    assert (counters.bytes_done, counters.operations, counters.files_done) == (size, 1, 1)
