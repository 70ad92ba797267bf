"""Refused: a program, another run or something in the kernel has claimed the device."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.devices.evidence import Evidence, Role, UseKind
from fsconsole.devices.hazards.base import Check, UseCheck
from fsconsole.model.hazard import Hazard, Verdict


class LockedByRun(UseCheck):
    """Locked by flock: by another run of this tool, or by a tool that is careful."""

    name = "locked"
    kind = UseKind.LOCKED
    hint = "`fsconsole runs` shows living runs; wait, or stop the other one with `fsconsole stop`."


class OpenElsewhere(UseCheck):
    """Open in another process, whatever for: a virtual machine, a database, a disk editor."""

    name = "open-elsewhere"
    kind = UseKind.OPEN
    hint = "`fuser --verbose DEVICE` shows the process; end it, if nobody needs it."


class HiddenProcess(Check):
    """A process that shows its descriptors to nobody: whether it has the device open is for the operator to know."""

    name = "hidden-process"
    verdict = Verdict.ASKED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every such process."""
        for process in evidence.hidden_processes:
            reason = f"may be open in process {process}, which does not show what it has open"
            yield self.hazard(evidence.device.path, reason, "`ps` tells what the process is.")


class ExclusivelyHeld(UseCheck):
    """O_EXCL says EBUSY (man 2 open): mounted in some mount namespace, or claimed by a driver or a program."""

    name = "busy"
    kind = UseKind.BUSY
    roles = frozenset({Role.SELF, Role.UNDER})
    hint = (
        "`lsblk DEVICE`, `fuser --verbose DEVICE` and `lsns --type mnt` help to find who it is; what was "
        "unmounted during a run's load stays busy until that load ends."
    )
