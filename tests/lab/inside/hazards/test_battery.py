"""Each hazard of the battery on real devices: the gate's answer, and not a byte of the device changed by asking."""

from __future__ import annotations

import hashlib
import os

import pytest

from fsconsole.devices.gate import GateContext, GateReport, inspect_device, re_prove, require
from fsconsole.errors import DeviceChanged, FsconsoleError
from fsconsole.model.run import Target
from fsconsole.system.command import RealExecutor
from tests.lab.guest import run
from tests.lab.hazards import BATTERY, Answer, Case

MIB = 2**20
DISKS = {
    "A": "/dev/vda", "B": "/dev/vdb", "C": "/dev/vdc", "D": "/dev/vdd", "E": "/dev/vde", "S": "/dev/sda",
    "N": "/dev/nvme0n1",
}  # fmt: skip
FOLDERS = {"M": "/run/mounted", "P": "/run/mounted-too"}
LIMITS = {"too-small": {"min_bytes": 33 * MIB}, "too-large": {"max_bytes": 31 * MIB}}


def shell(script: str) -> str:
    """Run a script to its end, udev's part included, and return the last line that it printed."""
    said = run("sh", "-euc", f"{script}\nudevadm settle", environment={**DISKS, **FOLDERS})
    return said.splitlines()[-1] if said else ""


def blank(case: Case) -> str:
    """Return a script that gives the disks which a case has used back as they were."""
    scripts = f"{case.made} {case.then} {case.device}".replace("{", "").replace("}", "")
    used = " ".join(path for name, path in DISKS.items() if f"${name}" in scripts)
    return f"for disk in {used}; do blkdiscard -f $disk || exit; done; partx -d $A 2>/dev/null || :"


def digest(path: str) -> str:
    """Return what a device's bytes add up to, read anew."""
    total = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as device:
        os.posix_fadvise(device.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while block := device.read(MIB):
            total.update(block)
    return total.hexdigest()


def look(path: str, case: Case) -> GateReport:
    limits = LIMITS.get(case.check, {})
    return inspect_device(path, GateContext(RealExecutor(), "/var/lib/fsconsole/runs", **limits))


@pytest.mark.parametrize("case", BATTERY, ids=lambda case: case.name.replace(" ", "-"))
def test_a_device_is_not_free_that_is(case: Case) -> None:
    for folder in FOLDERS.values():
        os.makedirs(folder, exist_ok=True)
    path = shell(f"{case.made}\nsync\nudevadm settle\necho {case.device}")
    try:
        check(case, path)
    finally:
        shell(f"{case.undone}\n{blank(case)}")


def check(case: Case, path: str) -> None:
    before = digest(path)
    report = look(path, case)
    assert digest(path) == before
    assert bool(report.found) is case.signed or case.answer is Answer.CHANGED, report.found
    refusals = {hazard.check for hazard in report.inspection.refusals}
    questions = {hazard.check for hazard in report.inspection.questions}
    if case.answer is Answer.REFUSED:
        assert case.check in refusals, report.hazards
        with pytest.raises(FsconsoleError):
            require(report)
        return
    assert not refusals, report.hazards
    assert report.needs_consent
    if case.answer is Answer.ASKED:
        assert case.check in questions, report.hazards
        return
    target = Target(path, report.identity, report.hazards, report.content_digest, "CODE")
    re_prove(look(path, case), target, frozenset())
    shell(f"{case.then}\nsync")
    with pytest.raises(DeviceChanged, match=case.check):
        re_prove(look(path, case), target, frozenset())
