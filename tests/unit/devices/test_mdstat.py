from __future__ import annotations

import contextlib
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


WAITING, IMSM = "2.6.32-raid5-recovery-raid1-delayed.txt", "4.9-raid10-check-imsm.txt"
PENDING, BROKEN = "3.2-pending-auto-read-only.txt", "6.1-broken-remote-nvme.txt"
FLAGS = "4.19-raid6-degraded-flags.txt"
FACTS: list[tuple[str, str, dict[str, object]]] = [
    (
        WAITING,
        "md3",
        {"level": "raid5", "slots": "UUU_", "degraded": 1, "action": "recovery", "progress_percent": 12.6}
        | {"finish_min": 127.5, "speed_bytes_s": 55752 * KIB},
    ),
    (WAITING, "md1", {"action": "DELAYED", "progress_percent": None}),
    (PENDING, "md127", {"action": "PENDING", "progress_percent": None, "read_only": True}),
    (BROKEN, "md3", {"action": "REMOTE", "progress_percent": None}),
    (WAITING, "md2", {"action": "", "progress_percent": None, "degraded": 0, "chunk_bytes": 1024 * KIB}),
    (PENDING, "md0", {"read_only": True, "level": "raid1"}),
    ("2.6.26-linear.txt", "md0", {"read_only": False}),
    (
        IMSM,
        "md127",
        {"active": False, "metadata": "external:imsm"}
        | {"members": (MdMember("sdb", 1, "S"), MdMember("sda", 0, "S"))},
    ),
    (IMSM, "md126", {"active": True, "metadata": "external:/md127/0"}),
    (
        IMSM,
        "md10",
        {"level": "raid10", "chunk_bytes": 512 * KIB, "action": "check", "progress_percent": 86.4},
    ),
    (IMSM, "md9", {"level": "raid0", "chunk_bytes": 512 * KIB, "slots": ""}),
    (FLAGS, "md5", {"action": "reshape", "progress_percent": 0.0}),
    (FLAGS, "md6", {"bitmap": "1/8 pages [4KB], 65536KB chunk, file: /var/lib/md6.bitmap"}),
    (
        "5.10-debian-raid5-resync.txt",
        "md0",
        {"action": "resync", "progress_percent": 41.3, "metadata": "1.2"},
    ),
    ("5.10-debian-raid5-resync.txt", "md_scratch", {"active": False, "level": ""}),
    ("6.1-no-member.txt", "md400", {"active": False, "level": "", "members": (), "metadata": "1.2"}),
    (BROKEN, "md4", {"active": True, "level": "raid0"}),
    ("6.12-no-linear-non-persistent.txt", "md7", {"metadata": "non-persistent"}),
    ("6.1.192-raid10-near.txt", "md0", {"near_copies": 2}),
    ("6.1.192-raid10-far-resync-and-raid1.txt", "md0", {"near_copies": 0}),
]


def test_what_kernels_from_2_6_to_6_12_printed_is_read() -> None:
    wrong = [
        (file, name, key, getattr(recorded(file)[name], key))
        for file, name, facts in FACTS
        for key, value in facts.items()
        if getattr(recorded(file)[name], key) != value
    ]
    assert wrong == []
    assert len(recorded(WAITING)["md2"].members) == 10
    assert recorded(BROKEN)["md2"].members[0].name == "cciss/c0d1p1"


def test_every_flag_of_a_member_is_kept() -> None:
    flags = {m.name: m.flags for name in ("md5", "md6") for m in recorded(FLAGS)[name].members}
    wanted = {"sdi1": "J", "sdh1": "S", "sdg1": "R", "sdf1": "F", "sda1": "", "sdl1": "WF"}
    assert wanted.items() <= flags.items()


SEEN = [
    ("linear", "md0 linear 79872 vdb1 vda0 1.2"),
    ("raid0", "md0 raid0 119808 vdc2 vdb1 vda0 chunk=64 1.2"),
    ("raid0-non-persistent", "md0 raid0 81920 vdb1 vda0 chunk=64 non-persistent"),
    ("raid1-0.90", "md0 raid1 40896 vdb1 vda0 UU"),
    ("raid1-write-mostly-failed-spare", "md0 raid1 39936 vdd3WF vdc2W vdb1W vda0 UUU 1.2"),
    ("raid5-first-recovery", "md0 raid5 79872 vdc3 vdb1 vda0 chunk=64 UU_ recovery 1.2"),
    ("raid5-check", "md0 raid5 79872 vdc2 vdb1 vda0 chunk=64 UUU check 1.2"),
    ("raid5-failed-member", "md0 raid5 79872 vdc2 vdb1F vda0 chunk=64 U_U 1.2"),
    ("raid5-reshape", "md0 raid5 79872 vdd3 vdc2 vdb1 vda0 chunk=64 UUUU reshape 1.2"),
    ("raid5-read-only", "md0 raid5 79872 vdc2 vdb1 vda0 chunk=64 UUU 1.2 read-only"),
    ("raid5-auto-read-only-degraded", "md127 raid5 79872 vdb1 vda0 chunk=64 UU_ 1.2 read-only"),
    ("raid5-inactive", "md127 inactive 39936 vda0S 1.2"),
    ("raid6-resync-spare", "md0 raid6 119808 vdf5S vde4 vdd3 vdc2 vdb1 vda0 chunk=64 UUUUU resync 1.2"),
    ("raid10-near", "md0 raid10 79872 vdd3 vdc2 vdb1 vda0 chunk=64 UUUU 1.2"),
    ("raid10-far-resync-and-raid1", "md0 raid10 79872 vdd3 vdc2 vdb1 vda0 chunk=64 UUUU resync 1.2"),
    ("raid10-far-resync-and-raid1", "md1 raid1 39936 vdf1 vde0 UU 1.2"),
]
"""Arrays of linux 6.1.192 as mdadm 4.2 had made them: name, level, KiB, members with slots and flags, and the rest."""


def summary(array: MdArray) -> str:
    chunk_kib = array.chunk_bytes // KIB
    return " ".join(
        filter(
            None,
            (
                array.name,
                array.level if array.active else f"inactive{array.level}",
                str(array.size_bytes // KIB),
                *(f"{m.name}{m.slot}{m.flags}" for m in array.members),
                f"chunk={chunk_kib}" if chunk_kib else "",
                array.slots,
                array.action,
                array.metadata,
                "read-only" if array.read_only else "",
            ),
        )
    )


def test_what_linux_6_1_printed_is_read_as_what_it_was() -> None:
    for file, told in SEEN:
        array = recorded(f"6.1.192-{file}.txt")[told.split()[0]]
        assert summary(array) == told, file
        assert array.degraded == array.slots.count("_"), file
        assert (array.progress_percent is not None) == (array.action != ""), file


def test_no_arrays_is_an_empty_answer_and_words_in_a_bitmap_file_name_are_no_action() -> None:
    assert parse_mdstat((RECORDED / "empty.txt").read_text()) == parse_mdstat("") == ()
    text = "md0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n      bitmap: 0/1 pages, file: /resync=DELAYED\n"
    assert parse_mdstat(text)[0].action == ""


def test_a_headline_that_is_not_understood_is_an_error() -> None:
    for line in ("md0 : sleeping raid1 sda[0]", "md0 : active raid1 sda(S)", "md0 : activeraid1"):
        with pytest.raises(KernelUnreadable):
            parse_mdstat(line + "\n      8 blocks [2/2] [UU]\n")


@given(st.text(alphabet=st.sampled_from("md0 :active[]()\n\tSFU_=%.9kresync raid1blo")) | st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    with contextlib.suppress(KernelUnreadable):
        parse_mdstat(text)
