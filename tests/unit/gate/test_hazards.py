from __future__ import annotations

from dataclasses import replace

from fsconsole.devices.evidence import Evidence, Relation, SystemPlace, Unread, UseKind
from fsconsole.devices.hazards import HINTS, QUESTIONS, find_hazards
from fsconsole.model.device import MdArray, Usage, Verdict
from tests.unit.gate.made import (
    GIB,
    LOOP0,
    OTHER_UUID,
    SCRATCH,
    SDA,
    SDB,
    SDB1,
    SDC,
    checks,
    device,
    evidence,
    found,
    number,
    relative,
    sample,
    signature,
    use,
)

RESYNC = MdArray("md0", True, False, "raid1", (), 4 * GIB, action="resync", progress_percent=12.5)
DELAYED = replace(RESYNC, action="DELAYED", progress_percent=None)
MD0 = device("md0", 9, 0)

CASES: list[tuple[str, Evidence, str]] = [
    (kind.value, evidence(SDB, uses=(use(kind, SDB),)), "is used") for kind in UseKind
]
CASES += [
    (
        "system-disk",
        evidence(system_places=(SystemPlace("/", frozenset({number(SDB)})),)),
        "is on the disk that holds /",
    ),
    (
        "second-path",
        evidence(SDB, relative(SDC, Relation.TWIN), uses=(use(UseKind.MOUNT, SDC, "is mounted on /srv"),)),
        "is the same disk as /dev/sdc, which is mounted on /srv",
    ),
    (
        "second-path",
        evidence(
            SDB, relative(SDC, Relation.TWIN), system_places=(SystemPlace("/", frozenset({number(SDC)})),)
        ),
        "is the same disk as /dev/sdc, which holds /",
    ),
    ("read-only", evidence(replace(SDB, read_only=True)), "is read-only"),
    ("resyncing", evidence(arrays=(RESYNC,)), "has the array /dev/md0 in resync, at 12.5 %"),
    ("resyncing", evidence(arrays=(DELAYED,)), "has the array /dev/md0 with a resync delayed"),
    ("resyncing", evidence(MD0, arrays=(RESYNC,)), "is in resync, at 12.5 %"),
    ("resyncing", evidence(MD0, arrays=(DELAYED,)), "has a resync delayed"),
    (
        "inactive-array",
        evidence(MD0, arrays=(MdArray("md0", False, False, "", (), 0),)),
        "is an inactive array",
    ),
    ("too-small", evidence(min_bytes=4 * GIB + 1), "has 4.0 GiB, and 4.0 GiB are needed"),
    ("too-small", evidence(replace(SDB, size_bytes=0)), "has 0 B, and 1 B are needed"),
    ("too-large", evidence(max_bytes=4 * GIB - 1), "has 4.0 GiB, and 4.0 GiB are the limit"),
    ("strange-node", evidence(strange_node="has a node of another"), "has a node of another"),
    (
        "undetermined",
        evidence(unread=(Unread("its mounts", "no such file"),)),
        "could not be proved free: its mounts: no such file",
    ),
    ("filesystem", evidence(signatures=(found(),)), "holds ext4 'data', UUID 3f1c3e2a-"),
    (
        "partition-table",
        evidence(signatures=(found(SDB, signature("gpt", Usage.PARTITION_TABLE, "", "")),)),
        "holds GPT partition table, 4.0 GiB",
    ),
    (
        "raid-signature",
        evidence(signatures=(found(SDB, signature("LVM2_member", Usage.RAID, "abc", "")),)),
        "holds LVM physical volume, UUID abc",
    ),
    (
        "encryption",
        evidence(signatures=(found(SDB, signature("crypto_LUKS", Usage.CRYPTO, "", "")),)),
        "holds LUKS, 4.0 GiB",
    ),
    (
        "other-signature",
        evidence(signatures=(found(SDB, signature("swap", Usage.OTHER, "", "")),)),
        "holds swap area, 4.0 GiB",
    ),
    ("partition", evidence(partitions=(SDB1,)), "has the partition /dev/sdb1 of 4.0 GiB at byte 1048576"),
    ("data", evidence(content=sample(3)), "holds data: 3 of 64 sampled blocks are not zero"),
    (
        "hidden-process",
        evidence(hidden_processes=("1 (init)",)),
        "may be open in process 1 (init), which does not show",
    ),
]


def test_each_case_is_found_by_its_own_check_and_no_other() -> None:
    for check, case, reason in CASES:
        hazards = find_hazards(case)
        assert checks(hazards) == {check}
        assert hazards[0].reason.startswith(reason)
        assert hazards[0].verdict is (Verdict.ASKED if check in QUESTIONS else Verdict.REFUSED)
        assert hazards[0].hint, check


def test_every_check_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(HINTS)


def test_a_device_that_nothing_speaks_against_has_no_hazard() -> None:
    assert find_hazards(evidence(content=sample(0), max_bytes=4 * GIB, min_bytes=4 * GIB)) == ()


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


def test_a_disk_that_is_busy_by_another_partition_leaves_this_one_free() -> None:
    case = evidence(SDB1, relative(SDB, Relation.DISK), uses=(use(UseKind.BUSY, SDB),))
    assert find_hazards(case) == ()


def test_what_an_array_is_made_of_is_held_by_it_rightly() -> None:
    md0 = device("md0", 9, 0, lower=("sdb",))
    held = (use(UseKind.HOLDER, SDB), use(UseKind.ARRAY, SDB))
    assert find_hazards(evidence(md0, relative(SDB, Relation.BELOW), uses=held)) == ()


def test_that_a_loop_stands_on_a_device_is_no_hazard_to_the_loop_itself() -> None:
    loop1 = device("loop1", 7, 1)
    own = use(UseKind.LOOP, LOOP0, "is what /dev/loop1 stands on", by=number(loop1))
    assert find_hazards(evidence(loop1, relative(LOOP0, Relation.UNDER), uses=(own,))) == ()
    assert checks(find_hazards(evidence(LOOP0, uses=(own,)))) == {"under-loop"}


def test_a_second_loop_over_the_same_device_is_refused() -> None:
    loop1, loop2 = device("loop1", 7, 1), device("loop2", 7, 2)
    other = use(UseKind.LOOP, LOOP0, "is what /dev/loop2 stands on", by=number(loop2))
    case = evidence(loop1, relative(LOOP0, Relation.UNDER), uses=(other,))
    assert checks(find_hazards(case)) == {"under-loop"}


def test_another_path_to_the_disk_that_is_free_is_no_hazard() -> None:
    assert find_hazards(evidence(SDB, relative(SDC, Relation.TWIN))) == ()


def test_whatever_lies_on_a_system_disk_is_refused() -> None:
    place = SystemPlace("/boot", frozenset({number(SDA)}))
    for role in (Relation.DISK, Relation.INSIDE, Relation.UNDER, Relation.BELOW):
        case = evidence(SDB1, relative(SDA, role), system_places=(place,))
        assert checks(find_hazards(case)) == {"system-disk"}, role


def test_a_resync_can_be_waited_for_and_a_mount_can_not() -> None:
    assert find_hazards(evidence(arrays=(RESYNC,)))[0].waits
    assert not find_hazards(evidence(uses=(use(UseKind.MOUNT, SDB),)))[0].waits


def test_copies_of_a_signature_are_one_hazard_and_two_filesystems_are_two() -> None:
    backup = found(SDB, signature(at=4096))
    other = found(SDB, signature(uuid=OTHER_UUID))
    assert len(find_hazards(evidence(signatures=(found(), backup, other)))) == 2


def test_a_signature_on_a_partition_is_told_of_the_partition() -> None:
    hazard = find_hazards(evidence(SDB, signatures=(found(SDB1),)))[0]
    assert hazard.device == "/dev/sdb1"


def test_refusals_hold_for_a_scratch_device_too() -> None:
    assert checks(find_hazards(evidence(SCRATCH, uses=(use(UseKind.MOUNT, SCRATCH),)))) == {"mounted"}
