from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fsconsole.devices.identity import _WORDS, differences, lasting_differences, read_identity
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


def test_across_boots_only_what_lasts_is_compared() -> None:
    rebooted = replace(identity(), boot_id="boot-2", name="sdx", device_number=9, diskseq=3)
    assert lasting_differences(identity(), rebooted) == ()
    for fact in ({"wwn": "other"}, {"serial": "other"}, {"size_bytes": 512}, {"partition_start_bytes": 512}):
        assert lasting_differences(identity(), replace(rebooted, **fact)), fact
    assert lasting_differences(SCRATCHED, replace(SCRATCHED, backing_device=5)) == ()
    for fact in ({"backing_inode": 99}, {"scratch_id": "f" * 8}, {"backing_offset_bytes": 512}):
        assert lasting_differences(SCRATCHED, replace(SCRATCHED, **fact)), fact


def test_identity_is_read_from_the_device() -> None:
    read = read_identity(SCRATCH, FakeExecutor({}))
    assert (read.device_number, read.scratch_id, read.backing_inode) == (number(SCRATCH), "0123abcd", 78)
    assert read_identity(SDB, FakeExecutor({})).wwn == SDB.wwn


def test_the_table_of_a_volume_belongs_to_its_identity() -> None:
    volume = device("dm-0", 253, 0, dm_name="vg-srv", dm_uuid="LVM-x")

    def answering(code: int) -> FakeExecutor:
        return FakeExecutor({TABLE: CommandResult(TABLE, code, b"0 8 linear 8:1 0\n", b"", ResourceUsage(0, 0, 0, 0))})

    assert read_identity(volume, answering(0)).dm_table == "0 8 linear 8:1 0"
    with pytest.raises(ToolFailed):
        read_identity(volume, answering(1))
