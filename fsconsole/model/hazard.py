"""Reasons why a device must not, or should not, be wiped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """Refused: never wiped. Asked: wiped only after consent to exactly what was shown."""

    REFUSED = "refused"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One reason, in words. check names the class that found it; what is data for scripts and tests."""

    check: str
    verdict: Verdict
    device: str
    reason: str
    """A clause that completes "DEVICE ...": "is mounted on /srv"."""
    hint: str
    waits: bool = False
    """True where waiting helps (a resync)."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that the gate found on one device, with the identity it had at that moment."""

    device: str
    hazards: tuple[Hazard, ...]

    @property
    def refusals(self) -> tuple[Hazard, ...]:
        """The hazards that end the matter."""
        return tuple(h for h in self.hazards if h.verdict is Verdict.REFUSED)

    @property
    def questions(self) -> tuple[Hazard, ...]:
        """The hazards that consent can answer."""
        return tuple(h for h in self.hazards if h.verdict is Verdict.ASKED)
