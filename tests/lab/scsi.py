"""SCSI disks in memory, each on a host of its own, that can be pulled and plugged in again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fsconsole.devices.snapshot import find_device
from tests.lab.guest import run, settle, wait_until

_HOSTS = Path("/sys/class/scsi_host")


@dataclass(frozen=True, slots=True)
class ScsiDisk:
    """A disk of scsi_debug; its bytes are its host's, which stays."""

    host: str
    serial: str

    def plug(self) -> str:
        """Put it in, where it is not, and return its kernel name."""
        if not self.found():
            (_HOSTS / self.host / "scan").write_text("- - -")
            wait_until(lambda: self.found() != "", f"the kernel finds the disk of {self.host}")
            settle()
        return self.found()

    def pull(self) -> None:
        """Take it out."""
        run("sh", "-c", self.pulled_by)
        settle()

    def found(self) -> str:
        """Return its kernel name; empty where it is pulled."""
        return _disk_of(self.host)

    @property
    def pulled_by(self) -> str:
        """The line for a shell that pulls it."""
        return f"echo 1 >/sys/block/{self.found()}/device/delete"


@contextmanager
def scsi_disks(count: int, *, size_mib: int) -> Iterator[tuple[ScsiDisk, ...]]:
    """Make disks with bytes of their own; none of them is plugged in yet."""
    run("modprobe", "scsi_debug", f"dev_size_mb={size_mib}", f"add_host={count}", "per_host_store=1", "delay=0")
    settle()
    hosts = sorted(path.name for path in _HOSTS.iterdir() if (path / "proc_name").read_text() == "scsi_debug\n")
    disks = tuple(ScsiDisk(host, find_device(f"/dev/{_disk_of(host)}").serial) for host in hosts)
    for disk in disks:
        disk.pull()
    try:
        yield disks
    finally:
        run("rmmod", "scsi_debug")


def _disk_of(host: str) -> str:
    return next((path.name for path in (_HOSTS / host / "device").glob("target*/*/block/*")), "")
