"""Settings of device and kernel: journalled, written, read back, looked at before each load, and given back."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.devices.settings import Disk, InForce, Kernel, give_back
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.model.events import SettingReturned, SettingSeen, SettingTaken, WarningKind
from fsconsole.model.plan import Step, Write
from fsconsole.model.state import HeldSetting
from fsconsole.system.files import read_text_or
from fsconsole.system.mounts import read_mounts
from fsconsole.telemetry.machine import bdi_name

_KERNEL = Kernel()
_HINT = "Look for what else sets it (udev rules, tuned, another program); compare rows by what was in effect."


def set_all(work: CellWork, step: Step) -> StepResult:
    """Write every setting of the step, its old value on the journal's disk before; all is given back at release."""
    for write in step.writes:
        try:
            _set(work, write)
        except OSError as error:
            # A queue that this device doesn't have: the reason alone would not say which file.
            raise StepFailed(f"{write.path} can't be read: {error.strerror or error}") from error
    return StepResult()


def set_back(work: CellWork, step: Step) -> StepResult:
    """Give back what was set for one workload alone."""
    steps = work.cell.steps
    own = [held for held in work.settings if steps[held.taken.step].workload == step.workload]
    for held in reversed(own):
        _give_back(work, held.taken)
    return StepResult()


def about_to_load(work: CellWork) -> None:
    """Note what every setting is right before a load; one that is not what was set is warned of."""
    innermost = {held.taken.path: held for held in work.settings if held.taken.new}
    for path, held in innermost.items():
        now = _KERNEL.value(path)
        _note(work, path, now)
        if now != (held.seen or held.taken.new):
            _warn(work, f"{path} became {now} while the cell ran; it had been set to {held.taken.new}")
        if held.taken.name == "read_ahead":
            _check_own_read_ahead(work, now)


def _set(work: CellWork, write: Write) -> None:
    disk = _KERNEL.disk(write.path)
    # Even where the scheduler is the same: "none" once more sets the number of requests anew (seen on 6.18).
    for beside in _KERNEL.reset_by(write.path):
        _take(work, Write(os.path.basename(beside.path), beside.path, ""), beside, disk)
    _take(work, write, _KERNEL.in_force(write.path), disk)
    refusal = ""
    try:
        _KERNEL.write(write.path, write.value)
    except OSError as error:
        refusal = f" (the kernel said: {error.strerror or error})"
    seen = _KERNEL.value(write.path)
    work.settings[-1] = replace(work.settings[-1], seen=seen)
    _note(work, write.path, seen)
    if seen != write.value:
        _warn(work, f"{write.path} is {seen} and not {write.value}, as the plan asks{refusal}")


def _take(work: CellWork, write: Write, old: InForce, disk: Disk) -> None:
    """Write down what is about to be set; from here on it is due to be given back."""
    taken = SettingTaken(
        cell=work.cell.index,
        attempt=work.run.attempt,
        step=work.step_number,
        name=write.name,
        path=write.path,
        new=write.value,
        old_path=old.path,
        old=old.value,
        device_number=disk.device_number,
        diskseq=disk.diskseq,
    )
    work.run.journal.record(taken, durable=True)
    work.settings.append(HeldSetting(taken))
    work.stack.callback(_give_back, work, taken)


def _give_back(work: CellWork, taken: SettingTaken) -> None:
    """Give one setting back, once."""
    found = [held for held in work.settings if held.taken is taken]
    if not found:
        return
    work.settings.remove(found[0])
    why = give_back(found[0], _KERNEL)
    returned = SettingReturned(taken.cell, taken.attempt, taken.step, taken.path, why)
    work.run.journal.record(returned, durable=False)
    if why:
        _warn(work, why)


def _note(work: CellWork, path: str, value: str) -> None:
    seen = SettingSeen(work.cell.index, work.run.attempt, work.step_number, path, value)
    work.run.journal.record(seen, durable=False)


def _warn(work: CellWork, reason: str) -> None:
    work.warn(WarningKind.NOT_IN_EFFECT, reason, _HINT)


def _check_own_read_ahead(work: CellWork, queue_kib: str) -> None:
    """Warn where files are read ahead by another number than the disk's: btrfs has one of its own (fs/btrfs/disk-io.c)."""
    mounted = [entry for entry in read_mounts() if entry.mount_point == work.mount_point]
    name = bdi_name(mounted[-1]) if mounted else ""
    own_kib = read_text_or(f"/sys/class/bdi/{name}/read_ahead_kb", "") if name else ""
    if own_kib and own_kib != queue_kib:
        kind = work.cell.variant.filesystem
        _warn(
            work, f"{kind} reads files ahead by {own_kib} KiB of its own, whatever the disk's read-ahead is"
        )
