"""Files and lines of a kit in /etc: udev rule, sysctl, mount unit or fstab line, mdadm's array line."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.kit.lines import NOFAIL
from fsconsole.kit.values import Kit, KitSetting
from fsconsole.text import printable

FSTAB = "/etc/fstab"
MDADM_CONFIGS = ("/etc/mdadm/mdadm.conf", "/etc/mdadm.conf")
"""Of Debian and its kin, and of the others; the first whose folder is there."""
_UNIT_LETTERS = frozenset(string.ascii_letters + string.digits + ":_.")
"""Letters that systemd leaves as they are in a unit's name (man 5 systemd.unit)."""


@dataclass(frozen=True, slots=True)
class ManagedFile:
    """A file of the kit's own."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class ManagedLine:
    """A line in a file of the system's; key is what no other line there may have."""

    path: str
    key: str
    line: str


def managed_files(kit: Kit) -> tuple[ManagedFile, ...]:
    """Return the files of a kit: udev's rule, sysctl's settings, the mount unit, each only where it is needed."""
    found = []
    head = (
        f"# Made by fsconsole {kit.version} from run {printable(kit.run)}: what was measured for {kit.mount_point}.\n"
    )
    if rules := list(_rules(kit)):
        text = head + "".join(f"{rule}\n" for rule in rules)
        found.append(ManagedFile(f"/etc/udev/rules.d/99-fsconsole-{kit.name}.rules", text))
    if machine := [one for one in kit.settings if not one.device]:
        text = head + "".join(f"{one.file} = {one.value}\n" for one in machine)
        found.append(ManagedFile(f"/etc/sysctl.d/90-fsconsole-{kit.name}.conf", text))
    if kit.is_unit:
        found.append(ManagedFile(f"/etc/systemd/system/{unit_name(kit.mount_point)}", head + _unit(kit)))
    return tuple(found)


def unit_link(kit: Kit) -> str:
    """Return the link by which a boot starts the mount unit (`systemctl enable`); empty where fstab mounts it."""
    return f"/etc/systemd/system/local-fs.target.wants/{unit_name(kit.mount_point)}" if kit.is_unit else ""


def fstab_entry(kit: Kit) -> ManagedLine | None:
    """Return the line in fstab; None where a unit mounts it."""
    return None if kit.is_unit else ManagedLine(FSTAB, f"UUID={kit.uuid}", kit.fstab)


def mount_point_pattern(mount_point: str) -> str:
    """Return an extended regular expression for every spelling of a mount point in fstab: /srv/data/, //srv/./data.

    Both awk and Python read it, so the letters that a mount point may have are not escaped by backslashes.
    """
    slash = "/+([.]/+)*"
    names = (re.sub("([.+])", r"[\1]", name) for name in mount_point.strip("/").split("/"))
    return slash + slash.join(names) + "(/+[.]?)*"


def mdadm_line(kit: Kit) -> str:
    """Return the line of mdadm.conf by which the array has its name at every boot; empty without an array."""
    return f"ARRAY {kit.array.path} metadata=1.2 UUID={kit.array.uuid}" if kit.array is not None else ""


def _rules(kit: Kit) -> Iterator[str]:
    for one in kit.settings:
        if one.device:
            yield f'ACTION!="remove", SUBSYSTEM=="block", {_match(kit, one)}, ATTR{{{one.file}}}="{one.value}"'


def _match(kit: Kit, setting: KitSetting) -> str:
    """Return udev's match for a device: an array by its UUID, a disk by its lasting name."""
    if kit.array is not None and setting.device == kit.array.path:
        return f'ENV{{MD_UUID}}=="{kit.array.uuid}"'
    name = setting.device.removeprefix("/dev/")
    return f'SYMLINK=="{name}"' if "/" in name else f'KERNEL=="{name}"'


def _unit(kit: Kit) -> str:
    options = ",".join((*kit.mount_words, NOFAIL))
    return (
        f"[Unit]\nDescription={kit.filesystem} on {kit.mount_point}\n\n[Mount]\nWhat=/dev/disk/by-uuid/{kit.uuid}\n"
        f"Where={kit.mount_point}\nType={kit.filesystem}\nOptions={options}\n\n[Install]\nWantedBy=local-fs.target\n"
    )


def unit_name(mount_point: str) -> str:
    r"""Return the name of a mount's unit: "srv-data.mount", with \x2d for a dash (man 1 systemd-escape)."""
    letters = []
    for place, one in enumerate(mount_point.strip("/")):
        if one == "/":
            letters.append("-")
        elif one in _UNIT_LETTERS and not (one == "." and place == 0):
            letters.append(one)
        else:
            letters += [f"\\x{byte:02x}" for byte in one.encode()]
    return f"{''.join(letters)}.mount"
