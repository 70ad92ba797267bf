from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.md import parse_mdstat
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.model.device import MdArray, MdMember
from fsconsole.text import KIB

RECORDED = Path(__file__).parents[2] / "data" / "mdstat"


def recorded(name: str) -> dict[str, MdArray]:
    return {array.name: array for array in parse_mdstat((RECORDED / name).read_text())}


def test_the_linear_array_of_2008_is_read() -> None:
    assert recorded("2.6.26-linear.txt")["md0"] == MdArray(
        name="md0",
        active=True,
        read_only=False,
        level="linear",
        members=(MdMember("sdg", 2), MdMember("sdf", 1), MdMember("sde", 0)),
        size_bytes=5462560320 * KIB,
        chunk_bytes=64 * KIB,
    )


def test_a_degraded_recovery_has_progress_time_and_speed() -> None:
    array = recorded("2.6.32-raid5-recovery-raid1-delayed.txt")["md3"]
    assert (array.level, array.slots, array.degraded) == ("raid5", "UUU_", 1)
    assert (array.action, array.progress_percent) == ("recovery", 12.6)
    assert (array.finish_min, array.speed_bytes_s) == (127.5, 55752 * KIB)


@pytest.mark.parametrize(
    ("file", "array", "action"),
    [
        ("2.6.32-raid5-recovery-raid1-delayed.txt", "md1", "DELAYED"),
        ("3.2-pending-auto-read-only.txt", "md127", "PENDING"),
        ("6.1-broken-remote-nvme.txt", "md3", "REMOTE"),
    ],
)
def test_an_array_that_waits_for_its_resync_says_so(file: str, array: str, action: str) -> None:
    found = recorded(file)[array]
    assert found.action == action
    assert found.progress_percent is None


def test_an_idle_array_has_no_action() -> None:
    array = recorded("2.6.32-raid5-recovery-raid1-delayed.txt")["md2"]
    assert (array.action, array.progress_percent, array.degraded) == ("", None, 0)
    assert len(array.members) == 10
    assert array.chunk_bytes == 1024 * KIB


def test_read_only_arrays_are_told_from_writable_ones() -> None:
    arrays = recorded("3.2-pending-auto-read-only.txt")
    assert arrays["md127"].read_only
    assert arrays["md0"].read_only
    assert arrays["md0"].level == "raid1"
    assert not recorded("2.6.26-linear.txt")["md0"].read_only


def test_a_container_and_its_volume_are_told_by_their_metadata() -> None:
    arrays = recorded("4.9-raid10-check-imsm.txt")
    assert not arrays["md127"].active
    assert arrays["md127"].metadata == "external:imsm"
    assert arrays["md127"].members == (MdMember("sdb", 1, "S"), MdMember("sda", 0, "S"))
    assert arrays["md126"].metadata == "external:/md127/0"
    assert arrays["md126"].active


def test_raid10_and_raid0_print_their_chunks_in_their_own_way() -> None:
    arrays = recorded("4.9-raid10-check-imsm.txt")
    assert (arrays["md10"].level, arrays["md10"].chunk_bytes) == ("raid10", 512 * KIB)
    assert (arrays["md10"].action, arrays["md10"].progress_percent) == ("check", 86.4)
    assert (arrays["md9"].level, arrays["md9"].chunk_bytes, arrays["md9"].slots) == ("raid0", 512 * KIB, "")


def test_every_flag_of_a_member_is_kept() -> None:
    arrays = recorded("4.19-raid6-degraded-flags.txt")
    flags = {member.name: member.flags for member in arrays["md5"].members}
    assert flags["sdi1"] == "J"
    assert flags["sdh1"] == "S"
    assert flags["sdg1"] == "R"
    assert flags["sdf1"] == "F"
    assert flags["sda1"] == ""
    assert {member.name: member.flags for member in arrays["md6"].members}["sdl1"] == "WF"


def test_a_reshape_just_begun_and_a_bitmap_in_a_file_are_read() -> None:
    arrays = recorded("4.19-raid6-degraded-flags.txt")
    assert (arrays["md5"].action, arrays["md5"].progress_percent) == ("reshape", 0.0)
    assert arrays["md6"].bitmap == "1/8 pages [4KB], 65536KB chunk, file: /var/lib/md6.bitmap"


def test_resync_and_an_inactive_array_stand_side_by_side() -> None:
    arrays = recorded("5.10-debian-raid5-resync.txt")
    assert (arrays["md0"].action, arrays["md0"].progress_percent) == ("resync", 41.3)
    assert arrays["md0"].metadata == "1.2"
    assert not arrays["md_scratch"].active
    assert arrays["md_scratch"].level == ""


def test_an_array_that_has_no_member_yet_is_read() -> None:
    array = recorded("6.1-no-member.txt")["md400"]
    assert (array.active, array.level, array.members, array.metadata) == (False, "", (), "1.2")


def test_a_broken_array_still_counts_as_active() -> None:
    array = recorded("6.1-broken-remote-nvme.txt")["md4"]
    assert array.active
    assert array.level == "raid0"


def test_a_member_in_a_subdirectory_of_dev_keeps_its_name() -> None:
    assert recorded("6.1-broken-remote-nvme.txt")["md2"].members[0].name == "cciss/c0d1p1"


def test_non_persistent_metadata_is_named() -> None:
    assert recorded("6.12-no-linear-non-persistent.txt")["md7"].metadata == "non-persistent"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one array of linux 6.1.192 was, as mdadm 4.2 had made it; the defaults are those of a quiet one."""

    file: str
    level: str
    size_kib: int
    members: str
    chunk_kib: int = 0
    slots: str = ""
    action: str = ""
    metadata: str = "1.2"
    name: str = "md0"
    active: bool = True
    read_only: bool = False


SEEN = [
    Seen("linear", "linear", 79872, "vdb1 vda0"),
    Seen("raid0", "raid0", 119808, "vdc2 vdb1 vda0", 64),
    Seen("raid0-non-persistent", "raid0", 81920, "vdb1 vda0", 64, metadata="non-persistent"),
    Seen("raid1-0.90", "raid1", 40896, "vdb1 vda0", 0, "UU", metadata=""),
    Seen("raid1-write-mostly-failed-spare", "raid1", 39936, "vdd3WF vdc2W vdb1W vda0", 0, "UUU"),
    Seen("raid5-first-recovery", "raid5", 79872, "vdc3 vdb1 vda0", 64, "UU_", "recovery"),
    Seen("raid5-check", "raid5", 79872, "vdc2 vdb1 vda0", 64, "UUU", "check"),
    Seen("raid5-failed-member", "raid5", 79872, "vdc2 vdb1F vda0", 64, "U_U"),
    Seen("raid5-reshape", "raid5", 79872, "vdd3 vdc2 vdb1 vda0", 64, "UUUU", "reshape"),
    Seen("raid5-read-only", "raid5", 79872, "vdc2 vdb1 vda0", 64, "UUU", read_only=True),
    Seen(
        "raid5-auto-read-only-degraded", "raid5", 79872, "vdb1 vda0", 64, "UU_", name="md127", read_only=True
    ),
    Seen("raid5-inactive", "", 39936, "vda0S", name="md127", active=False),
    Seen("raid6-resync-spare", "raid6", 119808, "vdf5S vde4 vdd3 vdc2 vdb1 vda0", 64, "UUUUU", "resync"),
    Seen("raid10-near", "raid10", 79872, "vdd3 vdc2 vdb1 vda0", 64, "UUUU"),
    Seen("raid10-far-resync-and-raid1", "raid10", 79872, "vdd3 vdc2 vdb1 vda0", 64, "UUUU", "resync"),
    Seen("raid10-far-resync-and-raid1", "raid1", 39936, "vdf1 vde0", 0, "UU", name="md1"),
]


@pytest.mark.parametrize("seen", SEEN, ids=lambda seen: f"{seen.file}-{seen.name}")
def test_what_linux_6_1_printed_is_read_as_what_it_was(seen: Seen) -> None:
    array = recorded(f"6.1.192-{seen.file}.txt")[seen.name]
    assert (array.level, array.active, array.read_only) == (seen.level, seen.active, seen.read_only)
    assert (array.size_bytes, array.chunk_bytes) == (seen.size_kib * KIB, seen.chunk_kib * KIB)
    assert (array.slots, array.degraded) == (seen.slots, seen.slots.count("_"))
    assert (array.action, array.progress_percent is not None) == (seen.action, seen.action != "")
    assert array.metadata == seen.metadata
    assert " ".join(f"{m.name}{m.slot}{m.flags}" for m in array.members) == seen.members


def test_no_arrays_is_an_empty_answer() -> None:
    assert parse_mdstat((RECORDED / "empty.txt").read_text()) == ()
    assert parse_mdstat("") == ()


def test_words_in_a_bitmap_file_name_are_no_action() -> None:
    text = "md0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n      bitmap: 0/1 pages, file: /resync=DELAYED\n"
    assert parse_mdstat(text)[0].action == ""


@pytest.mark.parametrize(
    "line", ["md0 : sleeping raid1 sda[0]", "md0 : active raid1 sda(S)", "md0 : activeraid1"]
)
def test_a_headline_that_is_not_understood_is_an_error(line: str) -> None:
    with pytest.raises(KernelUnreadable):
        parse_mdstat(line + "\n      8 blocks [2/2] [UU]\n")


@given(st.text(alphabet=st.sampled_from("md0 :active[]()\n\tSFU_=%.9kresync raid1blo")) | st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    with contextlib.suppress(KernelUnreadable):
        parse_mdstat(text)


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
MEMBERS = st.builds(
    MdMember, name=NAMES, slot=st.integers(-1, 400), flags=st.sampled_from(["", "S", "F", "WF", "J", "R"])
)
TENTHS = st.integers(0, 1000).map(lambda tenths: tenths / 10)


@st.composite
def arrays(draw: st.DrawFn) -> MdArray:
    level = draw(st.sampled_from(["linear", "raid0", "raid1", "raid5", "raid6", "raid10", ""]))
    slots = draw(st.text("U_", min_size=1, max_size=12)) if level[-1:] in ("1", "5", "6") else ""
    running = (
        draw(st.sampled_from(["resync", "recovery", "reshape", "check"]))
        if slots and draw(st.booleans())
        else ""
    )
    waiting = draw(st.sampled_from(["", "DELAYED", "PENDING"])) if slots else ""
    return MdArray(
        name=draw(NAMES),
        active=level != "",
        read_only=draw(st.booleans()) if level else False,
        level=level,
        members=tuple(draw(st.lists(MEMBERS, max_size=4))),
        size_bytes=draw(st.integers(0, 2**50)) * KIB,
        chunk_bytes=draw(st.integers(1, 4096)) * KIB if level and level != "raid1" else 0,
        slots=slots,
        degraded=slots.count("_"),
        action=running or waiting,
        progress_percent=draw(TENTHS) if running else None,
        finish_min=draw(TENTHS) if running else None,
        speed_bytes_s=float(draw(st.integers(0, 10**7)) * KIB) if running else None,
        bitmap=draw(st.sampled_from(["", "0/1 pages [0KB], 65536KB chunk"])) if level else "",
        metadata=draw(st.sampled_from(["", "1.2", "external:imsm", "non-persistent"])),
        near_copies=draw(st.sampled_from([0, 2, 3])) if level == "raid10" else 0,
    )


def printed(array: MdArray) -> str:
    """Print an array as md_seq_show does."""
    members = "".join(
        f" {m.name}[{m.slot}]" + "".join(f"({flag})" for flag in m.flags) for m in array.members
    )
    mode = (" (read-only)" if array.read_only else "") + f" {array.level}" if array.level else ""
    lines = [f"{array.name} : {'active' if array.active else 'inactive'}{mode}{members}"]
    metadata = f" super {array.metadata}" if array.metadata else ""
    lines.append(f"      {array.size_bytes // KIB} blocks{metadata}{chunk(array)}{health(array)}")
    if array.progress_percent is not None:
        assert array.speed_bytes_s is not None
        lines.append(
            f"      [=>..................]  {array.action} ={array.progress_percent:5.1f}% (1/2)"
            f" finish={array.finish_min}min speed={array.speed_bytes_s / KIB:.0f}K/sec"
        )
    elif array.action:
        lines.append(f"      \tresync={array.action}")
    if array.bitmap:
        lines.append(f"      bitmap: {array.bitmap}")
    return "\n".join(lines) + "\n\n"


def chunk(array: MdArray) -> str:
    kib = array.chunk_bytes // KIB
    if array.level in ("raid5", "raid6"):
        return f" level {array.level[-1]}, {kib}k chunk, algorithm 2"
    words = {
        "linear": f" {kib}k rounding",
        "raid0": f" {kib}k chunks",
        "raid10": f" {kib}K chunks {array.near_copies or 2} {'near' if array.near_copies else 'far'}-copies",
    }
    return words.get(array.level, "")


def health(array: MdArray) -> str:
    size = len(array.slots)
    return f" [{size}/{size - array.degraded}] [{array.slots}]" if size else ""


@given(st.lists(arrays(), max_size=3))
def test_what_the_kernel_would_print_is_read_back_whole(listed: list[MdArray]) -> None:
    text = "Personalities : [raid1] \n" + "".join(map(printed, listed)) + "unused devices: <none>\n"
    assert parse_mdstat(text) == tuple(listed)
