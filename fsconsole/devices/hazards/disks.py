"""Refused: the disk is one that the machine or the run lives on, or one in use by another path."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.devices.evidence import Evidence, Role
from fsconsole.devices.hazards.base import Check, clause_for
from fsconsole.model.hazard import Hazard, Verdict


class SystemDisk(Check):
    """A disk below /, /boot or the run folder, with all that is on it, in use or not."""

    name = "system-disk"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for each such folder, once."""
        numbers = {relative.number for relative in evidence.relatives if relative.role is not Role.TWIN}
        places = {place.place: None for place in evidence.system_places if place.numbers & numbers}
        for place in places:
            yield self.hazard(
                evidence.device.path,
                f"is on the disk that holds {place}",
                "Nothing on that disk is ever wiped; choose another disk, or `fsconsole scratch create`.",
            )


class SecondPath(Check):
    """The same WWN (or serial number) as a device that is in use."""

    name = "second-path"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every use of another path to the same disk, whatever its kind."""
        twins = {relative.number: relative for relative in evidence.relatives if relative.role is Role.TWIN}
        for use in evidence.uses:
            if use.number in twins:
                yield self.hazard(
                    evidence.device.path,
                    clause_for(twins[use.number], use.clause),
                    "Two names with one WWN or serial number are one disk: `lsblk -o NAME,WWN,SERIAL`.",
                )
        for place in evidence.system_places:
            for twin in twins.values():
                if twin.number in place.numbers:
                    yield self.hazard(
                        evidence.device.path,
                        clause_for(twin, f"holds {place.place}"),
                        "Nothing on that disk is ever wiped, by none of its names.",
                    )
