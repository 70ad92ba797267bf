from __future__ import annotations

import json

import pytest

from fsconsole.errors import ChildFailed
from fsconsole.model.answers import PlanAnswer
from fsconsole.show.confirm import asking_words, changes, may_begin, offer_of, offer_rows
from fsconsole.text import cells_of
from tests.tui.offers import document, hazard, target

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
DISK = target(
    "/dev/sdb",
    hazards=(
        hazard("/dev/sdb", "holds ext4 '[/x]'"),
        hazard("/dev/sdb", "may be open"),
    ),
)


def offer(document: object) -> PlanAnswer:
    return offer_of(json.dumps(document))


def text_of(*targets: object, width: int = 76) -> str:
    return "\n".join(row.text for row in offer_rows(offer(document(*targets)), (), width))


def test_a_scratch_device_needs_no_name() -> None:
    found = offer(document(SCRATCH))
    assert found.to_type == ""
    assert may_begin(found, "")


@pytest.mark.parametrize("typed", ["", "sd", "sdc", "SDB", "/dev/sdb", "sdb sdb", "sdb sdc"])
def test_anything_but_the_exact_name_does_not_begin(typed: str) -> None:
    assert not may_begin(offer(document(DISK, SCRATCH)), typed)


def test_the_exact_name_begins() -> None:
    assert may_begin(offer(document(DISK, SCRATCH)), "sdb")


def test_all_names_but_those_of_scratch_devices_must_be_typed() -> None:
    found = offer(document(DISK, SCRATCH, target("/dev/sdc")))
    assert found.to_type == "sdb sdc"
    assert not may_begin(found, "sdb")
    assert may_begin(found, "sdb sdc")


def test_a_refused_target_is_never_begun_with() -> None:
    refused = target("/dev/sdb", hazards=(hazard("/dev/sdb", "is mounted on /srv", "refused"),))
    found = offer(document(refused))
    assert not may_begin(found, "sdb")
    assert "refused" in asking_words(found)
    shown = text_of(refused)
    assert "REFUSED: /dev/sdb is mounted on /srv. Look at it." in shown
    assert "LOST" not in shown


def test_a_verdict_that_is_not_known_is_an_error() -> None:
    strange = target("/dev/sdb", hazards=(hazard("/dev/sdb", "is odd", "perhaps"),))
    with pytest.raises(ChildFailed, match="hazards"):
        offer(document(strange))


def test_a_plan_without_a_cell_that_can_run_does_not_begin() -> None:
    found = offer(document(SCRATCH, unavailable=("no mkfs.xfs", "no mkfs.xfs")))
    assert not may_begin(found, "")
    assert found.unavailable == ("no mkfs.xfs",)


def test_what_would_be_lost_cells_bytes_and_time_are_shown() -> None:
    shown = " ".join(text_of(DISK, SCRATCH).split())
    assert "2 cells, 3.0 GiB to write, est. 4 min 02 s" in shown
    assert "/dev/sdb 2.0 GiB, ST2000DM, serial Z1X" in shown
    assert "would be LOST: ext4 '[/x]', UUID 2b9570c7-4191-4350-b671-b53e98ae2219" in shown
    assert "note: /dev/sdb may be open. Look at it." in shown
    assert "/dev/loop0 scratch device, 2.0 GiB" in shown
    assert "left out: a duplicate" in shown


@pytest.mark.parametrize("width", [40, 76, 110])
def test_no_row_is_wider_than_the_screen_and_none_steers_it(width: int) -> None:
    hostile = target(
        "/dev/sdb", loss="ext4 'a\x1b[31m\n" + "x" * 300 + "'", hazards=(hazard("a\u202eb", "x" * 500),)
    )
    rows = offer_rows(offer(document(hostile)), (), width)
    assert all(cells_of(row.text) <= width and row.text.isprintable() for row in rows)


def test_changes_name_what_is_other_than_it_was() -> None:
    before = offer(document(DISK))
    after = offer(
        document(target("/dev/sdb", loss="xfs", hazards=(hazard("/dev/sdb", "may be open in mkfs"),)))
    )
    first, second = changes(before, after)
    assert first.startswith("/dev/sdb holds xfs; before it was ext4")
    assert second == "/dev/sdb may be open in mkfs, which is new."
    (same,) = changes(before, before)
    assert "has changed" in same


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"cells": 3}, document("nonsense"), document() | {"bytes_to_write": "many"}]
)
def test_an_answer_of_another_kind_is_told_in_words(answer: object) -> None:
    with pytest.raises(ChildFailed, match="can't be read"):
        offer(answer)
