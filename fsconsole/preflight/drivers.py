"""Which filesystems the kernel can mount, and what it has to say of the others."""

from __future__ import annotations

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.catalog.kernels import is_after, is_before
from fsconsole.preflight.machine import Driver
from fsconsole.system import host
from fsconsole.system.text import read_text_or


def parse_filesystems(text: str) -> frozenset[str]:
    """Return the names in /proc/filesystems: a line is "nodev", or nothing, a tab, and a name (man 5 proc)."""
    return frozenset(line.split()[-1] for line in text.splitlines() if line.strip())


def parse_aliases(text: str) -> frozenset[str]:
    """Return the filesystems that modprobe would load on mount: lines "alias fs-xfs xfs" of modules.alias.

    The kernel asks for the module "fs-NAME" (fs/filesystems.c, get_fs_type; man 5 modules.dep).
    """
    names = (line.split()[1] for line in text.splitlines() if line.startswith("alias fs-"))
    return frozenset(name.removeprefix("fs-") for name in names)


def registered_filesystems() -> frozenset[str]:
    """Return what the running kernel has registered, "debugfs" and the like too."""
    return parse_filesystems(read_text_or("/proc/filesystems", ""))


def driver_of(name: str, registered: frozenset[str] | None = None) -> Driver:
    """Return how this kernel serves a filesystem."""
    if name in (registered_filesystems() if registered is None else registered):
        return Driver.LOADED
    aliases = read_text_or(f"/lib/modules/{host.kernel_release()}/modules.alias", "")
    return Driver.MODULE if name in parse_aliases(aliases) else Driver.ABSENT


def why_absent(filesystem: Filesystem, kernel: str) -> str:
    """Return why a kernel without the driver has none, as a clause."""
    if filesystem.until and is_after(kernel, filesystem.until):
        return f"{filesystem.name} left the kernel after Linux {filesystem.until}"
    if filesystem.since and is_before(kernel, filesystem.since):
        return f"{filesystem.name} came with Linux {filesystem.since}"
    return (
        f"this kernel has no driver for {filesystem.name}:"
        f" /proc/filesystems does not name it, and there is no module fs-{filesystem.name}"
    )
