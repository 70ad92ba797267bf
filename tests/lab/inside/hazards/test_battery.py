"""Each hazard of the battery on real devices: the answers of the gate, of prove and of apply.sh; no byte changes.

The test command tries each kind once; those of hazards.SOAK_ALONE are left to a soak. apply.sh is tried there on the
kinds that loop devices on the host cannot have (tests/loop/test_prove.py has the others).
"""

from __future__ import annotations

import fcntl
import os
import pickle
import struct
import subprocess
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices import ask_child
from fsconsole.devices.claims import lock_disks
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, inspect_device, require, require_same, take_fingerprint
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import DeviceChanged
from fsconsole.kit.values import KitDevice
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.model.device import Verdict
from fsconsole.model.run import Target
from fsconsole.system.files import opened
from fsconsole.system.run import RealExecutor
from tests.lab import hazards
from tests.lab.digest import digest
from tests.lab.guest import UDEVD, fsconsole, run, settle
from tests.lab.hazards import BATTERY, SOAK_ALONE, Answer, Case
from tests.lab.soak import IN_UML, SOAK
from tests.unit.kit.kits import kit_of, script_of

MIB = 2**20
BLKDISCARD = 0x1277
"""include/uapi/linux/fs.h"""
DISKS = (
    {name: f"/dev/ubd{letter}" for name, letter in zip("ABCDESN", "abcdefg", strict=True)}
    if IN_UML
    else {"A": "/dev/vdb"}
)
FOLDERS = {"M": "/run/mounted", "P": "/run/mounted-too"}
CASES = [
    pytest.param(case, id=case.name, marks=[pytest.mark.soak] if case.name in SOAK_ALONE else [])
    for case in BATTERY
    if not case.in_qemu
]
LIMITS = {"too-small": {"min_bytes": 33 * MIB}, "too-large": {"max_bytes": 31 * MIB}}


def shell(script: str) -> str:
    """Run a script to its end, udev's part included, and return the last line that it printed."""
    return shell_alone(f"{script}\nudevadm settle")


def shell_alone(script: str) -> str:
    """Do the same without waiting for udev, which itself waits for whoever has a lock on a disk."""
    alone = "" if UDEVD.exists() else "udevadm() { :; }\n"
    said = run("sh", "-euc", alone + script, environment={**DISKS, **FOLDERS})
    return said.splitlines()[-1] if said else ""


def take_apart(case: Case) -> None:
    """Undo a case, and give the disks which it has used back as they were."""
    if case.undone != ":":
        shell_alone(case.undone)
    scripts = f"{case.made} {case.then} {case.device}".replace("{", "").replace("}", "")
    for name, path in DISKS.items():
        if f"${name}" in scripts:
            # A blkdiscard of its own for each takes a guest as long as one of the gate's looks.
            with opened(path, os.O_WRONLY) as disk:
                fcntl.ioctl(disk, BLKDISCARD, struct.pack("=QQ", 0, os.lseek(disk, 0, os.SEEK_END)))
    name = os.path.basename(DISKS["A"])
    if any(Path("/sys/block", name).glob(f"{name}[0-9]*")):
        shell_alone("partx -d $A 2>/dev/null || :")
    settle()


class Here(RealExecutor):
    """Asks devices for an answer in this process: each look would start one more Python for it, which takes a guest long.

    That a child asks, and is given up, is for tests/loop and tests/lab/inside/hotplug to prove.
    """

    def run(self, command: Command) -> CommandResult:
        """Run a program, or be the child that asks devices."""
        if ask_child.__file__ not in command.argv:
            return super().run(command)
        _limit_s, *words = command.argv[command.argv.index(ask_child.__file__) + 1 :]
        for path, size in zip(words[::2], words[1::2], strict=True):
            ask_child.ask(path, int(size))
        said = "".join(f"{place}\n" for place in range(len(words) // 2))
        return CommandResult(command.argv, 0, said.encode(), b"", ResourceUsage(0, 0, 0, 0))


def context(*, holds_lock: bool = False, **limits: int) -> GateContext:
    return GateContext(Here(), "/var/lib/fsconsole/runs", load_catalog().marks, holds_lock=holds_lock, **limits)


def look(path: str, case: Case, *, holds_lock: bool = False) -> GateReport:
    return inspect_device(path, context(holds_lock=holds_lock, **LIMITS.get(case.check, {})))


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


@pytest.mark.parametrize("case", CASES)
def test_a_device_is_not_free_that_is(case: Case) -> None:
    try_out(case)


def try_out(case: Case) -> None:
    """Make a case, ask the gate, and take it apart."""
    for folder in FOLDERS.values():
        os.makedirs(folder, exist_ok=True)
    path = shell_alone(f"{case.made}\nudevadm settle\necho {case.device}")
    os.sync()
    try:
        check(case, path)
    finally:
        take_apart(case)


def check(case: Case, path: str) -> None:
    before = digest(path)
    report = look_from(FOLDERS[case.root[1:]], path, case) if case.root else look(path, case)
    if case.answer in HARMLESS and case.check not in (*LIMITS, *HARMLESS[case.answer]):
        assert not (report.is_free if case.answer is Answer.REFUSED else report.is_blank), report.hazards
        if not case.root and case.name in APPLIED:
            refused_by_apply(path, words=("--overwrite", path) if case.answer is Answer.REFUSED else ())
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
    target = Target(path, report.fingerprint, report.hazards, "CODE")
    if case.between_cells:
        check_between_cells(case, target)
        return
    require_same(look(path, case), target, target.fingerprint)
    shell(f"{case.then}\nsync")
    before = digest(path)
    with pytest.raises(DeviceChanged, match=case.check):
        require_same(look(path, case), target, target.fingerprint)
    assert digest(path) == before


HARMLESS = {Answer.REFUSED: (), Answer.ASKED: ("resyncing", "uncounted")}
"""Checks by answer that are no reason to refuse a device to apply.sh."""
_CHOSEN = (
    "a member of an active array", "an inactive array", "in a volume group with volumes elsewhere",
    "a device of a btrfs that is mounted degraded, without it", "a partition that overlaps a mounted one",
    "a second path to a mounted disk", "a second path to a blank disk that is held", "exported by LIO as a device",
    "reserved by a SCSI initiator", "a free partition beside that of /boot", "a node with another device's number",
)  # fmt: skip
APPLIED = {case.name for case in BATTERY} if SOAK else set(_CHOSEN)
_ANSWERS = Path("/run/prove")


def refused_by_apply(path: str, words: tuple[str, ...]) -> None:
    """Have apply.sh refuse a device, on a box without fsconsole and on one that has it."""
    folder = Path("/run/kit")
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    size_bytes = int(run("blockdev", "--getsize64", path))
    (folder / "apply.sh").write_text(script_of(kit_of(devices=(KitDevice(path, size_bytes, path),), at="/srv/kit")))
    # To start Python takes a guest seconds: this process has the answers ready.
    program = folder / "bin" / "fsconsole"
    for is_there in (False, True):
        program.unlink(missing_ok=True)
        if is_there:
            for level in ("free", "blank"):
                done = fsconsole("prove", "--json", *(["--blank"] if level == "blank" else []), path)
                Path(f"{_ANSWERS}.{level}").write_text(done.out)
                Path(f"{_ANSWERS}.{level}.code").write_text(str(done.code))
            lines = ("case $* in *--blank*) level=blank ;; *) level=free ;; esac", f"cat {_ANSWERS}.$level")
            program.write_text("\n".join(("#!/bin/sh", *lines, f"exit $(cat {_ANSWERS}.$level.code)\n")))
            program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        argv = ["sh", str(folder / "apply.sh"), "--devices-only", *words]
        applied = subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)
        assert (applied.returncode, "+ " in applied.stdout) == (1, False), applied
        assert "apply.sh: " in applied.stderr


def check_between_cells(case: Case, target: Target) -> None:
    """Have the run's filesystem made, then something happen to the device, as the next cell's proof meets it."""
    with lock_disks(find_device(target.path)):
        shell_alone(f"mkfs.ext4 -qF {target.path}; sync")
        left = take_fingerprint(target.path, context(holds_lock=True))
        require_same(look(target.path, case, holds_lock=True), target, left)
        shell_alone(f"{case.then}\nsync")
        before = digest(target.path)
        after = look(target.path, case, holds_lock=True)
        with pytest.raises(DeviceChanged, match=case.check):
            require_same(after, target, left)
        assert digest(target.path) == before


def test_a_disk_of_the_same_size_and_serial_number_that_holds_something_else_is_another_disk() -> None:
    os.makedirs(FOLDERS["M"], exist_ok=True)
    paths = shell_alone(
        f"{hazards.TWINS} per_host_store=1; udevadm settle; mkfs.ext4 -qF {hazards.TWIN.format(1)}\n"
        f"mount -o ro {hazards.TWIN.format(1)} $M; sync; echo {hazards.TWIN.format(1)} {hazards.TWIN.format(2)}"
    )
    try:
        mounted, other = (inspect_device(path, context()) for path in paths.split())
    finally:
        shell(f"umount $M; {hazards.NO_TWINS}")
    assert (mounted.device.serial, mounted.device.size_bytes) == (
        other.device.serial,
        other.device.size_bytes,
    )
    assert {hazard.check for hazard in mounted.refusals} == {"mounted"}
    assert other.hazards == ()
    # What is typed beside its name must not be the serial number that both have.
    assert (other.lookalike, other.mark) == (mounted.device.path, other.place)
    assert other.place not in ("", mounted.place)
