"""When two views of files are two files: by numbers that count, by size, or by readings that prove it."""

from __future__ import annotations

from fsconsole.devices.files import FileView, Reading, are_different, may_be_one

ON_EXT4, ON_OVERLAY = FileView((8, 5), 4096, "/a", is_identified=True), FileView((40, 7), 4096, "/b")


def test_numbers_tell_files_apart_only_if_both_count() -> None:
    for one, other, expected in (
        (ON_EXT4, FileView((8, 6), 4096, "/c", is_identified=True), False),
        (ON_EXT4, ON_EXT4, False),
        (ON_EXT4, ON_OVERLAY, True),
        (ON_OVERLAY, FileView((40, 8), 4096, "/c"), True),
        (ON_OVERLAY, FileView((8, 6), 8192, "/c", is_identified=True), False),
        # A size that a loop device tells is one of whole sectors, and one of a limit is none.
        (ON_OVERLAY, FileView((8, 6), 4096 + 511), True),
        (ON_OVERLAY, FileView((8, 6), 0), True),
    ):
        assert may_be_one(one, other) is may_be_one(other, one) is expected, (one, other)


def read(mark: str = "", blocks: str = "", extents: tuple[tuple[int, int, int], ...] | None = None) -> Reading:
    return Reading(mark, tuple(map(ord, blocks)), extents)


def test_readings_prove_two_files_only_if_they_stay_and_differ() -> None:
    here, there = ((0, 8, 8),), ((0, 99, 8),)
    for one, other, expected in (
        (read("aa"), read("bb"), True),
        (read("aa", "xy"), read("aa", "xz"), False),
        (read("aa", "xy"), read("", "xy"), False),
        (read(blocks="xy"), read(blocks="xz"), True),
        (read(blocks="00"), read(blocks="00"), False),
        (read(blocks="00", extents=here), read(blocks="00", extents=there), True),
        (read(blocks="00", extents=here), read(blocks="00", extents=here), False),
        (read(blocks="00", extents=here), read(blocks="00"), False),
        (read(), read(blocks="xy"), False),
    ):
        assert are_different((one, other), (one, other)) is expected, (one, other)
    one, other = read(blocks="xy", extents=here), read(blocks="xz", extents=there)
    assert not are_different((one, other), (other, one))
    # A block that stays, next to one that is written to.
    assert are_different((one, read(blocks="zy")), (one, read(blocks="zz")))
