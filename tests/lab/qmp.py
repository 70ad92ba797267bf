"""The guest's own hand at its machine: qemu's control socket (QMP), by which disks are added and pulled."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.lab.guest import run, settle, wait_until

PORT = "/dev/virtio-ports/qmp"
SHARE = "/share"
"""The machine's folder share/, as the guest sees it."""
DRIVERS = {
    "virtio": {"driver": "virtio-blk-pci"},
    "scsi": {"driver": "scsi-hd", "bus": "scsi.0"},
    "nvme": {"driver": "nvme"},
}
"""What device_add takes for each bus of machine.Disk."""
DRIVE = "drive"
"""In place of a bus: a drive whose medium can be exchanged."""
_EVERY = {**DRIVERS, DRIVE: {"driver": "scsi-cd", "bus": "scsi.0"}}
_NUMBERS = count(os.getpid() * 1000)


@dataclass(frozen=True, slots=True)
class HotDisk:
    """A disk that can be plugged in and pulled again and again: its bytes lie in a file, which outlives a pull."""

    qmp: Qmp
    name: str
    bus: str
    serial: str

    def plug_in(self) -> None:
        """Put it in; the kernel finds it in its own time."""
        self.qmp.do("device_add", **self._what())

    def pull_out(self) -> None:
        """Take it out; the kernel lets go of it in its own time."""
        self.qmp.do("device_del", id=self.name)

    def plug(self) -> str:
        """Put it in, wait until the kernel and udev know it, and return its kernel name."""
        self.plug_in()
        wait_until(lambda: self.found() != "", f"the kernel finds {self.serial}")
        settle()
        return self.found()

    def pull(self) -> None:
        """Take it out and wait until the kernel has let go of it."""
        self.pull_out()
        wait_until(lambda: self.found() == "", f"the kernel forgets {self.serial}")
        settle()

    def found(self) -> str:
        """Return the kernel name of the disk with this serial number; empty where there is none."""
        said = run("lsblk", "--nodeps", "--noheadings", "--output", "NAME,SERIAL")
        rows = [line.split() for line in said.splitlines()]
        return next((row[0] for row in rows if row[1:] == [self.serial]), "")

    @property
    def plugged_by(self) -> str:
        """The line for a shell that puts it in, for a program that can't wait for an answer."""
        return _told("device_add", **self._what())

    @property
    def pulled_by(self) -> str:
        """The line for a shell that pulls it, as above."""
        return _told("device_del", id=self.name)

    def _what(self) -> dict[str, str]:
        return {**_EVERY[self.bus], "id": self.name, "drive": self.name, "serial": self.serial}


def _told(command: str, **arguments: str) -> str:
    line = json.dumps({"execute": command, "arguments": arguments})
    return f"echo '{line}' >{PORT}"


class Qmp:
    """Short conversations over the port (QEMU QMP Reference Manual)."""

    def __init__(self) -> None:
        self._unread = b""
        self.do("qmp_capabilities")
        files = [node["image"]["filename"] for node in self.do("query-named-block-nodes")]
        self._folder = next(file for file in files if file.endswith("/disk0")).replace("/disk0", SHARE)

    def do(self, command: str, **arguments: object) -> Any:
        """Carry out a command and return what it returned; events and greetings are passed over.

        The port can be open once at a time, so that it is closed after each command.
        """
        line = json.dumps({"execute": command, "arguments": arguments, "id": (number := next(_NUMBERS))})
        port = os.open(PORT, os.O_RDWR)
        try:
            os.write(port, f"{line}\n".encode())
            while (answer := json.loads(self._line(port))).get("id") != number:
                pass
        finally:
            os.close(port)
        # It is said once for each boot.
        assert "return" in answer or command == "qmp_capabilities", (command, answer)
        return answer.get("return")

    def disk(self, name: str, size_mib: int, bus: str, *, serial: str = "") -> HotDisk:
        """Make a disk over a new sparse file; it is not plugged in yet."""
        with open(f"{SHARE}/{name}", "wb") as file:
            file.truncate(size_mib * 2**20)
        image = {"driver": "file", "filename": f"{self._folder}/{name}", "discard": "unmap"}
        self.do("blockdev-add", **{"driver": "raw", "node-name": name, "file": image, "discard": "unmap"})
        return HotDisk(self, name, bus, serial or name.upper())

    def _line(self, port: int) -> bytes:
        while b"\n" not in self._unread:
            self._unread += os.read(port, 65536)
        line, _, self._unread = self._unread.partition(b"\n")
        return line
