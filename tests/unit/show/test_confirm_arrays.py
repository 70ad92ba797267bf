"""Confirm where all targets become members of arrays: one consent for the set, every member named whole."""

from __future__ import annotations

import json
from typing import cast

import pytest

from fsconsole.errors import ChildFailed
from fsconsole.model.answers import PlanAnswer
from fsconsole.show.confirm import asking_words, may_begin, offer_of, offer_rows
from tests.tui.offers import document, target

ARRAYS = ("raid5 64KiB, 4 members, assume-clean", "raid10 64KiB, 4 members, assume-clean")


def read(document: object) -> PlanAnswer:
    return offer_of(json.dumps(document))


def offer(count: int = 4, arrays: tuple[str, ...] = ARRAYS) -> PlanAnswer:
    return read(document(*(target(f"/dev/nvme{n}n1") for n in range(count)), arrays=arrays))


def text_of(found: PlanAnswer, width: int = 74) -> str:
    return "\n".join(row.text for row in offer_rows(found, (), width))


def words_of(found: PlanAnswer) -> str:
    return " ".join(text_of(found).split())


def test_all_members_are_typed_at_once_and_nothing_less_begins() -> None:
    found = offer()
    assert "To wipe all of them, as members of arrays, type nvme0n1 nvme1n1" in asking_words(found)
    assert may_begin(found, "nvme0n1 nvme1n1 nvme2n1 nvme3n1")
    assert not may_begin(found, "nvme0n1 nvme1n1 nvme2n1")
    assert not may_begin(found, "nvme0n1")


def test_who_the_members_are_stands_before_what_would_be_lost_and_the_arrays_after_it() -> None:
    text = words_of(offer())
    places = [
        text.index(words)
        for words in ("one consent for all 4: nvme0n1", "/dev/nvme0n1 2.0 GiB", "/dev/nvme3n1", *ARRAYS)
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("count", [4, 24, 90, 250])
def test_every_member_is_named_whole_however_many_there_are(count: int) -> None:
    found = offer(count)
    told = words_of(found).split("one consent for all ")[1].split(" /dev/")[0]
    assert told == f"{count}: {found.to_type}"
    assert max(len(line) for line in text_of(found).splitlines()) <= 74


def test_more_names_than_find_room_where_they_are_asked_for_are_asked_for_by_where_they_stand() -> None:
    assert "nvme89n1" not in asking_words(offer(90))
    assert "the names of all devices above" in asking_words(offer(90))
    assert may_begin(offer(90), offer(90).to_type)


def test_only_some_of_many_arrays_are_listed_and_the_rest_counted() -> None:
    text = words_of(offer(arrays=tuple(f"raid5 {n}KiB" for n in range(20))))
    assert "raid5 7KiB" in text
    assert "raid5 8KiB" not in text
    assert "and 12 more" in text


def test_scratch_devices_become_members_without_being_asked_for() -> None:
    made = read(document(*(target(f"/dev/loop{n}", scratch=True) for n in range(3)), arrays=ARRAYS[:1]))
    assert may_begin(made, "")
    assert "Members of arrays, all 3: loop0 loop1 loop2" in words_of(made)


def test_a_device_that_becomes_no_member_is_not_named_as_one() -> None:
    told = document(*(target(f"/dev/sd{letter}") for letter in "bcde"), arrays=ARRAYS[:1])
    (array,) = cast("list[dict[str, object]]", told["arrays"])
    array["members"] = ["/dev/sdb", "/dev/sdc", "/dev/sdd"]
    text = words_of(read(told))
    assert "one consent for all 3: sdb sdc sdd /dev/sdb" in text


def test_without_arrays_nothing_is_said_of_them() -> None:
    found = offer(arrays=())
    assert "array" not in words_of(found) + asking_words(found)
    assert asking_words(found).startswith("To wipe, type nvme0n1 nvme1n1")


def test_an_answer_whose_arrays_are_no_list_of_objects_is_refused() -> None:

    for strange in ({}, "raid5", ["raid5"], None):
        with pytest.raises(ChildFailed):
            read(document() | {"arrays": strange})
