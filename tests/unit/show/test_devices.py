"""The views of the Devices screen: what the command said, as rows, words and ticks."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from fsconsole.devices.identity import listed_identity
from fsconsole.devices.state import Claim, DevicesAnswer, DeviceState, ListedDevice
from fsconsole.errors import ChildFailed
from fsconsole.model.device import Device, Hazard, Identity, MdArray, Verdict
from fsconsole.model.wire import encode
from fsconsole.show.device_details import details
from fsconsole.show.devices import (
    Listing,
    about,
    grouped,
    lay_out,
    lost_ticks,
    parse_listing,
    refusal,
    with_changes,
    with_progress,
    with_proofs,
)
from fsconsole.show.identities import COMPARED as TOLD
from fsconsole.show.identities import others, within_boot
from fsconsole.show.terminal import ASCII, SAFE
from fsconsole.text import cells_of
from tests.tui.device_lists import (
    ARRAY,
    FREE,
    LABELLED,
    MEMBERS,
    NO_DEVICES,
    RESYNC,
    SCRATCH,
    STORAGE_BOX,
    SYSTEM,
    listed,
)
from tests.unit.plan.test_arrays import MD0, MEMBER, PART, SDA

BOX = parse_listing(listed(*STORAGE_BOX))


def told(listing: Listing, path: str, *, width: int = 76, is_root: bool = True) -> str:
    entry = listing.at(path)
    assert entry is not None
    return "\n".join(label + text for label, text, _ in details(entry, listing, width, is_root=is_root, read_tests={}))


def test_what_the_command_printed_is_read_back_whole_with_its_notes() -> None:
    assert {entry.device for entry in BOX.entries} == set(STORAGE_BOX)
    array = BOX.at("/dev/md0")
    assert array is not None
    assert (array.state.text, array.row.also_under) == ("resync 41 %", ("sdc", "sdd", "sde"))
    assert array.refusals[0].waits
    assert BOX.syncs
    assert BOX.has_free_scratch
    assert parse_listing(NO_DEVICES, "note: only 32 were proved\nother\n").notes == ("only 32 were proved",)
    assert {"state", "hazards", "is_scratch"} <= set(json.loads(listed(FREE))["devices"][0])


def test_an_answer_that_fits_not_is_an_error_with_a_hint() -> None:
    for out in (
        "",
        "{}",
        "[1]",
        "[{}]",
        '[{"name": "sda"}]',
        listed(FREE).replace('"minor": 96', '"minor": "x"'),
        listed(FREE).replace('"hazards": []', '"hazards": 3'),
        listed(FREE).replace('"claim": "free"', '"claim": "?"'),
        listed(FREE)[:-5],
    ):
        with pytest.raises(ChildFailed) as caught:
            parse_listing(out)
        assert "can't be read" in str(caught.value), out
        assert caught.value.hint, out


def test_rows_fit_any_width_and_columns_stand_in_line() -> None:
    for width in (60, 79, 119, 199, 300):
        for glyphs in (SAFE, ASCII):
            sheet = lay_out(BOX.entries, ("/dev/sdg",), width, glyphs)
            assert sum(size for _, size in sheet.columns) <= width, (width, glyphs)
            for row in sheet.rows:
                assert cells_of(row.heading) <= width
                if row.heading:
                    continue
                for (_, size), (text, _) in zip(sheet.columns, row.cells, strict=True):
                    assert cells_of(text) <= size, (width, glyphs)
            marks = {row.key: row.cells[0][0] for row in sheet.rows if row.cells}
            shown = (marks["/dev/sdg"], marks["/dev/loop0"], marks["/dev/sda"])
            assert shown == ("[x]", "[ ]", ""), (width, glyphs)


def test_a_wider_screen_shows_more_columns_and_the_guides_are_those_of_the_terminal() -> None:
    titles = [{title.strip() for title, _ in lay_out(BOX.entries, (), width, SAFE).columns} for width in (60, 200, 400)]
    assert titles[0] < titles[1] < titles[2]
    assert {"model", "serial", "WWN", "UUID", "scheduler"} <= titles[2]
    rows = [row.heading or row.cells[1][0] for row in lay_out(BOX.entries, (), 80, ASCII).rows]
    assert rows.index("|- sda1") > rows.index("In use: never wiped (13)") > rows.index("dm-2 (vg-scratch)")
    names = [row.cells[0][0] for row in lay_out(BOX.entries, None, 200, ASCII).rows]
    assert "`- md0" in names
    assert "   `- dm-2 (vg-scratch)" in names


def test_each_device_stands_once_below_what_may_be_done_with_it() -> None:
    groups = dict(grouped(BOX.entries))
    assert [group.partition(":")[0] for group in groups] == ["Free", "Holds data", "In use"]
    names = [entry.device.name for group in groups.values() for entry in group]
    assert sorted(names) == sorted(entry.device.name for entry in BOX.entries)
    free, holds, in_use = groups.values()
    assert {entry.state.claim for entry in free} == {Claim.FREE}
    assert all(entry.questions and not entry.refusals for entry in holds)
    assert all(entry.refusals or entry.state.claim is Claim.IN_USE for entry in in_use)


def test_progress_moves_and_nothing_else() -> None:
    later = replace(RESYNC, progress_percent=88.0)
    moved = with_progress(BOX, (later,))
    array = moved.at("/dev/md0")
    assert array is not None
    assert array.state.text == "resync 88 %"
    changed = {e.device.name for e in moved.entries} - {e.device.name for e in moved.entries if e in BOX.entries}
    assert changed == {"md0"}
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


def test_who_may_be_ticked_and_ticks_outlive_a_look_that_changed_nothing() -> None:
    may = {"/dev/sdg": True, "/dev/sdf": True, "/dev/loop0": True, "/dev/md0": False, "/dev/sda": False}
    refused = {entry.device.path: refusal(entry, BOX, is_root=True) for entry in BOX.entries}
    assert {path: not refused[path] for path in may} == may
    ticks = {device.path: listed_identity(device) for device in (SCRATCH, FREE)}
    assert lost_ticks(ticks, parse_listing(listed(FREE, SCRATCH))) == {}


def test_a_device_that_is_only_glimpsed_keeps_its_tick_unless_what_is_known_of_it_differs() -> None:
    ticks, before = {SCRATCH.path: listed_identity(SCRATCH)}, parse_listing(listed(FREE))
    for glimpsed, is_lost in ((replace(SCRATCH, loop=None), False), (replace(SCRATCH, loop=None, diskseq=99), True)):
        assert (SCRATCH.path in lost_ticks(ticks, with_changes(before, frozenset(), (glimpsed,)))) == is_lost


def test_without_root_nothing_unproved_is_ticked_and_the_pane_says_so() -> None:
    listing = parse_listing(listed(*STORAGE_BOX, is_root=False))
    assert all(refusal(entry, listing, is_root=False) for entry in listing.entries)
    listing = parse_listing(listed(FREE, is_root=False))
    assert "sudo fsconsole" in " ".join(told(listing, FREE.path, is_root=False).split())


def test_the_pane_tells_who_a_device_is_what_would_be_lost_and_how_far_an_array_is() -> None:
    disk = ("Z1Y0G", "0x5000c50000000060", "3298534883328 bytes", "512/4096", "ata, rotating disk", "8:96")
    settings = ("mq-deadline (of none, mq-deadline, kyber)", "read-ahead 128KiB", "write back")
    for path, words in {
        "/dev/sdg": (*disk, *settings),
        "/dev/sdf": (r"to be lost  holds ext4 '[/x]\x1b[31m\u202e", "UUID 0a1b2c3d-0000-4e5f"),
        # What is no content is not said to be lost.
        "/dev/loop0": (
            "hazard      may be open in process 1",
            "scratch     wiped without a question while it is blank",
        ),
        "/dev/md0": (
            "raid5, 4 members UUUU, chunk 512KiB",
            "sde[4] sdd[2] sdc[1] sdb[0]",
            "resync 41.3 %, 162 min to go at 181 MB/s",
            "made of     sdb, sdc, sdd, sde",
        ),
    }.items():
        text = told(BOX, path, width=200)
        assert [said for said in words if said not in text] == [], path
        assert "\x1b" not in text
    once = told(BOX, "/dev/sdf", width=200)
    assert [once.count(word) for word in ("0a1b2c3d-0000-4e5f", "u202e", "signature   ext4, at byte ")] == [1, 1, 1]
    md = MdArray("md0", active=False, read_only=False, level="", members=(), size_bytes=0)
    inactive = replace(ARRAY, size_bytes=0, md=md)
    assert "array       inactive, 0 members" in told(parse_listing(listed(inactive)), "/dev/md0")
    why = "/dev/sdg could not be looked at: I/O error"
    unproved = parse_listing(listed(FREE, not_asked=frozenset({"sdg"})), f"note: {why}\n")
    assert f"note        {why}" in told(unproved, FREE.path)
    error = "`wipefs --json /dev/sdg` failed with exit code 1: wipefs: error"
    failed = told(
        parse_listing(listed(FREE), f"note: /dev/sdg could not be looked at: {error}\n"), FREE.path, width=200
    )
    assert (
        failed.index("serial ")
        < failed.index("note        signatures not read: wipefs failed")
        < failed.index("read-ahead")
    )
    assert failed.splitlines()[-1] == "tool error  wipefs: error"


def test_lines_of_the_pane_fit_and_lose_nothing_of_any_device_of_the_box() -> None:
    for width in (20, 40, 76):
        for entry in BOX.entries:
            lines = details(entry, BOX, width, is_root=True, read_tests={})
            assert all(cells_of(label + text) <= max(width, 22) for label, text, _ in lines), width
            assert all("..." not in text for _, text, _ in lines), width
    for device in (*SYSTEM, *MEMBERS, *STORAGE_BOX):
        assert told(BOX, device.path).startswith(device.path)


def pane_of(device: Device, *hazards: Hazard) -> list[tuple[str, str]]:
    listed_one = ListedDevice.of(device, DeviceState(Claim.FREE, "free"), hazards, ())
    listing = parse_listing(encode(DevicesAnswer((listed_one,), ())))
    lines = details(listing.entries[0], listing, 76, is_root=True, read_tests={})
    return [(label.strip(), text) for label, text, _ in lines]


def test_what_a_run_left_on_a_scratch_device_is_told_as_that_and_what_somebody_keeps_there_as_a_loss() -> None:
    held = Hazard("filesystem", Verdict.ASKED, SCRATCH.path, "holds ext4 'x'", "Mount it read-only.", waits=False)
    kept = Hazard("scratch-kept", Verdict.ASKED, SCRATCH.path, "is a scratch device, but grown", "Look.", waits=False)
    assert ("last run", "left ext4 'x'") in pane_of(SCRATCH, held)
    assert "Mount it" not in str(pane_of(SCRATCH, held))
    for device, hazards in ((SCRATCH, (held, kept)), (FREE, (held,))):
        lost = [text for label, text in pane_of(device, *hazards) if label == "to be lost"]
        assert lost == [f"{'' if device is SCRATCH else f'{SCRATCH.path} '}holds ext4 'x'. Mount it read-only."]


def test_a_tools_error_takes_one_line_and_the_last_one() -> None:
    said = "wipefs: error: /dev/sdg: probing initialization failed: Input/output error\nand more\nand more"
    why = f"the signatures on /dev/sdg: `wipefs --no-act --json --output DEVICE,OFFSET /dev/sdg` failed with exit code 1: {said}"
    told = pane_of(FREE, Hazard("undetermined", Verdict.REFUSED, FREE.path, why, "The disk fails.", waits=False))
    assert ("refused", "the signatures on /dev/sdg can't be read. The disk fails.") in told
    assert told[-1][0] == "tool error"
    assert told[-1][1].startswith("wipefs: error: /dev/sdg")
    assert told[-1][1].endswith("Input/output error")
    assert "more" not in str(told)
    assert sum("wipefs" in text for _, text in told) == 1


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


# Stripes, in the words that mkfs takes, and what is wrong with them.


def pane(path: str, *devices: Device) -> dict[str, str]:
    state = DeviceState(Claim.FREE, "free")
    listing = parse_listing(
        encode(DevicesAnswer(tuple(ListedDevice.of(one, state, (), ("why",)) for one in devices), ()))
    )
    (entry,) = [entry for entry in listing.entries if entry.device.path == path]
    lines = details(entry, listing, 200, is_root=True, read_tests={})
    return {label.strip(): text for label, text, _ in lines}


def test_of_an_array_it_tells_stripes_and_words_for_mkfs_and_of_a_partition_off_them_it_cautions() -> None:
    said = pane("/dev/md0", SDA, MEMBER, MD0)
    assert said["stripes"] == "64KiB on each of 2 data disks, 128KiB in all"
    assert said["for mkfs"] == "ext4 -E stride=16,stripe_width=32; xfs -d su=64k,sw=2; mkfs sees that itself"
    assert "caution" not in said
    part = replace(PART, partition_start_bytes=4096)
    caution = pane("/dev/md0p1", SDA, MEMBER, MD0, part)["caution"]
    assert caution.startswith("/dev/md0p1 begins at byte 4096, inside a chunk of /dev/md0")
    assert not {"stripes", "for mkfs", "caution"} & set(pane("/dev/sda", SDA))


# Identity: a ticked device is compared with the one that has its name later.

COMPARED = {field.name for field in fields(Identity)} - {"name", "boot_id", "dm_table"}
"""All but what a list of devices doesn't tell, and the name under which something else may stand."""


def test_a_device_is_the_same_in_the_list_and_in_the_plan() -> None:
    for device in (FREE, SCRATCH, replace(FREE, major=259, minor=1_000_003)):
        planned = replace(listed_identity(device), boot_id="boot", dm_table="0 1 linear")
        assert within_boot(planned) == listed_identity(device), device


def test_every_difference_is_told_and_loses_the_tick() -> None:
    assert set(TOLD) == COMPARED
    known, listing = listed_identity(FREE), parse_listing(listed(FREE))
    assert others(known, known) == ""
    for field in sorted(COMPARED):
        value = getattr(known, field)
        other = replace(known, **{field: value + 4096 if isinstance(value, int) else f"{value}9"})
        assert others(known, other), field
        lost = lost_ticks({FREE.path: other}, listing)
        assert "another device has its name now" in lost[FREE.path], field


def test_columns_stay_while_devices_are_read_anew_and_a_scratch_device_says_when_and_for_what_it_was_made() -> None:
    for width in (140, 200):
        shown = lay_out(BOX.entries, (), width, SAFE)
        bare = [
            replace(entry, row=replace(entry.row, device=replace(entry.device, signatures=(), serial="")))
            for entry in BOX.entries
        ]
        assert lay_out(bare, (), width, SAFE).columns != shown.columns, width
        assert lay_out(bare, (), width, SAFE, shown).columns == shown.columns, width
    assert SCRATCH.loop is not None
    made = replace(SCRATCH.loop, made_ns=1_795_544_400 * 10**9, purpose="run quick-1")
    known = parse_listing(listed(replace(SCRATCH, loop=made)))
    (row,) = [row for row in lay_out(known.entries, (), 140, SAFE).rows if row.cells]
    assert row.cells[-1][0] == "free; made 11-24 18:20 for run quick-1"
    assert "2026-11-24 18:20 UTC for run quick-1" in told(known, SCRATCH.path)


def test_the_point_of_a_state_fits_the_column_of_a_narrow_terminal() -> None:
    for said, shown in (
        ("is locked by another run or tool", "locked by a run or tool"),
        ("may be open in process 1 (init), which hides it", "maybe open: pid 1..."),
    ):
        states = [replace(entry, state=replace(entry.state, text=said)) for entry in BOX.entries]
        rows = [row for row in lay_out(states, (), 80, SAFE).rows if row.cells]
        assert any(row.cells[-1][0].startswith(shown.removesuffix("...")) for row in rows), said
        whole = [row for row in lay_out(states, None, 200, SAFE).rows if row.cells]
        assert any(said.removeprefix("is ") in row.cells[-1][0] for row in whole), said
