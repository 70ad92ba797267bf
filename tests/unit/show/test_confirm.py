"""Confirm: what would be lost, the names to type, one consent for all members of arrays, and what has changed."""

from __future__ import annotations

import json
from typing import cast

import pytest

from fsconsole.client.children import decoded
from fsconsole.errors import ChildFailed
from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import PlanAnswer
from fsconsole.show.confirm import asking_words, changes, may_begin, offer_rows
from fsconsole.show.going import Going
from fsconsole.text import cells_of
from tests.tui.offers import document, hazard, target

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
DISK = target("/dev/sdb", hazards=(hazard("/dev/sdb", "holds ext4 '[/x]'"), hazard("/dev/sdb", "may be open")))
ARRAYS = ("raid5 64KiB, 4 members, assume-clean", "raid10 64KiB, 4 members, assume-clean")


def read(document: object) -> PlanAnswer:
    return decoded(PlanAnswer, json.dumps(document), "plan")


def of_members(count: int = 4, arrays: tuple[str, ...] = ARRAYS) -> PlanAnswer:
    return read(document(*(target(f"/dev/nvme{n}n1") for n in range(count)), arrays=arrays))


def text_of(found: PlanAnswer, width: int = 74) -> str:
    return "\n".join(row.text for row in offer_rows(found, (), width))


def words_of(found: PlanAnswer) -> str:
    return " ".join(text_of(found).split())


def test_nothing_but_the_exact_names_begins_and_those_of_scratch_devices_are_not_asked_for() -> None:
    assert may_begin(read(document(SCRATCH)), "")
    one = read(document(DISK, SCRATCH))
    assert may_begin(one, "sdb")
    assert may_begin(one, "/dev/sdb")
    for typed in ("", "sd", "sdc", "SDB", "/dev/sdc", "/sdb", "sdb sdb", "sdb sdc"):
        assert not may_begin(one, typed), typed
    two = read(document(DISK, SCRATCH, target("/dev/sdc")))
    assert two.to_type == "sdb sdc"
    assert not may_begin(two, "sdb")
    assert may_begin(two, "sdb sdc")


def test_of_many_other_runs_two_are_named_above_the_devices_and_none_is_a_line_less() -> None:
    one = read(document(DISK))
    runs = [Going(RunFolder(f"/r/{n}"), f"run {n}", "cell 1 of 2, on /dev/sdc") for n in range(4)]
    told = [row.text for row in offer_rows(one, (), 74, runs=runs)]
    assert told[:4] == [
        "4 other runs on this machine now:",
        "  run 0: cell 1 of 2, on /dev/sdc",
        "  run 1: cell 1 of 2, on /dev/sdc",
        "  and 2 more, listed on screen 5",
    ]
    assert told.index("") < next(number for number, text in enumerate(told) if "LOST" in text)
    assert "other run" not in text_of(one)


def test_what_a_run_left_on_a_scratch_device_is_no_loss_and_is_named_as_that() -> None:
    left = target("/dev/loop0", scratch=True, loss="ext4 'bench', UUID 1")
    assert "holds the last run's ext4 'bench', UUID 1" in words_of(read(document(left)))
    assert "holds nothing" in words_of(read(document(SCRATCH)))
    assert "LOST" not in words_of(read(document(left)))


def test_a_refused_target_is_never_begun_with_nor_a_plan_of_which_no_cell_can_run() -> None:
    refused = read(document(target("/dev/sdb", hazards=(hazard("/dev/sdb", "is mounted on /srv", "refused"),))))
    assert not may_begin(refused, "sdb")
    assert "refused" in asking_words(refused)
    assert "REFUSED: /dev/sdb is mounted on /srv. Look at it." in text_of(refused)
    assert "LOST" not in text_of(refused)
    stuck = read(document(SCRATCH, unavailable=("no mkfs.xfs", "no mkfs.xfs")))
    assert not may_begin(stuck, "")
    assert stuck.unavailable == ("no mkfs.xfs",)


def test_device_and_loss_stand_before_what_the_plan_costs() -> None:
    rows = [row.text for row in offer_rows(read(document(DISK)), (), 54)]
    assert rows[0].startswith("/dev/sdb")
    lost, cells = (next(n for n, row in enumerate(rows) if words in row) for words in ("would be LOST", "2 cells"))
    assert lost < min(4, cells)


def test_what_would_be_lost_cells_bytes_and_time_are_shown() -> None:
    shown = words_of(read(document(DISK, SCRATCH)))
    for said in (
        "2 cells, 3.0 GiB to write, about 4 min 02 s",
        "/dev/sdb 2.0 GiB, ST2000DM, serial Z1X",
        "would be LOST: ext4 '[/x]', UUID 2b9570c7-4191-4350-b671-b53e98ae2219",
        "note: /dev/sdb may be open. Look at it.",
        "/dev/loop0 scratch device, 2.0 GiB",
        "left out: a duplicate",
    ):
        assert said in shown


def test_what_is_compared_is_named_above_the_counts_in_two_lines_at_most_and_the_rest_is_counted() -> None:
    shown = [row.text for row in offer_rows(read(document(DISK)), (), 74)]
    at = shown.index("two tiny [/x] cells")
    assert shown[at + 1 : at + 3] == [
        "ext4 delalloc, ext4 nodelalloc",
        "2 cells, 3.0 GiB to write, about 4 min 02 s at 100 MB/s (assumed)",
    ]
    assert not any("ext4 delalloc" in row.text for row in offer_rows(read(document(DISK, rows=())), (), 74))
    short = tuple(f"ext4 commit={seconds}" for seconds in range(1000))
    for names in (short, tuple(f"{name} {'x' * 300} end" for name in short)):
        shown = [row.text for row in offer_rows(read(document(DISK, rows=names)), (), 74)]
        lines = shown[at + 1 : next(place for place, text in enumerate(shown) if text.startswith("2 cells"))]
        assert 1 <= len(lines) <= 2
        told = " ".join(map(str.strip, lines))
        assert told.startswith("ext4 commit=0")
        named, _, rest = told.rpartition(" and ")
        assert rest == f"{1000 - len(named.split(', '))} more"
    assert "...xx" in told
    assert told.endswith("xx end and 998 more")


def test_no_row_is_wider_than_the_screen_and_none_steers_it() -> None:
    loss, strange = "ext4 'a\x1b[31m\n" + "x" * 300 + "'", hazard("a\u202eb", "x" * 500)
    hostile = read(document(target("/dev/sdb", loss=loss, hazards=(strange,))))
    for width in (40, 76, 110):
        rows = offer_rows(hostile, (), width)
        assert all(cells_of(row.text) <= width and row.text.isprintable() for row in rows), width


def test_changes_name_what_is_other_than_it_was() -> None:
    before = read(document(DISK))
    now = target("/dev/sdb", loss="xfs", hazards=(hazard("/dev/sdb", "may be open in mkfs"),))
    first, second = changes(before, read(document(now)))
    assert first.startswith("/dev/sdb holds xfs; before it was ext4")
    assert second == "/dev/sdb may be open in mkfs, which is new."
    (same,) = changes(before, before)
    assert "has changed" in same


def test_an_answer_of_another_kind_is_told_in_words() -> None:
    strange = target("/dev/sdb", hazards=(hazard("/dev/sdb", "is odd", "perhaps"),))
    with pytest.raises(ChildFailed, match="hazards"):
        read(document(strange))
    others: list[object] = [None, [], {}, {"cells": 3}, document("nonsense")]
    others.append(document() | {"bytes_to_write": "many"})
    others += [document() | {"arrays": arrays} for arrays in ({}, "raid5", ["raid5"], None)]
    for answer in others:
        with pytest.raises(ChildFailed, match="can't be read"):
            read(answer)


def test_all_members_are_typed_at_once_and_nothing_less_begins() -> None:
    found = of_members()
    assert "To wipe all of them, as members of arrays, type nvme0n1 nvme1n1" in asking_words(found)
    assert may_begin(found, "nvme0n1 nvme1n1 nvme2n1 nvme3n1")
    assert not may_begin(found, "nvme0n1 nvme1n1 nvme2n1")
    assert not may_begin(found, "nvme0n1")
    made = read(document(*(target(f"/dev/loop{n}", scratch=True) for n in range(3)), arrays=ARRAYS[:1]))
    assert may_begin(made, "")
    assert "Members of arrays, all 3: loop0 loop1 loop2" in words_of(made)


def test_who_the_members_are_stands_before_what_would_be_lost_and_the_arrays_after_it() -> None:
    text = words_of(of_members())
    said = ("one consent for all 4: nvme0n1", "/dev/nvme0n1 2.0 GiB", "/dev/nvme3n1", *ARRAYS)
    places = [text.index(words) for words in said]
    assert places == sorted(places)
    told = document(*(target(f"/dev/sd{letter}") for letter in "bcde"), arrays=ARRAYS[:1])
    (array,) = cast("list[dict[str, object]]", told["arrays"])
    array["members"] = ["/dev/sdb", "/dev/sdc", "/dev/sdd"]
    assert "one consent for all 3: sdb sdc sdd /dev/sdb" in words_of(read(told))
    without = of_members(arrays=())
    assert "array" not in words_of(without) + asking_words(without)
    assert asking_words(without).startswith("To wipe, type nvme0n1 nvme1n1")


def test_marks_of_disks_that_look_the_same_are_listed_where_the_names_are_and_typed_as_they_are_shown() -> None:
    alike = (
        target("/dev/sda", lookalike="/dev/sdb", mark="A  1"),
        target("/dev/sdb", lookalike="/dev/sda", mark="\x1b2"),
    )
    found = read(document(*alike, arrays=ARRAYS))
    told = words_of(found)
    assert "(this one: A 1)" in told
    typed = told.split("one consent for all 2: ")[1].split(" /dev/")[0]
    assert typed in " ".join(asking_words(found).split())
    assert typed.startswith("sda A 1 sdb ")
    assert may_begin(found, f" {typed} ")
    assert not may_begin(found, "sda sdb")


def test_every_member_is_named_whole_however_many_there_are_and_only_some_of_many_arrays() -> None:
    for count in (4, 24, 90, 250):
        found = of_members(count)
        told = words_of(found).split("one consent for all ")[1].split(" /dev/")[0]
        assert told == f"{count}: {found.to_type}"
        assert max(len(line) for line in text_of(found).splitlines()) <= 74, count
    # More names than find room where they are asked for are asked for by where they stand.
    assert "nvme89n1" not in asking_words(of_members(90))
    assert "the names of all devices above" in asking_words(of_members(90))
    assert may_begin(of_members(90), of_members(90).to_type)
    text = words_of(of_members(arrays=tuple(f"raid5 {n}KiB" for n in range(20))))
    assert "raid5 7KiB" in text
    assert "raid5 8KiB" not in text
    assert "and 12 more" in text
