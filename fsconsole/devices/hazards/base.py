"""What a check is, and the words for a claim on a related device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from fsconsole.devices.evidence import Evidence, Relative, Role, UseKind
from fsconsole.model.hazard import Hazard, Verdict


class Check(ABC):
    """One reason to refuse or to ask; subclasses say which, and find it in the evidence."""

    name: ClassVar[str]
    verdict: ClassVar[Verdict]

    @abstractmethod
    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every case of it that the evidence holds; reads nothing else."""

    def hazard(self, device: str, reason: str, hint: str, *, waits: bool = False) -> Hazard:
        """Return a hazard of this check; reason completes "DEVICE ..."."""
        return Hazard(self.name, self.verdict, device, reason, hint, waits)


class UseCheck(Check):
    """Refuses a device because something uses it, or uses a device that shares bytes with it."""

    verdict = Verdict.REFUSED
    kind: ClassVar[UseKind]
    roles: ClassVar[frozenset[Role]] = frozenset({Role.SELF, Role.INSIDE, Role.DISK, Role.UNDER, Role.BELOW})
    hint: ClassVar[str]

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every use of this kind on a relative in one of the roles."""
        own = _own_chain(evidence)
        roles = {relative.number: relative for relative in evidence.relatives if relative.role in self.roles}
        for use in evidence.uses:
            relative = roles.get(use.number)
            if use.kind is self.kind and relative is not None and use.by not in own:
                yield self.hazard(evidence.device.path, clause_for(relative, use.clause), self.hint)


_HERE = {Role.SELF, Role.UNDER, Role.BELOW}


def _own_chain(evidence: Evidence) -> frozenset[int]:
    """Return the numbers of the device and of what it stands on: that it stands on them is no hazard."""
    return frozenset(relative.number for relative in evidence.relatives if relative.role in _HERE)


_LINKS = {
    Role.INSIDE: "has the partition {path}, which",
    Role.DISK: "is a partition of {path}, which",
    Role.UNDER: "stands on {path}, which",
    Role.BELOW: "is made of {path}, which",
    Role.TWIN: "is the same disk as {path}, which",
}


def clause_for(relative: Relative, clause: str) -> str:
    """Return a clause about a relative as one about the device itself."""
    if relative.role is Role.SELF:
        return clause
    return f"{_LINKS[relative.role].format(path=relative.path)} {clause}"
