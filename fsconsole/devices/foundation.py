"""What a device stands on, by the name under which its owner knows it."""

from __future__ import annotations

from fsconsole.model.device import Device

_OWNERS = {"LVM": "LV", "CRYPT": "encrypted volume", "mpath": "multipath"}
"""What the part of a dm UUID before its first dash says (libdevmapper.h, DM_UUID_PREFIX of each tool)."""


def stands_on(device: Device) -> str:
    """Return "loop over /path", "LV vg/lv", "md raid5 of sdb, sdc", "dm NAME"; empty for what stands for itself."""
    if device.loop is not None:
        return f"loop over {device.loop.path}"
    if device.dm_name:
        return _mapped(device)
    if device.md is not None and device.md.members:
        members = ", ".join(member.name for member in device.md.members)
        return f"md {device.md.level} of {members}".replace("  ", " ")
    return f"partition of {device.parent}" if device.parent else ""


def _mapped(device: Device) -> str:
    owner = _OWNERS.get(device.dm_uuid.split("-", 1)[0], "dm")
    return f"{owner} {volume_name(device.dm_name) if owner == 'LV' else device.dm_name}"


def volume_name(dm_name: str) -> str:
    """Return "vg/lv" of an LV's dm name, in which a dash of either is doubled (man 8 lvm)."""
    volume = dm_name.replace("--", "\0").split("-", 1)
    return "/".join(volume).replace("\0", "-")
