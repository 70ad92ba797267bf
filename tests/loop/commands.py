"""Commands that must end badly: what the operator sees of it, and the proof that nothing was touched or left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fsconsole.errors import ExitCode
from fsconsole.system.locks import FileLock
from tests.conftest import loops_under, mount_points_under, run, wait_until
from tests.loop.gate_cases import unchanged
from tests.loop.runs import FSCONSOLE, TINY_PLAN, fsconsole, is_free, processes_with

LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
"""include/uapi/linux/loop.h"""
_FIRST_OWN_LOOP = 5000
_HIDING = 'tool="$1"; shift; mount --bind /dev/null "$tool" && exec "$@"'
_READING = "+dac_read_search,+dac_override"
AS_NOBODY = (
    "setpriv", "--reuid=65534", "--clear-groups", "--inh-caps", _READING, "--ambient-caps", _READING,
)  # fmt: skip
"""Starts a command as another user, who may read wherever Python happens to be installed."""

APART = ("unshare", "--mount", "--propagation", "slave", "sh", "-c")
"""Starts a script with mounts of its own; "private" would keep busy what another test unmounts meanwhile."""

Done = subprocess.CompletedProcess[str]


def command(*words: str, under: tuple[str, ...] = (), limit_s: float = 120, **how: object) -> Done:
    """Run a command of fsconsole to its end; a new one where it has a program above it, or variables of its own."""
    if not under and not how:
        return fsconsole(*words, limit_s=limit_s, errors="backslashreplace")
    return subprocess.run(
        [*under, *FSCONSOLE, *words],
        check=False, capture_output=True, timeout=limit_s, stdin=subprocess.DEVNULL,
        text=True, errors="backslashreplace", **how,
    )  # fmt: skip


def each(cases: Mapping[str, tuple[object, ...]], check: Callable[..., object]) -> None:
    """Check every case, and fail with the messages of all that failed."""
    failed = []
    for name, case in cases.items():
        try:
            check(*case)
        except AssertionError as error:
            failed.append(f"{name}: {error}")
    assert not failed, "\n".join(failed)


def fails(code: ExitCode, *words: str, names: tuple[str, ...] = (), under: tuple[str, ...] = ()) -> Done:
    """Run a command that must fail with this code, in one sentence and a hint that hold all the names."""
    return assert_told(command(*words, under=under), code, *names)


def assert_told(done: Done, code: ExitCode, *names: str) -> Done:
    """Prove that a failure was told in one sentence and one hint on stderr, under its own code."""
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert re.fullmatch(r"fsconsole: [^\n]+[^ :\n]\nhint: [^\n]+[.?]\n", done.stderr), done.stderr
    for name in names:
        assert name in done.stderr, f"{name!r} is not in: {done.stderr}"
    assert_plain(done.stdout + done.stderr)
    return done


def assert_plain(text: str) -> None:
    """Prove that a text has no traceback and nothing that a terminal would act upon."""
    assert "Traceback" not in text
    assert [c for c in text if not (c.isprintable() or c == "\n")] == []


@dataclass(frozen=True, slots=True)
class Bench:
    """A directory of the test's own, and a loop device over a file in it that needs consent to be wiped."""

    directory: Path
    device: str

    @property
    def runs(self) -> str:
        """Directory of runs."""
        return str(self.directory / "runs")

    def plan(self, text: str | bytes = TINY_PLAN, name: str = "plan.toml") -> str:
        """Write a plan file and return its path."""
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def code(self, plan: str, device: str = "", under: tuple[str, ...] = ()) -> str:
        """Return the consent code that `fsconsole plan` prints right now."""
        words = ("plan", plan, "--device", device or self.device, "--runs", self.runs, "--json")
        done = command(*words, under=under)
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["consent"])

    def words(self, name: str, plan: str, device: str = "") -> tuple[str, ...]:
        """Return the words of `plan` or `run` on the device."""
        return (name, plan, "--device", device or self.device, "--runs", self.runs)

    def assert_given_back(self) -> None:
        """Prove that no process, mount, claim or lock is left, and no traceback in any engine's log."""
        wait_until(lambda: processes_with(str(self.directory)) == [], "its processes end")
        assert "/run/fsconsole" not in Path("/proc/self/mounts").read_text()
        if Path(f"/sys/block/{Path(self.device).name}/loop").exists():
            wait_until(lambda: is_free(self.device), f"nothing holds {self.device}")
            FileLock.acquire(self.device).release()
        for log in self.directory.rglob("engine.log"):
            assert "Traceback" not in log.read_text()


@contextlib.contextmanager
def nothing_changes(bench: Bench) -> Iterator[None]:
    """Prove that not a byte on the device changes, no run is made, and nothing stays mounted or attached."""
    held = (loops_under(str(bench.directory)), mount_points_under(str(bench.directory)))
    with unchanged(bench.device):
        yield
    assert (loops_under(str(bench.directory)), mount_points_under(str(bench.directory))) == held
    assert not any(Path(bench.runs).glob("*"))


def hiding(tool: str) -> tuple[str, ...]:
    """Return what starts a command in a mount namespace where a tool can't be executed; the machine keeps its own."""
    path = os.path.realpath(run("sh", "-c", 'PATH="$PATH:/usr/sbin:/sbin" command -v "$1"', "sh", tool).strip())
    return (*APART, _HIDING, "sh", path)


def replacing(path: str, by: str) -> tuple[str, ...]:
    """Return what starts a command in a mount namespace where one file has another's content."""
    return (*APART, 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", by, path)


def in_another_boot(directory: Path) -> tuple[str, ...]:
    """Return what starts a command that reads another boot_id, and so does what it starts."""
    other = directory / "boot_id"
    other.write_text(f"{uuid.uuid4()}\n")
    return replacing("/proc/sys/kernel/random/boot_id", str(other))


class OwnLoop:
    """A loop device of a number that nobody else asks for, so that it can be given another file, or none."""

    def __init__(self) -> None:
        self._number = next(number for number in range(_FIRST_OWN_LOOP, 6000) if _is_added(number))
        self.path = f"/dev/loop{self._number}"

    def attach(self, file: Path | str) -> None:
        """Attach the device to a file, instead of one that it may have."""
        self.detach()
        run("losetup", self.path, str(file))

    def detach(self) -> None:
        """Take its file from the device; nothing happens where it has none."""
        attribute = Path(f"/sys/block/{Path(self.path).name}/loop")
        if attribute.exists():
            run("losetup", "--detach", self.path)
            wait_until(lambda: not attribute.exists(), f"{self.path} is detached")

    def remove(self) -> None:
        """Detach and remove the device, once nobody looks at it."""
        self.detach()
        wait_until(lambda: _loop_control(LOOP_CTL_REMOVE, self._number) != errno.EBUSY, "nobody has it open")


def _is_added(number: int) -> bool:
    """Add a loop device of a number, and return whether there was none."""
    return not Path(f"/dev/loop{number}").exists() and _loop_control(LOOP_CTL_ADD, number) != errno.EEXIST


def _loop_control(request: int, number: int) -> int:
    """Return 0, or the error of a request that lost a race."""
    fd = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, request, number)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EEXIST):
            raise
        return error.errno
    finally:
        os.close(fd)
    return 0
