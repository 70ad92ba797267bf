"""Runs the commands that write to a device: the last proof is made once the tool itself has the device open."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack

from fsconsole.devices.claims import TOOLS_THAT_TEST_O_EXCL, held_exclusively, needs_hold
from fsconsole.devices.fingerprint import changes
from fsconsole.engine.proof import Prover
from fsconsole.errors.runs import ToolIsScript
from fsconsole.errors.targets import DeviceChanged
from fsconsole.model.command import CommandResult, Watch
from fsconsole.model.device import Fingerprint
from fsconsole.model.plan import Cell
from fsconsole.system.run import find_program
from fsconsole.system.trace import devices_open_for_writing

_MD_MAJOR = 9


def wipe(
    prover: Prover,
    cell: Cell,
    argv: tuple[str, ...],
    run: Callable[[Watch], CommandResult],
    devices: tuple[str, ...] = (),
) -> CommandResult:
    """Run a command that writes to the cell's target, or to the given members of its array; return run's result.

    run starts it with the given watch. Raises what Prover.proved() and Prover.require_as_proved() raise, with the
    command killed before it wrote anything, ToolIsScript, and DeviceChanged if somebody else wrote meanwhile.
    """
    paths = devices or (cell.target,)
    with prover.disks_locked(paths), ExitStack() as held:
        handover = Handover(prover, cell, argv, paths, held)
        result = run(handover.watch)
        handover.end(result)
    return result


class Handover:
    """Hands devices over to a tool that has been started, so that no instant is left between proof and wipe.

    At its exec the devices are proved and held exclusively. A tool with a claim (O_EXCL) of its own gets them released
    then. Once it has one open for writing, and has not written, that one must still be as it was proved: from there on
    the tool's own claim, or the engine's, keeps everybody else from it.
    """

    def __init__(
        self, prover: Prover, cell: Cell, argv: tuple[str, ...], paths: tuple[str, ...], held: ExitStack
    ) -> None:
        self._prover, self._cell, self._argv = prover, cell, argv
        self._paths, self._held = paths, held
        self._tool = os.path.basename(argv[0])
        self._tests_only = self._tool in TOOLS_THAT_TEST_O_EXCL
        self._unopened: dict[str, int] = {}
        """Device numbers of the paths that the tool has not opened for writing so far."""
        self._numbers: dict[str, int] = {}
        self._uncounted: dict[str, tuple[Fingerprint, ...]] = {}
        """Fingerprints at the proof of devices whose writes the kernel does not count."""

    def watch(self, process: str) -> bool:
        """Look at the stopped tool by its directory in /proc; true once it may go on alone."""
        if not self._numbers:
            self._begin(process)
            return False
        opened = devices_open_for_writing(process)
        for number in opened - frozenset(self._numbers.values()):
            # mdadm opens the new array, too.
            if not self._cell.members or os.major(number) != _MD_MAJOR:
                where = f"its node led {self._tool} to the device {os.major(number)}:{os.minor(number)}"
                raise DeviceChanged(self._paths[0], where)
        for path in [path for path, number in self._unopened.items() if number in opened]:
            self._prover.require_as_proved(self._cell, path)
            self._require_same_content(path)
            del self._unopened[path]
        if self._unopened or (self._tests_only and not self._is_claimed(opened)):
            return False
        self._prover.note_writing(self._paths)
        return True

    def _begin(self, process: str) -> None:
        release = self._held.enter_context(ExitStack())
        release.enter_context(self._prover.proved(self._cell, self._paths, is_held=needs_hold(self._argv)))
        self._numbers = self._prover.numbers(self._paths)
        self._unopened = dict(self._numbers)
        self._uncounted = {path: self._prover.sample_uncounted(path) for path in self._paths}
        if needs_hold(self._argv):
            return
        program = find_program(self._argv[0])
        try:
            is_script = not os.path.samefile(program, f"{process}/exe")
        except FileNotFoundError:
            # Killed meanwhile.
            return
        if is_script:
            raise ToolIsScript(program)
        release.close()

    def _require_same_content(self, path: str) -> None:
        for before, now in zip(self._uncounted[path], self._prover.sample_uncounted(path), strict=True):
            if changed := changes(before, now):
                raise DeviceChanged(path, "; ".join(changed))

    def _is_claimed(self, opened: frozenset[int]) -> bool:
        """Return whether nobody else can claim the device of a tool that tests it with O_EXCL, and may then close it."""
        (path,) = self._paths
        if self._numbers[path] in opened:
            # One that writes now does not only test it.
            return self._prover.is_written(path)
        self._held.enter_context(held_exclusively(path))
        self._prover.require_as_proved(self._cell, path)
        self._require_same_content(path)
        return True

    def end(self, result: CommandResult) -> None:
        """Record what a tool that succeeded has written.

        Raises DeviceChanged if the device moved, somebody else wrote to it, or a tool that failed was not the only one.
        """
        unseen = () if needs_hold(self._argv) else tuple(self._unopened)
        for path in unseen:
            self._prover.require_as_proved(self._cell, path)
        if result.exit_code == 0:
            written = tuple(path for path in self._paths if path not in unseen)
            self._prover.note_written(written, self._argv, result.usage.written_bytes)
