"""What the tests of the wipe gate on real devices share."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import struct
import subprocess
import sys
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, inspect_device
from fsconsole.engine.proof import Prover
from fsconsole.model.device import Verdict
from fsconsole.model.run import Target
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import run

_ZEROS = bytes(MIB)
RUNS_DIR = "/var/lib/fsconsole/runs"

_HOLDER = """
import os, sys
fd = os.open(sys.argv[1], {flags})
print("open", flush=True)
sys.stdin.read()
"""


def context(**facts: object) -> GateContext:
    return GateContext(RealExecutor(), **{"runs_dir": RUNS_DIR, "marks": load_catalog().marks, **facts})  # type: ignore[arg-type]


def inspect(path: str, **facts: object) -> GateReport:
    return inspect_device(path, context(**facts))


def refusals(report: GateReport) -> dict[str, str]:
    """Return the reasons of all refusals by check."""
    return {hazard.check: hazard.reason for hazard in report.refusals}


def questions(report: GateReport) -> dict[str, str]:
    """Return the reasons of all questions by check, but for processes that this machine's security module hides."""
    asked = (hazard for hazard in report.hazards if hazard.verdict is Verdict.ASKED)
    return {hazard.check: hazard.reason for hazard in asked if not hazard.check.startswith("hidden-")}


def agreed(report: GateReport) -> Target:
    return Target(report.device.path, report.fingerprint, report.hazards, "CODE")


def file_below(device: str) -> str:
    name = os.path.basename(device)
    return Path(f"/sys/block/{name}/loop/backing_file").read_text().strip()


def digest(path: str) -> str:
    """Return a digest of all that is not zero in a file, and where; holes need not be read for that."""
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        place = _next_data(file.fileno(), 0)
        while block := os.pread(file.fileno(), MIB, place):
            if block != _ZEROS[: len(block)]:
                sha.update(b"%d:%b" % (place, block))
            place = _next_data(file.fileno(), place + len(block))
        sha.update(b"%d" % place)
    return sha.hexdigest()


def _next_data(fd: int, place: int) -> int:
    """Return where the next MiB begins that has data in it, or the file's end (man 2 lseek)."""
    try:
        return max(place, os.lseek(fd, place, os.SEEK_DATA) // MIB * MIB)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return os.lseek(fd, 0, os.SEEK_END)


def outdate(prover: Prover) -> None:
    """Make each proof of a run too old to be relied on."""
    for path, state in prover._states.items():
        if state.proof is not None:
            prover._states[path] = replace(state, proof=replace(state.proof, time_s=-math.inf))


@contextlib.contextmanager
def unchanged(device: str) -> Iterator[None]:
    """Prove that not a byte of the file below the loop device changes meanwhile."""
    file = file_below(device)
    run("sync", file)
    before = digest(file)
    yield
    run("sync", file)
    assert digest(file) == before


def write(device: str, offset: int, data: bytes) -> None:
    """Write onto the device, and have it on the device before anything else looks."""
    fd = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(fd, data, offset)
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def held_by_another_process(device: str, flags: str) -> Iterator[int]:
    """Have a process of its own keep the device open, and yield its pid."""
    argv = [sys.executable, "-c", _HOLDER.format(flags=flags), device]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield process.pid
        assert process.stdin is not None
        process.stdin.close()


@contextlib.contextmanager
def loop_over(path: str, *options: str) -> Iterator[str]:
    """Attach one more loop device over a file or a device."""
    device = run("losetup", "--find", "--show", *options, path).strip()
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


@contextlib.contextmanager
def partitioned(
    directory: Path, *extents_mib: tuple[int, int], size_bytes: int = 64 * MIB
) -> Iterator[tuple[str, ...]]:
    """Yield a new loop device and its partitions (first MiB, size in MiB), which the kernel alone knows of.

    Added by ioctl, as this needs no partition table that the kernel can parse (man 8 addpart).
    """
    with loop_over(sparse(directory / "partitioned", size_bytes), "--partscan") as disk:
        try:
            for number, (start, size) in enumerate(extents_mib, 1):
                run("addpart", disk, str(number), str(start * 2048), str(size * 2048))
            yield disk, *(f"{disk}p{number}" for number in range(1, len(extents_mib) + 1))
        finally:
            for number in range(1, len(extents_mib) + 1):
                subprocess.run(["delpart", disk, str(number)], check=False, capture_output=True)


def write_dos_table(disk: str, *extents_mib: tuple[int, int], kind: int = 0x83) -> None:
    """Write the partition table that says so on the disk, all partitions of a kind."""
    entries = (struct.pack("<4xB3xII", kind, start * 2048, size * 2048) for start, size in extents_mib)
    write(disk, 446, b"".join(entries).ljust(64, b"\0") + b"\x55\xaa")


def write_gpt(disk: str, size_bytes: int, *parts: tuple[int, int, str, str]) -> None:
    """Write a GPT (UEFI specification, 5.3) of Linux partitions: first MiB, size in MiB, PARTUUID, PARTLABEL."""
    sectors = size_bytes // 512
    linux = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
    entries = b"".join(
        struct.pack("<16s16s3Q", linux, uuid.UUID(partuuid).bytes_le, first * 2048, (first + size) * 2048 - 1, 0)
        + label.encode("utf-16-le").ljust(72, b"\0")
        for first, size, partuuid, label in parts
    ).ljust(128 * 128, b"\0")

    def header(at: int, other: int, entries_at: int) -> bytes:
        fields = (at, other, 34, sectors - 34, uuid.uuid4().bytes_le, entries_at, 128, 128, zlib.crc32(entries))
        made = struct.pack("<8s4I4Q16sQ3I", b"EFI PART", 0x10000, 92, 0, 0, *fields)
        return (made[:16] + struct.pack("<I", zlib.crc32(made)) + made[20:]).ljust(512, b"\0")

    protective = bytes(446) + struct.pack("<4xB3x2I", 0xEE, 1, sectors - 1).ljust(64, b"\0") + b"\x55\xaa"
    write(disk, 0, protective + header(1, sectors - 1, 2) + entries)
    write(disk, (sectors - 33) * 512, entries + header(sectors - 1, 1, sectors - 33))


def sparse(path: Path, size_bytes: int = 64 * MIB) -> str:
    """Make a file of holes and return its path."""
    with path.open("wb") as file:
        file.truncate(size_bytes)
    return str(path)
