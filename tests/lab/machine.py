"""A guest that sees this machine's files, has disks of its own, and runs one command.

With the kernel cache.UML it is user-mode Linux: a kernel that runs as a program, so that Python is as fast in there as on
the host. It has one CPU, and no PCI, NVMe, debugfs, pressure or hung-task detection. With any other it is qemu without
KVM, which has all that, and is 20 times slower.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import CACHE, KERNEL, QEMU, UML, LabMissing, kernel_release
from tests.lab.compiled import compile_all
from tests.lab.initramfs import initramfs
from tests.lab.soak import ENVIRONMENT as SOAK_ENVIRONMENT
from tests.lab.soak import IN_GUEST, SOAK

_BOOT = Path(__file__).parent / "boot"
_MEMORY_MIB = 1024
_KERNEL_WORDS = (
    "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable clocksource=hpet audit=0 apparmor=0 "
    "cryptomgr.notests rcupdate.rcu_expedited=1 random.trust_cpu=on raid=noautodetect quiet"
)
"""The clock is the HPET: on a busy host the kernel finds a wrong rate for the TSC, and minutes pass in seconds."""
_DRIVERS = {"virtio": "virtio-blk-pci", "scsi": "scsi-hd,bus=scsi.0,rotation_rate=1", "nvme": "nvme"}
_PORTS = ("output", "status", "reports")
"""Files of share/, written by the guest: through virtio-serial ports, or as they are."""
_IN_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave")
_PAUSE_S = 0.1
_ENDS_WITH_THIS_PROCESS = ("setpriv", "--pdeathsig", "KILL")
_GIVES_WAY = ("nice", "-n", "5")
"""To the tests on devices, which run one after the other beside it and take longest."""
NO_MACHINE = "no virtual machine"
"""Begins the reason of a test that is left out."""
_REGISTERS_REFUSED = re.compile(r"userspace - ptrace set fp regs failed, errno = \d+$", re.MULTILINE)
"""arch/um/os-Linux/skas/process.c: the host's registers (XSTATE with AMX) are larger than those that kernels up to 6.12 know."""
_NO_INIT = "Kernel panic - not syncing: Attempted to kill init!"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of the guest: a sparse file of its own."""

    size_mib: int
    bus: str = "virtio"
    """"virtio", "scsi" or "nvme"; user-mode Linux has a bus of its own, ubd."""
    kept: Path | None = None
    """A file that is there before this boot and after it; else one is made in the boot's folder."""


def why_no_machine(kernel: Path = KERNEL) -> str:
    """Return why no guest with that kernel can be had here; empty where one can."""
    if os.geteuid() != 0:
        return "not root: run it with `sudo ./bootstrap test`"
    program = _IN_NAMESPACES[0] if kernel == UML else QEMU
    if shutil.which(program) is None:
        return f"{program} is missing: `sudo ./bootstrap test` brings it"
    try:
        kernel_release(kernel)
    except (LabMissing, OSError) as error:
        return str(error)
    return ""


def refusal_in(console: str) -> str:
    """Return why user-mode Linux doesn't boot on this CPU, where its first program died of just that; else nothing."""
    if not _REGISTERS_REFUSED.search(console) or _NO_INIT not in console:
        return ""
    return "USER-MODE LINUX DOES NOT BOOT ON THIS CPU, WHOSE REGISTERS HAVE AMX: ptrace set fp regs failed"


class Machine:
    """One boot, from its start to the end of its command.

    folder is this boot's own on the host: what the kernel said, and in share/ all that the guest may write.
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
        self.share = folder / "share"
        self.share.mkdir(parents=True)
        shutil.copy(_BOOT / "start.sh", self.share)
        (self.share / "environment").write_text(_environment(command, checkout, "uml" if kernel == UML else "qemu"))
        for port in _PORTS:
            (self.share / port).touch()
        compile_all(checkout)
        start = _uml if kernel == UML else _qemu
        words = (*_ENDS_WITH_THIS_PROCESS, *_GIVES_WAY, *start(folder, disks, kernel))
        with (folder / "console").open("ab") as console:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)

    def lines(self, timeout_s: float) -> Iterator[str]:
        """Yield the lines that the guest writes to its port "reports", until it ends or the time is over."""
        deadline = time.monotonic() + timeout_s
        with (self.share / "reports").open(encoding="utf-8") as file:
            rest = ""
            while True:
                is_over = self._process.poll() is not None or time.monotonic() > deadline
                *whole, rest = (rest + file.read()).split("\n")
                yield from whole
                if is_over:
                    return
                time.sleep(_PAUSE_S)

    def end(self, patience_s: float = 0.0) -> str:
        """End the machine and return what can be told of a guest that didn't finish its command; else nothing.

        Within patience_s it may still end by itself, so that the CPU time of all its processes counts as used here.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        is_running = self._process.poll() is None
        self._kill()
        status, output, console = (
            _said(path) for path in (self.share / "status", self.share / "output", self.folder / "console")
        )
        if status.strip() in {"0", "1"}:
            return ""
        how = (
            "was still running, and was ended" if is_running else f"ended with the status {status.strip() or '(none)'}"
        )
        return f"the guest {how}\n-- its output --\n{output[-4000:]}\n-- its console --\n{console[-4000:]}"

    def refusal(self) -> str:
        """Return why this CPU can't boot it, by what its kernel said; empty for any other end."""
        return refusal_in(_said(self.folder / "console"))

    def _kill(self) -> None:
        """Kill the guest, and wait until nothing of it is left that could still write to its disks.

        The first process of user-mode Linux's PID namespace ends after all others there, and unshare after that.
        """
        pid = self._process.pid
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            inner = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for each in map(int, inner or [pid]):
                os.kill(each, signal.SIGKILL)
        self._process.wait()


def _said(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _uml(folder: Path, disks: tuple[Disk, ...], kernel: Path) -> list[str]:
    """Return the command that boots user-mode Linux."""
    memory = folder / "memory"
    memory.mkdir()
    images = [str(disk.kept or memory / f"disk{number}") for number, disk in enumerate(disks)]
    made = [word for disk, image in zip(disks, images, strict=True) for word in (f"{disk.size_mib}M", image)]
    return [
        *_IN_NAMESPACES, str(_BOOT / "uml.sh"), str(memory), *made, "--",
        str(kernel / "vmlinux"), f"mem={_MEMORY_MIB}M", f"uml_dir={memory}", "root=/dev/root", "rootfstype=hostfs", "ro",
        "con=null", "con0=null,fd:1", "quiet", "raid=noautodetect", "panic=-1",
        f"init={_BOOT}/init-uml.sh", f"LAB={CACHE}", f"SHARE={folder}/share",
        *(f"ubd{chr(ord('a') + number)}={path}" for number, path in enumerate(images)),
    ]  # fmt: skip


def _qemu(folder: Path, disks: tuple[Disk, ...], kernel: Path) -> list[str]:
    """Return the command that boots qemu."""
    share = folder / "share"
    (folder / "initramfs").write_bytes(initramfs((_BOOT / "init-qemu.sh").read_bytes(), kernel))
    words = [
        QEMU, "-nodefaults", "-no-reboot", "-display", "none", "-machine", "pc", "-accel", "tcg,tb-size=256",
        "-cpu", "max,la57=off", "-smp", "1", "-m", str(_MEMORY_MIB),
        "-kernel", str(kernel / "vmlinux"), "-initrd", str(folder / "initramfs"), "-append", _KERNEL_WORDS,
        "-chardev", f"file,id=console,path={folder}/console,append=on", "-serial", "chardev:console",
        "-device", "virtio-rng-pci", "-device", "virtio-scsi-pci,id=scsi", "-device", "virtio-serial-pci",
    ]  # fmt: skip
    for port in _PORTS:
        words += ["-chardev", f"file,id={port},path={share}/{port}"]
        words += ["-device", f"virtserialport,chardev={port},name={port}"]
    # The guest has qemu's own control socket: it can add and pull its disks itself.
    words += ["-chardev", f"socket,id=ours,path={folder}/qmp,server=on,wait=off"]
    words += ["-mon", "chardev=ours,mode=control", "-chardev", f"socket,id=qmp,path={folder}/qmp"]
    words += ["-device", "virtserialport,chardev=qmp,name=qmp"]
    words += _shared("root", "/", "readonly=on,multidevs=remap")
    words += _shared("lab", str(CACHE), "readonly=on")
    words += _shared("run", str(share), "multidevs=remap")
    for number, disk in enumerate(disks):
        path = disk.kept or folder / f"disk{number}"
        if disk.kept is None:
            with path.open("wb") as file:
                file.truncate(disk.size_mib * 2**20)
        words += ["-drive", f"if=none,id=drive{number},file={path},format=raw,cache=writeback,discard=unmap"]
        words += ["-device", f"{_DRIVERS[disk.bus]},drive=drive{number},id=disk{number},serial=DISK{number}"]
    return words


def _shared(tag: str, path: str, options: str) -> list[str]:
    return [
        "-fsdev", f"local,id={tag},path={path},security_model=none,{options}",
        "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
    ]  # fmt: skip


def _environment(command: tuple[str, ...], checkout: Path, name: str) -> str:
    known = {"LANG": "C.UTF-8", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1", "DIRECTORY": str(checkout)}
    known[IN_GUEST] = name
    known["COMMAND"] = shlex.join(command)
    if SOAK:
        known[SOAK_ENVIRONMENT] = "1"
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in known.items())
