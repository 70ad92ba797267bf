"""What tests on real devices need, and the proof that they leave nothing behind."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from fsconsole.model import RUNS_VARIABLE
from fsconsole.system.block import renew
from tests.lab.groups import boot_of, turn_of
from tests.lab.soak import IN_GUEST, SOAK
from tests.resident import hold
from tests.rewritten import rewrite_all

LOOP_CONTROL = "/dev/loop-control"
LOOP_TESTS = ("tests/loop/", "tests/attacks/")
"""Where every test needs root and loop devices."""
_LONGEST = tuple(
    f"tests/loop/test_{name}.py"
    for name in ("shipped_plans", "kill_engine", "resume", "shared_disk", "seals", "rounds")
)
"""A minute and more each."""
DETACH_TIMEOUT_S = 60.0

settings.register_profile("repeatable", deadline=None, max_examples=30, derandomize=True, database=None)
# pytest --hypothesis-profile=search: other examples each time, and many of them.
settings.register_profile("search", deadline=None, max_examples=2000, database=None, print_blob=True)
settings.load_profile("repeatable")


class MakeLoopDevice(Protocol):
    """The fixture loop_device: makes a loop device over a new file and returns its path."""

    def __call__(
        self,
        size_bytes: int,
        *,
        allocate: bool = False,
        read_only: bool = False,
        sector_bytes: int = 512,
    ) -> str: ...


class Mount(Protocol):
    """The fixture mounted: mounts a device and returns the mount point."""

    def __call__(self, device: str, *, filesystem: str = "", options: str = "nosuid,nodev") -> Path: ...


def why_not_on_devices() -> str:
    """Return why tests marked root can't run here; empty where they can."""
    if os.geteuid() != 0:
        return "not root: run them with `sudo ./bootstrap test`"
    if not os.path.exists(LOOP_CONTROL):
        return f"no loop devices here: {LOOP_CONTROL} is missing"
    return ""


def pytest_configure(config: pytest.Config) -> None:
    """Let what the tests start keep what it has compiled beside its source, as engines do, and hold all that in memory.

    To compile what a console loads takes longer than all else that it does until its first line.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    is_worker = hasattr(config, "workerinput")
    if not is_worker and config.getoption("numprocesses", None):
        rewrite_all(config)
    if not is_worker and not why_not_on_devices() and IN_GUEST not in os.environ:
        hold()


@pytest.fixture(autouse=True, scope="session")
def state_of_nobody() -> Iterator[None]:
    """Keep the consoles of tests, and their children, from the drafts of whoever runs them."""
    with tempfile.TemporaryDirectory(prefix="fsconsole-state-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", directory)
        yield


def pytest_runtest_teardown() -> None:
    # A command that a test calls in this process keeps its directory of runs in the variable, for its children.
    os.environ.pop(RUNS_VARIABLE, None)


def pytest_report_header() -> str:
    why = why_not_on_devices()
    return f"TESTS ON REAL DEVICES ARE LEFT OUT: {why}" if why else "tests on real loop devices: included"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not SOAK:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("soak")])
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
    items.sort(key=_turn)
    if hasattr(config, "workerinput"):
        _interleave(items)
    why = why_not_on_devices()
    for item in items:
        if item.nodeid.startswith(LOOP_TESTS):
            item.add_marker("root")
    if why:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason=why))


def pytest_collection_finish() -> None:
    """Leave all modules out of the search for cycles, and search seldom: it took a quarter of the console tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _turn(item: pytest.Item) -> tuple[int, ...]:
    """Return what comes first: what takes longest in one piece, so that the processes end together."""
    if boot_of(item.path):
        return (0, *turn_of(item.path))
    names = ("tests/lab/", *_LONGEST, "tests/loop/", "tests/attacks/", "tests/tui/")
    return (next((turn for turn, name in enumerate(names, 1) if item.nodeid.startswith(name)), len(names) + 1),)


def _interleave(items: list[pytest.Item]) -> None:
    """Have of the tests that wait for disks, and of those that compute, the same share come in the same time.

    Else all processes would wait at first, and all compute at the end.
    """
    kinds = [
        dict.fromkeys(item.path for item in items if item.nodeid.startswith(LOOP_TESTS) is waits)
        for waits in (False, True)
    ]
    share = {path: number / len(paths) for paths in kinds for number, path in enumerate(paths)}
    items.sort(key=lambda item: share[item.path])


class _ByFileOrBoot(LoadScopeScheduling):
    """Tests of a file one after the other, and those in a virtual machine together with the others of its boot.

    Files of tests/attacks and tests/loop run side by side: each has loop devices of its own, counts on no number but an OwnLoop's, and
    repeats what another one's cold mount may spoil, which drops the caches of the whole machine.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", maxsplit=1)[0]
        return boot_of(Path(self.config.rootpath, file)) or file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return _ByFileOrBoot(config, log)


@pytest.fixture
def loop_device(tmp_path: Path) -> Iterator[MakeLoopDevice]:
    """Make loop devices of any size; each is gone after the test, whatever the test did with it."""
    with ExitStack() as stack:

        def make(
            size_bytes: int,
            *,
            allocate: bool = False,
            read_only: bool = False,
            sector_bytes: int = 512,
        ) -> str:
            backing_file = _backing_file(tmp_path, size_bytes, allocate=allocate)
            attach = (
                "losetup", "--find", "--show", f"--sector-size={sector_bytes}",
                *(["--read-only"] if read_only else []), str(backing_file),
            )  # fmt: skip
            device = run(*attach).strip()
            if Path(f"/sys/block/{os.path.basename(device)}/queue/discard_max_bytes").read_text() == "0\n":
                # A scratch device had the number before, and nobody detached it by our code.
                run("losetup", "--detach", device)
                renew(device)
                device = run(*attach).strip()
            stack.callback(_give_back, device, str(backing_file))
            # Refused where the filesystem below has no direct I/O (tmpfs before 6.6).
            subprocess.run(["losetup", "--direct-io=on", device], check=False, capture_output=True)
            return device

        yield make


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mount]:
    """Mount devices; each mount is gone after the test, before the loop device below it."""
    with ExitStack() as stack:

        def mount(device: str, *, filesystem: str = "", options: str = "nosuid,nodev") -> Path:
            point = Path(_numbered(tmp_path, "mnt"))
            point.mkdir()
            kind = ["-t", filesystem] if filesystem else []
            run("mount", *kind, "-o", options, device, str(point))
            stack.callback(unmount, point)
            return point

        yield mount


FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
"""fs/ext4/ioctl.c, fs/xfs/xfs_ioctl.c"""


def lose_power(point: Path) -> None:
    """Have a filesystem write nothing at all from here on."""
    fd = os.open(point, os.O_RDONLY)
    fcntl.ioctl(fd, FS_IOC_SHUTDOWN, struct.pack("=I", NO_LOG_FLUSH))
    os.close(fd)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail the session when a test left a mount or a loop device under pytest's own directory."""
    base = str(tmp_path_factory.getbasetemp())
    yield
    mounts = mount_points_under(base)
    loops = loops_under(base)
    for point in mounts:
        unmount(point)
    for device in loops:
        subprocess.run(["losetup", "--detach", device], check=False)
    assert not mounts, f"tests left mounts: {mounts}"
    assert not loops, f"tests left loop devices: {loops}"


def run(*argv: str) -> str:
    """Run a program that must not fail and return what it printed."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{argv}: exit {done.returncode}: {done.stderr}"
    return done.stdout


def loops_under(directory: str) -> list[str]:
    """Return the loop devices whose backing file lies, or lay, under a directory."""
    prefix = directory.rstrip("/") + "/"
    return [device for device, backing_file in _loops() if backing_file.startswith(prefix)]


def mount_points_under(directory: str) -> list[str]:
    """Return the mount points under a directory that this process sees, the last mounted first."""
    prefix = directory.rstrip("/") + "/"
    return [point for _, point in reversed(_mounts()) if point.startswith(prefix)]


def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = DETACH_TIMEOUT_S) -> None:
    """Wait for something that the kernel does in its own time and tells nobody of."""
    deadline = time.monotonic() + timeout_s
    pause_s = 0.005
    while not holds():
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {what}"
        # Soon again at first; a long wait must not take the processor from what is waited for.
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.2, 0.05)


def _loops() -> list[tuple[str, str]]:
    found = []
    for attribute in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append((f"/dev/{attribute.parts[3]}", attribute.read_text().strip()))
        except OSError:
            continue
    return found


def _backing_file(directory: Path, size_bytes: int, *, allocate: bool) -> Path:
    path = Path(_numbered(directory, "disk"))
    with path.open("wb") as file:
        file.truncate(size_bytes)
        if allocate:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
    return path


def _numbered(directory: Path, stem: str) -> str:
    number = len(list(directory.glob(f"{stem}*")))
    return str(directory / f"{stem}{number}")


def _give_back(device: str, backing_file: str) -> None:
    if (device, backing_file) in _loops():
        for source, place in _mounts():
            if source == device:
                unmount(place)
        subprocess.run(["losetup", "--detach", device], check=False)
    # A detached device that somebody still has open (a udev rule, a scan) goes at its last close.
    wait_until(lambda: backing_file not in [file for _, file in _loops()], f"{device} is detached")
    os.unlink(backing_file)


def unmount(point: str | Path) -> None:
    """Unmount what is mounted there, and wait until its device is free.

    An engine that has given back its lock may take a moment longer to be gone, and with it what it has open there;
    and the cage of another test's load holds what was mounted when it began.
    """
    devices = [device for device, place in _mounts() if place == str(point) and device.startswith("/dev/")]
    wait_until(lambda: _is_unmounted(str(point)), f"{point} is unmounted")
    for device in devices:
        wait_until(lambda device=device: _is_free(device), f"nothing holds {device}")


def _mounts() -> list[tuple[str, str]]:
    """Return the source and the place of every mount."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [(line.split(" - ", 1)[1].split(" ")[1], line.split(" ")[4]) for line in lines]


def _is_free(device: str) -> bool:
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def _is_unmounted(point: str) -> bool:
    done = subprocess.run(["umount", "--recursive", point], check=False, capture_output=True)
    return done.returncode == 0 or not os.path.ismount(point)
