from __future__ import annotations

import errno
import re
from dataclasses import replace

import pytest

from fsconsole.devices import gather
from fsconsole.devices.claims import TOOLS_WITH_O_EXCL, needs_hold
from fsconsole.devices.consent import check_consent, consent_code
from fsconsole.devices.evidence import Relation, SystemPlace, Unread, UseKind
from fsconsole.devices.fingerprint import NOT_COUNTED
from fsconsole.devices.gate import GateReport, require, require_same
from fsconsole.devices.graph import DeviceGraph
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import (
    ConsentMissing,
    ConsentStale,
    DeviceChanged,
    DeviceLocked,
    DeviceMounted,
    DeviceOpen,
    DeviceRefused,
    DeviceTooSmall,
)
from fsconsole.model.device import ContentSample, Usage
from tests.fakes import FakeExecutor
from tests.unit.gate.made import (
    GIB,
    OTHER_UUID,
    SCRATCH,
    SDB,
    SDB1,
    SDC,
    agreed,
    device,
    evidence,
    found,
    identity,
    number,
    relative,
    report,
    sample,
    signature,
    use,
)

EMPTY = evidence(content=sample(0))
WITH_EXT4 = evidence(content=sample(2), signatures=(found(),))


def test_each_refusal_has_its_error_with_reason_and_remedy() -> None:
    for case, error in (
        (evidence(uses=(use(UseKind.MOUNT, SDB, "is mounted on /srv"),)), DeviceMounted),
        (evidence(uses=(use(UseKind.BTRFS, SDB),)), DeviceMounted),
        (evidence(uses=(use(UseKind.LOCKED, SDB),)), DeviceLocked),
        (evidence(min_bytes=5 * GIB), DeviceTooSmall),
        (evidence(max_bytes=GIB), DeviceRefused),
        (evidence(uses=(use(UseKind.SWAP, SDB),)), DeviceRefused),
        (evidence(unread=(Unread("x", "y"),)), DeviceRefused),
        (evidence(system_places=(SystemPlace("/", frozenset({number(SDB)})),)), DeviceRefused),
    ):
        with pytest.raises(error) as caught:
            require(report(case))
        assert "/dev/sdb" in str(caught.value)
        assert isinstance(caught.value, FsconsoleError)
        assert caught.value.hint


def test_a_mount_is_told_before_everything_else_and_what_is_only_asked_about_is_not_refused() -> None:
    uses = (use(UseKind.MOUNT, SDB, "is mounted on /srv"),)
    with pytest.raises(DeviceMounted, match="is mounted on /srv"):
        require(report(evidence(strange_node="is strange", uses=uses)))
    require(report(WITH_EXT4))


def proved(now: GateReport, before: GateReport) -> None:
    require_same(now, agreed(before), before.fingerprint)


def test_a_device_as_it_was_agreed_upon_passes() -> None:
    for case in (EMPTY, WITH_EXT4):
        proved(report(case), report(case))


def test_anything_else_on_the_device_stops_the_run() -> None:
    for now in (
        replace(WITH_EXT4, signatures=()),
        replace(WITH_EXT4, signatures=(found(), found(SDB, signature(uuid=OTHER_UUID)))),
        replace(WITH_EXT4, signatures=(found(SDB, signature(label="other")),)),
        replace(WITH_EXT4, signatures=(found(SDB, signature(uuid="")),)),
        replace(WITH_EXT4, signatures=(found(SDB1),)),
        replace(WITH_EXT4, signatures=(found(SDB, signature("dos", Usage.PARTITION_TABLE, "", "")),)),
        replace(WITH_EXT4, partitions=(SDB1,)),
        replace(WITH_EXT4, content=sample(2, "another digest")),
    ):
        with pytest.raises(DeviceChanged):
            proved(report(now), report(WITH_EXT4))


def test_another_device_is_told_by_each_difference_and_one_that_came_into_use_is_refused() -> None:
    now = report(EMPTY, identity(diskseq=10, size_bytes=GIB))
    with pytest.raises(DeviceChanged, match=r"size: 4GiB, now 1GiB; sequence number \(diskseq\): 9, now 10"):
        proved(now, report(EMPTY))
    with pytest.raises(DeviceMounted):
        proved(report(replace(EMPTY, uses=(use(UseKind.MOUNT, SDB),))), report(EMPTY))


def test_a_disk_that_became_the_systems_too_since_it_was_agreed_upon_is_asked_about_again() -> None:
    shared = replace(EMPTY, bound="", system_places=(SystemPlace("/boot", frozenset({number(SDB)})),))
    proved(report(shared), report(shared))
    proved(report(EMPTY), report(shared))
    with pytest.raises(DeviceChanged, match="shared with the system now"):
        proved(report(shared), report(EMPTY))


def test_who_only_has_it_open_is_told_from_all_other_reasons() -> None:
    opened = use(UseKind.OPEN, SDB, "is open in process 7 (smartctl)")
    with pytest.raises(DeviceOpen, match="smartctl"):
        require(report(evidence(uses=(opened,))))
    with pytest.raises(DeviceMounted):
        require(report(evidence(uses=(opened, use(UseKind.MOUNT, SDB)))))


def test_every_part_of_what_was_shown_changes_the_code() -> None:
    shown = [
        report(EMPTY),
        report(WITH_EXT4),
        report(replace(WITH_EXT4, content=sample(2, "d1"))),
        report(replace(WITH_EXT4, signatures=(found(SDB, signature(uuid=OTHER_UUID)),))),
        report(replace(WITH_EXT4, signatures=(found(SDB, signature(at=64)),))),
        report(replace(WITH_EXT4, partitions=(SDB1,))),
        *(
            report(EMPTY, identity(**facts))
            for facts in (
                {"boot_id": "boot-2"},
                {"diskseq": 10},
                {"wwn": "w"},
                {"size_bytes": 1},
                {"partition_start_bytes": 1},
                {"dm_table": "x"},
                {"backing_inode": 1},
                {"device_number": 1},
            )
        ),
    ]
    codes = [consent_code([one]) for one in shown]
    assert len(set(codes)) == len(codes)


def test_a_code_is_short_of_one_order_and_fits_in_any_case_and_with_the_letters_that_are_misread() -> None:
    two = [report(EMPTY), report(evidence(device("sdz", minor=144)))]
    assert consent_code(two) != consent_code(two[::-1])
    codes = {consent_code([one]): one for one in (report(EMPTY, identity(diskseq=n)) for n in range(100))}
    code, one = next((code, one) for code, one in codes.items() if "0" in code)
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){2}", code)
    for typed in (code.lower(), code.replace("-", ""), code.replace("0", "O"), f" {code} "):
        check_consent(typed, [one])


def scratch() -> GateReport:
    return report(evidence(SCRATCH, content=sample(9)), needs_consent=False)


def test_no_code_is_no_consent_and_the_code_of_another_state_is_stale() -> None:
    for code in ("", "  ", "--"):
        with pytest.raises(ConsentMissing, match="holds what is on it"):
            check_consent(code, [scratch(), report(WITH_EXT4)])
    code = consent_code([report(EMPTY)])
    for now in ([report(WITH_EXT4)], [report(EMPTY), report(evidence(device("sdz", minor=144)))]):
        with pytest.raises(ConsentStale):
            check_consent(code, now)


def test_a_code_that_was_shown_while_a_monitor_had_the_device_open_fits_when_that_is_over() -> None:
    opened = report(evidence(uses=(use(UseKind.OPEN, SDB, "smartctl (pid 4)"),)))
    assert consent_code([opened]) == consent_code([report(evidence())])
    mounted = report(evidence(uses=(use(UseKind.MOUNT, SDB),)))
    assert consent_code([mounted]) != consent_code([report(evidence())])


def test_scratch_devices_need_no_consent_and_take_no_part_in_the_code() -> None:
    check_consent("", [scratch()])
    assert consent_code([scratch()]) == ""
    assert consent_code([scratch(), report(EMPTY)]) == consent_code([report(EMPTY)])


def test_only_tools_that_were_tried_are_trusted_to_take_o_excl() -> None:
    assert not any(needs_hold((tool, "/dev/sdb")) for tool in TOOLS_WITH_O_EXCL)
    assert not needs_hold(("/usr/sbin/mkfs.ext4", "/dev/sdb"))
    for tool in ("mkfs.nilfs2", "blkdiscard", "/sbin/wipefs", "fio", "dd", "/sbin/mkfs.udf", "anything"):
        assert needs_hold((tool, "-f", "/dev/sdb"))


TWIN = evidence(SDB, relative(SDC, Relation.TWIN))
SAME, OTHER, BLANK = sample(3, "same"), sample(3, "other"), sample(0, "blank")


TWINS = {  # contents, silent disks, counts of writes; whether it stays a twin, and whether it is asked about
    "the same": ((SAME, SAME), (), (), True, False),
    "another": ((SAME, OTHER), (), (), False, False),
    "blank too": ((BLANK, BLANK), (), (), False, True),
    # Read while somebody writes, or not at all: nothing is decided.
    "written meanwhile": ((SAME, OTHER), (), ("8", "16", "24", "32"), True, False),
    "written uncounted": ((SAME, OTHER), (), (NOT_COUNTED,) * 4, True, False),
    "silent": ((SAME, OTHER), (SDC.path,), (), True, False),
}


@pytest.mark.parametrize("case", TWINS)
def test_a_disk_of_the_same_number_is_a_second_path_unless_it_holds_something_else(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    contents, silent, written, is_twin, is_asked = TWINS[case]
    held, counts = dict(zip((SDB.path, SDC.path), contents, strict=True)), iter(written)
    read: list[str] = []

    def sampled(path: str, _size: int) -> ContentSample:
        read.append(path)
        return held[path]

    monkeypatch.setattr(gather, "silent_among", lambda *_: dict.fromkeys(silent))
    monkeypatch.setattr(gather, "is_locked", lambda _: False)
    monkeypatch.setattr(gather, "sectors_written", lambda _: (next(counts, "0"),))
    monkeypatch.setattr(gather, "sample_content", sampled)
    (found,) = gather._with_real_twins((TWIN,), DeviceGraph((SDB, SDC)), FakeExecutor({}))
    assert (number(SDC) in {one.number for one in found.relatives}) is is_twin
    assert found.blank_twins == ((SDC.path,) if is_asked else ())
    assert not set(silent) & set(read)


def gone(path: str, **_: object) -> bool:
    raise OSError(errno.ENXIO, "No such device or address", path)


def test_of_a_second_path_that_goes_while_it_is_looked_at_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "silent_among", lambda *_: {})
    monkeypatch.setattr(gather, "is_locked", gone)
    (found,) = gather._with_real_twins((TWIN,), DeviceGraph((SDB, SDC)), FakeExecutor({}))
    assert found == TWIN


def test_a_disk_that_goes_while_it_is_asked_for_the_system_could_not_be_proved_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = evidence(SDB, relative(SDC, Relation.DISK), hidden_places=("/ is zfs",))
    for answer, told in ((lambda *_, **__: False, ()), (lambda *_, **__: True, ("/ is zfs",))):
        monkeypatch.setattr(gather, "is_busy", answer)
        assert tuple(one.why for one in gather._beside_hidden_places(asked, is_ours=False).unread) == told
    monkeypatch.setattr(gather, "is_busy", gone)
    (unread,) = gather._beside_hidden_places(asked, is_ours=False).unread
    assert SDC.path in unread.why
