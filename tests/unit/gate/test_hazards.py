from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsconsole.devices.evidence import (
    RUN_FOLDER,
    SYSTEM_DISKS,
    Evidence,
    HiddenProcess,
    Relation,
    SystemPlace,
    Unread,
    UseKind,
)
from fsconsole.devices.fingerprint import left_digest
from fsconsole.devices.hazards import HINTS, QUESTIONS, SCRATCH_KEPT, find_hazards, is_refused
from fsconsole.devices.uses import table_uses
from fsconsole.model.device import Device, MdArray, MountUse, PlacedSignature, Usage, Verdict
from tests.unit.gate.made import (
    GIB,
    LOOP0,
    OTHER_UUID,
    SCRATCH,
    SDA,
    SDA1,
    SDB,
    SDB1,
    SDC,
    checks,
    device,
    evidence,
    found,
    number,
    over,
    relative,
    sample,
    signature,
    use,
)

RESYNC = MdArray("md0", True, False, "raid1", (), 4 * GIB, action="resync", progress_percent=12.5)
DELAYED = replace(RESYNC, action="DELAYED", progress_percent=None)
MD0 = device("md0", 9, 0)

INACTIVE = MdArray("md0", False, False, "", (), 0)
TWIN = relative(SDC, Relation.TWIN)
TWIN_MOUNTED = (use(UseKind.MOUNT, SDC, "is mounted on /srv"),)


def holds(place: Device) -> tuple[SystemPlace, ...]:
    return (SystemPlace("/", frozenset({number(place)})),)


def signed(kind: str, usage: Usage, uuid: str = "") -> Evidence:
    return evidence(signatures=(found(SDB, signature(kind, usage, uuid, "")),))


INIT = HiddenProcess(1, "process 1 (init)")
CASES: list[tuple[str, Evidence, str]] = [
    *((kind.value, evidence(SDB, uses=(use(kind, SDB),)), "is used") for kind in UseKind),
    ("system-disk", evidence(system_places=holds(SDB)), "holds the running system; never wiped"),
    (
        "second-path",
        evidence(SDB, TWIN, uses=TWIN_MOUNTED),
        "is the same disk as /dev/sdc, which is mounted on /srv",
    ),
    (
        "second-path",
        evidence(SDB, TWIN, system_places=holds(SDC)),
        "is the same disk as /dev/sdc, which holds /",
    ),
    ("shared-disk", evidence(system_places=holds(SDB), bound=""), "is on a disk shared with /"),
    (
        "scratch-kept",
        evidence(replace(SCRATCH, loop=replace(SCRATCH.loop, is_in_place=False)), content=sample(0)),
        "is a scratch device, but its file was renamed or moved since it was made",
    ),
    (
        "scratch-kept",
        evidence(replace(SCRATCH, loop=replace(SCRATCH.loop, is_recorded=False)), content=sample(0)),
        "is a scratch device, but this machine has no record of how fsconsole left it",
    ),
    (
        "btrfs-member",
        evidence(placed=(PlacedSignature(0, signature("btrfs"), ("generation 7", "devices 2")),)),
        "is one of 2 devices of a btrfs",
    ),
    ("blank-twin", evidence(blank_twins=("/dev/sdc",)), "may be the same disk as /dev/sdc"),
    ("hidden-system", evidence(hidden_places=("/ is zfs",)), "may be part of what this machine runs from"),
    (
        "file-alias",
        evidence(file_doubts=("is mounted on /srv (erofs)",)),
        "stands on a file that may be, by another name, the one that is mounted on /srv (erofs)",
    ),
    ("named", evidence(named_in=("/etc/fstab",)), "is named in /etc/fstab"),
    ("uncounted", evidence(is_uncounted=True), "has no count of writes"),
    ("read-only", evidence(replace(SDB, read_only=True)), "is read-only"),
    ("resyncing", evidence(arrays=(RESYNC,)), "has the array /dev/md0 in resync"),
    ("resyncing", evidence(arrays=(DELAYED,)), "has the array /dev/md0 with a resync delayed"),
    ("resyncing", evidence(MD0, arrays=(RESYNC,)), "is in resync"),
    ("resyncing", evidence(MD0, arrays=(DELAYED,)), "has a resync delayed"),
    ("inactive-array", evidence(MD0, arrays=(INACTIVE,)), "is an inactive array"),
    ("too-small", evidence(min_bytes=4 * GIB + 1), "has 4.0 GiB, and 4.0 GiB are needed"),
    ("too-small", evidence(replace(SDB, size_bytes=0)), "has 0 B, and 1 B are needed"),
    ("too-large", evidence(max_bytes=4 * GIB - 1), "has 4.0 GiB, and 4.0 GiB are the limit"),
    ("strange-node", evidence(strange_node="has a node of another"), "has a node of another"),
    (
        "undetermined",
        evidence(unread=(Unread("its mounts", "gone"),)),
        "could not be proved free: its mounts: gone",
    ),
    ("filesystem", evidence(signatures=(found(),)), "holds ext4 'data', UUID 3f1c3e2a-"),
    ("partition-table", signed("gpt", Usage.PARTITION_TABLE), "holds GPT partition table, 4.0 GiB"),
    ("raid-signature", signed("LVM2_member", Usage.RAID, "abc"), "holds LVM physical volume, UUID abc"),
    ("encryption", signed("crypto_LUKS", Usage.CRYPTO), "holds LUKS, 4.0 GiB"),
    ("other-signature", signed("swap", Usage.OTHER), "holds swap area, 4.0 GiB"),
    ("partition", evidence(partitions=(SDB1,)), "has the partition /dev/sdb1 of 1.0 GiB at byte 1048576"),
    ("data", evidence(content=sample(3)), "holds data: 3 of 64 sampled blocks are not zero"),
    (
        "hidden-process",
        evidence(hidden_processes=(HiddenProcess(77, "process 77 (vault)"),)),
        "may be open in process 77 (vault), which does not",
    ),
    (
        "hidden-init",
        evidence(hidden_processes=(INIT,)),
        "may be open in process 1 (init), which does not",
    ),
]


def test_a_scratch_device_has_no_hazard_where_there_is_nothing_to_do() -> None:
    hidden = evidence(hidden_processes=(INIT,))
    assert find_hazards(hidden)
    assert find_hazards(replace(hidden, device=SCRATCH)) == ()


def test_each_check_has_a_case_that_no_other_finds() -> None:
    assert {case[0] for case in CASES} == set(HINTS)
    for check, case, reason in CASES:
        hazards = find_hazards(case)
        assert checks(hazards) == {check}
        assert hazards[0].reason.startswith(reason)
        assert hazards[0].verdict is (Verdict.ASKED if check in QUESTIONS else Verdict.REFUSED)
        assert hazards[0].hint, check


def test_only_uses_of_relatives_are_hazards_told_with_what_they_are_to_the_device() -> None:
    for kind in UseKind:
        assert find_hazards(evidence(SDB, uses=(use(kind, SDA),))) == ()
    md0 = device("md0", 9, 0, lower=("sdb",))
    used, is_mounted = "is used", "is mounted on /srv"
    for of, other, role, words, clause, kinds in (
        (
            SDB,
            SDB1,
            Relation.INSIDE,
            "has the partition /dev/sdb1, which",
            is_mounted,
            "MOUNT SWAP HOLDER OPEN EXPORT",
        ),
        (SDB1, SDB, Relation.DISK, "is a partition of /dev/sdb, which", used, "MOUNT HOLDER LOOP OPEN ARRAY"),
        (md0, SDB, Relation.BELOW, "is made of /dev/sdb, which", used, "MOUNT SWAP LOOP EXPORT"),
    ):
        for kind in kinds.split():
            case = evidence(of, relative(other, role), uses=(use(UseKind[kind], other, clause),))
            assert find_hazards(case)[0].reason == f"{words} {clause}", kind


def test_what_is_rightly_in_use_or_only_looks_so_is_no_hazard() -> None:
    md0, loop1 = device("md0", 9, 0, lower=("sdb",)), device("loop1", 7, 1)
    below, own = relative(SDB, Relation.BELOW), use(UseKind.LOOP, LOOP0, "is below", by=number(loop1))
    held = (use(UseKind.HOLDER, SDB), use(UseKind.ARRAY, SDB))
    for case in (
        evidence(content=sample(0), max_bytes=4 * GIB, min_bytes=4 * GIB),
        # A disk that is busy by another partition, an array's own members, a loop's own device, a free second path.
        evidence(SDB1, relative(SDB, Relation.DISK), uses=(use(UseKind.BUSY, SDB),)),
        evidence(md0, below, uses=held),
        evidence(loop1, relative(LOOP0, Relation.UNDER), uses=(own,)),
        evidence(SDB, relative(SDC, Relation.TWIN)),
    ):
        assert find_hazards(case) == ()
        assert not is_refused(case)


def test_a_loop_over_the_device_or_a_second_one_beside_it_is_refused_scratch_or_not() -> None:
    loop1, loop2 = device("loop1", 7, 1), device("loop2", 7, 2)
    other = use(UseKind.LOOP, LOOP0, "is what /dev/loop2 stands on", by=number(loop2))
    for case, check in (
        (evidence(LOOP0, uses=(other,)), "under-loop"),
        (evidence(loop1, relative(LOOP0, Relation.UNDER), uses=(other,)), "under-loop"),
        (evidence(SCRATCH, uses=(use(UseKind.MOUNT, SCRATCH),)), "mounted"),
    ):
        assert checks(find_hazards(case)) == {check}
        assert is_refused(case)


def test_whatever_lies_on_a_system_disk_is_refused() -> None:
    place = SystemPlace("/boot", frozenset({number(SDA)}))
    for role in (Relation.DISK, Relation.INSIDE, Relation.UNDER, Relation.BELOW):
        case = evidence(SDB1, relative(SDA, role), system_places=(place,))
        assert checks(find_hazards(case)) == {"system-disk"}, role


RELEASING = re.compile(r"umount|unmount|swapoff|--stop|--detach|vgchange|fuser|take that apart|remove it from")
"""Words of hints that release a device."""


@pytest.mark.parametrize("kind", [kind for kind in UseKind if kind not in (UseKind.LOCKED, UseKind.RESERVED)])
@pytest.mark.parametrize("place", ["/", "/boot", RUN_FOLDER])
def test_system_disk_gets_no_hint_to_release_it(kind: UseKind, place: str) -> None:
    sda2 = device("sda2", minor=2, parent="sda")
    places = (SystemPlace(place, frozenset({number(SDA), number(SDA1)})),)
    for of, others in (
        (SDA, (relative(SDA1, Relation.INSIDE), relative(sda2, Relation.INSIDE))),
        (SDA1, (relative(SDA, Relation.DISK),)),
        (sda2, (relative(SDA, Relation.DISK),)),
        (MD0, (relative(SDA1, Relation.BELOW), relative(SDA, Relation.BELOW))),
        (over(LOOP0, SDA1), (relative(SDA1, Relation.UNDER),)),
    ):
        for bound in ("is a part of what it lies on", ""):
            uses = tuple(use(kind, one) for one in (of, SDA1, sda2))
            case = evidence(of, *others, uses=uses, system_places=places, bound=bound, named_in=("/etc/fstab",))
            hazards = find_hazards(case)
            assert kind.value in checks(hazards)
            for hazard in hazards:
                assert not RELEASING.search(hazard.hint), hazard
                if hazard.verdict is Verdict.REFUSED:
                    assert "`fsconsole scratch create --size" in hazard.hint
                    assert ("--runs" in hazard.hint) is (place == RUN_FOLDER)


def test_whole_system_disk_is_told_so_first() -> None:
    places = (SystemPlace("/", frozenset({number(SDA), number(SDA1)})),)
    uses = (use(UseKind.MOUNT, SDA1, "is mounted on / (ext4)"),)
    case = evidence(SDA, relative(SDA1, Relation.INSIDE), uses=uses, system_places=places)
    assert find_hazards(case)[0].reason == "holds the running system; never wiped"


def test_mount_that_system_needs_makes_any_disk_its_own() -> None:
    for point, is_own in (("/usr", True), ("/boot/efi", True), ("/var", True), ("/srv", False), ("/bootstrap", False)):
        mounted = replace(SDB, mounts=(MountUse(point, "ext4", "self"),))
        hazards = find_hazards(evidence(mounted, uses=tuple(table_uses([mounted]))))
        assert ("system-disk" in checks(hazards)) is is_own, point
        assert any(RELEASING.search(hazard.hint) for hazard in hazards) is not is_own, point


def test_undetermined_system_gets_no_hint_to_release_it() -> None:
    for facts in ({"unread": (Unread(SYSTEM_DISKS, "gone"),)}, {"hidden_places": ("/ is zfs",)}):
        hazards = find_hazards(evidence(uses=(use(UseKind.MOUNT, SDB),), **facts))
        assert not any(RELEASING.search(hazard.hint) for hazard in hazards)


def test_a_resync_can_be_waited_for_and_a_mount_can_not() -> None:
    assert find_hazards(evidence(arrays=(RESYNC,)))[0].waits
    assert not find_hazards(evidence(uses=(use(UseKind.MOUNT, SDB),)))[0].waits


def test_copies_of_a_signature_are_one_hazard_two_filesystems_are_two_and_a_partitions_is_told_of_it() -> None:
    backup, other = found(SDB, signature(at=4096)), found(SDB, signature(uuid=OTHER_UUID))
    assert len(find_hazards(evidence(signatures=(found(), backup, other)))) == 2
    asked = evidence(SDB, signatures=(found(SDB1),))
    assert find_hazards(asked)[0].device == "/dev/sdb1"
    assert not is_refused(asked)


def test_a_scratch_device_is_free_while_it_is_blank_or_as_a_run_left_it_and_kept_otherwise() -> None:
    blank, filled = evidence(SCRATCH, content=sample(0)), evidence(SCRATCH, content=sample(3, "d3"))
    left = left_digest(filled.placed, "d3")
    as_left = replace(filled, device=replace(SCRATCH, loop=replace(SCRATCH.loop, left=left)))
    assert [SCRATCH_KEPT in checks(find_hazards(one)) for one in (blank, filled, as_left)] == [
        False,
        True,
        False,
    ]
    assert SCRATCH_KEPT in checks(find_hazards(replace(as_left, content=sample(3, "other"))))
    assert SCRATCH_KEPT not in checks(find_hazards(replace(filled, device=SDB)))
