"""Small made sysfs and proc trees, in the shape that kernels give them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fsconsole.devices.snapshot import discover
from fsconsole.model.device import Device

GIB = 2**30
QUEUE = {
    "queue/rotational": "0",
    "queue/logical_block_size": "512",
    "queue/physical_block_size": "4096",
    "queue/optimal_io_size": "0",
    "queue/minimum_io_size": "4096",
    "queue/read_ahead_kb": "128",
    "queue/scheduler": "[none] mq-deadline",
    "queue/write_cache": "write back",
    "removable": "0",
    "ro": "0",
}


class SystemTree:
    """A tree with sys/ and proc/ below one directory, filled by add()."""

    def __init__(self, base: Path) -> None:
        self.sys = base / "sys"
        self.proc = base / "proc"
        (self.sys / "class/block").mkdir(parents=True)
        self.write_proc("self/mountinfo", "")
        self.write_proc("1/mountinfo", "")
        self.write_proc("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
        self._links: dict[str, str] = {}

    def discover(self) -> tuple[Device, ...]:
        return discover(str(self.sys), str(self.proc))

    def devices(self) -> dict[str, Device]:
        return {device.name: device for device in self.discover()}

    def write_proc(self, name: str, text: str) -> None:
        path = self.proc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, where: str, number: str, size_bytes: int, files: Mapping[str, str | bytes] | None = None) -> Path:
        """Make a device at devices/WHERE, linked from class/block under its last part."""
        directory = self.sys / "devices" / where
        name = directory.name
        for folder in ("holders", "slaves"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        contents = {
            "dev": number,
            "size": str(size_bytes // 512),
            "uevent": uevent(name, number),
            **(files or {}),
        }
        for file, content in contents.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
        (self.sys / "class/block" / name).symlink_to(os.path.relpath(directory, self.sys / "class/block"))
        return directory

    def hold(self, holder: str, *lower: str) -> None:
        """Link a stacked device with what it is made of, both ways."""
        for name in lower:
            (self._directory(holder) / "slaves" / name).mkdir()
            (self._directory(name) / "holders" / holder).mkdir()

    def sata(self, name: str, number: str, files: Mapping[str, str | bytes] | None = None) -> Path:
        page = b"\x00\x80\x00\x14" + b"        ZC1D9HJQ    "
        own: dict[str, str | bytes] = {
            **QUEUE,
            "diskseq": number.split(":")[1],
            "queue/rotational": "1",
            "queue/scheduler": "none [mq-deadline] kyber",
            "device/model": "ST8000NM0055-1RM",
            "device/vendor": "ATA     ",
            "device/wwid": "naa.5000c500a1b2c3d4",
            "device/vpd_pg80": page,
        }
        host = f"pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/{name}"
        return self.add(host, number, 8 * GIB, {**own, **(files or {})})

    def partition(self, disk: str, name: str, number: str, size_bytes: int = GIB) -> Path:
        where = self._directory(disk).relative_to(self.sys / "devices") / name
        text = uevent(name, number, "partition") + "\nPARTN=1\nPARTUUID=B2D9A1C4-01"
        return self.add(str(where), number, size_bytes, {"partition": "1", "start": "2048", "ro": "0", "uevent": text})

    def array(self, name: str, number: str, size_bytes: int, *members: str) -> None:
        self.add(
            f"virtual/block/{name}",
            number,
            size_bytes,
            {**QUEUE, "md/level": "raid1", "queue/optimal_io_size": "524288"},
        )
        self.hold(name, *members)

    def volume(self, name: str, number: str, dm_name: str, *lower: str) -> None:
        uuid = "LVM-x1y2z3"
        self.add(f"virtual/block/{name}", number, GIB, {**QUEUE, "dm/name": dm_name, "dm/uuid": uuid})
        self.hold(name, *lower)

    def mounted_btrfs(self, name: str, number: str) -> None:
        """Have a device belong to a mounted btrfs."""
        member = self.sys / "fs/btrfs/6a3d/devices" / name
        member.mkdir(parents=True)
        (member / "dev").write_text(f"{number}\n")

    def _directory(self, name: str) -> Path:
        return (self.sys / "class/block" / name).resolve()


def uevent(name: str, number: str, kind: str = "disk") -> str:
    major, minor = number.split(":")
    return f"MAJOR={major}\nMINOR={minor}\nDEVNAME={name.replace('!', '/')}\nDEVTYPE={kind}"
