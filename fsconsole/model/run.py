"""The request for a run, stored in its folder before anything happens."""

from __future__ import annotations

from fsconsole.model.contract import Document
from fsconsole.model.device import SHARED, Fingerprint, Hazard, Identity
from fsconsole.model.place import Place
from fsconsole.model.plan import Plan
from fsconsole.model.wire import Wire

TOOL_FACT = "tool "
"""Begins the names of a run's facts that are versions of programs: "tool mkfs.ext4"."""


class Target(Wire, frozen=True):
    """A device that the operator has agreed to have wiped: who it is, and exactly what was shown on it."""

    path: str
    fingerprint: Fingerprint
    shown: tuple[Hazard, ...]
    consent: str
    """The consent code; empty for a scratch device, which needs none."""
    backing_file: str = ""
    """Path of a scratch device's file, by which it is attached again after a reboot; empty for any other."""
    agreed_attempt: int = 1
    """The attempt that was about to begin when it was agreed upon: what earlier attempts wrote is not ours."""
    place: Place | None = None
    """Of a directory, where nothing is formatted; None for a device."""

    @property
    def identity(self) -> Identity:
        """Who it is."""
        return self.fingerprint.identity

    @property
    def shared(self) -> str:
        """Users of its disk, "is on a disk shared with /"; empty for a disk without the system."""
        return next((hazard.reason for hazard in self.shown if hazard.check == SHARED), "")


class RunRequest(Wire, frozen=True):
    """All that an engine needs to run a plan; immutable, stored in the run's folder."""

    run_id: str
    created_wall_ns: int
    version: str
    plan: Plan
    targets: tuple[Target, ...]
    owned_scratch: str = ""
    """Path of a scratch file that was made for this run alone and goes when it is finished."""

    @property
    def is_on_directories(self) -> bool:
        """True if the targets are directories, in which nothing is formatted."""
        return any(target.place is not None for target in self.targets)


class StartedRun(Document, frozen=True):
    """The answer of a command that starts a run, with --detach --json."""

    run_id: str
    folder: str
