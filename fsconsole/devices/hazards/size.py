"""Refused: too small or too large for what is planned."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.devices.evidence import Evidence
from fsconsole.devices.hazards.base import Check
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.units import format_bytes


class TooSmall(Check):
    """Less room than the plan or a filesystem needs."""

    name = "too-small"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a device below the wanted size."""
        size_bytes, wanted_bytes = evidence.device.size_bytes, max(evidence.min_bytes, 1)
        if size_bytes < wanted_bytes:
            reason = f"has {format_bytes(size_bytes)}, and {format_bytes(wanted_bytes)} are needed"
            hint = 'Choose a larger device, smaller files, or `scale = "fit"` in the plan.'
            yield self.hazard(evidence.device.path, reason, hint)


class TooLarge(Check):
    """More room than a filesystem of the plan can use, or than the operator has allowed."""

    name = "too-large"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a device above the limit."""
        size_bytes, limit_bytes = evidence.device.size_bytes, evidence.max_bytes
        if limit_bytes and size_bytes > limit_bytes:
            reason = f"has {format_bytes(size_bytes)}, and {format_bytes(limit_bytes)} are the limit"
            yield self.hazard(evidence.device.path, reason, "Choose a smaller device, or a partition of it.")
