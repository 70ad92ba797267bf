"""A virtual machine that sees this machine's files, has disks of its own, and runs one command: qemu, without KVM."""

from __future__ import annotations

import os
import py_compile
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tests.lab.cache import CACHE, KERNEL, QEMU, LabMissing, kernel_release
from tests.lab.initramfs import initramfs
from tests.lab.soak import ENVIRONMENT as SOAK_ENVIRONMENT
from tests.lab.soak import SOAK

_BOOT = Path(__file__).parent / "boot"
_MEMORY_MIB = 1024
_KERNEL_WORDS = (
    "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable clocksource=hpet audit=0 apparmor=0 "
    "cryptomgr.notests rcupdate.rcu_expedited=1 random.trust_cpu=on raid=noautodetect quiet"
)
"""The clock is the HPET: on a busy host the kernel finds a wrong rate for the TSC, and minutes pass in seconds."""
_DRIVERS = {"virtio": "virtio-blk-pci", "scsi": "scsi-hd,bus=scsi.0,rotation_rate=1", "nvme": "nvme"}
_PORTS = ("output", "status", "reports")
_PAUSE_S = 0.1
_ENDS_WITH_THIS_PROCESS = ("setpriv", "--pdeathsig", "KILL")
_GIVES_WAY = ("nice", "-n", "5")
"""To the tests on devices, which run one after the other beside it and take longest."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of the guest: a sparse file of its own."""

    size_mib: int
    bus: str = "virtio"
    """"virtio", "scsi" or "nvme"."""
    kept: Path | None = None
    """A file that is there before this boot and after it; else one is made in the boot's folder."""


def why_no_machine(kernel: Path = KERNEL) -> str:
    """Return why no virtual machine with that kernel can be had here; empty where one can."""
    if os.geteuid() != 0:
        return "not root: run it with `sudo ./bootstrap test`"
    if shutil.which(QEMU) is None:
        return f"{QEMU} is missing: `sudo ./bootstrap test` brings it"
    try:
        kernel_release(kernel)
    except (LabMissing, OSError) as error:
        return str(error)
    return ""


class Machine:
    """One boot, from its start to the end of its command.

    folder is this boot's own on the host: disks, what was said on each port, and in share/ all that the guest may write.
    """

    def __init__(
        self,
        folder: Path,
        disks: tuple[Disk, ...],
        command: tuple[str, ...],
        checkout: Path,
        kernel: Path = KERNEL,
    ) -> None:
        self.folder = folder
        self._disks = disks
        self._kernel = kernel
        self._share = folder / "share"
        (self._share / "code").mkdir(parents=True)
        for package in ("fsconsole", "tests/lab"):
            _compile(checkout / package, self._share / "code")
        shutil.copy(_BOOT / "start.sh", self._share)
        (self._share / "environment").write_text(_environment(command, checkout))
        (folder / "initramfs").write_bytes(initramfs((_BOOT / "init.sh").read_bytes(), kernel))
        for number, disk in enumerate(disks):
            if disk.kept is None:
                with (folder / f"disk{number}").open("wb") as file:
                    file.truncate(disk.size_mib * 2**20)
        for port in _PORTS:
            (folder / port).touch()
        self._process = subprocess.Popen(self._argv(), stdin=subprocess.DEVNULL)

    def lines(self, timeout_s: float) -> Iterator[str]:
        """Yield the lines that the guest writes to its port "reports", until it ends or the time is over."""
        deadline = time.monotonic() + timeout_s
        with (self.folder / "reports").open(encoding="utf-8") as file:
            rest = ""
            while True:
                is_over = self._process.poll() is not None or time.monotonic() > deadline
                *whole, rest = (rest + file.read()).split("\n")
                yield from whole
                if is_over:
                    return
                time.sleep(_PAUSE_S)

    def end(self) -> str:
        """End the machine and return what can be told of a guest that didn't finish its command; else nothing."""
        is_running = self._process.poll() is None
        self._process.kill()
        self._process.wait()
        status, output, console = (self._said(name) for name in ("status", "output", "console"))
        if status.strip() in {"0", "1"}:
            return ""
        how = (
            "was still running, and was ended"
            if is_running
            else f"ended with the status {status.strip() or '(none)'}"
        )
        return f"the guest {how}\n-- its output --\n{output[-4000:]}\n-- its console --\n{console[-4000:]}"

    def _said(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def _argv(self) -> list[str]:
        words = [
            *_ENDS_WITH_THIS_PROCESS, *_GIVES_WAY,
            QEMU, "-nodefaults", "-no-reboot", "-display", "none", "-machine", "pc", "-accel", "tcg,tb-size=256",
            "-cpu", "max,la57=off", "-smp", "1", "-m", str(_MEMORY_MIB),
            "-kernel", str(self._kernel / "vmlinux"), "-initrd", str(self.folder / "initramfs"), "-append", _KERNEL_WORDS,
            "-chardev", f"file,id=console,path={self.folder}/console", "-serial", "chardev:console",
            "-device", "virtio-rng-pci", "-device", "virtio-scsi-pci,id=scsi", "-device", "virtio-serial-pci",
        ]  # fmt: skip
        for port in _PORTS:
            words += ["-chardev", f"file,id={port},path={self.folder}/{port}"]
            words += ["-device", f"virtserialport,chardev={port},name={port}"]
        # The guest has qemu's own control socket: it can add and pull its disks itself.
        words += ["-chardev", f"socket,id=ours,path={self.folder}/qmp,server=on,wait=off"]
        words += ["-mon", "chardev=ours,mode=control", "-chardev", f"socket,id=qmp,path={self.folder}/qmp"]
        words += ["-device", "virtserialport,chardev=qmp,name=qmp"]
        words += _shared("root", "/", "readonly=on,multidevs=remap")
        words += _shared("lab", str(CACHE), "readonly=on")
        words += _shared("run", str(self._share), "multidevs=remap")
        for number, disk in enumerate(self._disks):
            path = disk.kept or f"{self.folder}/disk{number}"
            file = f"file={path},format=raw,cache=writeback,discard=unmap"
            words += ["-drive", f"if=none,id=drive{number},{file}"]
            words += [
                "-device",
                f"{_DRIVERS[disk.bus]},drive=drive{number},id=disk{number},serial=DISK{number}",
            ]
        return words


def _shared(tag: str, path: str, options: str) -> list[str]:
    return [
        "-fsdev", f"local,id={tag},path={path},security_model=none,{options}",
        "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
    ]  # fmt: skip


def _environment(command: tuple[str, ...], checkout: Path) -> str:
    known = {"LANG": "C.UTF-8", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1", "DIRECTORY": str(checkout)}
    known["COMMAND"] = shlex.join(command)
    if SOAK:
        known[SOAK_ENVIRONMENT] = "1"
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in known.items())


def _compile(package: Path, layer: Path) -> None:
    """Put the package's byte code into a layer: the guest would need a minute for what takes seconds here."""
    for source in package.rglob("*.py"):
        target = layer / cache_from_source(str(source)).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(
            str(source), str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
