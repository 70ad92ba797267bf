"""Consent codes: short words for devices, each with its identity and exactly what was shown on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from fsconsole.devices.gate import PASSING, GateReport
from fsconsole.errors.targets import ConsentMissing, ConsentStale
from fsconsole.model.wire import to_plain

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O, U, so that a code can be read aloud and typed."""
_GROUPS, _GROUP_CHARACTERS, _BITS = 3, 5, 5
_MISREAD = str.maketrans("ILO", "110", "- ")


def consent_code(reports: Sequence[GateReport]) -> str:
    """Return the code, "7K2QX-9M4PT-0ABCD", for the devices that need consent, in this order; "" for none.

    It fits one boot, one device and one state: the fingerprint and the hazards are hashed.
    75 bits: nobody guesses it, and two states don't share it by chance.
    """
    asked = [report for report in reports if report.needs_consent]
    return short_code(json.dumps([shown_on(report) for report in asked], sort_keys=True)) if asked else ""


def short_code(text: str) -> str:
    """Return 75 bits of the digest of a text, as three groups that can be read aloud."""
    value = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    characters = [_ALPHABET[value >> _BITS * place & 31] for place in range(_GROUPS * _GROUP_CHARACTERS)]
    text = "".join(characters)
    return "-".join(text[i : i + _GROUP_CHARACTERS] for i in range(0, len(text), _GROUP_CHARACTERS))


def shown_on(report: GateReport) -> dict[str, object]:
    """Return all that is agreed to of a device: who it is, what speaks against wiping it, and what is on it.

    Not who has it open for a moment: the gate refuses that until it is over, and the code must fit then.
    """
    return {
        "fingerprint": to_plain(report.fingerprint),
        "hazards": [(h.check, h.verdict.value, h.device, h.reason) for h in report.hazards if h.check not in PASSING],
    }


def check_consent(code: str, reports: Sequence[GateReport]) -> None:
    """Raise unless a run's code fits the devices as they are now; scratch devices alone need none.

    Raises ConsentMissing for an empty code, ConsentStale for one that doesn't fit.
    """
    asked = [report for report in reports if report.needs_consent]
    if not asked:
        return
    if not _plain(code):
        raise ConsentMissing(asked[0].device.path, asked[0].loss)
    if _plain(code) != _plain(consent_code(reports)):
        raise ConsentStale(", ".join(report.device.path for report in asked))


def _plain(code: str) -> str:
    """Return a code as it is compared: upper case, no dashes or blanks, and the letters that Crockford maps."""
    return code.upper().translate(_MISREAD)
