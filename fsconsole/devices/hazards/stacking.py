"""Refused: something is built on the device."""

from __future__ import annotations

from fsconsole.devices.evidence import Role, UseKind
from fsconsole.devices.hazards.base import UseCheck

_NOT_BELOW = frozenset({Role.SELF, Role.INSIDE, Role.DISK, Role.UNDER})
"""What an array or a volume is made of is held by that array or volume, rightly."""


class Held(UseCheck):
    """Held by md, dm (LVM, LUKS, multipath) or bcache."""

    name = "held"
    kind = UseKind.HOLDER
    roles = _NOT_BELOW
    hint = "`lsblk DEVICE` shows what stands on it; take that apart first, if nobody needs it."


class ArrayMember(UseCheck):
    """A member of an md array, assembled or inactive."""

    name = "array-member"
    kind = UseKind.ARRAY
    roles = _NOT_BELOW
    hint = "`cat /proc/mdstat` shows the array; `mdadm --stop` frees its members, if nobody needs it."


class ActiveVolumeGroup(UseCheck):
    """A physical volume of a group with active volumes, even where none of them lies on it."""

    name = "active-volume-group"
    kind = UseKind.VOLUME_GROUP
    roles = frozenset({Role.SELF, Role.INSIDE})
    hint = "`pvs` and `lvs` show the group; `vgchange --activate n` frees it, if nobody needs it."


class UnderLoop(UseCheck):
    """What a loop device stands on, as a device or through a file on it: O_EXCL does not see that."""

    name = "under-loop"
    kind = UseKind.LOOP
    hint = "`losetup --list` shows it; `losetup --detach LOOP` frees it, if nobody needs it."


class SharedBackingFile(UseCheck):
    """Another loop device over the same file writes the same bytes."""

    name = "shared-backing-file"
    kind = UseKind.SAME_FILE
    roles = frozenset({Role.SELF, Role.UNDER, Role.BELOW, Role.DISK})
    hint = "Detach the other one: `losetup --detach LOOP`."
