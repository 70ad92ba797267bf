"""Block devices and files that this machine's kernel serves to others."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.devices.evidence import Use, UseKind
from fsconsole.model.device import Device
from fsconsole.system.text import read_text


@dataclass(frozen=True, slots=True)
class _Exporter:
    """A kernel server: where below /sys each of its exports names what it serves, its module and root folder."""

    name: str
    pattern: str
    module: str
    root: str
    shape: re.Pattern[str] = re.compile("(.*)")
    """What of the file's text is the path; no match means that nothing is served."""


_EXPORTERS = (
    # drivers/nvme/target/configfs.c; it opens the device without claiming it, so that O_EXCL can't tell.
    _Exporter(
        "NVMe target",
        "kernel/config/nvmet/subsystems/*/namespaces/*/device_path",
        "module/nvmet",
        "kernel/config/nvmet",
    ),
    # Documentation/target/tcm_mod_builder.rst, drivers/target/target_core_configfs.c
    _Exporter(
        "LIO target",
        "kernel/config/target/core/*/*/udev_path",
        "module/target_core_mod",
        "kernel/config/target",
    ),
    # target_core_file.c, fd_show_configfs_dev_params: it opens a device as a file, and only targetcli sets udev_path.
    _Exporter(
        "LIO target",
        "kernel/config/target/core/fileio_*/*/info",
        "module/target_core_mod",
        "kernel/config/target",
        re.compile(r".*? File: (.+?)  Size: ", re.DOTALL),
    ),
    # Documentation/usb/mass-storage.rst, drivers/usb/gadget/function/f_mass_storage.c
    _Exporter(
        "USB gadget",
        "kernel/config/usb_gadget/*/functions/mass_storage.*/lun.*/file",
        "module/usb_f_mass_storage",
        "kernel/config/usb_gadget",
    ),
)


def export_uses(loops: tuple[tuple[int, Device], ...], sys_root: str = "/sys") -> Iterator[Use]:
    """Yield a use for every exported block device, and for a loop whose backing file is exported.

    loops are the loop devices with their numbers. Raises OSError, and LookupError where an exporter is
    loaded and its configuration is not to be seen.
    """
    files = {(d.loop.file_device, d.loop.inode): number for number, d in loops if d.loop is not None}
    for exporter in _EXPORTERS:
        if os.path.isdir(f"{sys_root}/{exporter.module}") and not os.path.isdir(
            f"{sys_root}/{exporter.root}"
        ):
            raise LookupError(
                f"{exporter.name} is loaded and {sys_root}/{exporter.root} is not there: mount configfs"
            )
        for path in glob.glob(f"{sys_root}/{exporter.pattern}"):
            number = _exported_number(_served(path, exporter.shape), files)
            if number:
                yield Use(UseKind.EXPORT, number, f"is exported by the {exporter.name} ({path})")


def _served(path: str, shape: re.Pattern[str]) -> str:
    try:
        found = shape.match(read_text(path))
    except OSError as error:
        # The export was removed meanwhile, or has no device set yet.
        if error.errno in {errno.ENOENT, errno.ENODEV}:
            return ""
        raise
    return found[1] if found else ""


def _exported_number(path: str, files: dict[tuple[int, int], int]) -> int:
    """Return the number of the device that is served; 0 for nothing, and for a file that no loop stands on."""
    if not path or path == "(null)":
        return 0
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise LookupError(f"{path} is exported and not to be found") from error
    return found.st_rdev if stat.S_ISBLK(found.st_mode) else files.get((found.st_dev, found.st_ino), 0)
