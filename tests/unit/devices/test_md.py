"""md: /proc/mdstat, superblocks on members, and arrays in a sysfs of files."""

from __future__ import annotations

import contextlib
import struct
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.md import (
    HeldArray,
    held_arrays,
    is_left_empty,
    is_started,
    parse_mdstat,
    parse_superblock,
    sync_state,
)
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
    text = (
        "md0 : active raid1 sdb[1] sda[0]\n      8 blocks [2/2] [UU]\n      bitmap: 0/1 pages, file: /resync=DELAYED\n"
    )
    assert parse_mdstat(text)[0].action == ""


def test_a_headline_that_is_not_understood_is_an_error() -> None:
    for line in ("md0 : sleeping raid1 sda[0]", "md0 : active raid1 sda(S)", "md0 : activeraid1"):
        with pytest.raises(KernelUnreadable):
            parse_mdstat(line + "\n      8 blocks [2/2] [UU]\n")


@given(st.text(alphabet=st.sampled_from("md0 :active[]()\n\tSFU_=%.9kresync raid1blo")) | st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    with contextlib.suppress(KernelUnreadable):
        parse_mdstat(text)


UUID = "0123abcd-1111-2222-3333-0123456789ab"


def superblock(magic: int = 0xA92B4EFC, version: int = 1) -> bytes:
    return struct.pack("<IIII16s32s", magic, version, 0, 0, uuid.UUID(UUID).bytes, b"fsconsole:what-if").ljust(4096)


def test_the_uuid_on_a_member_is_read_and_what_is_no_superblock_of_this_kind_has_none():
    assert parse_superblock(superblock()) == UUID
    for raw in (b"", bytes(4096), superblock(magic=1), superblock(version=0), superblock()[:30]):
        assert parse_superblock(raw) == ""


def array(sys: Path, name: str, *members: str) -> Path:
    for member in members:
        (sys / "devices" / member).mkdir(parents=True, exist_ok=True)
    slaves = sys / "block" / name / "slaves"
    slaves.mkdir(parents=True)
    for member in members:
        (slaves / member).symlink_to(sys / "devices" / member)
    folder = sys / "block" / name / "md"
    folder.mkdir()
    return folder


def test_arrays_are_those_with_members_marked_somewhere_and_a_pulled_member_is_none(tmp_path):
    array(tmp_path, "md400", "vda", "vdb")
    array(tmp_path, "md127", "vdc")
    array(tmp_path, "md3")
    (tmp_path / "block" / "vda").mkdir()
    (tmp_path / "block/md127/md/metadata_version").write_text("none\n")
    (tmp_path / "devices" / "vdb").rmdir()
    assert list(held_arrays(str(tmp_path))) == [
        HeldArray("md127", frozenset({"vdc"}), "none"),
        HeldArray("md400", frozenset({"vda"})),
    ]


def state(
    tmp_path: Path,
    action: str = "idle",
    degraded: int = 0,
    resync_start: str = "none",
    completed: str = "none",
):
    folder = array(tmp_path, "md400", "vda")
    (folder / "sync_action").write_text(action + "\n")
    (folder / "degraded").write_text(f"{degraded}\n")
    (folder / "resync_start").write_text(resync_start + "\n")
    (folder / "sync_completed").write_text(completed + "\n")
    (folder / "dev-vda").mkdir()
    (folder / "dev-vda" / "state").write_text("faulty\n" if degraded > 1 else "in_sync\n")
    return sync_state("md400", str(tmp_path))


def test_an_array_is_in_step_when_idle_and_whole_and_tells_how_far_it_is(tmp_path):
    for name, how, told in (
        ("idle", {}, (True, 0.0, False, ())),
        (
            "resync",
            {"action": "resync", "resync_start": "500", "completed": "500 / 2000"},
            (False, 25.0, True, ()),
        ),
        ("rebuild not begun", {"degraded": 1}, (False, 0.0, False, ())),
        ("resync not begun", {"resync_start": "0"}, (False, 0.0, False, ())),
        ("member failed", {"degraded": 2}, (False, 0.0, False, ("vda",))),
        ("waits", {"action": "resync", "resync_start": "0", "completed": "delayed"}, (False, 0.0, False, ())),
    ):
        found = state(tmp_path / name, **how)
        assert (found.is_in_step, found.done_percent, found.is_at_work, found.faulty) == told, name


def test_an_array_is_started_that_gives_its_data_and_left_empty_that_never_had_a_member(tmp_path):
    for name, now, members, started, empty in (
        ("md1", "clear", ("vda",), False, False),
        ("md2", "inactive", ("vda",), False, False),
        ("md3", "inactive", (), False, True),
        ("md4", "clean", (), True, False),
        ("md5", "read-auto", ("vda",), True, False),
        ("md6", "broken", ("vda",), True, False),
    ):
        (array(tmp_path, name, *members) / "array_state").write_text(f"{now}\n")
        assert (is_started(name, str(tmp_path)), is_left_empty(name, str(tmp_path))) == (started, empty), name
    (tmp_path / "devices" / "vda").rmdir()
    assert [is_left_empty(name, str(tmp_path)) for name in ("md2", "md3", "md7")] == [False, True, False]
    assert not is_started("md7", str(tmp_path))
