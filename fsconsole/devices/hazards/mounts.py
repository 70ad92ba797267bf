"""Refused: a filesystem or a swap area that the kernel is working on."""

from __future__ import annotations

from fsconsole.devices.evidence import UseKind
from fsconsole.devices.hazards.base import UseCheck


class Mounted(UseCheck):
    """Mounted here, or in PID 1's mount table."""

    name = "mounted"
    kind = UseKind.MOUNT
    hint = "If nobody needs what is on it, unmount it: `umount DEVICE`; `findmnt` shows where it is."


class MountedBtrfs(UseCheck):
    """One of the devices of a mounted btrfs, of which the mount table names one only."""

    name = "mounted-btrfs"
    kind = UseKind.BTRFS
    hint = "`btrfs filesystem show` lists its devices; unmount it, if nobody needs what is on it."


class ActiveSwap(UseCheck):
    """Swapped on."""

    name = "swap"
    kind = UseKind.SWAP
    hint = "`swapoff DEVICE` frees it, where there is memory enough."
