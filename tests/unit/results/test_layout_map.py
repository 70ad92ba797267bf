"""The layout map: letters where a file owns the device, and nothing but text of its width for any layout."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from fsconsole.model.events import LayoutSeen
from fsconsole.model.layout import OTHERS, Layout, Region, SizeAtOffset, gaps
from fsconsole.results.grid import build_grid
from fsconsole.results.layout_map import groups_line, map_lines, maps_of, maps_text, sizes_line
from fsconsole.results.layout_svg import maps_svg
from fsconsole.show.layout import layout_lines
from tests.unit.results.build import BTRFS, EXT4, XFS, cell, done, run

MIB = 2**20
UNIT = 4096


def layout(extents: list[tuple[int, int, int]], device_mib: int = 16, **others: object) -> Layout:
    """A layout of (start, length, file) in MiB."""
    units = [(start * MIB // UNIT, length * MIB // UNIT, file) for start, length, file in extents]
    files = max((file for *_, file in extents), default=0) + 1
    known = {"device_bytes": device_mib * MIB, "unit_bytes": UNIT, "files": files, "extent_count": len(extents)}
    return Layout(**known, extents=gaps(units), **others)  # type: ignore[arg-type]


def drawn(of: Layout, width: int = 16, rows: int = 1, **how: object) -> list[str]:
    lines = map_lines(of, width + 8, rows, **how)  # type: ignore[arg-type]
    return ["".join(text for text, _ in line)[8:] for line in lines]


def test_a_long_run_is_one_letter_and_interleaving_is_letters_in_turn() -> None:
    long = layout([(0, 4, 0), (4, 4, 1), (10, 2, 2)])
    turns = layout([(at, 1, at % 3) for at in range(12)])
    assert drawn(long) == ["AAAABBBB..CC...."]
    assert drawn(turns) == ["ABCABCABCABC...."]
    assert drawn(long, 8, 2) == ["AAAABBBB", "..CC...."]


def test_a_character_of_several_files_is_a_letter_only_where_one_has_half() -> None:
    of = layout([(0, 2, 0), (2, 2, 1), (4, 1, 0), (5, 1, 1), (6, 1, 2), (7, 1, 3)])
    assert drawn(of, 4) == ["A*.."] or drawn(of, 4)[0][1] == "*"
    assert drawn(layout([(0, 3, 5), (3, 1, 6)]), 4) == ["F..."]


def test_files_beyond_the_letters_are_a_hash_and_the_last_letter_is_9() -> None:
    of = layout([(0, 1, 25), (1, 1, 26), (2, 1, 51), (3, 1, 52), (4, 1, 61), (5, 1, 62), (6, 1, 5000)])
    assert drawn(of)[0][:8] == "Zaz09##."


def test_lines_without_files_are_told_in_one_and_each_line_begins_with_its_address() -> None:
    of = layout([(0, 1, 0), (15, 1, 1)], 16)
    lines = ["".join(text for text, _ in line) for line in map_lines(of, 9, 16)]
    assert lines == ["     0B A", "   1.0M ... nothing up to 15.0M", "  15.0M B"]
    assert len(map_lines(of, 9, 16, folds=False)) == 16


def test_regions_draw_what_the_exact_extents_draw() -> None:
    exact = layout([(0, 4, 0), (4, 4, 1), (10, 2, 2)])
    mib = MIB // UNIT
    owners = [0] * 4 + [1] * 4 + [-1] * 2 + [2] * 2 + [-1] * 4
    regions = tuple(Region(mib, 1, 1, owner, mib) if owner >= 0 else Region() for owner in owners)
    in_regions = replace(exact, extents=(), regions=regions)
    assert drawn(in_regions) == drawn(exact)
    mixed = replace(in_regions, regions=(Region(mib, 9, 9, OTHERS, mib // 4), *regions[1:]))
    assert drawn(mixed) == ["*AAABBBB..CC...."]


def test_sizes_over_the_file_offset_are_one_line() -> None:
    sizes = (SizeAtOffset(0, 48, 32 * MIB), SizeAtOffset(32 * MIB, 48, 1.5 * MIB))
    assert sizes_line(layout([], sizes=sizes)) == "0B: 32.0M, 32.0M: 1.5M"


def test_each_extent_of_xfs_is_told_in_its_allocation_group_with_its_file() -> None:
    of = layout([(0, 1, 0), (2, 1, 2), (5, 1, 1), (6, 1, 26), (7, 1, 25), (12, 2, 70), (14, 1, 0)])
    of = replace(of, names=("f0", "f1", "f2"), group_bytes=4 * MIB, group_extents=(2, 3, 0, 2))
    assert groups_line(of) == "0: 2 (A C), 1: 3 (B Z a), 3: 2 (A #)"
    assert groups_line(replace(of, extents=(), regions=(Region(),))) == "0: 2, 1: 3, 3: 2"
    assert groups_line(replace(of, group_bytes=0)) == groups_line(layout([(0, 1, 0)])) == ""
    long = layout([(at, 1, at) for at in range(4)], group_bytes=4 * MIB, group_extents=(4,))
    assert groups_line(long) == "0: 4 (A-D)"
    assert groups_line(replace(long, group_extents=(1,) * 40)).endswith(", 31: 1 and 8 more")
    (maps,) = maps_of(STATE, GRID, [seen(of, 1)])
    said = " ".join("".join(part for part, _ in line) for line in maps_text(maps, 80))
    assert "Extents by AG (4.0M each): 0: 2 (A C)" in said
    other = layout_lines(maps, [replace(maps[0], row="other")], 120)
    text = " ".join("".join(part for part, _ in line) for line in other)
    assert "other: extents by AG (4.0M each): 0: 2 (A C)" in " ".join(text.split())
    drawn = maps_svg([maps])
    assert "Extents by AG (4.0M each): 0: 2 (A C)" in drawn
    titles = dict.fromkeys(one.text for one in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}title"))  # noqa: S314 (our own)
    further = [f"a further file, AG {group}" for group in (1, 3)]
    assert [*titles] == ["A f0, AG 0", "C f2, AG 0", "B f1, AG 1", *further, "A f0, AG 3"]


NUMBERS = st.integers(-(2**63), 2**64 - 1)
LAYOUTS = st.builds(
    Layout,
    device_bytes=NUMBERS,
    unit_bytes=NUMBERS,
    files=NUMBERS,
    extent_count=NUMBERS,
    names=st.lists(st.text(max_size=9), max_size=3).map(tuple),
    extents=st.lists(NUMBERS, max_size=30).map(tuple),
    regions=st.lists(st.builds(Region, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=9).map(tuple),
    group_bytes=st.sampled_from([0, 1, MIB]) | NUMBERS,
    group_extents=st.lists(NUMBERS, max_size=50).map(tuple),
    sizes=st.lists(st.builds(SizeAtOffset, NUMBERS, NUMBERS, st.floats(allow_nan=False)), max_size=3).map(tuple),
)


def seen(of: Layout, cell: int = 0, attempt: int = 1, step: int = 4) -> LayoutSeen:
    return LayoutSeen(**asdict(of), cell=cell, attempt=attempt, step=step)


STATE = run([cell(0, EXT4), cell(1, XFS), cell(2, EXT4, repeat=2)], [done(0), done(1), done(2)])
GRID = build_grid(STATE)


@settings(max_examples=40, phases=(Phase.explicit, Phase.generate))
@given(LAYOUTS)
def test_any_layout_of_a_journal_from_elsewhere_is_drawn_in_its_width(of: Layout) -> None:
    for end_bytes in (0, 2**40):
        for line in map_lines(of, 40, 4, end_bytes):
            text = "".join(part for part, _ in line)
            assert len(text) <= 40
            assert text.isascii()
    for maps in maps_of(STATE, GRID, [seen(of)]):
        for line in maps_text(maps, 80):
            assert len("".join(part for part, _ in line)) <= 80


def test_maps_of_a_load_are_those_of_its_rows_first_cells_or_of_the_cells_that_were_chosen() -> None:
    of = layout([(0, 4, 0), (4, 4, 1)], names=("<a>", "b"))
    layouts = [seen(of, 0), seen(of, 1), seen(of, 2), seen(of, 1, attempt=9), seen(of, 1, step=2), seen(of, 99)]
    (maps,) = maps_of(STATE, GRID, layouts)
    assert sorted((one.row, one.cell.index) for one in maps) == [("ext4 data=ordered", 0), ("xfs", 1)]
    (maps,) = maps_of(STATE, GRID, layouts, [2])
    assert [one.cell.index for one in maps] == [2]
    assert maps[0].title == "ext4 data=ordered - large files (cell 3, round 2): 2 files, 2 extents, 1.00 per file"
    assert maps_of(STATE, GRID, layouts[3:]) == ()
    assert maps_of(STATE, GRID, layouts, [77]) == ()


def test_maps_above_each_other_have_one_scale_and_a_legend_that_says_what_addresses_are() -> None:
    btrfs = run([cell(0, EXT4), cell(1, BTRFS)], [done(0), done(1)])
    small, large = layout([(0, 1, 0)], 16), layout([(0, 1, 0), (31, 1, 1)], 16)
    (maps,) = maps_of(btrfs, build_grid(btrfs), [seen(small, 0), seen(large, 1)])
    text = ["".join(part for part, _ in line) for line in maps_text(maps, 80, 4)]
    # A MiB is as long in either, though the first one's device is half as large.
    assert [line.count("A") for line in text if line.startswith("     0B ")] == [9, 9]
    assert sum(line.startswith("     0B ") for line in text) == 2
    said = " ".join(text)
    assert "its own logical addresses" in said
    assert "A to B" in said
    assert "its own logical addresses" in maps_svg([maps])


def test_the_svg_names_files_and_escapes_them() -> None:
    of = layout([(0, 4, 0), (4, 4, 1)], names=("<a>&\x1b", "b"))
    (maps,) = maps_of(STATE, GRID, [seen(of)])
    root = ET.fromstring(maps_svg([maps]))  # noqa: S314 (our own)
    titles = {one.text for one in root.iter("{http://www.w3.org/2000/svg}title")}
    assert titles == {"A <a>&\\x1b", "B b"}
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    (odd,) = maps_of(STATE, GRID, [seen(layout([(-5, 2**40, 2), (0, 2**44, -7)]))])
    ET.fromstring(maps_svg([maps, odd]))  # noqa: S314 (our own)
