"""Which block devices there are, and what udev's database adds about each."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

SYS_ROOT = "/sys"

_UDEV_KEYS = (
    "ID_BUS",
    "ID_MODEL",
    "ID_PART_ENTRY_UUID",
    "ID_SERIAL",
    "ID_SERIAL_SHORT",
    "ID_WWN",
    "ID_WWN_WITH_EXTENSION",
)
_LISTING_ATTEMPTS = 5
_OF_THREAD = threading.local()


def block_devices(sys_root: str = SYS_ROOT) -> dict[str, Mapping[str, str]]:
    """Return the kernel's names of all block devices, each with udev's properties of it.

    The properties are empty where no udevd runs, where libudev is missing, and for a made sysfs tree.
    Raises OSError where there is no sysfs.
    """
    names = os.listdir(f"{sys_root}/class/block")
    found: dict[str, Mapping[str, str]] = {name: {} for name in sorted(names)}
    if sys_root == SYS_ROOT:
        found.update(_udev_listing())
    return found


def _udev_listing() -> dict[str, Mapping[str, str]]:
    try:
        import pyudev  # noqa: PLC0415 - the import itself fails where libudev is not installed
    except ImportError:
        return {}
    # Making one searches for libudev, with programs of its own; it may be used by one thread alone.
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = pyudev.Context()
    for _ in range(_LISTING_ATTEMPTS):
        try:
            return {
                str(device.sys_name).replace("/", "!"): _chosen(device.properties)
                for device in _OF_THREAD.context.list_devices(subsystem="block")
            }
        except pyudev.DeviceNotFoundError:
            # One of them vanished between being listed and being looked at.
            continue
    return {}


def _chosen(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {key: properties[key] for key in _UDEV_KEYS if key in properties}
