from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fsconsole.devices.identity import _WORDS, differences, differences_across_boots, read_identity
from fsconsole.errors.runs import ToolFailed
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.device import Identity
from tests.fakes import FakeExecutor
from tests.unit.gate.made import SCRATCH, SDB, UUID, device, identity, number

NONE: frozenset[str] = frozenset()
OURS = frozenset({UUID})
TABLE = ("dmsetup", "table", "vg-srv")
SCRATCHED = identity(SCRATCH, scratch_id="0123abcd", backing_inode=78, backing_device=64512)


def test_a_change_of_any_field_within_one_boot_is_told() -> None:
    before = identity()
    assert set(_WORDS) == {field.name for field in fields(Identity)}
    assert differences(before, before) == ()
    for name in (field.name for field in fields(Identity)):
        value = getattr(before, name)
        after = replace(before, **{name: value + 512 if isinstance(value, int) else value + "x"})
        (difference,) = differences(before, after)
        assert difference.startswith(_WORDS[name])
    before = identity(partition_start_bytes=2**20)
    moved = replace(before, partition_start_bytes=2**21)
    assert differences(before, moved) == ("partition start: 1MiB, now 2MiB",)


def rebooted(before: Identity, **facts: object) -> Identity:
    plain = replace(before, boot_id="boot-2", name="sdx", device_number=9, diskseq=3)
    return replace(plain, **facts)  # type: ignore[arg-type]


def test_across_boots_a_lasting_name_and_a_filesystem_of_this_run_are_proof_and_one_alone_is_none() -> None:
    assert differences_across_boots(identity(), rebooted(identity()), OURS, OURS) == ()
    for on_it in (NONE, frozenset({"another"})):
        (why,) = differences_across_boots(identity(), rebooted(identity()), on_it, OURS)
        assert "no filesystem of this run" in why
    for facts in ({"wwn": "other"}, {"serial": "other"}, {"size_bytes": 512}, {"partition_start_bytes": 512}):
        assert differences_across_boots(identity(), rebooted(identity(), **facts), OURS, OURS)
    nameless = replace(identity(), wwn="", serial="")
    assert differences_across_boots(nameless, rebooted(nameless), OURS, OURS)


def test_a_scratch_device_is_proved_across_boots_by_marker_and_inode() -> None:
    assert differences_across_boots(SCRATCHED, rebooted(SCRATCHED, backing_device=5), NONE, NONE) == ()
    assert differences_across_boots(SCRATCHED, rebooted(SCRATCHED, backing_inode=99), NONE, NONE)
    assert differences_across_boots(SCRATCHED, rebooted(SCRATCHED, scratch_id="f" * 8), NONE, NONE)


def test_identity_is_read_from_the_device() -> None:
    read = read_identity(SCRATCH, FakeExecutor({}))
    assert (read.device_number, read.scratch_id, read.backing_inode) == (number(SCRATCH), "0123abcd", 78)
    assert read_identity(SDB, FakeExecutor({})).wwn == SDB.wwn


def test_the_table_of_a_volume_belongs_to_its_identity() -> None:
    volume = device("dm-0", 253, 0, dm_name="vg-srv", dm_uuid="LVM-x")

    def answering(code: int) -> FakeExecutor:
        return FakeExecutor(
            {TABLE: CommandResult(TABLE, code, b"0 8 linear 8:1 0\n", b"", ResourceUsage(0, 0, 0, 0))}
        )

    assert read_identity(volume, answering(0)).dm_table == "0 8 linear 8:1 0"
    with pytest.raises(ToolFailed):
        read_identity(volume, answering(1))
