"""What the tests in the guest use: programs, fsconsole's own commands, and disks cleared between tests."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from fsconsole.cli.main import main
from fsconsole.client import engine
from fsconsole.model import RUNS_VARIABLE

PATIENCE_S = 300.0
"""A guest is 20 times slower than its host, and on a busy one it also waits for its turn."""
engine._START_LIMIT_S = PATIENCE_S


UDEVD = Path("/run/udev/control")
"""There while udevd runs."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command of fsconsole ended."""

    code: int
    out: str
    err: str


def run(*argv: str, text: str = "", environment: Mapping[str, str] | None = None) -> str:
    """Run a program that must not fail and return what it printed; environment adds to this process's own."""
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, input=text, timeout=PATIENCE_S,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert done.returncode == 0, f"{argv}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def fsconsole(*words: str) -> Done:
    """Carry out a command of fsconsole in this process: each page that a forked one writes to is dear in a guest."""
    out, err = Path("/tmp/fsconsole.out"), Path("/tmp/fsconsole.err")
    former = sys.argv
    sys.argv = ["fsconsole", *words]
    try:
        with out.open("w") as stdout, err.open("w") as stderr, redirect_stdout(stdout), redirect_stderr(stderr):
            code = main()
    finally:
        sys.argv = former
        # Kept for the command's children.
        os.environ.pop(RUNS_VARIABLE, None)
    return Done(code, out.read_text(), err.read_text())


def become(words: tuple[str, ...], out: Path, err: Path) -> None:
    """Let this forked process be a command of fsconsole, and end with it."""
    code = 99
    try:
        for number, path in ((1, out), (2, err)):
            # One of them may be the port of the reports, which under user-mode Linux is a file: what was told stays.
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        faulthandler.enable(2, all_threads=True)
        # main() puts another stream in the place of stdout: to forget this one must not close what both write to.
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        sys.argv = ["fsconsole", *words]
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def listed(*names: str) -> dict[str, dict[str, object]]:
    """Return what `fsconsole devices --json` says of each device, or of some, by name: the gate takes its time for each."""
    done = fsconsole("devices", "--json", *(f"/dev/{name}" for name in names))
    assert done.code == 0, done.err
    return {device["name"]: device for device in json.loads(done.out)["devices"]}


def settle() -> None:
    """Let udev finish what it was told of, where it runs."""
    if UDEVD.exists():
        run("udevadm", "settle", "--timeout=280")


@contextmanager
def udevd() -> Iterator[None]:
    """Have udevd run, in a guest that begins without it."""
    alone = os.environ.pop("DM_DISABLE_UDEV")
    run("/lib/systemd/systemd-udevd", "--daemon")
    run("udevadm", "trigger", "--action=add", "--subsystem-match=block")
    settle()
    yield
    run("udevadm", "control", "--exit")
    # What it leaves would be looked through wherever devices are listed, and mdadm would wait for its nodes.
    run("rm", "-rf", "/run/udev")
    os.environ["DM_DISABLE_UDEV"] = alone


def wait_until(holds: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that the kernel, or an engine, does in its own time.

    To ask takes the guest's only CPU from what is waited for: no more than a sixth of it.
    """
    deadline = time.monotonic() + patience_s
    while True:
        begun_s = time.monotonic()
        if holds():
            return
        now_s = time.monotonic()
        assert now_s < deadline, f"waited in vain: {what}"
        time.sleep(min(max(0.1, 5 * (now_s - begun_s)), 1.0))


def create_array(name: str, level: str, *members: str, words: tuple[str, ...] = ("--assume-clean",)) -> None:
    """Make an array that needs no resync, or one that does, without words."""
    argv = ["mdadm", "--create", f"/dev/{name}", f"--level={level}", f"--raid-devices={len(members)}"]
    run(*argv, "--run", "--quiet", "--metadata=1.2", *words, *members)


def stop_arrays(*members: str) -> None:
    """Stop all arrays and clear their members, which udev would assemble again otherwise."""
    for line in Path("/proc/mdstat").read_text().splitlines():
        if line.startswith("md"):
            run("mdadm", "--stop", f"/dev/{line.split(' ')[0]}")
    if members:
        subprocess.run(["mdadm", "--zero-superblock", "--quiet", *members], check=False, capture_output=True)
    settle()


@contextmanager
def scsi_disk(size_mib: int) -> Iterator[str]:
    """Make a SCSI disk in memory and return its kernel name."""
    run("modprobe", "scsi_debug", f"dev_size_mb={size_mib}", "delay=0")
    settle()
    try:
        yield run("lsblk", "--nodeps", "--noheadings", "--output", "NAME", "--scsi").strip()
    finally:
        run("rmmod", "scsi_debug")


@contextmanager
def loop_device(name: str, size_mib: int) -> Iterator[None]:
    """Have a loop device of that name, with partitions, over a sparse file."""
    file = Path("/run", name)
    with file.open("wb") as disk:
        disk.truncate(size_mib * 2**20)
    run("losetup", "--partscan", f"/dev/{name}", str(file))
    try:
        yield
    finally:
        run("losetup", "--detach", f"/dev/{name}")
        file.unlink()
