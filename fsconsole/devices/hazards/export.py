"""Refused: other machines work on the device."""

from __future__ import annotations

from fsconsole.devices.evidence import UseKind
from fsconsole.devices.hazards.base import UseCheck


class Exported(UseCheck):
    """Served by a kernel target: nvmet, LIO, a USB gadget."""

    name = "exported"
    kind = UseKind.EXPORT
    hint = "Remove the export first (nvmetcli, targetcli), if no other machine needs it."


class Reserved(UseCheck):
    """A SCSI reservation: some machine has claimed the disk for itself."""

    name = "reserved"
    kind = UseKind.RESERVED
    hint = "`sg_persist --in --read-reservation DEVICE` shows the holder; ask whoever runs that cluster."
