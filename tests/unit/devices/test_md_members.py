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
