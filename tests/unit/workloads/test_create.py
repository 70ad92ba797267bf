from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.counters import ThreadCounters
from fsconsole.model.workload import DataKind
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads.content import make_pool
from fsconsole.workloads.ops.create import CreateWork, create_files

POOL = make_pool(DataKind.RANDOM, 65536)


@pytest.fixture
def page() -> Iterator[CounterPage]:
    with CounterPage.create(1) as made:
        yield made


@pytest.fixture
def directory_fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """A limit at which the kernel cuts a write short, and refuses the next (man 2 setrlimit, RLIMIT_FSIZE)."""
    limit = 150_000
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, former[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, former)


def work(page: CounterPage, directory_fd: int, names: list[str], size: int, block: int = 65536) -> CreateWork:
    return CreateWork(directory_fd, names, size, block, POOL, page.words, 0)


def counted(page: CounterPage) -> ThreadCounters:
    return page.read()[0]


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 200_000])
def test_files_have_exactly_the_size_asked_for(
    tmp_path: Path, page: CounterPage, directory_fd: int, size: int
) -> None:
    assert create_files(work(page, directory_fd, ["a", "b"], size))
    assert [(tmp_path / name).stat().st_size for name in ("a", "b")] == [size, size]
    counters = counted(page)
    assert (counters.bytes_done, counters.files_done) == (2 * size, 2)
    assert counters.operations == 2 * -(-size // 65536)


def test_content_repeats_neither_within_a_file_nor_between_files(
    tmp_path: Path, page: CounterPage, directory_fd: int
) -> None:
    create_files(work(page, directory_fd, ["a", "b"], 1_000_000, 4096))
    data = (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes()
    blocks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    assert len(set(blocks)) == len(blocks)


def test_a_short_write_is_continued_and_an_error_ends_the_thread(
    tmp_path: Path, page: CounterPage, directory_fd: int, file_size_limit: int
) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as failure:
        create_files(work(page, directory_fd, ["a"], 200_000))
    assert failure.value.errno == errno.EFBIG
    assert (tmp_path / "a").stat().st_size == file_size_limit
    counters = counted(page)
    # The third write was cut short: its bytes count, as an operation it never ended.
    assert (counters.bytes_done, counters.operations, counters.files_done) == (file_size_limit, 2, 0)


@given(st.lists(st.integers(1, 65536), max_size=20), st.integers(1, 300_000))
def test_short_writes_of_any_length_add_up_to_the_file(cuts: list[int], size: int) -> None:
    # No filesystem here cuts writes at will: this stands in for one, between the loop and a real file.
    left, real_write = list(cuts), os.write

    def short_write(fd: int, data: memoryview) -> int:
        return real_write(fd, data[: left.pop()] if left else data)

    fd = os.memfd_create("directory")
    os.close(fd)
    with pytest.MonkeyPatch.context() as patch, CounterPage.create(1) as page:
        patch.setattr(os, "write", short_write)
        patch.setattr(os, "open", lambda *args, **kwargs: os.memfd_create("file"))
        sizes: list[int] = []
        real_close = os.close
        patch.setattr(os, "close", lambda fd: (sizes.append(os.fstat(fd).st_size), real_close(fd)))
        assert create_files(work(page, -1, ["a"], size))
        patch.undo()
        assert sizes == [size]
        assert counted(page).bytes_done == size
        assert counted(page).operations == -(-size // 65536)


def test_a_stop_ends_before_the_next_write(tmp_path: Path, page: CounterPage, directory_fd: int) -> None:
    class StopsAfterOne:
        def __iter__(self) -> Iterator[str]:
            yield "a"
            page.request_stop()
            yield "b"

    wanted = CreateWork(directory_fd, StopsAfterOne(), 1000, 65536, POOL, page.words, 0)
    assert not create_files(wanted)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert counted(page).files_done == 1


def test_a_file_that_is_there_already_is_not_overwritten(
    tmp_path: Path, page: CounterPage, directory_fd: int
) -> None:
    (tmp_path / "a").write_text("precious")
    with pytest.raises(FileExistsError):
        create_files(work(page, directory_fd, ["a"], 1000))
    assert (tmp_path / "a").read_text() == "precious"


def test_a_symbolic_link_is_not_followed(tmp_path: Path, page: CounterPage, directory_fd: int) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="exists"):
        create_files(work(page, directory_fd, ["a"], 1000))
    assert not (tmp_path / "elsewhere").exists()


def test_no_descriptor_is_left_open(tmp_path: Path, page: CounterPage, directory_fd: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    create_files(work(page, directory_fd, ["a", "b", "c"], 100))
    with pytest.raises(FileExistsError):
        create_files(work(page, directory_fd, ["a"], 100))
    assert len(os.listdir("/proc/self/fd")) == before
