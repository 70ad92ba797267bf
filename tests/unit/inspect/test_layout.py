"""What is kept of the places of files: exact extents, or regions beyond a limit, within what a journal may grow by."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect.extents import layout_of
from fsconsole.inspect.layout import MOST_EXTENTS, MOST_SAMPLED, LayoutRecorder
from fsconsole.model.layout import FREE, OTHERS, Layout
from fsconsole.model.wire import encode
from fsconsole.system.block import ExtentFlag, RawExtent

KIB, MIB, TIB = 2**10, 2**20, 2**40
JOURNAL_BYTES = 200_000
"""By which a cell's journal may grow."""

Placed = tuple[int, int, int]
"""Offset in the file, place on the device, and length."""


def recorded(files: list[list[Placed]], recorder: LayoutRecorder) -> Layout:
    for number, placed in enumerate(files):
        extents = [RawExtent(logical, physical, length, 0) for logical, physical, length in placed]
        recorder.add(f"f{number:08d}", 100 + number, extents, layout_of(extents))
    return recorder.layout()


def test_exact_extents_are_kept_by_rising_address_with_contiguous_pieces_as_one() -> None:
    files = [[(0, 8 * MIB, MIB), (MIB, 9 * MIB, MIB), (2 * MIB, 64 * KIB, 4 * KIB)], [(0, 10 * MIB, MIB)], []]
    layout = recorded(files, LayoutRecorder(64 * MIB, 4 * KIB))
    wanted = [(64 * KIB, 68 * KIB, 0), (8 * MIB, 10 * MIB, 0), (10 * MIB, 11 * MIB, 1)]
    assert list(layout.spans()) == wanted
    assert (layout.files, layout.extent_count, layout.names) == (3, 3, ("f00000000", "f00000001", "f00000002"))
    assert (layout.regions, layout.end_bytes) == ((), 64 * MIB)


def test_what_lies_in_the_inode_has_no_place_on_the_map() -> None:
    recorder = LayoutRecorder(64 * MIB, 4 * KIB)
    inline = [RawExtent(0, 0, 100, int(ExtentFlag.INLINE))]
    recorder.add("tiny", 12, inline, layout_of(inline))
    assert (recorder.layout().extent_count, recorder.layout().files) == (0, 1)


def test_sizes_over_file_offset_are_those_that_chinner_printed() -> None:
    """32, 32, 64, 128, 256 and 420 MB of one 1 GB file: in 512-byte blocks, as xfs_bmap printed them."""
    ranges = ((0, 65535), (65536, 131071), (131072, 262143), (262144, 524287), (524288, 1048575), (1048576, 1877407))
    blocks = (546520, 1906392, 5445336, 14948056, 34084568, 68163288)
    file = [(low * 512, at * 512, (high + 1 - low) * 512) for (low, high), at in zip(ranges, blocks, strict=True)]
    layout = recorded([file], LayoutRecorder(TIB, 4 * KIB))
    found = [(one.offset_bytes // MIB, one.extents, one.median_bytes / MIB) for one in layout.sizes]
    assert [(offset, count) for offset, count, _ in found] == [(0, 1), (32, 1), (64, 1), (128, 1), (256, 1), (512, 1)]
    assert [round(size, 1) for *_, size in found] == [32, 32, 64, 128, 256, 404.7]


def test_groups_per_file_counts_each_allocation_group_once_and_those_an_extent_runs_into() -> None:
    recorder = LayoutRecorder(64 * MIB, 4 * KIB, group_bytes=16 * MIB)
    recorded([[(0, 0, MIB), (MIB, 2 * MIB, MIB)], [(0, 15 * MIB, 2 * MIB), (2 * MIB, 50 * MIB, MIB)], []], recorder)
    assert recorder.groups_per_file == pytest.approx((1 + 3) / 2)
    assert LayoutRecorder(64 * MIB, 4 * KIB).groups_per_file is None


def test_an_extent_is_counted_in_the_group_in_which_it_begins_also_where_regions_take_over() -> None:
    recorder = LayoutRecorder(64 * MIB, 4 * KIB, group_bytes=16 * MIB)
    layout = recorded(
        [[(0, MIB, MIB), (MIB, 16 * MIB, MIB)], [(0, 15 * MIB, 4 * KIB), (2 * MIB, 50 * MIB, MIB)]], recorder
    )
    assert (layout.group_bytes, layout.group_extents) == (16 * MIB, (2, 1, 0, 1))
    many = LayoutRecorder(8 * 2**30, 4 * KIB, group_bytes=2**30)
    files = interleaved(70, MOST_EXTENTS // 70 + 1, 8 * 2**30)
    layout = recorded(files, many)
    assert layout.regions
    places = [place for file in files for _, place, _ in file]
    assert layout.group_extents == tuple(sum(place >> 30 == group for place in places) for group in range(8))
    assert recorded(files, LayoutRecorder(8 * 2**30, 4 * KIB)).group_extents == ()


def interleaved(files: int, rounds: int, spread_bytes: int) -> list[list[Placed]]:
    draw = random.Random(7)  # noqa: S311 (places, not a secret)
    places = sorted(draw.sample(range(spread_bytes // (64 * KIB)), files * rounds))
    of = [[] for _ in range(files)]  # type: list[list[Placed]]
    for number, place in enumerate(places):
        of[number % files].append((number // files * 4 * KIB, place * 64 * KIB, 4 * KIB))
    return of


@pytest.mark.parametrize("surveys", [1, 8])
@pytest.mark.parametrize("files", [48, 2000])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_cell_s_layouts_take_less_than_200_kb_of_its_journal(surveys: int, files: int, extra: int) -> None:
    rounds = MOST_EXTENTS // surveys // files
    maps = [
        recorded(
            [*interleaved(files, rounds, 16 * TIB), *([[(0, TIB + n * MIB, 4 * KIB)] for n in range(500)] * extra)],
            LayoutRecorder(16 * TIB, 4 * KIB, surveys=surveys),
        )
        for _ in range(surveys)
    ]
    assert all(bool(layout.regions) == bool(extra) or rounds < 4 for layout in maps)
    assert sum(len(encode(layout)) for layout in maps) < JOURNAL_BYTES


def test_beyond_the_limit_regions_hold_every_block_once_with_the_file_that_has_most() -> None:
    files = interleaved(70, MOST_EXTENTS // 70 + 1, 8 * 2**30)
    # Half of a region of 4 MiB: the last file's alone.
    files[3].append((TIB, 8 * 2**30 - 4 * MIB, 2 * MIB))
    layout = recorded(files, LayoutRecorder(8 * 2**30, 4 * KIB))
    assert layout.extents == ()
    assert sum(region.used for region in layout.regions) * 4 * KIB == sum(e[2] for file in files for e in file)
    assert layout.regions[-1].owner == 3
    assert layout.regions[-1].owned >= 512
    for region in layout.regions:
        assert region.owned <= region.used
        assert (region.owner == FREE) == (region.used == 0)
        assert region.owner <= OTHERS
        assert region.files <= region.extents


@given(st.lists(st.integers(0, 3), max_size=300))
def test_sampled_files_are_at_most_so_many_and_evenly_spread(sizes: list[int]) -> None:
    recorder = LayoutRecorder(64 * MIB, 4 * KIB)
    recorded([[] for _ in sizes], recorder)
    inodes = [inode - 100 for inode in recorder.sampled_inodes]
    assert len(inodes) <= MOST_SAMPLED
    step = inodes[1] if len(inodes) > 1 else 1
    assert inodes == list(range(0, len(sizes), step))
