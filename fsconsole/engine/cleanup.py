"""Cleans up after killed engines: restores settings, shows arrays, and records how the run ended.

Mounts, processes and locks of a killed engine vanish with its namespaces.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.ask import silent_among
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.memory_group import NO_GROUP
from fsconsole.devices.settings import DiskNumbers, Kernel, disk_node, give_back, lock_machine_settings
from fsconsole.engine.arrays import left_in_words
from fsconsole.engine.directories import remove_left
from fsconsole.engine.pid_limit import remove_left_group
from fsconsole.engine.writeback import remove_left_trace
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import RunComplete, RunLives, SettingsLocked
from fsconsole.journal import last_word
from fsconsole.journal.folder import RunFolder, require_own
from fsconsole.journal.past import read_journal, read_state
from fsconsole.journal.store import is_alive, list_runs
from fsconsole.journal.writer import record_all
from fsconsole.model.command import Command, Executor
from fsconsole.model.events import Observation, RunInterrupted, SettingReturned, SettingTaken
from fsconsole.model.state import HeldSetting, RunState, RunStatus
from fsconsole.plan.expand import cell_uuid
from fsconsole.plan.keys import MEMORY
from fsconsole.plan.steps import crash_name, remove_command, resume_command
from fsconsole.system.block import forget_mapped, mapped_as
from fsconsole.system.files import boot_id, read_text_or
from fsconsole.system.locks import FileLock
from fsconsole.system.mounts import engine_argv
from fsconsole.system.processes import waiting_below
from fsconsole.system.run import RealExecutor
from fsconsole.text import error_reason


@dataclass(frozen=True, slots=True)
class Leftover:
    """A setting of a killed run; why_left says why it was not restored, busy who holds the device now."""

    taken: SettingTaken
    why_left: str = ""
    busy: str = ""

    @property
    def returned(self) -> SettingReturned:
        """The journal entry of a settled one."""
        taken = self.taken
        return SettingReturned(taken.cell, taken.attempt, taken.step, taken.path, self.why_left)


def give_back_leftovers(
    state: RunState, kernel: Kernel | None = None, silent: Collection[str] = ()
) -> tuple[Leftover, ...]:
    """Restore the settings of a dead engine's run, last first; the caller holds the run's lock.

    Settings do not survive a reboot. A setting stays if its disk is another one now, or if somebody changed it
    since. It has to wait if a living run holds the device's lock, or if the disk is silent: setting a scheduler
    waits for I/O in flight.
    """
    kernel, restored = kernel or Kernel(), []
    boots = {started.attempt: started.boot_id for started in state.started}
    others = frozenset[str]()
    for held in reversed(state.settings):
        taken = held.taken
        node = disk_node(taken.path)
        if boots.get(taken.attempt) != boot_id():
            why = "the machine was rebooted since, and settings do not survive that"
            leftover = Leftover(taken, f"{taken.path}: {why}")
        elif node in silent:
            leftover = Leftover(taken, busy=f"{node} does not answer")
        else:
            leftover = _restore(held, kernel, others)
            if taken.path.endswith("/scheduler") and (leftover.busy or leftover.why_left):
                others |= {node}
        restored.append(leftover)
    return tuple(restored)


def disks_of(state: RunState) -> frozenset[str]:
    """Return the disks with settings that the run has not restored."""
    return frozenset(disk_node(held.taken.path) for held in state.settings) - {""}


def in_words(leftovers: Iterable[Leftover]) -> tuple[str, ...]:
    """Return the settings' outcomes as clauses."""
    said = []
    for leftover in leftovers:
        taken = leftover.taken
        if leftover.busy:
            said.append(f"{taken.path} has to wait: {leftover.busy}")
        elif leftover.why_left:
            said.append(f"left as it is: {leftover.why_left}")
        elif taken.name == MEMORY and taken.old == NO_GROUP:
            said.append(f"the memory cgroup {os.path.dirname(taken.old_path)} is removed")
        elif taken.new:
            said.append(f"{taken.old_path} is {taken.old} again")
    return tuple(dict.fromkeys(said))


def _restore(held: HeldSetting, kernel: Kernel, others: frozenset[str]) -> Leftover:
    """Restore one; others are disks whose scheduler was left, and with it the values that it resets."""
    taken = held.taken
    node, is_same = disk_node(taken.path), False
    if not taken.new and node in others:
        return Leftover(taken, f"{taken.path}: it belongs to the scheduler, which was left")
    with suppress(OSError, ValueError):
        is_same = kernel.disk(taken.path) == DiskNumbers(taken.device_number, taken.diskseq)
    if not is_same:
        return Leftover(taken, f"{taken.path}: {node} is gone, or another device now")
    with ExitStack() as stack:
        try:
            # The group of a load is the run's own: no other run sets it.
            if taken.name != MEMORY:
                stack.enter_context(FileLock.acquire(node) if node else lock_machine_settings())
        except BlockingIOError:
            return Leftover(taken, busy=f"{node} is locked by a run or a tool")
        except SettingsLocked as error:
            return Leftover(taken, busy=str(error).rstrip("."))
        except OSError as error:
            return Leftover(taken, f"{taken.path}: {node} can't be opened: {error_reason(error)}")
        return Leftover(taken, give_back(held, kernel))


_DM_TIMEOUT_S = 60.0


def remove_mapped(state: RunState, executor: Executor) -> Iterator[str]:
    """Remove what a killed engine left of device-mapper over its targets, and yield a clause for each device.

    It is known by its name and UUID, which hold the run's and the cell's; what it held stays on the target.
    """
    for cell in state.cells:
        uuid = cell_uuid(state.request.run_id, cell.index)
        name = crash_name(uuid)
        disk = mapped_as(name) if cell.attempt else ""
        if not disk or read_text_or(f"/sys/block/{disk}/dm/uuid", "") != name:
            continue
        # A device that was suspended keeps its mount, and the mount's processes, for ever.
        executor.run(Command(resume_command(uuid), timeout_s=_DM_TIMEOUT_S))
        removed = executor.run(Command(remove_command(uuid), timeout_s=_DM_TIMEOUT_S))
        forget_mapped(name)
        why = "" if removed.exit_code == 0 else f" could not be removed: {removed.err.strip()}"
        yield f"/dev/mapper/{name}{why or ' is removed'}"


def _traces(state: RunState) -> Iterator[str]:
    if any(load.trace for cell in state.request.plan.cells for load in cell.workloads):
        yield from remove_left_trace(state.request.run_id, RealExecutor())


_STARTER = engine_argv(())[0]
"""unshare: the engine's parent process, which waits for it."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of a cleanup for one run."""

    run_id: str
    did: str
    resumable: bool


def require_resumable(folder: RunFolder) -> None:
    """Raise RunLives, RunComplete, or JournalUnusable, RunImported for a foreign folder, unless the run has cells left to do."""
    require_own(folder)
    if is_alive(folder):
        raise RunLives(run=folder.name)
    if not read_state(folder).is_open:
        raise RunComplete(run=folder.name)


def resumable_on(scratch_id: str, runs_dir: str) -> tuple[str, ...]:
    """Return the runs that have cells left to do on a scratch device, by name; what can't be read is passed over."""
    found = []
    for folder in list_runs(runs_dir):
        with suppress(FsconsoleError):
            state = read_state(folder)
            targets = {target.identity.scratch_id for target in state.request.targets}
            if scratch_id in targets and state.is_open and not (is_alive(folder) or folder.is_imported):
                found.append(folder.name)
    return tuple(found)


def clean_folder(folder: RunFolder) -> tuple[Cleaned, ...]:
    """Clean up after one run's engine, if it died; returns at most one value. An imported run had its engine elsewhere."""
    name = folder.name
    if folder.is_imported:
        return ()
    try:
        require_own(folder)
        with FileLock.acquire(folder.lock):
            return _clean_locked(folder, name)
    except BlockingIOError:
        return ()
    except FsconsoleError as error:
        return (Cleaned(name, f"left as it is: {error}", resumable=False),)
    except OSError as error:
        # One folder on a read-only disk must not stop the cleanup of others.
        why = error_reason(error)
        return (Cleaned(name, f"left as it is: its folder is not writable: {why}", resumable=False),)


def _clean_locked(folder: RunFolder, name: str) -> tuple[Cleaned, ...]:
    state = read_journal(folder)
    if os.path.lexists(folder.control):
        os.unlink(folder.control)
    groups = remove_left_group(state.request.run_id)
    mapped = (*remove_mapped(state, RealExecutor()), *_traces(state), *remove_left(state), *groups)
    context = GateContext(RealExecutor(), os.path.dirname(folder.path), load_catalog().marks)
    makes_arrays = any(cell.array for cell in state.request.plan.cells)
    members = {target.path: target.identity.size_bytes for target in state.request.targets if makes_arrays}
    silent = silent_among({**dict.fromkeys(disks_of(state), 0), **members}, context.executor)
    leftovers = give_back_leftovers(state, silent=silent)
    arrays = left_in_words(state, context, silent.keys() & members.keys())
    told: list[Observation] = [leftover.returned for leftover in leftovers if not leftover.busy]
    said = [*in_words(leftovers), *mapped, *arrays, *_remains(folder)]
    has_died = state.status in (RunStatus.RUNNING, RunStatus.PAUSED)
    if has_died:
        words, where = last_word.read(folder), "between cells"
        if state.current_cell is not None:
            step = f"{state.current_step.kind.words} of " if state.current_step else ""
            where = f"in {step}cell {state.current_cell + 1} of {len(state.cells)}"
        ending = words[0].finished if words else RunInterrupted(f"the engine died {where}")
        told.append(ending)
        said.insert(0, ending.reason.rstrip("."))
    if told:
        record_all(folder, told)
    if has_died:
        last_word.forget(folder)
    return (Cleaned(name, "; ".join(said), resumable=state.is_open),) if said else ()


def _remains(folder: RunFolder) -> tuple[str, ...]:
    """Return a clause for each process of a dead engine that still waits in the kernel."""
    waiting = waiting_below(_STARTER, folder.path)
    return tuple(f"{who} still waits in the kernel for its device, and keeps its mounts" for who in waiting)
