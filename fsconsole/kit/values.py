"""A kit as it is written and read again: kit.json of its folder."""

from __future__ import annotations

from fsconsole.model.wire import Wire

SCHEMA = 1
"""Grows when a key changes its meaning or goes."""


class KitDevice(Wire, frozen=True):
    """A device by a name that lasts, with its size, by which it is known again."""

    path: str
    """Below /dev/disk/by-id where it has a name there."""
    size_bytes: int
    disk: str
    """Likewise of its whole disk, whose queue serves it; of a whole disk the same."""


class KitArray(Wire, frozen=True):
    """An md array that is made of the devices."""

    path: str
    """Below /dev/md."""
    uuid: str
    """As mdadm prints it."""
    level: str
    chunk_bytes: int
    create: tuple[str, ...]
    bitmap: str = ""
    """"internal" or "none"; empty where the level has none, and in kits of older versions."""


class KitSetting(Wire, frozen=True):
    """A setting that was measured: of a device's queue or array, or of the machine."""

    name: str
    device: str
    """Empty for the machine's."""
    file: str
    """Below the device's folder in sysfs ("queue/read_ahead_kb"), or the name as sysctl has it ("vm.dirty_bytes")."""
    value: str


class Kit(Wire, frozen=True):
    """A row of a run, for other devices."""

    schema: int
    version: str
    """Of the program that wrote it."""
    run: str
    row: str
    filesystem: str
    name: str
    """Part of file names: the mount point without slashes."""
    uuid: str
    mount_point: str
    is_unit: bool
    """True: mounted by a unit of systemd; False: by a line in fstab."""
    devices: tuple[KitDevice, ...]
    array: KitArray | None
    make: tuple[tuple[str, ...], ...]
    mount_words: tuple[str, ...]
    fstab: str
    settings: tuple[KitSetting, ...]
    features: tuple[tuple[str, str], ...]
    """Features that must be read back, as of the row."""
    mount_features: tuple[tuple[str, str], ...]
    """Mount options that must be in effect, likewise."""
    differing: tuple[str, ...]
    """Sentences on what is not as it was measured."""

    @property
    def device(self) -> str:
        """Path of what holds the filesystem: the array, or the only device."""
        return self.array.path if self.array is not None else self.devices[0].path
