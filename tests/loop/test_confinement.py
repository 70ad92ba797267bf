"""The cage of generators, and commands forked for tests."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.model.command import Command, CommandResult
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor, RunningCommand, spawn
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import caged
from tests.conftest import MakeLoopDevice, Mount, wait_until
from tests.loop.commands import each
from tests.loop.forked import nursery
from tests.loop.runs import FSCONSOLE

CAGED = str(Path(__file__).with_name("caged.py"))
LIMIT_S = 60.0
LOOP_BYTES = 1024 * 1024
OWN_PID = os.getpid()
OWN_ROOT = f"/proc/{OWN_PID}/root"
NEVER = "fsconsole-test-must-not-be"
OUTSIDE = ("/", "/usr", "/etc", "/var", "/run", "/sys/fs/cgroup", "/dev/pts")
LISTENED_IN = ("/tmp", "/home", "/root", "/var/lib", "/run", "/opt", "/srv")
FORBIDDEN = {"EROFS", "EPERM", "EACCES", "ENOENT", "ESRCH", "EINVAL", "ECONNREFUSED", "ENXIO", "EBUSY"}


class Cage:
    """A tree and a run folder, and generators confined to the tree."""

    def __init__(self, base: Path) -> None:
        self.tree = base / "tree"
        self.run_folder = base / "run"
        self.tree.mkdir()
        self.run_folder.mkdir()

    def start(
        self,
        *fds: int,
        wrap: Callable[[tuple[str, ...]], tuple[str, ...]] = engine_argv,
        allow_io_uring: bool = False,
        readable: tuple[str, ...] = (),
    ) -> RunningCommand:
        with caged(
            (sys.executable, "-I", CAGED),
            tree=str(self.tree),
            hidden=(str(self.run_folder),),
            readable=(*interpreter_places(), os.path.dirname(CAGED), *readable),
            fds=fds,
            allow_io_uring=allow_io_uring,
        ) as command:
            return spawn(replace(command, argv=wrap(command.argv)))

    def attempt(self, *words: str | float, fds: tuple[int, ...] = ()) -> str:
        """Return "succeeded", or the name of the error that the attempt met."""
        with self.start(*fds) as running:
            assert running.receive(LIMIT_S) == "inside"
            running.send(json.dumps(words))
            return running.receive(LIMIT_S)

    def ended(self, *words: str | float) -> CommandResult:
        with self.start() as running:
            assert running.receive(LIMIT_S) == "inside"
            running.send(json.dumps(words))
            return running.wait(LIMIT_S)


@pytest.fixture
def cage(tmp_path: Path) -> Cage:
    return Cage(tmp_path)


@pytest.fixture
def loop(loop_device: MakeLoopDevice) -> str:
    return loop_device(LOOP_BYTES)


def a_disk_of_this_machine() -> str:
    disks = (disk for disk in sorted(os.listdir("/sys/block")) if not disk.startswith("loop"))
    return f"/dev/{next(disks, 'vda')}"


def listening(address: str, kind: int = socket.SOCK_STREAM) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(address)
    if kind == socket.SOCK_STREAM:
        server.listen()
    return server


def outside(cage: Cage, loop: str) -> dict[str, tuple[tuple[str | int, ...], set[str]]]:
    """Return what no generator may do, and the errors that it may meet."""
    disk, number = os.path.basename(a_disk_of_this_machine()), os.stat(loop).st_rdev
    tree, beside = str(cage.tree), str(cage.tree.parent / "beside")
    in_the_tree = cage.tree / "node"
    os.mknod(in_the_tree, stat.S_IFBLK | 0o600, number)
    os.close(os.open(in_the_tree, os.O_RDWR))
    (cage.tree / "out").symlink_to(beside)
    read, write, there = "open_for_reading", "open_for_writing", {"ENOENT"}
    switches = (
        "/proc/sys/vm/drop_caches",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/sys/power/state",
    )
    return {
        **{f"a disk by {way}": ((read, f"{way}/{disk}"), there) for way in ("/dev", "/proc/1/root/dev", OWN_ROOT + "/dev")},
        "a loop device": ((write, loop), there),
        "a new node": (("make_node", f"{tree}/disk", number), {"EPERM"}),
        "a node that lies there": ((write, str(in_the_tree)), {"EACCES"}),
        **{f"a file in {place}": (("create", f"{place}/{NEVER}"), FORBIDDEN) for place in OUTSIDE},
        # The tree lies in /tmp, of which the generator has its own.
        "a file beside the tree": (("create", beside), {"succeeded"}),
        "a file through a link out of the tree": (("create", f"{tree}/out"), {"succeeded"}),
        **{switch: ((write, switch), {"EROFS", "ENOENT", "EACCES"}) for switch in switches},
        **{
            f"{act} {place}": ((act, place), {"EPERM"})
            for act in ("mount_over", "remount_writable", "unmount")
            for place in (tree, "/", "/usr")
        },
        **{f"{way} to who started it": ((way, OWN_PID), {"ESRCH", "ENOENT"}) for way in ("send_signal", "send_signal_by_directory")},
        **{f"its {file}": ((read, f"/proc/{OWN_PID}/{file}"), there) for file in ("root/etc", "cwd", "mem", "environ", "fd", "status")},
        "the operator's terminal": ((write, "/dev/tty"), {"ENXIO"}),
        **{place: ((read, place), {"ENOENT"}) for place in ("/dev/kmsg", "/dev/mem", "/dev/port", "/sys/kernel")},
        "a file by its number": (("open_by_number", "/etc/passwd"), {"EPERM"}),
        **{
            f"in a user namespace, {' '.join(map(str, words))}": (("unshared_user", *words), FORBIDDEN)
            for words in (
                ("remount_writable", "/"), ("remount_writable", "/etc"), ("unmount", "/run"), ("unmount", "/dev"),
                ("create", f"/etc/{NEVER}"), (write, "/proc/sys/vm/drop_caches"), ("make_node", f"{tree}/disk", number),
                ("through_any_process", "create", f"/etc/{NEVER}"), ("send_signal", OWN_PID),
            )
        },
    }  # fmt: skip


IO_URING_SETUP = 425
INET_STREAM = (socket.AF_INET, socket.SOCK_STREAM, 0)


def sockets() -> dict[str, tuple[tuple[str | int, ...], set[str]]]:
    """Return ways to sockets that reach beyond the machine, which no cage allows, each with its error."""
    families = ("AF_INET", "AF_INET6", "AF_VSOCK", "AF_NETLINK", "AF_PACKET", "AF_ALG")
    tried: dict[str, tuple[tuple[str | int, ...], set[str]]] = {
        family: (("make_socket", getattr(socket, family)), {"EAFNOSUPPORT"}) for family in families
    }
    # An operation of io_uring makes sockets past a filter of socket().
    tried["io_uring"] = (("system_call", IO_URING_SETUP, 0, 0), {"ENOSYS"})
    if os.uname().machine == "x86_64":
        tried["the table of x32"] = (("system_call", 0x40000000 | 41, *INET_STREAM), {"EPERM"})
        tried["the table of i386"] = (("system_call_of_32_bits", 359, *INET_STREAM), {"EPERM"})
        tried["all calls of sockets in one"] = (("system_call_of_32_bits", 102, 1, 0), {"EPERM"})
    return tried


def test_a_generator_reaches_nothing_outside_its_tree(cage: Cage, loop: str) -> None:
    def refused(words: tuple[str | int, ...], errors: set[str]) -> None:
        assert cage.attempt(*words) in errors

    try:
        each(outside(cage, loop), refused)
        assert not [place for place in (*OUTSIDE, "/etc") if Path(place, NEVER).exists()]
        assert not (cage.tree.parent / "beside").exists()
    finally:
        for place in (*OUTSIDE, "/etc"):
            with suppress(OSError):
                Path(place, NEVER).unlink()


def test_the_engines_control_socket_can_not_be_reached(cage: Cage) -> None:
    with listening(str(cage.run_folder / "control")) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(server.getsockname())
        assert cage.attempt("connect", server.getsockname()) == "ENOENT"


def test_sockets_of_the_machine_can_not_be_reached(cage: Cage) -> None:
    # Root's tmux listens in /tmp: whoever connects to it has a shell.
    def refused(directory: str) -> None:
        address = f"{directory}/fsconsole-test-{OWN_PID}"
        with listening(address):
            try:
                assert cage.attempt("connect", address) == "ENOENT"
            finally:
                os.unlink(address)

    each({place: (place,) for place in LISTENED_IN}, refused)


def test_only_unix_sockets_can_be_made_by_whatever_system_call(cage: Cage) -> None:
    def refused(words: tuple[str | int, ...], errors: set[str]) -> None:
        assert {cage.attempt(*words)} == errors

    each(sockets(), refused)
    assert cage.attempt("make_socket", socket.AF_UNIX) == "succeeded"
    with cage.start(allow_io_uring=True) as running:
        assert running.receive(LIMIT_S) == "inside"
        running.send(json.dumps(("system_call", IO_URING_SETUP, 0, 0)))
        assert running.receive(LIMIT_S) in {"EINVAL", "EFAULT", "EPERM"}


def test_own_files_outside_the_tree_can_not_fill_the_memory(cage: Cage) -> None:
    def bounded(directory: str, error: str) -> None:
        assert cage.attempt("fill", directory, 32 * 2**20) == error

    places = {"/tmp": "ENOSPC", "/dev/shm": "ENOSPC", "/dev": "EROFS", "/": "EROFS"}
    each({place: (place, error) for place, error in places.items()}, bounded)
    assert cage.attempt("fill", "/tmp", 2**20) == "succeeded"


def test_abstract_sockets_of_the_machine_can_not_be_reached(cage: Cage) -> None:
    name = f"fsconsole-test-{OWN_PID}"
    with listening("\0" + name):
        assert cage.attempt("connect_abstract", name) == "ECONNREFUSED"


def test_no_process_that_is_there_is_a_way_out(cage: Cage, loop: str) -> None:
    assert cage.attempt("through_any_process", "create", f"/usr/{NEVER}") == "EROFS"
    assert cage.attempt("through_any_process", "open_for_reading", loop) == "ENOENT"
    with listening(str(cage.run_folder / "control")) as server:
        assert cage.attempt("through_any_process", "open_for_reading", server.getsockname()) == "ENOENT"


@pytest.fixture
def shared(loop_device: MakeLoopDevice, mounted: Mount) -> Path:
    """A mount from which later mounts spread to other namespaces, as those of a machine with systemd do."""
    device = loop_device(8 * LOOP_BYTES)
    subprocess.run(["mkfs.ext2", "-q", device], check=True)
    point = mounted(device)
    subprocess.run(["mount", "--make-shared", str(point)], check=True)
    return point


def test_what_the_host_mounts_later_is_not_there_below_whatever_is_shown(shared: Path, tmp_path: Path) -> None:
    (shared / "cages").mkdir()
    (tmp_path / "cages").mkdir()
    for cage, readable in ((Cage(shared / "cages"), ()), (Cage(tmp_path / "cages"), (str(shared),))):
        late = cage.tree / "late" if not readable else shared / "late"
        late.mkdir()
        with cage.start(readable=readable) as running:
            assert running.receive(LIMIT_S) == "inside"
            with late_mount(late):
                running.send(json.dumps(("create", str(late / "file"))))
                assert running.receive(LIMIT_S) == ("EROFS" if readable else "succeeded")
                assert list(late.iterdir()) == []
        assert [path.name for path in late.iterdir()] == ([] if readable else ["file"])


@contextmanager
def late_mount(place: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_files_can_be_made_and_given_away_inside_the_tree(cage: Cage) -> None:
    assert cage.attempt("own_file", str(cage.tree / "file")) == "succeeded"
    assert (cage.tree / "file").stat().st_uid == 1000


def test_a_tree_below_run_is_writable_and_its_neighbours_are_not_there(tmp_path: Path) -> None:
    base = Path(f"/run/fsconsole-test-{OWN_PID}")
    base.mkdir()
    try:
        cage = Cage(base)
        assert cage.attempt("own_file", str(cage.tree / "file")) == "succeeded"
        assert cage.attempt("open_for_reading", str(base / "nothing")) == "ENOENT"
        assert cage.attempt("create", str(base / "beside")) == "EROFS"
        assert sorted(path.name for path in base.iterdir()) == ["run", "tree"]
    finally:
        (base / "tree" / "file").unlink(missing_ok=True)
        for name in ("tree", "run", "."):
            (base / name).rmdir()


def test_a_descriptor_that_is_passed_comes_through(cage: Cage) -> None:
    fd = os.memfd_create("page")
    try:
        os.ftruncate(fd, 64)
        assert cage.attempt("write_counter", fd, fds=(fd,)) == "succeeded"
        assert os.pread(fd, 14, 0) == b"written inside"
    finally:
        os.close(fd)


def test_the_exit_code_comes_through(cage: Cage) -> None:
    assert cage.ended("leave_with", 7).exit_code == 7


def test_a_program_ignores_no_signal_that_it_would_not_ignore_outside(cage: Cage) -> None:
    argv = ("grep", "^SigIgn", "/proc/self/status")
    with caged(argv, tree=str(cage.tree)) as command:
        assert RealExecutor().run(command).out == RealExecutor().run(Command(argv)).out


def test_cpu_time_of_a_generators_own_children_comes_through(cage: Cage) -> None:
    usage = cage.ended("burn_in_a_child", 0.3).usage
    assert usage.user_s + usage.system_s >= 0.3


def test_it_starts_under_a_number_that_no_process_outside_has(cage: Cage) -> None:
    # After many commands an engine's children have pids that its surrounding /proc doesn't show.
    unused = next(n for n in range(20_000, 30_000) if not any(_is_a_pid(n + step) for step in range(10)))
    count_on = f'echo {unused} > /proc/sys/kernel/ns_last_pid && exec "$@"'
    with cage.start(wrap=lambda argv: engine_argv(("sh", "-c", count_on, "sh", *argv))) as running:
        assert running.receive(LIMIT_S) == "inside"


def test_nothing_lives_on_when_the_cage_is_killed(cage: Cage) -> None:
    with cage.start() as running:
        assert running.receive(LIMIT_S) == "inside"
    tree = str(cage.tree)
    # The kernel takes a namespace apart after its first process has been waited for.
    wait_until(
        lambda: not [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _runs_caged(pid, tree)],
        "nothing of the cage runs",
        10,
    )


def _runs_caged(pid: str, tree: str) -> bool:
    try:
        return tree.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_a_pid(number: int) -> bool:
    return os.path.exists(f"/proc/{number}")


COMMANDS = (
    ("runs", "--runs", "none"),
    ("plan", "here.toml", "--device", "/dev/absent\x1b"),
    ("rum",),
    ("scratch", "--help"),
    ("results", "--runs", "runs", "--json"),
)


def test_a_forked_command_ends_and_prints_as_one_that_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "here.toml").write_text("schema = 1\n[[filesystem]]\n")
    (tmp_path / "runs").write_text("no directory")
    for words in COMMANDS:
        anew = subprocess.run([*FSCONSOLE, *words], check=False, capture_output=True, stdin=subprocess.DEVNULL)
        assert nursery().run(words, 120) == (anew.returncode, anew.stdout, anew.stderr), words


def test_a_forked_command_that_does_not_end_in_time_is_killed_and_the_next_one_is_carried_out() -> None:
    with pytest.raises(TimeoutError):
        nursery().run(("gauges", "--json"), limit_s=0.5)
    assert nursery().run(("--version",), limit_s=120)[0] == 0
