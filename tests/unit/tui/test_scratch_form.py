from __future__ import annotations

from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.text import GIB
from fsconsole.tui.screens.scratch_form import FreeSpace, default_size, judge

ROOM = FreeSpace("/var", 20 * GIB, 4 * GIB)


def test_what_leaves_room_enough_in_a_directory_that_is_named_whole_can_be_made() -> None:
    for size, directory, room, is_good in (
        ("4GiB", "/var/x", ROOM, True),
        ("16GiB", "/var/x", ROOM, True),
        ("17GiB", "/var/x", ROOM, False),
        ("1MiB", "/var/x", ROOM, True),
        ("4GiB", "var", ROOM, False),
        ("4GiB", "", None, False),
        ("4GiB", "/elsewhere", None, True),
    ):
        good, words = judge(size, directory, room)
        assert good is is_good, (size, directory)
        assert directory != "/var/x" or "4.0 GiB must stay" in words
    gone = FreeSpace("/var", 20 * GIB, 4 * GIB, is_missing=True)
    assert judge("4GiB", "/var/x", gone)[1].startswith("There is no directory /var/x. Make it first")
    assert judge("4GiB", DEFAULT_SCRATCH_DIR, gone)[0]
    for size in ("", "much", "4 bananas", "-1GiB", "0", "1000000", "4095", "1KiB"):
        good, words = judge(size, "/var/x", ROOM)
        assert not good, size
        assert "1 MiB or more" in words, size


def test_the_size_to_begin_with_fits_and_a_place_with_escapes_is_harmless() -> None:
    for room, size in (
        (ROOM, "4GiB"),
        (FreeSpace("/", 6 * GIB, 4 * GIB), "2GiB"),
        (FreeSpace("/", GIB, 4 * GIB), "512MiB"),
    ):
        assert default_size(room) == size
    assert "\x1b" not in judge("1GiB", "/x", FreeSpace("/\x1b[2J", 20 * GIB, GIB))[1]
