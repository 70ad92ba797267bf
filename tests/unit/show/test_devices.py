"""The views of the Devices screen: what the command said, as rows, words and ticks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import Claim
from fsconsole.errors import ChildFailed
from fsconsole.model.device import MdArray
from fsconsole.show.device_details import details
from fsconsole.show.devices import (
    Listing,
    about,
    lay_out,
    lost_ticks,
    parse_listing,
    refusal,
    with_progress,
    with_proofs,
)
from fsconsole.show.terminal import ASCII, SAFE
from fsconsole.text import cells_of
from tests.tui.device_lists import (
    ARRAY,
    FREE,
    LABELLED,
    MEMBERS,
    RESYNC,
    SCRATCH,
    STORAGE_BOX,
    SYSTEM,
    listed,
)

BOX = parse_listing(listed(*STORAGE_BOX))


def told(listing: Listing, path: str, *, width: int = 76, is_root: bool = True) -> str:
    entry = listing.at(path)
    assert entry is not None
    return "\n".join(
        line.label + line.text for line in details(entry, listing, width, is_root=is_root, read_tests={})
    )


def test_what_the_command_printed_is_read_back_whole() -> None:
    assert {entry.device for entry in BOX.entries} == set(STORAGE_BOX)
    array = BOX.at("/dev/md0")
    assert array is not None
    assert (array.state.text, array.row.also_under) == ("resync 41 %", ("sdc", "sdd", "sde"))
    assert array.refusals[0].waits
    assert BOX.syncs
    assert BOX.has_scratch


def test_notes_of_the_command_are_kept() -> None:
    assert parse_listing("[]", "note: only 32 were proved\nother\n").notes == ("only 32 were proved",)


@pytest.mark.parametrize(
    "out",
    ["", "{}", "[1]", "[{}]", '[{"name": "sda"}]', listed(FREE).replace('"minor": 96', '"minor": "x"'),
     listed(FREE).replace('"hazards": []', '"hazards": 3'), listed(FREE).replace('"claim": "free"', '"claim": "?"'),
     listed(FREE)[:-5]],
)  # fmt: skip
def test_an_answer_that_fits_not_is_an_error_with_a_hint(out: str) -> None:
    with pytest.raises(ChildFailed) as caught:
        parse_listing(out)
    assert "can't be read" in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("width", [60, 79, 119, 199, 300])
@pytest.mark.parametrize("glyphs", [SAFE, ASCII])
def test_rows_fit_any_width_and_columns_stand_in_line(width: int, glyphs: object) -> None:
    sheet = lay_out(BOX.entries, ("/dev/sdg",), width, ASCII if glyphs == ASCII else SAFE)
    assert sum(size for _, size in sheet.columns) <= width
    for row in sheet.rows:
        for (_, size), (text, _) in zip(sheet.columns, row.cells, strict=True):
            assert cells_of(text) <= size
    marks = {row.key: row.cells[0][0] for row in sheet.rows}
    assert (marks["/dev/sdg"], marks["/dev/loop0"], marks["/dev/sda"]) == ("[x]", "[ ]", "")


def test_a_wider_screen_shows_more_columns() -> None:
    titles = [
        {title.strip() for title, _ in lay_out(BOX.entries, (), width, SAFE).columns}
        for width in (60, 200, 400)
    ]
    assert titles[0] < titles[1] < titles[2]
    assert {"model", "serial", "WWN", "UUID", "scheduler"} <= titles[2]


def test_the_guides_are_those_of_the_terminal() -> None:
    names = [row.cells[1][0] for row in lay_out(BOX.entries, (), 80, ASCII).rows]
    assert "|- sda1" in names
    assert "`- md0" in names
    assert "   `- dm-2 (vg-scratch)" in names


def test_progress_moves_and_nothing_else() -> None:
    later = replace(RESYNC, progress_percent=88.0)
    moved = with_progress(BOX, (later,))
    array = moved.at("/dev/md0")
    assert array is not None
    assert array.state.text == "resync 88 %"
    assert [e for e in moved.entries if e.device.name != "md0"] == [
        e for e in BOX.entries if e.device.name != "md0"
    ]
    assert with_progress(BOX, (RESYNC,)) is BOX
    assert with_progress(BOX, ()) is BOX


def test_a_proof_holds_for_the_same_device_in_the_same_state_only() -> None:
    unproved = parse_listing(listed(FREE, not_asked=frozenset({"sdg"})))
    proved = parse_listing(listed(FREE)).entries[0]
    proofs = {proved.key: proved}
    assert with_proofs(unproved, proofs).entries[0].state.claim is Claim.FREE
    for other in (replace(FREE, diskseq=7), replace(FREE, size_bytes=1)):
        changed = parse_listing(listed(other, not_asked=frozenset({"sdg"})))
        assert with_proofs(changed, proofs).entries[0].state.claim is Claim.UNKNOWN


@pytest.mark.parametrize(
    ("path", "may"),
    [("/dev/sdg", True), ("/dev/sdf", True), ("/dev/loop0", True), ("/dev/md0", False), ("/dev/sda", False)],
)
def test_who_may_be_ticked(path: str, may: bool) -> None:
    entry = BOX.at(path)
    assert entry is not None
    assert (refusal(entry, BOX, is_root=True) == "") is may


def test_without_root_nothing_that_was_not_proved_is_ticked() -> None:
    listing = parse_listing(listed(*STORAGE_BOX, is_root=False))
    assert all(refusal(entry, listing, is_root=False) for entry in listing.entries)


def test_ticks_outlive_a_look_that_changed_nothing() -> None:
    listing = parse_listing(listed(FREE, SCRATCH))
    assert lost_ticks({device.path: listed_identity(device) for device in (SCRATCH, FREE)}, listing) == {}


def test_the_pane_tells_what_would_be_lost_whole_and_harmless() -> None:
    text = told(BOX, "/dev/sdf")
    assert r"to be lost  holds ext4 '[/x]\x1b[31m\u202e" in text
    assert "UUID 0a1b2c3d-0000-4e5f" in " ".join(text.split())
    assert "\x1b" not in text


def test_what_is_no_content_is_not_said_to_be_lost() -> None:
    text = told(BOX, "/dev/loop0")
    assert "hazard      may be open in process 1" in text
    assert "to be lost  nothing: it is a scratch device" in text


def test_the_pane_tells_who_a_disk_is() -> None:
    text = told(BOX, "/dev/sdg")
    for words in ("Z1Y0G", "0x5000c50000000060", "3298534883328 bytes", "512/4096", "ata, rotating disk",
                  "mq-deadline (of none, mq-deadline, kyber)", "read-ahead 128KiB", "write back", "8:96"):  # fmt: skip
        assert words in text


def test_the_pane_tells_of_an_array_its_members_and_its_progress() -> None:
    text = told(BOX, "/dev/md0")
    assert "raid5, 4 members UUUU, chunk 512KiB" in text
    assert "sde[4] sdd[2] sdc[1] sdb[0]" in text
    assert "resync 41.3 %, 162 min to go at 181 MB/s" in text
    assert "made of     sdb, sdc, sdd, sde" in text


def test_an_inactive_array_is_told() -> None:
    inactive = replace(
        ARRAY,
        size_bytes=0,
        md=MdArray("md0", active=False, read_only=False, level="", members=(), size_bytes=0),
    )
    assert "array       inactive, 0 members" in told(parse_listing(listed(inactive)), "/dev/md0")


@pytest.mark.parametrize("width", [20, 40, 76])
def test_lines_of_the_pane_fit_and_lose_nothing(width: int) -> None:
    for entry in BOX.entries:
        lines = details(entry, BOX, width, is_root=True, read_tests={})
        assert all(cells_of(line.label + line.text) <= max(width, 22) for line in lines)
        assert all("..." not in line.text for line in lines)


def test_without_root_the_pane_says_what_root_would_see() -> None:
    listing = parse_listing(listed(FREE, is_root=False))
    assert "sudo fsconsole" in " ".join(told(listing, FREE.path, is_root=False).split())


def test_the_line_below_tells_counts_and_age() -> None:
    listing = parse_listing(listed(FREE, LABELLED))
    assert about(listing, 0, 3.0, looking=False) == "2 devices, no target ticked"
    assert (
        about(listing, 2, 12.0, looking=True)
        == "2 devices, 2 targets ticked: the plan runs on each in turn; reading again, 12 s old"
    )
    assert "the last reading failed, 3 s old" in about(listing, 0, 3.0, looking=False, failed=True)
    assert "f5" in about(Listing(), 0, None, looking=False, failed=True)
    assert "Reading" in about(Listing(), 0, None, looking=True)


def test_why_a_device_could_not_be_looked_at_stands_in_its_pane() -> None:
    unproved = parse_listing(
        listed(FREE, not_asked=frozenset({"sdg"})), "note: /dev/sdg could not be looked at: I/O error\n"
    )
    assert "note        /dev/sdg could not be looked at: I/O error" in told(unproved, FREE.path)


def test_every_device_of_the_box_is_told() -> None:
    for device in (*SYSTEM, *MEMBERS, *STORAGE_BOX):
        assert told(BOX, device.path).startswith(device.path)


def test_the_list_is_json_as_the_command_prints_it() -> None:
    assert {"state", "hazards", "is_scratch"} <= set(json.loads(listed(FREE))[0])
