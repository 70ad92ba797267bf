from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fsconsole.model.command import Command, CommandResult
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.mounts import engine_argv
from fsconsole.system.processes import (
    OpenDescriptor,
    Target,
    holders_of,
    holders_of_any,
    own_pid_in_host_proc,
    stuck_tasks,
)
from fsconsole.system.run import RealExecutor, spawn
from tests.conftest import MakeLoopDevice, Mount

pytestmark = pytest.mark.root
MIB = 2**20
LIMIT_S = 60.0
ENVIRONMENT = (("PYTHONPATH", str(Path(__file__).parents[2])),)


def in_namespace(script: str) -> CommandResult:
    argv = engine_argv((sys.executable, "-c", script))
    return RealExecutor().run(Command(argv, timeout_s=LIMIT_S, environment=ENVIRONMENT))


def test_a_process_that_has_a_device_open_is_found_by_any_node(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(8 * MIB)
    number = os.stat(device).st_rdev
    node = tmp_path / "other node"
    os.mknod(node, 0o600 | 0o060000, number)
    assert holders_of(number, frozenset()) == ()
    with spawn(Command(("/bin/sh", "-c", f"exec 7<'{node}'; echo open; read x"))) as running:
        assert running.receive(LIMIT_S) == "open"
        assert holders_of(number, frozenset()) == (OpenDescriptor(running.pid, "sh", str(node), number),)
        assert holders_of(number, frozenset({running.pid})) == ()
        assert holders_of(os.stat("/dev/null").st_rdev, frozenset()) == ()


def test_a_process_that_has_a_device_mapped_and_closed_is_found(loop_device: MakeLoopDevice) -> None:
    device = loop_device(8 * MIB)
    number = os.stat(device).st_rdev
    script = (
        "import mmap, os, sys; fd = os.open(sys.argv[1], os.O_RDWR); m = mmap.mmap(fd, 4096);"
        " os.closerange(3, 99); print('mapped', flush=True); input()"
    )
    with spawn(Command((sys.executable, "-ISc", script, device))) as running:
        assert running.receive(LIMIT_S) == "mapped"
        assert [(holder.pid, holder.path) for holder in holders_of(number, frozenset())] == [
            (running.pid, device)
        ]
        assert holders_of(number, frozenset({running.pid})) == ()


def test_the_own_process_can_be_passed_over(loop_device: MakeLoopDevice) -> None:
    device = loop_device(8 * MIB)
    fd = os.open(device, os.O_RDONLY)
    try:
        number = os.fstat(fd).st_rdev
        assert [holder.path for holder in holders_of(number, frozenset())] == [device]
        assert holders_of(number, frozenset({own_pid_in_host_proc()})) == ()
    finally:
        os.close(fd)


def test_private_places_are_seen_inside_only(tmp_path: Path) -> None:
    root = str(tmp_path / "private")
    script = f"""
import os
from fsconsole.system.run import RealExecutor
from fsconsole.system.mounts import read_mounts
from fsconsole.system.mounts import enter_private, is_private
from fsconsole.system.processes import own_pid_in_host_proc
assert is_private() and os.getpid() == 1 and own_pid_in_host_proc() > 1
places = enter_private(RealExecutor(), {root!r})
assert os.stat({root!r}).st_mode & 0o777 == 0o700
assert os.path.isdir(places.mount_point)
assert os.readlink(places.proc + "/self") == "1"
assert not places.debug or os.path.isdir(places.debug + "/bdi")
print(*sorted(m.filesystem for m in read_mounts() if m.mount_point.startswith({root!r})))
"""
    result = in_namespace(script)
    assert (result.exit_code, result.err) == (0, "")
    assert result.out.split()[-2:] == ["proc", "tmpfs"]
    assert os.listdir(root) == []


def test_init_reaps_strangers_and_leaves_its_own_children(tmp_path: Path) -> None:
    script = f"""
import os, sys, time
from fsconsole.model.command import Command
from fsconsole.system.run import RealExecutor, reap_strangers, spawn
from fsconsole.system.mounts import enter_private
places = enter_private(RealExecutor(), {str(tmp_path)!r})
held, inherited = os.pipe()
own = spawn(Command(("true",)))
# The grandchild outlives the child that started it, and ends when the pipe's other side is closed.
command = Command(("/bin/sh", "-c", "cat <&%d & echo $!" % held), inherit_fds=(held,))
orphan = int(RealExecutor().run(command).stdout)
assert reap_strangers(places.proc) == ()
os.close(inherited)
os.waitid(os.P_PID, orphan, os.WEXITED | os.WNOWAIT)
os.waitid(os.P_PID, own.pid, os.WEXITED | os.WNOWAIT)
assert reap_strangers(places.proc) == (orphan,)
assert reap_strangers(places.proc) == ()
assert own.wait().exit_code == 0
"""
    result = in_namespace(script)
    assert (result.exit_code, result.err) == (0, "")


def test_memory_is_measured_inside_a_pid_namespace_too() -> None:
    script = """
from fsconsole.model.command import Command
from fsconsole.system.run import RealExecutor
print(RealExecutor().run(Command(("sleep", "0.05"))).usage.max_rss_bytes)
"""
    result = in_namespace(script)
    assert 0 < int(result.out) < 8 * MIB


def test_killing_the_namespaces_starter_kills_all_in_it() -> None:
    held, inherited = os.pipe()
    try:
        argv = engine_argv(("/bin/sh", "-c", "setsid sleep 600 & echo up; wait"))
        running = spawn(Command(argv, inherit_fds=(inherited,)))
        os.close(inherited)
        assert running.receive(LIMIT_S) == "up"
        os.kill(running.pid, 9)
        assert os.read(held, 1) == b""
        assert running.wait(LIMIT_S).exit_code == -9
    finally:
        os.close(held)


def test_a_refused_mount_is_explained_by_the_kernels_log(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = loop_device(16 * MIB)
    with KernelLog() as log:
        if not log.readable:
            pytest.skip("/dev/kmsg may not be read here")
        executor = RealExecutor(log)
        made = executor.run(Command(("mkfs.ext4", "-q", device)))
        assert not any("nomballoc" in line for line in made.kernel_log)
        refused = executor.run(Command(("mount", "-o", "nomballoc", device, str(tmp_path))))
        assert refused.exit_code == 32
        assert any("nomballoc" in line for line in refused.kernel_log)
        assert any("nomballoc" in line for line in log.lines())
        log.mark()
        assert log.lines() == ()


def test_a_process_stuck_in_the_kernel_is_given_up_and_found_by_its_name(
    loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    device = loop_device(16 * MIB)
    quick = RealExecutor()
    assert quick.run(Command(("mkfs.ext4", "-q", device))).exit_code == 0
    root = mounted(device)
    # A writer to a frozen filesystem waits uninterruptibly until it is thawed (fs/super.c, sb_start_write).
    assert quick.run(Command(("fsfreeze", "--freeze", str(root)))).exit_code == 0
    try:
        touch = Command(("touch", str(root / "new")), timeout_s=0.1)
        result = RealExecutor(kill_grace_s=0.2).run(touch)
        ages_s = stuck_tasks("touch")
    finally:
        thawed = quick.run(Command(("fsfreeze", "--unfreeze", str(root))))
    assert thawed.exit_code == 0
    assert (result.exit_code, result.timed_out) == (-9, True)
    assert "did not end within 0.2 s of SIGKILL" in result.err
    assert ages_s.keys() == {"touch"}
    assert 0.1 <= ages_s["touch"] < 60


def test_one_look_finds_whoever_has_any_of_several_devices_and_files_open(
    tmp_path: Path, loop_device: MakeLoopDevice
) -> None:
    device, file = loop_device(MIB), tmp_path / "file"
    file.write_text("data")
    number, place = os.stat(device).st_rdev, (os.stat(file).st_dev, os.stat(file).st_ino)
    wanted: tuple[frozenset[Target], frozenset[int]] = (frozenset({number, place}), frozenset())
    assert device not in [holder.path for holder in holders_of_any(*wanted)]
    with open(device, "rb"), file.open():
        own = [holder.path for holder in holders_of_any(*wanted) if holder.pid == own_pid_in_host_proc()]
        assert sorted(own) == sorted([device, str(file)])
        assert holders_of_any(frozenset(), frozenset()) == ()
