"""Packs the archive that the kernel starts from: busybox, the modules it needs to find its disks and its root, init.sh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.lab.cache import KERNEL, TOOLS, module_bytes, module_files

_MODULES = (
    "virtio_pci", "virtio_console", "virtio_blk", "virtio_scsi", "sd_mod", "nvme", "virtio_rng",
    "overlay", "9p", "9pnet_virtio",
)  # fmt: skip
_APPLETS = ("sh", "mount", "insmod", "mkdir", "cat", "switch_root", "poweroff")
_FOLDER, _FILE, _LINK = 0o040755, 0o100755, 0o120777


def initramfs(init: bytes, kernel: Path = KERNEL) -> bytes:
    """Return the archive with init as its /init, and the kernel's own modules."""
    return b"".join(_entries(init, kernel))


def _entries(init: bytes, kernel: Path) -> Iterator[bytes]:
    for folder in ("bin", "dev", "proc", "sys", "modules"):
        yield _entry(folder, _FOLDER)
    yield _entry("bin/busybox", _FILE, (TOOLS / "usr/bin/busybox").read_bytes())
    for name in _APPLETS:
        yield _entry(f"bin/{name}", _LINK, b"busybox")
    files = module_files(_MODULES, kernel)
    for file in files:
        yield _entry(_place(file), _FILE, module_bytes(file))
    yield _entry("modules.list", _FILE, "\n".join(f"/{_place(file)}" for file in files).encode())
    yield _entry("kernel", _FILE, kernel.name.encode())
    yield _entry("init", _FILE, init)
    yield _entry("TRAILER!!!", 0)


def _place(file: Path) -> str:
    return f"modules/{file.name.split('.ko')[0]}.ko"


def _entry(name: str, mode: int, data: bytes = b"") -> bytes:
    """Return one file in the "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    path = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return _padded(header) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
