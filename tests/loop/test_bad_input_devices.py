"""Devices that must not be wiped: not there, no device, in use, too small, or not what was agreed upon."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, wait_until
from tests.loop.commands import Bench, OwnLoop, command, each, fails, in_another_boot, nothing_changes
from tests.loop.gate_cases import digest, write
from tests.loop.runs import TINY_PLAN, new_run, wait_for, wait_for_end

COMMANDS = ("plan", "run")
UNUSABLE = {
    "nothing": ("/dev/absent", ExitCode.DEVICE_MISSING, "There is no /dev/absent"),
    "no name": ("", ExitCode.DEVICE_MISSING, "There is no"),
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


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mounted_device_is_refused(bench: Bench, mounted: Mount, name: str):
    run("mkfs.ext4", "-q", bench.device)
    point = mounted(bench.device, options="ro")
    with nothing_changes(bench):
        fails(ExitCode.DEVICE_MOUNTED, *bench.words(name, bench.plan()), names=(str(point), "umount"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_device_with_too_little_room_is_refused(bench: Bench, loop_device: MakeLoopDevice, name: str):
    small = bench.words(name, bench.plan(), loop_device(MIB))
    with nothing_changes(bench):
        fails(ExitCode.DEVICE_TOO_SMALL, *small, names=("1.0 MiB", "are needed"))
        large = bench.plan(TINY_PLAN.replace("1MiB", "1GiB"))
        fails(ExitCode.DEVICE_TOO_SMALL, *bench.words(name, large), names=("32.0 MiB", "4.0 GiB"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_device_that_may_not_be_written_is_refused(bench: Bench, loop_device: MakeLoopDevice, name: str):
    device = loop_device(32 * MIB, read_only=True)
    with nothing_changes(bench):
        fails(ExitCode.DEVICE_REFUSED, *bench.words(name, bench.plan(), device), names=("is read-only",))


def made_elsewhere(bench: Bench) -> str:
    """Return a code that fits this device in all but the boot: from before a reboot, as it were."""
    return bench.code(bench.plan(), under=in_another_boot(bench.directory))


UNFIT_CODES: dict[str, Callable[[Bench], str]] = {
    "of nobody": lambda bench: "7K2QX-9M4PT-0ABCD",
    "with one letter wrong": lambda bench: bench.code(bench.plan())[:-1] + "#",
    "that acts": lambda bench: "[/x]\x1b]0;",
    "of another boot": made_elsewhere,
}


@pytest.mark.parametrize("code_of", UNFIT_CODES.values(), ids=UNFIT_CODES)
def test_a_code_that_does_not_fit_is_refused(bench: Bench, code_of: Callable[[Bench], str]):
    code = code_of(bench)
    with nothing_changes(bench):
        plan = bench.plan()
        shown = f"`{shlex.join(['fsconsole', *bench.words('plan', plan)])}`"
        fails(ExitCode.CONSENT_STALE, *bench.words("run", plan), "--consent", code, names=(shown,))


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


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_code_fits_no_device_that_has_changed_since(bench: Bench, change: Callable[[str], object]):
    run("mkfs.ext4", "-q", bench.device)
    code = bench.code(bench.plan())
    change(bench.device)
    with nothing_changes(bench):
        fails(ExitCode.CONSENT_STALE, *bench.words("run", bench.plan()), "--consent", code)


def test_a_device_that_vanished_or_was_replaced_since_the_plan_is_refused(bench: Bench, own_loop: OwnLoop):
    files = [sparse(bench.directory / name) for name in ("agreed", "other")]
    own_loop.attach(files[0])
    words = bench.words("run", bench.plan(), own_loop.path)
    consent = ("--consent", bench.code(bench.plan(), device=own_loop.path))
    before = [digest(str(file)) for file in files]
    own_loop.detach()
    with nothing_changes(bench):
        fails(ExitCode.DEVICE_MISSING, *words, *consent, names=(own_loop.path,))
        own_loop.attach(files[1])
        fails(ExitCode.CONSENT_STALE, *words, *consent, names=(own_loop.path,))
        own_loop.detach()
        own_loop.attach(files[0])
        # The same file again: who knows what was done to it in between.
        fails(ExitCode.CONSENT_STALE, *words, *consent)
        own_loop.detach()
    assert [digest(str(file)) for file in files] == before


def sparse(path: Path) -> Path:
    path.touch()
    os.truncate(path, 32 * MIB)
    return path


def other_file(loop: OwnLoop, directory: Path) -> None:
    loop.detach()
    loop.attach(sparse(directory / "other"))


AFTER_CONSENT: dict[str, tuple[Callable[[OwnLoop, Path], object], ExitCode, str]] = {
    "it is gone": (lambda loop, _: loop.detach(), ExitCode.DEVICE_CHANGED, "it is gone"),
    "another is there": (other_file, ExitCode.DEVICE_CHANGED, "inode of the backing file"),
    "data": (lambda loop, _: CHANGES["data"](loop.path), ExitCode.DEVICE_CHANGED, "written on it"),
    "a filesystem": (lambda loop, _: CHANGES["a filesystem"](loop.path), ExitCode.DEVICE_CHANGED, "ext4"),
    "read-only": (lambda loop, _: run("blockdev", "--setro", loop.path), ExitCode.DEVICE_REFUSED, "read-only"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "code", "words"), AFTER_CONSENT.values(), ids=AFTER_CONSENT)
def test_an_engine_refuses_a_device_that_changed_after_the_consent(
    bench: Bench, own_loop: OwnLoop, change: Callable[[OwnLoop, Path], object], code: ExitCode, words: str
):
    own_loop.attach(sparse(bench.directory / "agreed"))
    folder = new_run(TINY_PLAN, own_loop.path, bench.runs)
    change(own_loop, bench.directory)
    before = {file: digest(str(file)) for file in bench.directory.glob("[ao]*")}
    start_engine(folder)
    wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code == code
    assert words in after.reason
    assert own_loop.path in after.reason
    assert {file: digest(str(file)) for file in before} == before
    assert [cell.status for cell in after.cells] == [CellStatus.PENDING] * 2


# What consent can mend is asked about; a device that is another one, or that is refused, can't be.
RESUMED = {
    "it is gone": ExitCode.DEVICE_CHANGED,
    "another is there": ExitCode.DEVICE_CHANGED,
    "data": ExitCode.CONSENT_MISSING,
    "a filesystem": ExitCode.CONSENT_MISSING,
    "read-only": ExitCode.DEVICE_REFUSED,
}


@pytest.mark.parametrize("what", AFTER_CONSENT)
def test_a_run_is_not_resumed_on_a_device_that_changed_after_the_consent(
    bench: Bench, own_loop: OwnLoop, what: str
):
    own_loop.attach(sparse(bench.directory / "agreed"))
    folder = new_run(TINY_PLAN, own_loop.path, bench.runs)
    change, _, words = AFTER_CONSENT[what]
    change(own_loop, bench.directory)
    before = {file: digest(str(file)) for file in bench.directory.glob("[ao]*")}
    fails(RESUMED[what], "resume", "--runs", bench.runs, names=(words, own_loop.path))
    assert {file: digest(str(file)) for file in before} == before
    assert [cell.status for cell in read_state(folder).cells] == [CellStatus.PENDING] * 2


@contextlib.contextmanager
def paused_run(bench: Bench, folder: RunFolder):
    """Have a run that stands still between two cells, its device locked; it is finished afterwards."""
    assert command("resume", folder.name, "--detach", "--runs", bench.runs).returncode == 0
    pause = ("stop", folder.name, "--pause", "--runs", bench.runs)
    wait_until(lambda: command(*pause).returncode == 0, "the run takes requests")
    wait_for(folder, lambda state: state.status is RunStatus.PAUSED and state.current_cell is None)
    yield
    assert command("stop", folder.name, "--continue", "--runs", bench.runs).returncode == 0
    wait_for_end(folder)


def test_two_runs_never_share_a_device(bench: Bench):
    plan = TINY_PLAN.replace("repeats = 1", "repeats = 2")
    first, second = new_run(plan, bench.device, bench.runs), new_run(plan, bench.device, bench.runs)
    with paused_run(bench, first):
        for name in COMMANDS:
            fails(ExitCode.DEVICE_LOCKED, *bench.words(name, bench.plan()), names=(bench.device,))
        fails(ExitCode.DEVICE_LOCKED, "resume", second.name, "--runs", bench.runs, names=(bench.device,))
        fails(ExitCode.RUN_LIVES, "resume", first.name, "--runs", bench.runs, names=(first.name,))
        assert command("cleanup", "--runs", bench.runs).stdout == "Nothing to clean up.\n"
    state = read_state(first)
    assert (state.status, state.exit_code) == (RunStatus.FINISHED, 0)
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert {cell.status for cell in read_state(second).cells} == {CellStatus.PENDING}
