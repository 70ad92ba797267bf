from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from fsconsole.devices import gather
from fsconsole.devices.apart import bound_by, bound_by_content
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.evidence import Evidence, SystemPlace
from fsconsole.devices.graph import DeviceGraph, relatives
from fsconsole.devices.hazards import find_hazards
from fsconsole.devices.uses import holder_uses
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.device import SHARED, Device, DeviceKind, Usage
from tests.fakes import FakeExecutor
from tests.unit.gate.made import GIB, SDA, checks, device, found, number, over, signature

MIB = 2**20
GPT_LINUX, ESP = "0fc63daf-8483-4772-8e79-3d69d8477de4", "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
BIOS_BOOT = "21686148-6449-6e6f-744e-656564454649"


def part(index: int, start: int = 0, **facts: object) -> Device:
    begin = start or index * GIB
    return device(f"sda{index}", minor=index, parent="sda", partition_start_bytes=begin, **{"size_bytes": GIB} | facts)


SDA1, SDA2, SDA3 = part(1), part(2), part(3)
GROUP, ORIGIN = "LVM-" + "g" * 32, "o" * 32
ROOT = device("dm-0", 253, 0, dm_name="vg-root", dm_uuid=GROUP + "r" * 32, lower=("sda2",))
FREE = device("dm-1", 253, 1, dm_name="vg-free", dm_uuid=GROUP + ORIGIN, lower=("sda2",))
SYSTEM = (SDA, SDA1, SDA2, SDA3, ROOT)
PLACES = (SystemPlace("/", frozenset(map(number, (ROOT, SDA2, SDA)))), SystemPlace("/boot", frozenset(map(number, (SDA1, SDA)))))  # fmt: skip


TABLE_OF = ("partx", "--pairs", "--output", "NR,START,SECTORS,FLAGS,TYPE,UUID,NAME")


def table_line(text: str) -> str:
    """Return partx's line for a partition of that start, size, flags and type."""
    start, sectors, flags, kind = [*text.split(), ""][:4]
    return f'NR="1" START="{start}" SECTORS="{sectors}" FLAGS="{flags}" TYPE="{kind}" UUID="" NAME=""\n'


def judged(of: Device, *others: Device, answer: str = "", code: int = 0) -> Evidence:
    """Return the evidence on a device of the system's disk; answer is what partx, or dmsetup, says."""
    graph = DeviceGraph({one.name: one for one in (*SYSTEM, of, *others)}.values())
    if not of.dm_name:
        answer = "".join(map(table_line, answer.splitlines()))
    argv = ("dmsetup", "table", of.dm_name) if of.dm_name else (*TABLE_OF, "/dev/sda")  # fmt: skip
    executor = FakeExecutor({argv: CommandResult(argv, code, answer.encode(), b"", ResourceUsage(0, 0, 0, 0))})
    uses = tuple(use for use in holder_uses(graph))
    evidence = Evidence(of, relatives(of, graph), uses=uses, system_places=PLACES)
    return gather._told_apart(evidence, partial(bound_by, graph=graph, executor=executor))


BEFORE = f"{GIB // 512} {GIB // 512} 0x0 {ESP}\n{2 * GIB // 512} {GIB // 512} 0x80 0x8e\n{3 * GIB // 512} {GIB // 512} "
TABLE = BEFORE + "0x0 "


@pytest.mark.parametrize("answer", [TABLE + GPT_LINUX, TABLE + "0x83"])
def test_a_free_linux_partition_of_the_systems_disk_is_asked_about_as_shared(answer: str) -> None:
    (hazard,) = find_hazards(judged(SDA3, answer=answer))
    assert (hazard.check, hazard.reason) == (SHARED, "is on a disk shared with / and /boot")


def test_a_plain_volume_beside_the_systems_is_asked_about_as_shared() -> None:
    for answer in (
        "0 8 linear 8:2 0",
        "0 8 striped 2 128 8:2 0 8:3 0",
        "0 8 linear 8:2 0\n8 8 linear 8:2 99",
    ):
        (hazard,) = find_hazards(judged(FREE, answer=answer))
        assert (hazard.check, hazard.reason) == (SHARED, "is on a disk shared with / and /boot")


LAYER = device("dm-9", 253, 9, dm_name="layer", dm_uuid=GROUP + ORIGIN + "-real", lower=("sda2",))
CRYPT = device("dm-8", 253, 8, dm_name="crypt", dm_uuid="CRYPT-LUKS2-1", lower=("sda3",))
MD = device("md0", 9, 0, lower=("sda3",))
LINEAR = "0 8 linear 8:2 0"
REFUSED: dict[str, Evidence] = {
    "thin": judged(replace(FREE, lower=("dm-8",)), CRYPT, answer="0 8 thin 253:8 1"),
    "thin on partitions": judged(FREE, answer="0 8 thin 253:8 1"),
    "thin pool": judged(replace(FREE, dm_uuid=FREE.dm_uuid + "-tpool"), answer="0 8 thin-pool 253:3 253:4 128 0"),
    "snapshot": judged(FREE, answer="0 8 snapshot 253:9 253:5 P 8"),
    "origin with a snapshot": judged(FREE, answer="0 8 snapshot-origin 253:9"),
    "layer below it": judged(replace(FREE, dm_uuid=FREE.dm_uuid + "-real"), answer=LINEAR),
    "cached": judged(FREE, answer="0 8 cache 253:3 253:4 253:5 128"),
    "raid": judged(FREE, answer="0 8 raid raid1 3 0 region_size 4096 2 253:3 253:4 253:5 253:6"),
    "mirror": judged(FREE, answer="0 8 mirror core 1 1024 2 8:2 0 8:3 0"),
    "writecache": judged(FREE, answer="0 8 writecache p 253:3 253:4 4096 0"),
    "linear in part": judged(FREE, answer=f"{LINEAR}\n8 8 error"),
    "without a table": judged(FREE, answer=""),
    "held by something": judged(replace(FREE, holders=("dm-9",)), LAYER, answer=LINEAR),
    "of no volume group": judged(replace(FREE, dm_uuid="mpath-1"), answer=LINEAR),
    "on LUKS": judged(replace(FREE, lower=("dm-8",)), CRYPT, answer=LINEAR),
    "on an array": judged(replace(FREE, lower=("md0",)), MD, answer=LINEAR),
    "with a second path": judged(FREE, replace(SDA, name="sdz", path="/dev/sdz", minor=99), answer=LINEAR),
    "on no plain disk": judged(SDA3, replace(SDA, kind=DeviceKind.OTHER), answer=TABLE + "0x83"),
    "the root": judged(ROOT, answer=LINEAR),
    "table unreadable": judged(FREE, answer=LINEAR, code=1),
    "the whole disk": judged(SDA),
    "below the root": judged(SDA2, answer=TABLE + "0x83"),
    "an array on it": judged(replace(MD, lower=("sda2",))),
    "EFI": judged(SDA3, answer=TABLE + ESP),
    "BIOS boot": judged(SDA3, answer=TABLE + BIOS_BOOT),
    "LVM by its type": judged(SDA3, answer=TABLE + "0x8e"),
    "of no type": judged(SDA3, answer=TABLE),
    "not in the table": judged(SDA3, answer=""),
    "moved in the table": judged(SDA3, answer=f"{3 * GIB // 512} 2048 0x0 0x83"),
    "active, as a DOS boot loader wants it": judged(SDA3, answer=BEFORE + "0x80 0x83"),
    "with a GPT's flag for legacy boot loaders": judged(SDA3, answer=f"{BEFORE}0x4 {GPT_LINUX}"),
    "twice in the table": judged(SDA3, answer=f"{TABLE}0x83\n{TABLE}0x83"),
    "partition table unreadable": judged(SDA3, answer=TABLE + "0x83", code=1),
    "overlapping": judged(SDA3, part(4, 3 * GIB + MIB), answer=TABLE + "0x83"),
    "overlapped": judged(part(3, 2 * GIB + MIB), answer=TABLE + "0x83"),
}  # fmt: skip


def test_all_else_on_the_systems_disk_is_refused_whatever_it_seems_to_be() -> None:
    for name, evidence in REFUSED.items():
        told = checks(find_hazards(evidence))
        assert told & {"system-disk", "held"} or "unreadable" in name, (name, told)
        assert ("undetermined" in told) is ("unreadable" in name), (name, told)
    assert checks(find_hazards(REFUSED["held by something"])) == {"held", SHARED}


def test_what_may_be_a_part_of_the_system_by_its_content_or_name_is_refused_and_a_filesystem_asked_about() -> None:
    free = judged(SDA3, answer=TABLE + "0x83")
    for kind, usage, refused in (
        ("ext4", Usage.FILESYSTEM, False),
        ("LVM2_member", Usage.RAID, True),
        ("linux_raid_member", Usage.RAID, True),
        ("crypto_LUKS", Usage.CRYPTO, True),
        ("swap", Usage.OTHER, True),
        ("dos", Usage.PARTITION_TABLE, True),
        ("zfs_member", Usage.FILESYSTEM, True),
    ):
        holding = replace(free, signatures=(found(SDA3, signature(kind, usage)),))
        told = gather._told_apart(holding, bound_by_content)
        assert ("system-disk" in checks(find_hazards(told))) is refused, kind
    named = replace(free, named_in=("/etc/fstab",), signatures=(found(SDA3, signature()),))
    assert bound_by_content(named) == "is named in /etc/fstab"
    assert bound_by_content(replace(named, named_in=())) == ""


def test_a_partition_of_a_loop_over_a_device_is_no_part_of_its_own_disk() -> None:
    loop = over(device("loop7", 7, 7), SDA)
    inner = device("loop7p1", 259, 1, parent="loop7", partition_start_bytes=MIB)
    assert "system-disk" in checks(find_hazards(judged(inner, loop, answer=f"2048 {inner.size_bytes // 512} 0x83")))


def test_of_the_systems_disk_only_the_target_and_a_file_are_locked_and_of_others_all() -> None:
    other = device("sdb", minor=16)
    wide = replace(FREE, lower=("sda2", "sdb"))
    graph = DeviceGraph((*SYSTEM, other, wide))
    system = frozenset(map(number, (ROOT, SDA1, SDA2, SDA)))
    of_sda = "/run/fsconsole-disk-sda.lock"
    for of, known, locked in (
        (SDA3, frozenset(), {"/dev/sda", "/dev/sda3", of_sda}),
        (SDA3, system, {"/dev/sda3", of_sda}),
        (wide, system, {"/dev/dm-1", "/dev/sdb", of_sda, "/run/fsconsole-disk-dm-1.lock", "/run/fsconsole-disk-sdb.lock"}),
    ):  # fmt: skip
        assert set(lock_paths(of, graph, known)) == locked
