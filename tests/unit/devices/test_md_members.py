"""Whose array a member is of, and which arrays the kernel holds: from bytes and from a sysfs of files."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

from fsconsole.devices.md import (
    HeldArray,
    held_arrays,
    is_left_empty,
    is_started,
    parse_superblock,
    sync_state,
)

UUID = "0123abcd-1111-2222-3333-0123456789ab"


def superblock(magic: int = 0xA92B4EFC, version: int = 1) -> bytes:
    return struct.pack(
        "<IIII16s32s", magic, version, 0, 0, uuid.UUID(UUID).bytes, b"fsconsole:what-if"
    ).ljust(4096)


def test_the_uuid_on_a_member_is_read_as_blkid_and_mdadm_write_it():
    assert parse_superblock(superblock()) == UUID


def test_what_is_no_superblock_of_this_kind_has_no_uuid():
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


def test_arrays_are_those_with_members_and_a_pulled_member_is_none(tmp_path):
    array(tmp_path, "md400", "vda", "vdb")
    array(tmp_path, "md127", "vdc")
    array(tmp_path, "md3")
    (tmp_path / "block" / "vda").mkdir()
    (tmp_path / "devices" / "vdb").rmdir()
    assert list(held_arrays(str(tmp_path))) == [
        HeldArray("md127", frozenset({"vdc"})),
        HeldArray("md400", frozenset({"vda"})),
    ]


def state(
    tmp_path: Path, action: str, degraded: int = 0, resync_start: str = "none", completed: str = "none"
):
    folder = array(tmp_path, "md400", "vda")
    (folder / "sync_action").write_text(action + "\n")
    (folder / "degraded").write_text(f"{degraded}\n")
    (folder / "resync_start").write_text(resync_start + "\n")
    (folder / "sync_completed").write_text(completed + "\n")
    (folder / "dev-vda").mkdir()
    (folder / "dev-vda" / "state").write_text("faulty\n" if degraded > 1 else "in_sync\n")
    return sync_state("md400", str(tmp_path))


def test_an_idle_whole_array_is_in_step(tmp_path):
    assert state(tmp_path, "idle").is_in_step


def test_one_that_resyncs_is_not_and_tells_how_far_it_is(tmp_path):
    found = state(tmp_path, "resync", resync_start="500", completed="500 / 2000")
    assert (found.is_in_step, found.done_percent, found.is_at_work) == (False, 25.0, True)


def test_one_whose_rebuild_has_not_begun_yet_is_not_in_step(tmp_path):
    assert not state(tmp_path, "idle", degraded=1).is_in_step


def test_one_whose_resync_has_not_begun_yet_is_not_in_step(tmp_path):
    assert not state(tmp_path, "idle", resync_start="0").is_in_step


def test_a_member_that_failed_is_named(tmp_path):
    assert state(tmp_path, "idle", degraded=2).faulty == ("vda",)


def test_an_array_tells_where_its_members_are_marked(tmp_path):
    (array(tmp_path, "md5", "vda") / "metadata_version").write_text("none\n")
    assert list(held_arrays(str(tmp_path))) == [HeldArray("md5", frozenset({"vda"}), "none")]


def test_one_whose_resync_waits_for_that_of_another_array_is_not_at_work(tmp_path):
    assert not state(tmp_path, "resync", resync_start="0", completed="delayed").is_at_work


def test_only_an_array_that_gives_its_data_is_started(tmp_path):
    states = {"md1": "clear", "md2": "inactive", "md3": "clean", "md4": "read-auto", "md5": "broken"}
    for name, state in states.items():
        (array(tmp_path, name) / "array_state").write_text(f"{state}\n")
    assert [name for name in (*states, "md6") if is_started(name, str(tmp_path))] == ["md3", "md4", "md5"]


def test_only_an_array_that_never_had_a_member_is_left_empty(tmp_path):
    for name, state, members in (
        ("md1", "inactive", ()),
        ("md2", "clean", ()),
        ("md3", "inactive", ("vda",)),
    ):
        (array(tmp_path, name, *members) / "array_state").write_text(f"{state}\n")
    (tmp_path / "devices" / "vda").rmdir()
    names = ("md1", "md2", "md3", "md4")
    assert [name for name in names if is_left_empty(name, str(tmp_path))] == ["md1"]
