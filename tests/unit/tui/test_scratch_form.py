from __future__ import annotations

import pytest

from fsconsole.text import GIB
from fsconsole.tui.screens.scratch_form import Room, default_size, judge

ROOM = Room("/var", 20 * GIB, 4 * GIB)


@pytest.mark.parametrize(
    ("size", "is_good"), [("4GiB", True), ("16GiB", True), ("17GiB", False), ("1MiB", True)]
)
def test_what_leaves_room_enough_can_be_made(size: str, is_good: bool) -> None:
    judgement = judge(size, "/var/x", ROOM)
    assert judgement.is_good is is_good
    assert "4.0 GiB must stay" in judgement.words


@pytest.mark.parametrize("size", ["", "much", "4 bananas", "-1GiB", "0", "1000000", "4095", "1KiB"])
def test_a_size_that_is_none_says_so(size: str) -> None:
    judgement = judge(size, "/var/x", ROOM)
    assert not judgement.is_good
    assert judgement.words


def test_a_directory_is_named_whole() -> None:
    assert not judge("4GiB", "var", ROOM).is_good
    assert not judge("4GiB", "", None).is_good
    assert judge("4GiB", "/elsewhere", None).is_good


def test_the_size_to_begin_with_fits() -> None:
    assert default_size(ROOM) == "4GiB"
    assert default_size(Room("/", 6 * GIB, 4 * GIB)) == "2GiB"
    assert default_size(Room("/", GIB, 4 * GIB)) == "512MiB"


def test_a_place_with_escapes_is_harmless() -> None:
    assert "\x1b" not in judge("1GiB", "/x", Room("/\x1b[2J", 20 * GIB, GIB)).words
