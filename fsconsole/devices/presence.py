"""Whether a path still leads to the very disk that it led to before: asked without opening anything."""

from __future__ import annotations

import os

from fsconsole.devices.discovery import device_number
from fsconsole.devices.enumerate import SYS_ROOT
from fsconsole.errors import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Identity
from fsconsole.system.text import read_int_or


def absence(path: str, identity: Identity) -> str:
    """Return why a device of this boot is not to be had at its path any more, as a clause; empty where it is."""
    try:
        number = device_number(path)
    except (DeviceMissing, NotABlockDevice):
        return "is gone: it was pulled, detached, or its driver gave it up"
    if (number, _diskseq(number)) != (identity.device_number, identity.diskseq):
        return "is another device now: the one that was agreed upon is gone"
    return ""


def _diskseq(number: int) -> int:
    own = os.path.realpath(f"{SYS_ROOT}/dev/block/{os.major(number)}:{os.minor(number)}")
    disk = os.path.dirname(own) if os.path.exists(f"{own}/partition") else own
    return read_int_or(f"{disk}/diskseq", 0)
