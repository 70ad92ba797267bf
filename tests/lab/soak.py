"""What is tried in the test command, and what in a soak: `FSCONSOLE_SOAK=1 python -m pytest tests/lab`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

ENVIRONMENT = "FSCONSOLE_SOAK"
"""Set to anything: all that there is to try is tried, which takes hours. The guests are told too."""
SOAK = ENVIRONMENT in os.environ

IN_GUEST = "FSCONSOLE_LAB_GUEST"
"""Set in the guest's environment, where the tests are run rather than reported, to the machine: "uml" or "qemu"."""
IN_UML = os.environ.get(IN_GUEST) == "uml"

_Case = TypeVar("_Case")


def tried(every: Sequence[_Case], chosen: Sequence[_Case]) -> Sequence[_Case]:
    """Return the cases to try: those chosen for the test command, or every one in a soak."""
    return every if SOAK else chosen
