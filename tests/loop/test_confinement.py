"""The cage of generators, and commands forked for tests."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fsconsole.model.command import Command, CommandResult
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RunningCommand, spawn
from fsconsole.workloads.builtin import confined_argv, interpreter_places
from tests.conftest import MakeLoopDevice, Mount
from tests.loop.forked import nursery
from tests.loop.runs import FSCONSOLE

CAGED = str(Path(__file__).with_name("caged.py"))
LIMIT_S = 60.0
LOOP_BYTES = 1024 * 1024
OWN_PID = os.getpid()
FORBIDDEN = {"EROFS", "EPERM", "EACCES", "ENOENT", "ESRCH", "EINVAL", "ECONNREFUSED", "ENXIO", "EBUSY"}


class Cage:
    """A tree and a run folder, and generators confined to the tree."""

    def __init__(self, base: Path) -> None:
        self.tree = base / "tree"
        self.run_folder = base / "run"
        self.tree.mkdir()
        self.run_folder.mkdir()

    def argv(self) -> tuple[str, ...]:
        return confined_argv(
            (sys.executable, "-I", CAGED),
            tree=str(self.tree),
            hidden=(str(self.run_folder),),
            readable=interpreter_places(),
        )

    def start(self, *fds: int) -> RunningCommand:
        return spawn(Command(engine_argv(self.argv()), inherit_fds=fds))

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


def listening(address: str) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    return server


@pytest.mark.parametrize(
    "way", ["/dev", "/proc/1/root/dev", f"/proc/{OWN_PID}/root/dev"], ids=["dev", "first", "own"]
)
def test_a_disk_can_not_be_opened(cage: Cage, way: str) -> None:
    disk = os.path.basename(a_disk_of_this_machine())
    assert cage.attempt("open_for_reading", f"{way}/{disk}") == "ENOENT"


def test_a_loop_device_can_not_be_opened(cage: Cage, loop: str) -> None:
    assert cage.attempt("open_for_writing", loop) == "ENOENT"


def test_a_device_node_can_not_be_made(cage: Cage, loop: str) -> None:
    assert cage.attempt("make_node", str(cage.tree / "disk"), os.stat(loop).st_rdev) == "EPERM"


def test_a_device_node_that_lies_in_the_tree_can_not_be_opened(cage: Cage, loop: str) -> None:
    node = cage.tree / "disk"
    os.mknod(node, stat.S_IFBLK | 0o600, os.stat(loop).st_rdev)
    os.close(os.open(node, os.O_RDWR))
    assert cage.attempt("open_for_writing", str(node)) == "EACCES"


@pytest.mark.parametrize("directory", ["/", "/tmp", "/etc", "/var", "/run", "/sys/fs/cgroup", "/dev/pts"])
def test_nothing_can_be_created_outside_the_tree(cage: Cage, directory: str) -> None:
    path = Path(directory, "fsconsole-test-must-not-be")
    try:
        assert cage.attempt("create", str(path)) in FORBIDDEN
        assert not path.exists()
    finally:
        with suppress(OSError):
            path.unlink()


def test_nothing_can_be_created_beside_the_tree_or_through_a_link_out_of_it(cage: Cage) -> None:
    beside = cage.tree.parent / "beside"
    assert cage.attempt("create", str(beside)) == "EROFS"
    (cage.tree / "out").symlink_to(beside)
    assert cage.attempt("create", str(cage.tree / "out")) == "EROFS"
    assert not beside.exists()


@pytest.mark.parametrize(
    "switch",
    ["/proc/sys/vm/drop_caches", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/power/state"],
)
def test_the_kernels_switches_can_not_be_opened_for_writing(cage: Cage, switch: str) -> None:
    assert cage.attempt("open_for_writing", switch) in {"EROFS", "ENOENT", "EACCES"}


@pytest.mark.parametrize("act", ["mount_over", "remount_writable", "unmount"])
@pytest.mark.parametrize("place", ["tree", "/", "/run"])
def test_mounts_can_not_be_changed(cage: Cage, act: str, place: str) -> None:
    assert cage.attempt(act, str(cage.tree) if place == "tree" else place) == "EPERM"


def test_the_engines_control_socket_can_not_be_reached(cage: Cage) -> None:
    with listening(str(cage.run_folder / "control")) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(server.getsockname())
        assert cage.attempt("connect", server.getsockname()) == "ENOENT"


def test_abstract_sockets_of_the_machine_can_not_be_reached(cage: Cage) -> None:
    name = f"fsconsole-test-{OWN_PID}"
    with listening("\0" + name):
        assert cage.attempt("connect_abstract", name) == "ECONNREFUSED"


@pytest.mark.parametrize("way", ["send_signal", "send_signal_by_directory"])
def test_processes_outside_can_not_be_signalled(cage: Cage, way: str) -> None:
    # The signal is 0, which only asks whether one could be sent.
    assert cage.attempt(way, OWN_PID) in {"ESRCH", "ENOENT"}


@pytest.mark.parametrize("file", ["root/etc", "cwd", "mem", "environ", "fd", "status"])
def test_processes_outside_are_not_there(cage: Cage, file: str) -> None:
    assert cage.attempt("open_for_reading", f"/proc/{OWN_PID}/{file}") == "ENOENT"


def test_no_process_that_is_there_is_a_way_out(cage: Cage, loop: str) -> None:
    beside = cage.tree.parent / "beside"
    assert cage.attempt("through_any_process", "create", str(beside)) == "EROFS"
    assert not beside.exists()
    assert cage.attempt("through_any_process", "open_for_reading", loop) == "ENOENT"
    with listening(str(cage.run_folder / "control")) as server:
        assert cage.attempt("through_any_process", "open_for_reading", server.getsockname()) == "ENOENT"


def test_the_operators_terminal_can_not_be_opened(cage: Cage) -> None:
    assert cage.attempt("open_for_writing", "/dev/tty") == "ENXIO"


@pytest.mark.parametrize(
    "words",
    [
        ("remount_writable", "/"),
        ("remount_writable", "/etc"),
        ("unmount", "/run"),
        ("unmount", "/dev"),
        ("create", "/etc/fsconsole-test-must-not-be"),
        ("open_for_writing", "/proc/sys/vm/drop_caches"),
        ("make_node", "TREE/disk", os.makedev(7, 0)),
        ("through_any_process", "create", "/etc/fsconsole-test-must-not-be"),
        ("send_signal", OWN_PID),
    ],
)
def test_a_user_namespace_gives_no_rights_over_anything_outside(
    cage: Cage, words: tuple[str | int, ...]
) -> None:
    filled_in = [w.replace("TREE", str(cage.tree)) if isinstance(w, str) else w for w in words]
    assert cage.attempt("unshared_user", *filled_in) in FORBIDDEN
    assert not Path("/etc/fsconsole-test-must-not-be").exists()


@pytest.fixture
def shared(loop_device: MakeLoopDevice, mounted: Mount) -> Iterator[Path]:
    """A mount from which later mounts spread to other namespaces, as those of a machine with systemd do."""
    device = loop_device(8 * LOOP_BYTES)
    subprocess.run(["mkfs.ext2", "-q", device], check=True)
    point = mounted(device)
    subprocess.run(["mount", "--make-shared", str(point)], check=True)
    yield point
    subprocess.run(["umount", str(point / "late")], check=False, capture_output=True)


def test_what_the_host_mounts_later_can_not_be_written(cage: Cage, shared: Path) -> None:
    late = shared / "late"
    late.mkdir()
    with cage.start() as running:
        assert running.receive(LIMIT_S) == "inside"
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(late)], check=True)
        running.send(json.dumps(("create", str(late / "file"))))
        assert running.receive(LIMIT_S) == "EROFS"
    assert list(late.iterdir()) == []


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


def test_cpu_time_of_a_generators_own_children_comes_through(cage: Cage) -> None:
    usage = cage.ended("burn_in_a_child", 0.3).usage
    assert usage.user_s + usage.system_s >= 0.3


def test_it_starts_under_a_number_that_no_process_outside_has(cage: Cage) -> None:
    # After many commands an engine's children have pids that its surrounding /proc doesn't show.
    unused = next(n for n in range(20_000, 30_000) if not any(_is_a_pid(n + step) for step in range(10)))
    count_on = f'echo {unused} > /proc/sys/kernel/ns_last_pid && exec "$@"'
    argv = engine_argv(("sh", "-c", count_on, "sh", *cage.argv()))
    with spawn(Command(argv)) as running:
        assert running.receive(LIMIT_S) == "inside"


def test_nothing_lives_on_when_the_cage_is_killed(cage: Cage) -> None:
    with cage.start() as running:
        assert running.receive(LIMIT_S) == "inside"
    assert not [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _runs_caged(pid, str(cage.tree))]


def _runs_caged(pid: str, tree: str) -> bool:
    try:
        return tree.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_a_pid(number: int) -> bool:
    return os.path.exists(f"/proc/{number}")


COMMANDS = {
    "its output": ("runs", "--runs", "none"),
    "an error": ("plan", "here.toml", "--device", "/dev/absent\x1b"),
    "no command": ("rum",),
    "help": ("scratch", "--help"),
    "a name below its directory": ("results", "--runs", "runs", "--json"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_forked_command_ends_and_prints_as_one_that_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "here.toml").write_text("schema = 1\n[[filesystem]]\n")
    (tmp_path / "runs").write_text("no directory")
    anew = subprocess.run([*FSCONSOLE, *words], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert nursery().run(words, 120) == (anew.returncode, anew.stdout, anew.stderr)


def test_a_forked_command_that_does_not_end_in_time_is_killed_and_the_next_one_is_carried_out() -> None:
    with pytest.raises(TimeoutError):
        nursery().run(("gauges", "--json"), limit_s=0.5)
    assert nursery().run(("--version",), limit_s=120)[0] == 0
