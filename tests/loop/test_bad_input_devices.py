"""Devices that must not be wiped: not there, no device, in use, too small, or not what was agreed upon."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.state import CellStatus
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.loop.commands import Bench, OwnLoop, each, fails, in_another_boot, nothing_changes
from tests.loop.gate_cases import digest, sparse, write
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end

COMMANDS = ("plan", "run")
UNUSABLE = {
    "nothing": ("/dev/absent", ExitCode.DEVICE_MISSING, "There is no /dev/absent"),
    "no name": ("", ExitCode.USAGE, "--device is empty"),
    "a directory": ("/etc", ExitCode.NOT_A_BLOCK_DEVICE, "a directory"),
    "a file": ("/etc/passwd", ExitCode.NOT_A_BLOCK_DEVICE, "a plain file"),
    "a terminal": ("/dev/null", ExitCode.NOT_A_BLOCK_DEVICE, "a character device"),
    "a path below a file": ("/etc/passwd/x", ExitCode.DEVICE_MISSING, "/etc/passwd/x"),
    "a name that acts": ("/dev/[/x]\x1b]0;\n", ExitCode.DEVICE_MISSING, r"/dev/[/x]\x1b]0;\n."),
    "a name in no encoding": ("/dev/\udcff", ExitCode.DEVICE_MISSING, r"/dev/\udcff"),
    "a name too long": ("/dev/" + "x" * 300, ExitCode.DEVICE_MISSING, "xxx"),
}


def test_what_is_no_device_is_refused(bench: Bench):
    def refused(device: str, code: ExitCode, words: str) -> None:
        fails(code, "run", bench.plan(), "--device", device, "--runs", bench.runs, names=(words,))

    with nothing_changes(bench):
        each(UNUSABLE, refused)


def test_a_device_that_is_mounted_too_small_or_read_only_is_refused(
    bench: Bench, mounted: Mount, loop_device: MakeLoopDevice
):
    run("mkfs.ext4", "-q", bench.device)
    small, read_only = loop_device(MIB), loop_device(32 * MIB, read_only=True)
    large = bench.plan(TINY_PLAN.replace("1MiB", "1GiB"), "large.toml")
    plan = bench.plan()
    for name in COMMANDS:
        with nothing_changes(bench):
            words = bench.words(name, large)
            fails(ExitCode.DEVICE_TOO_SMALL, *words, names=("32.0 MiB", "4.0 GiB"))
            words = bench.words(name, plan, small)
            fails(ExitCode.DEVICE_TOO_SMALL, *words, names=("1.0 MiB", "are needed"))
            words = bench.words(name, plan, read_only)
            fails(ExitCode.DEVICE_REFUSED, *words, names=("is read-only",))
    point = mounted(bench.device, options="ro")
    for name in COMMANDS:
        with nothing_changes(bench):
            fails(ExitCode.DEVICE_MOUNTED, *bench.words(name, plan), names=(str(point), "umount"))


def made_elsewhere(bench: Bench) -> str:
    """Return a code that fits this device in all but the boot: from before a reboot, as it were."""
    return bench.code(bench.plan(), under=in_another_boot(bench.directory))


UNFIT_CODES: dict[str, Callable[[Bench], str]] = {
    "of nobody": lambda bench: "7K2QX-9M4PT-0ABCD",
    "with one letter wrong": lambda bench: bench.code(bench.plan())[:-1] + "#",
    "that acts": lambda bench: "[/x]\x1b]0;",
    "of another boot": made_elsewhere,
}


def test_a_code_that_does_not_fit_is_refused(bench: Bench):
    plan = bench.plan()
    shown = f"`{shlex.join(['fsconsole', *bench.words('plan', plan)])}`"

    def refused(code_of: Callable[[Bench], str]) -> None:
        words = (*bench.words("run", plan), "--consent", code_of(bench))
        fails(ExitCode.CONSENT_STALE, *words, names=(shown,))

    with nothing_changes(bench):
        each({name: (code_of,) for name, code_of in UNFIT_CODES.items()}, refused)


def test_without_a_code_nothing_is_wiped(bench: Bench):
    run("mkfs.ext4", "-q", "-L", "payroll", bench.device)
    with nothing_changes(bench):
        for consent in ((), ("--consent", "- -")):
            plan = bench.plan()
            shown = f"`{shlex.join(['fsconsole', *bench.words('plan', plan)])}`"
            words = (*bench.words("run", plan), *consent)
            fails(ExitCode.CONSENT_MISSING, *words, names=("ext4 'payroll'", "consent required", shown))


def test_the_code_of_one_device_is_none_for_another(bench: Bench, loop_device: MakeLoopDevice):
    code = bench.code(bench.plan(), device=loop_device(32 * MIB))
    with nothing_changes(bench):
        fails(ExitCode.CONSENT_STALE, *bench.words("run", bench.plan()), "--consent", code)


CHANGES: dict[str, Callable[[str], object]] = {
    "data": lambda device: write(device, 0, os.urandom(4096)),
    "a filesystem": lambda device: run("mkfs.ext4", "-q", device),
    "a label": lambda device: run("e2label", device, "new"),
    "a filesystem's end": lambda device: run("wipefs", "--quiet", "--all", device),
}


def test_a_code_fits_no_device_that_has_changed_since(bench: Bench):
    run("mkfs.ext4", "-q", bench.device)

    def refused(change: Callable[[str], object]) -> None:
        code = bench.code(bench.plan())
        change(bench.device)
        with nothing_changes(bench):
            fails(ExitCode.CONSENT_STALE, *bench.words("run", bench.plan()), "--consent", code)

    each({name: (change,) for name, change in CHANGES.items()}, refused)


def test_a_device_that_vanished_or_was_replaced_since_the_plan_is_refused(bench: Bench, own_loop: OwnLoop):
    files = [sparse(bench.directory / name) for name in ("agreed", "other")]
    own_loop.attach(files[0])
    words = bench.words("run", bench.plan(), own_loop.path)
    consent = ("--consent", bench.code(bench.plan(), device=own_loop.path))
    before = [digest(file) for file in files]
    own_loop.detach()
    with nothing_changes(bench):
        fails(ExitCode.DEVICE_MISSING, *words, *consent, names=(own_loop.path,))
        # The same file again at last: who knows what was done to it in between.
        for file in (files[1], files[0]):
            own_loop.attach(file)
            fails(ExitCode.CONSENT_STALE, *words, *consent, names=(own_loop.path,))
        own_loop.detach()
    assert [digest(file) for file in files] == before


# What consent can mend is asked about by resume; a device that is another one, or that is refused, can't be.
AFTER_CONSENT: dict[str, tuple[Callable[[OwnLoop, Path], object], ExitCode, ExitCode, str]] = {
    "it is gone": (
        lambda loop, _: loop.detach(), ExitCode.DEVICE_CHANGED, ExitCode.DEVICE_CHANGED, "it is gone"),
    "another is there": (
        lambda loop, directory: loop.attach(sparse(directory / "other")),
        ExitCode.DEVICE_CHANGED, ExitCode.DEVICE_CHANGED, "inode of the backing file"),
    "data": (
        lambda loop, _: CHANGES["data"](loop.path),
        ExitCode.DEVICE_CHANGED, ExitCode.CONSENT_MISSING, "somebody wrote to it"),
    "a filesystem": (
        lambda loop, _: CHANGES["a filesystem"](loop.path),
        ExitCode.DEVICE_CHANGED, ExitCode.CONSENT_MISSING, "ext4"),
    "read-only": (
        lambda loop, _: run("blockdev", "--setro", loop.path),
        ExitCode.DEVICE_REFUSED, ExitCode.DEVICE_REFUSED, "read-only"),
}  # fmt: skip


@pytest.mark.parametrize("what", AFTER_CONSENT)
def test_neither_resume_nor_an_engine_takes_a_device_that_changed_after_the_consent(
    bench: Bench, own_loop: OwnLoop, what: str
):
    change, code, resumed, words = AFTER_CONSENT[what]
    own_loop.attach(sparse(bench.directory / "agreed"))
    folder = new_run(TINY_PLAN, own_loop.path, bench.runs)
    change(own_loop, bench.directory)
    before = {file: digest(str(file)) for file in bench.directory.glob("[ao]*")}
    fails(resumed, "resume", "--runs", bench.runs, names=(words, own_loop.path))
    start_engine(folder)
    wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code == code
    assert words in after.reason
    assert own_loop.path in after.reason
    assert {file: digest(str(file)) for file in before} == before
    assert [cell.status for cell in after.cells] == [CellStatus.PENDING] * 2
