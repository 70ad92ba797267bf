"""Names and content of files, and which files of a create belong to which thread."""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.workload import DataKind, Directories, Layout, Workload, WorkloadKind
from fsconsole.workloads.content import POOL_BYTES, PayloadContent, content_of, own_bytes, walk
from fsconsole.workloads.tree import SourceFiles, directory_name, namer, subdirectories
from tests.lab.soak import tried

layouts = st.one_of(
    st.sampled_from([Directories(), Directories(Layout.PER_THREAD)]),
    st.builds(Directories, st.just(Layout.PER_COUNT), st.integers(1, 50)),
)


@given(layouts, st.integers(1, 20), st.integers(1, 200))
def test_every_file_has_its_own_name_in_a_directory_that_is_made(
    directories: Directories, threads: int, files: int
) -> None:
    names = [namer(directories, threads=threads)(number) for number in range(files)]
    assert len(set(names)) == files
    made = {*subdirectories(directories, threads=threads, files=files), ""}
    assert {os.path.dirname(name) for name in names} <= made


def test_a_directory_has_as_many_files_as_was_asked_for_or_is_a_threads_own() -> None:
    directories = Directories(Layout.PER_COUNT, 10)
    assert len(subdirectories(directories, threads=4, files=31)) == 4
    first = [n for n in range(31) if namer(directories, threads=4)(n).startswith("d000000/")]
    assert first == list(range(10))
    assert namer(Directories(Layout.PER_THREAD), threads=4)(11) == "t0003/f00000011"


@given(st.text())
def test_any_workload_name_makes_a_plain_directory_name(name: str) -> None:
    made = directory_name(name)
    assert made not in {"", ".", ".."}
    assert made.isascii()
    assert "/" not in made
    assert made.isprintable()
    assert directory_name("large files, 64 KiB") == "large-files-64-KiB"


def a_write(data: DataKind = DataKind.RANDOM, block: int = 65536, **more: object) -> Workload:
    return Workload("load", WorkloadKind.CREATE, 4, 4, 2**20, block, data=data, **more)  # type: ignore[arg-type]


def taken(workload: Workload, thread: int, count: int) -> list[bytes]:
    """Return the first pieces that a thread writes."""
    return list(taken_from(content_of(workload), thread, count))


def taken_from(content: PayloadContent, thread: int, count: int, *, skipped: int = 0) -> Iterator[bytes]:
    pieces, block = content.pieces(thread), content.workload.block_size_bytes
    start = pieces.first
    for number in range(count):
        if pieces.stamp is not None:
            pieces.stamp(start, block)
        if number >= skipped:
            yield bytes(pieces.memory[start : start + block])
        start = (start + pieces.stride) & pieces.mask


def pages(pieces: Iterable[bytes]) -> Iterator[bytes]:
    return (piece[at : at + 4096] for piece in pieces for at in range(0, len(piece), 4096))


WRITES = [
    a_write(block=1),
    a_write(block=4097),
    a_write(block=2**20),
    a_write(block=3 * POOL_BYTES + 1),
    a_write(direct=True, block=4096),
    a_write(direct=True, block=2**20),
    a_write(direct=True, block=2**28),
    a_write(DataKind.ZERO),
    a_write(DataKind.COMPRESSIBLE, zero_share=0.5),
]


def test_a_whole_piece_lies_behind_every_place_of_the_pool_and_can_be_stamped() -> None:
    for workload in WRITES:
        content, block = content_of(workload), workload.block_size_bytes
        pieces = content.pieces(3)
        last = max((pieces.first + n * pieces.stride) & pieces.mask for n in range(2000))
        for start in (pieces.first, last, pieces.mask + 1 - content.alignment_bytes):
            assert len(pieces.memory[start : start + block]) == block, workload
            if pieces.stamp is not None:
                before = bytes(pieces.memory[start : start + block])
                pieces.stamp(start, block)
                after = bytes(pieces.memory[start : start + block])
                assert before[8:4096] == after[8:4096], workload
                assert block < 8 or before[:8] != after[:8], workload


def test_random_data_is_random_and_zero_data_is_zero() -> None:
    assert len(set(taken(a_write(), 0, 1)[0])) == 256
    assert not any(b"".join(taken(a_write(DataKind.ZERO), 0, 5)))


def test_no_two_blocks_of_a_filesystem_are_alike_however_much_is_written() -> None:
    # Far more than the pool holds, and than there are stamps.
    amounts = ((4096, 140_000), (65536, 5_000), (3 * 2**20, 100), (4 * 2**20, 100))
    kinds = (DataKind.RANDOM, DataKind.COMPRESSIBLE)
    every = list(product(kinds, amounts, (False, True)))
    for kind, (block, count), direct in tried(every, every[::3]):
        content = content_of(a_write(kind, block, direct=direct, zero_share=0.5))
        # Hashes, not the pages themselves, which are half a GiB.
        found = [hash(page) for page in pages(taken_from(content, 3, count))]
        assert len(set(found)) == len(found) > 70_000 > 3 * POOL_BYTES // 4096, (kind, block, direct)


def test_threads_dont_write_the_same_blocks() -> None:
    for block, direct in product((4096, 4 * 2**20), (False, True)):
        workload = a_write(block=block, direct=direct)
        content, heads = content_of(workload), []
        for thread in range(workload.threads):
            heads += [page[:8] for page in pages(taken_from(content, thread, 16 * 2**20 // block))]
        assert len(set(heads)) == len(heads) == workload.threads * 4096, (block, direct)
    assert len({walk(POOL_BYTES, 64, thread)[0] for thread in range(4096)}) == 4096


def test_large_blocks_of_many_threads_come_from_one_pool_and_are_unlike_within_themselves() -> None:
    workload = a_write(block=128 * 2**20)
    content = content_of(workload)
    pieces = content.pieces(1)
    assert (pieces.stamp, pieces.mask + 1, pieces.memory) == (None, 16 * 2**20, content.shared)
    found = list(pages([bytes(pieces.memory[pieces.first :][: 16 * 2**20])]))
    assert len(set(found)) == len(found)


def test_what_a_compressor_sees_at_once_does_not_shrink() -> None:
    for workload in (a_write(), a_write(block=4096), a_write(direct=True)):
        # btrfs compresses 128 KiB at a time.
        written = b"".join(taken(workload, 0, 64 * 65536 // workload.block_size_bytes))
        for at in range(0, len(written), 128 * 1024):
            assert len(zlib.compress(written[at : at + 128 * 1024])) > 0.99 * 128 * 1024, workload
        assert len(lzma.compress(written[: 2**19], preset=1)) > 0.99 * 2**19, workload


def test_the_stride_visits_every_place_before_it_comes_back() -> None:
    for pool_bytes, alignment in product((4096, 65536, POOL_BYTES), (1, 64, 4096)):
        first, stride = walk(pool_bytes, alignment, 5)
        places = min(pool_bytes // alignment, 70_000)
        assert len({(first + n * stride) & (pool_bytes - 1) for n in range(places)}) == places
        assert (first % alignment, stride % alignment) == (0, 0), (pool_bytes, alignment)


def test_pieces_begin_where_copying_is_cheap_and_direct_ones_on_pages() -> None:
    for workload, alignment in ((a_write(), 64), (a_write(direct=True), 4096)):
        content = content_of(workload)
        for thread in range(50):
            pieces = content.pieces(thread)
            assert (pieces.first % alignment, pieces.stride % alignment) == (0, 0)


@pytest.mark.parametrize("direct", [False, True])
def test_threads_share_no_memory_that_is_stamped(direct: bool) -> None:
    # A stamp under a write that is under way would be in two files at once, or not in a checksum made before.
    content = content_of(a_write(direct=direct, block=4096))
    one, other = (content.pieces(thread) for thread in (0, 1))
    assert one.stamp is not None
    before = bytes(other.memory)
    for start in range(0, len(one.memory) - 4096, 4096):
        one.stamp(start, 4096)
    assert bytes(other.memory) == before


@given(st.integers(1, 4096))
def test_memory_of_direct_threads_is_a_power_of_two_and_bounded(threads: int) -> None:
    size = own_bytes(threads)
    assert size & (size - 1) == 0
    assert 4096 <= size <= POOL_BYTES
    assert size * threads <= max(16 * 2**20, 4096 * threads)


def test_of_compressible_data_every_block_of_any_size_holds_its_share_of_zeros() -> None:
    sizes = (1, 100, 512, 700, 1024, 4096, 6000, 65536, 66236)
    every = list(product((0.25, 0.5, 0.999), sizes, (False, True)))
    for share, block, direct in tried(every, every[::5]):
        case = (share, block, direct)
        workload = a_write(DataKind.COMPRESSIBLE, block=block, zero_share=share, direct=direct)
        # The last of so many that every page of the pool was stamped many times over.
        written = list(taken_from(content_of(workload), 0, 10_000, skipped=9_000))
        assert b"".join(written).count(0) / block / 1000 == pytest.approx(share, abs=0.02), case
        for piece in written[-50:] if block >= 512 else ():
            assert piece.count(0) / block == pytest.approx(share, abs=0.02), case
        # Files that are smaller than a block, too.
        for begin in (piece[:1024] for piece in written[-50:] if block >= 4096 and block % 4096 == 0):
            assert begin.count(0) / 1024 == pytest.approx(share, abs=0.02), case


COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(tuple)


def made(counts: tuple[int, ...]) -> list[int]:
    """Return the numbers of the files that threads have made, by the rule of a create."""
    return [thread + n * len(counts) for thread, count in enumerate(counts) for n in range(count)]


def of(counts: tuple[int, ...]) -> SourceFiles:
    return SourceFiles("files", Directories(), counts)


@given(COUNTS, st.integers(1, 20))
def test_every_file_is_exactly_one_threads_and_with_sharing_no_thread_is_without(
    counts: tuple[int, ...], threads: int
) -> None:
    own = [of(counts).numbers(thread, threads, shared=False) for thread in range(threads)]
    assert sorted(number for numbers in own for number in numbers) == sorted(made(counts))
    for thread in range(threads if any(counts) else 0):
        shared = of(counts).numbers(thread, threads, shared=True)
        assert shared
        assert set(shared) <= set(made(counts))


@given(COUNTS)
def test_as_many_threads_get_back_what_each_made_and_the_next_is_what_it_would_have_made(
    counts: tuple[int, ...],
) -> None:
    for thread, count in enumerate(counts if all(counts) else ()):
        own = [thread + n * len(counts) for n in range(count)]
        assert list(of(counts).numbers(thread, len(counts), shared=True)) == own
    after = [of(counts).number_after(thread) for thread in range(len(counts))]
    assert not set(after) & set(made(counts))
    assert len(set(after)) == len(counts)
