"""Device and kernel settings: journalled, set, read back, checked before each load, and restored."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.devices.memory_group import NO_GROUP, killed_in
from fsconsole.devices.settings import DiskNumbers, InForce, Kernel, give_back
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.model.events import SettingReturned, SettingSeen, SettingTaken, WarningKind
from fsconsole.model.plan import Step, Write
from fsconsole.model.state import HeldSetting
from fsconsole.plan.keys import MEMORY
from fsconsole.system import cgroups
from fsconsole.system.files import read_text_or
from fsconsole.system.mounts import mounted_at
from fsconsole.telemetry.machine import bdi_name
from fsconsole.text import error_reason
from fsconsole.units import format_bytes_exact

_KERNEL = Kernel()
_HINT = "Look for what else sets it (udev rules, tuned, another program); compare rows by what was in effect."


def set_all(work: CellWork, step: Step) -> StepResult:
    """Set the step's values after journalling the old ones; release restores them."""
    for write in step.writes:
        try:
            disk = _KERNEL.disk(write.path)
            # Even for the same scheduler: setting "none" again resets nr_requests (seen on 6.18).
            for beside in _KERNEL.reset_by(write.path):
                _take(work, Write(os.path.basename(beside.path), beside.path, ""), beside, disk)
            _take(work, write, _old(work, write), disk)
            refusal = ""
            try:
                _KERNEL.write(write.path, write.value)
            except OSError as error:
                refusal = f" (the kernel said: {error_reason(error)})"
            seen = _KERNEL.value(write.path)
        except OSError as error:
            # An attribute that this device lacks; errno alone would not say which file.
            raise StepFailed(f"{write.path} can't be read: {error_reason(error)}") from error
        work.settings[-1] = replace(work.settings[-1], seen=seen)
        _note(work, write.path, seen)
        if seen != write.value:
            _warn(work, f"{write.path} is {seen} and not {write.value}, as the plan asks{refusal}")
    return StepResult()


def set_back(work: CellWork, step: Step) -> StepResult:
    """Restore the settings of a single workload."""
    steps = work.cell.steps
    own = [held for held in work.settings if steps[held.taken.step].workload == step.workload]
    for held in reversed(own):
        _give_back(work, held.taken)
    return StepResult()


def about_to_load(work: CellWork) -> None:
    """Journal every setting's value right before a load; warn of those that changed."""
    innermost = {held.taken.path: held for held in work.settings if held.taken.new}
    for path, held in innermost.items():
        now = _KERNEL.value(path)
        _note(work, path, now)
        if now != (held.seen or held.taken.new):
            _warn(work, f"{path} became {now} while the cell ran; it had been set to {held.taken.new}")
        if held.taken.name == "read_ahead":
            # btrfs has its own (fs/btrfs/disk-io.c).
            mounted = mounted_at(work.mount_point)
            name = bdi_name(mounted) if mounted else ""
            own_kib = read_text_or(f"/sys/class/bdi/{name}/read_ahead_kb", "") if name else ""
            if own_kib and own_kib != now:
                kind = work.cell.variant.filesystem
                _warn(work, f"{kind} uses its own read-ahead of {own_kib} KiB, not the disk's")


def join_memory(work: CellWork, pid: int) -> None:
    """Move a load that is ready, a process and all below it, into the cell's memory cgroup, where there is one. Raises StepFailed."""
    for path in _memory_limits(work):
        try:
            cgroups.join(os.path.dirname(path), pid, work.run.places.proc)
        except OSError as error:
            raise StepFailed(f"the load can't join {os.path.dirname(path)}: {error_reason(error)}") from error


def memory_in_words(work: CellWork) -> str:
    """Return that the kernel killed processes of the load for its memory limit; empty where it did not."""
    killed = {path: killed_in(path) for path in _memory_limits(work)}
    said = [
        f"the kernel killed {count} of its processes, as its memory limit of {format_bytes_exact(int(_KERNEL.value(path)))} was reached"
        for path, count in killed.items()
        if count
    ]
    return "; ".join(said)


def _memory_limits(work: CellWork) -> set[str]:
    return {held.taken.path for held in work.settings if held.taken.name == MEMORY and held.taken.new}


def _old(work: CellWork, write: Write) -> InForce:
    """Return what holds now; a memory cgroup that this cell has not made is a dead run's, whose journal is gone: it goes, too."""
    if write.name == MEMORY and write.path not in _memory_limits(work):
        return InForce(write.path, NO_GROUP)
    return _KERNEL.in_force(write.path)


def _take(work: CellWork, write: Write, old: InForce, disk: DiskNumbers) -> None:
    """Journal the old value; from here on the setting must be restored."""
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
    """Restore one setting, once."""
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
