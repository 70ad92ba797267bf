"""Settings that a dead engine left: given back where they still are the run's, on the device that they were set on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from fsconsole.devices.settings import Disk, Kernel, disk_node, give_back, lock_machine_settings
from fsconsole.errors import SettingsLocked
from fsconsole.model.observation import SettingReturned, SettingTaken
from fsconsole.model.state import HeldSetting, RunState
from fsconsole.system.host import boot_id
from fsconsole.system.locks import FileLock


@dataclass(frozen=True, slots=True)
class Leftover:
    """A setting that was left, and what became of it; busy names who has the device now, empty: it is settled."""

    taken: SettingTaken
    why_left: str = ""
    busy: str = ""

    @property
    def returned(self) -> SettingReturned:
        """What the journal is told of a settled one."""
        taken = self.taken
        return SettingReturned(taken.cell, taken.attempt, taken.step, taken.path, self.why_left)


def give_back_leftovers(
    state: RunState, kernel: Kernel | None = None, silent: Collection[str] = ()
) -> tuple[Leftover, ...]:
    """Give back what a run holds though its engine is gone, the last first; the caller holds the run's lock.

    Settings don't outlive a boot. What was set on a disk that is another one now, or changed by somebody since, is
    left; what a living run has under its lock has to wait, and so has a disk that is silent: to set a scheduler
    waits for what is under way there.
    """
    return tuple(_settled(state, kernel or Kernel(), silent))


def disks_of(state: RunState) -> frozenset[str]:
    """Return the disks of which a run still holds a setting."""
    return frozenset(disk_node(held.taken.path) for held in state.settings) - {""}


def in_words(leftovers: Iterable[Leftover]) -> tuple[str, ...]:
    """Return what became of the settings as clauses, one for each that matters to a reader."""
    said = []
    for leftover in leftovers:
        taken = leftover.taken
        if leftover.busy:
            said.append(f"{taken.path} has to wait: {leftover.busy}")
        elif leftover.why_left:
            said.append(f"left as it is: {leftover.why_left}")
        elif taken.new:
            said.append(f"{taken.old_path} is {taken.old} again")
    return tuple(dict.fromkeys(said))


def _settled(state: RunState, kernel: Kernel, silent: Collection[str]) -> Iterator[Leftover]:
    boots = {started.attempt: started.boot_id for started in state.started}
    others = frozenset[str]()
    for held in reversed(state.settings):
        taken = held.taken
        if boots.get(taken.attempt) != boot_id():
            why = "the machine was started anew since, and settings don't outlive that"
            yield Leftover(taken, f"{taken.path}: {why}")
            continue
        if disk_node(taken.path) in silent:
            yield Leftover(taken, busy=f"{disk_node(taken.path)} does not answer")
            continue
        leftover = _one(held, kernel, others)
        if taken.path.endswith("/scheduler") and (leftover.busy or leftover.why_left):
            others |= {disk_node(taken.path)}
        yield leftover


def _one(held: HeldSetting, kernel: Kernel, others: frozenset[str]) -> Leftover:
    """Settle one; others are disks whose scheduler was left, and what was kept aside for it is left with it."""
    taken = held.taken
    node = disk_node(taken.path)
    if not taken.new and node in others:
        return Leftover(taken, f"{taken.path}: it goes with the scheduler, which was left")
    if not _is_same_disk(taken, kernel):
        return Leftover(taken, f"{taken.path}: {node} is gone, or another device by now")
    with ExitStack() as stack:
        try:
            stack.enter_context(FileLock.acquire(node) if node else lock_machine_settings())
        except BlockingIOError:
            return Leftover(taken, busy=f"{node} is locked by a run or a tool")
        except SettingsLocked as error:
            return Leftover(taken, busy=str(error).rstrip("."))
        except OSError as error:
            return Leftover(taken, f"{taken.path}: {node} can't be opened: {error.strerror or error}")
        return Leftover(taken, give_back(held, kernel))


def _is_same_disk(taken: SettingTaken, kernel: Kernel) -> bool:
    try:
        return kernel.disk(taken.path) == Disk(taken.device_number, taken.diskseq)
    except (OSError, ValueError):
        return False
