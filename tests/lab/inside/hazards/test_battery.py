"""Each hazard of the battery on real devices: the gate's answer, and not a byte of the device changed by asking."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from uuid import uuid4

import pytest

from fsconsole.devices.claims import lock_whole_disk
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, inspect_device, re_prove, require
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import DeviceChanged
from fsconsole.model.device import Verdict
from fsconsole.model.run import Target
from fsconsole.system.run import RealExecutor
from tests.lab.digest import digest
from tests.lab.guest import UDEVD, run
from tests.lab.hazards import BATTERY, Answer, Case
from tests.lab.soak import IN_UML

MIB = 2**20
DISKS = (
    {name: f"/dev/ubd{letter}" for name, letter in zip("ABCDESN", "abcdefg", strict=True)}
    if IN_UML
    else {"A": "/dev/vdb"}
)
FOLDERS = {"M": "/run/mounted", "P": "/run/mounted-too"}
LIMITS = {"too-small": {"min_bytes": 33 * MIB}, "too-large": {"max_bytes": 31 * MIB}}


def shell(script: str) -> str:
    """Run a script to its end, udev's part included, and return the last line that it printed."""
    return shell_alone(f"{script}\nudevadm settle")


def shell_alone(script: str) -> str:
    """Do the same without waiting for udev, which itself waits for whoever has a lock on a disk."""
    alone = "" if UDEVD.exists() else "udevadm() { :; }\n"
    said = run("sh", "-euc", alone + script, environment={**DISKS, **FOLDERS})
    return said.splitlines()[-1] if said else ""


def blank(case: Case) -> str:
    """Return a script that gives the disks which a case has used back as they were."""
    scripts = f"{case.made} {case.then} {case.device}".replace("{", "").replace("}", "")
    used = " ".join(path for name, path in DISKS.items() if f"${name}" in scripts)
    return f"for disk in {used}; do blkdiscard -f $disk || exit; done; partx -d $A 2>/dev/null || :"


def look(path: str, case: Case, *, is_ours: bool = False) -> GateReport:
    limits = LIMITS.get(case.check, {})
    context = GateContext(
        RealExecutor(), "/var/lib/fsconsole/runs", holds_lock=is_ours, content_is_ours=is_ours, **limits
    )
    return inspect_device(path, context)


def look_from(root: str, path: str, case: Case) -> GateReport:
    """Look at a device in a process of its own that has another root."""
    answer = Path("/run/answer")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chroot(root)
            answer.write_bytes(pickle.dumps(look(path, case)))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return pickle.loads(answer.read_bytes())  # noqa: S301 - this test's own


@pytest.mark.parametrize("case", [case for case in BATTERY if not case.in_qemu], ids=lambda case: case.name)
def test_a_device_is_not_free_that_is(case: Case) -> None:
    try_out(case)


def try_out(case: Case) -> None:
    """Make a case, ask the gate, and take it apart."""
    for folder in FOLDERS.values():
        os.makedirs(folder, exist_ok=True)
    path = shell_alone(f"{case.made}\nsync\nudevadm settle\necho {case.device}")
    try:
        check(case, path)
    finally:
        shell(f"{case.undone}\n{blank(case)}")


def check(case: Case, path: str) -> None:
    before = digest(path)
    report = look_from(FOLDERS[case.root[1:]], path, case) if case.root else look(path, case)
    assert digest(path) == before
    assert bool(report.found) is case.signed or case.answer is Answer.CHANGED, report.found
    refusals = {hazard.check for hazard in report.refusals}
    questions = {hazard.check for hazard in report.hazards if hazard.verdict is Verdict.ASKED}
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
    if case.between_cells:
        check_between_cells(case, target)
        return
    re_prove(look(path, case), target, frozenset())
    shell(f"{case.then}\nsync")
    before = digest(path)
    with pytest.raises(DeviceChanged, match=case.check):
        re_prove(look(path, case), target, frozenset())
    assert digest(path) == before


def check_between_cells(case: Case, target: Target) -> None:
    """Have the run's filesystem made, then something happen to the device, as the next cell's proof meets it."""
    made = str(uuid4())
    with lock_whole_disk(find_device(target.path)):
        shell_alone(f"mkfs.ext4 -qF -U {made} {target.path}; sync")
        report = look(target.path, case, is_ours=True)
        re_prove(report, target, frozenset({made}), made)
        shell_alone(f"{case.then}\nsync")
        before = digest(target.path)
        after = look(target.path, case, is_ours=True)
        with pytest.raises(DeviceChanged, match=case.check):
            re_prove(after, target, frozenset({made}), made, report.identity)
        assert digest(target.path) == before
