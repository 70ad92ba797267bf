"""Refused: the device can't be written now, or nobody can say whether it may be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from fsconsole.devices.evidence import Evidence
from fsconsole.devices.hazards.base import Check
from fsconsole.model.device import MdArray
from fsconsole.model.hazard import Hazard, Verdict


class StrangeNode(Check):
    """A device node that leads to another device than its name says."""

    name = "strange-node"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard where the node is stale or forged."""
        if evidence.strange_node:
            hint = "`fsconsole devices` lists the true names; remove the node if nobody needs it."
            yield self.hazard(evidence.device.path, evidence.strange_node, hint)


class ReadOnly(Check):
    """The kernel refuses writes to it."""

    name = "read-only"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a read-only device."""
        if evidence.device.read_only:
            hint = "A switch on the medium, or `blockdev --setrw DEVICE`, if it may be written at all."
            yield self.hazard(evidence.device.path, "is read-only", hint)


class Resyncing(Check):
    """An md array that is busy with itself: figures would be false, and a check interrupted."""

    name = "resyncing"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every array, the device itself or below it, that resyncs or waits to."""
        for array in evidence.arrays:
            if array.action:
                yield self.hazard(
                    evidence.device.path,
                    _resync_words(array, evidence.device.name),
                    "It can be waited for: `cat /proc/mdstat`.",
                    waits=True,
                )


def _resync_words(array: MdArray, name: str) -> str:
    is_itself = array.name == name
    if array.progress_percent is None:
        what = "has a" if is_itself else f"has the array /dev/{array.name} with a"
        return f"{what} resync {array.action.lower()}"
    what = "is" if is_itself else f"has the array /dev/{array.name}"
    return f"{what} in {array.action}, at {array.progress_percent:.1f} %"


class InactiveArray(Check):
    """An md array that was put together but not started: it has no size, and its members are held."""

    name = "inactive-array"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard where the device itself is such an array."""
        for array in evidence.arrays:
            if array.name == evidence.device.name and not array.active:
                hint = "`mdadm --run DEVICE` starts it if enough members are there; `cat /proc/mdstat` shows them."
                yield self.hazard(evidence.device.path, "is an inactive array", hint)


_IO_ERROR = os.strerror(errno.EIO)
_DISK_FAILS = "The disk itself can't be read: `smartctl --all DEVICE` and `dmesg` say more of its health."
_HIDDEN = "Run as root; `fsconsole doctor` shows what this system hides."


class Undetermined(Check):
    """Something that would tell a device in use from a free one could not be read: then it is not free."""

    name = "undetermined"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for everything that could not be determined."""
        for unread in evidence.unread:
            yield self.hazard(
                evidence.device.path,
                f"could not be proved free: {unread.source}: {unread.why}",
                _DISK_FAILS if _IO_ERROR in unread.why else _HIDDEN,
            )
