from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.workload import DataKind, Directories, Layout
from fsconsole.workloads.content import OFFSET_MASK, POOL_BYTES, STRIDE_BYTES, make_pool, places
from fsconsole.workloads.naming import directory_name, file_name, subdirectories

layouts = st.one_of(
    st.sampled_from([Directories(), Directories(Layout.PER_THREAD)]),
    st.builds(Directories, st.just(Layout.PER_COUNT), st.integers(1, 50)),
)


@given(layouts, st.integers(1, 20), st.integers(1, 200))
def test_every_file_has_its_own_name_in_a_directory_that_is_made(
    directories: Directories, threads: int, files: int
) -> None:
    names = [file_name(directories, number, threads=threads) for number in range(files)]
    assert len(set(names)) == files
    made = {*subdirectories(directories, threads=threads, files=files), ""}
    assert {os.path.dirname(name) for name in names} <= made


def test_files_per_directory_is_what_was_asked_for() -> None:
    directories = Directories(Layout.PER_COUNT, 10)
    assert len(subdirectories(directories, threads=4, files=31)) == 4
    first = [n for n in range(31) if file_name(directories, n, threads=4).startswith("d000000/")]
    assert first == list(range(10))


def test_a_thread_writes_into_its_own_directory() -> None:
    directories = Directories(Layout.PER_THREAD)
    assert file_name(directories, 11, threads=4) == "t0003/f00000011"


@given(st.text())
def test_any_workload_name_makes_a_plain_directory_name(name: str) -> None:
    made = directory_name(name)
    assert made not in {"", ".", ".."}
    assert made.isascii()
    assert "/" not in made
    assert made.isprintable()


def test_a_readable_workload_name_stays_readable() -> None:
    assert directory_name("large files, 64 KiB") == "large-files-64-KiB"


@pytest.mark.parametrize("block_bytes", [1, 4096, 3 * POOL_BYTES + 1])
def test_a_piece_may_start_at_every_offset_of_the_pool(block_bytes: int) -> None:
    pool = make_pool(DataKind.RANDOM, block_bytes)
    assert len(pool[OFFSET_MASK : OFFSET_MASK + block_bytes]) == block_bytes


def test_random_data_is_random_and_zero_data_is_zero() -> None:
    assert len(set(make_pool(DataKind.RANDOM, 1)[:65536])) == 256
    assert not any(make_pool(DataKind.ZERO, 1)[:65536])


def test_the_stride_visits_every_offset_and_leaves_the_block_grid() -> None:
    # An odd stride has the full period over a power of two.
    assert POOL_BYTES & (POOL_BYTES - 1) == 0
    assert STRIDE_BYTES % 2 == 1
    assert len({(STRIDE_BYTES * n & OFFSET_MASK) % 4096 for n in range(4096)}) == 4096


def test_threads_begin_at_different_places() -> None:
    assert len({places(thread, direct=False).first for thread in range(4096)}) == 4096


def test_direct_pieces_begin_on_pages_and_come_from_every_page() -> None:
    for thread in range(50):
        place = places(thread, direct=True)
        assert (place.first % 4096, place.stride % 4096) == (0, 0)
    assert len({(place.first + n * place.stride) & OFFSET_MASK for n in range(4096)}) == 4096


@pytest.mark.parametrize("share", [0.25, 0.5, 0.999])
@pytest.mark.parametrize("start", [0, 1, 4095, 5_000_001, POOL_BYTES - 1])
def test_of_compressible_data_every_block_holds_its_share_of_zeros(share: float, start: int) -> None:
    pool = make_pool(DataKind.COMPRESSIBLE, 8192, share)
    zeros = bytes(pool[start : start + 4096]).count(0)
    assert zeros / 4096 == pytest.approx(share, abs=0.005)
