"""Devices that are moved, filled or claimed after a tool was started, and before it has them open."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.client.children import ask
from fsconsole.devices.claims import is_busy
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import KernelLacks, ToolIsScript
from fsconsole.errors.targets import DeviceChanged
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.events import Verb
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.system import trace
from fsconsole.system.block import _INFO, _LOOP_GET_STATUS64, _LOOP_SET_STATUS64
from fsconsole.system.files import opened
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.bench.wipes import INSTALLED, TOOLS
from tests.conftest import run, wait_until
from tests.lab.soak import tried
from tests.loop.commands import OwnLoop
from tests.loop.delayed_exec import Delay, exec_delayed
from tests.loop.gate_cases import digest, file_below, partitioned, sparse, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end
from tests.loop.wiping import proved, wiped

SIZE = 64 * MIB
OFFSET_FIELD, LIMIT_FIELD = 3, 4
XFS_BYTES = 330 * MIB


def move(device: str, field: int, value: int) -> None:
    """Set a field of a loop device's status, as LOOP_SET_STATUS64 has it."""
    with opened(device) as fd:
        fields = list(_INFO.unpack(fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_INFO.size))))
        fields[field] = value
        fcntl.ioctl(fd, _LOOP_SET_STATUS64, _INFO.pack(*fields))


def fill(device: str, directory: Path) -> None:
    """Make an xfs with a file, and unmount it."""
    run("mkfs.xfs", "-q", "-f", "-L", "photos", device)
    point = directory / "mnt"
    point.mkdir(exist_ok=True)
    run("mount", device, str(point))
    (point / "letters").write_bytes(os.urandom(MIB))
    run("umount", str(point))


def two_halves(directory: Path) -> Path:
    """Make a file of which the second half is somebody's, with the first half free for a loop device."""
    file = sparse(directory / "disk", 2 * XFS_BYTES)
    with open(file, "r+b") as data:
        for place in range(XFS_BYTES, 2 * XFS_BYTES, 16 * MIB):
            data.seek(place)
            data.write(os.urandom(65536))
    return file


def attach_half(loop: OwnLoop, file: Path) -> None:
    loop.attach(file)
    move(loop.path, LIMIT_FIELD, XFS_BYTES)


DELAYED = {
    "moved": lambda device, _: move(device, OFFSET_FIELD, XFS_BYTES),
    "filled": fill,
}


@contextmanager
def engine_at_mkfs(device: str, directory: Path) -> Iterator[tuple[RunFolder, Delay, subprocess.Popen[bytes]]]:
    """Run an engine, with the exec of its first mkfs delayed until this context's end."""
    folder = new_run(TINY_PLAN, device, str(directory / "runs"))
    tools = directory / "bin"
    tools.mkdir()
    with exec_delayed("mkfs.ext4", tools) as (delay, path):
        engine = subprocess.Popen(
            engine_argv((sys.executable, "-m", "fsconsole.engine", folder.path)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"PATH": path}, start_new_session=True,
        )  # fmt: skip
        while delay.arrive() and getattr(read_state(folder).current_step, "kind", None) is not StepKind.MKFS:
            # Asked for its version.
            delay.let_go()
        yield folder, delay, engine
    engine.wait(timeout=60)
    wait_for_end(folder)


def test_stop_now_ends_tool_whose_exec_is_delayed(blank: str, tmp_path: Path) -> None:
    with unchanged(blank), engine_at_mkfs(blank, tmp_path) as (folder, _, engine):
        assert ask(folder, Verb.STOP_NOW).accepted
        engine.wait(timeout=60)
    assert read_state(folder).cells[0].status is CellStatus.STOPPED


@pytest.mark.parametrize("name", DELAYED)
def test_run_stops_if_device_changes_while_exec_is_delayed(own_loop: OwnLoop, tmp_path: Path, name: str) -> None:
    file = two_halves(tmp_path)
    attach_half(own_loop, file)
    with engine_at_mkfs(own_loop.path, tmp_path) as (folder, _, _):
        DELAYED[name](own_loop.path, tmp_path)
        before = digest(str(file))
    assert digest(str(file)) == before
    after = read_state(folder)
    assert after.exit_code == ExitCode.DEVICE_CHANGED
    assert own_loop.path in after.reason


GAPS: dict[str, Callable[[OwnLoop, Path], object]] = {
    "offset": lambda loop, _: move(loop.path, OFFSET_FIELD, XFS_BYTES),
    "limit": lambda loop, _: move(loop.path, LIMIT_FIELD, XFS_BYTES - 16 * MIB),
    "filled": lambda loop, directory: fill(loop.path, directory),
    "written": lambda loop, _: write(loop.path, 37 * MIB, os.urandom(4096)),
    "capacity": lambda loop, _: (
        os.truncate(file_below(loop.path), XFS_BYTES - 16 * MIB),
        run("losetup", "-c", loop.path),
    ),
}


HELD = ("mkfs.nilfs2", "wipefs", "blkdiscard", "shred")
"""Nobody can make a filesystem there meanwhile: the engine holds the device."""
CASES = [(tool, gap) for tool in INSTALLED for gap in GAPS if gap != "filled" or tool not in HELD]


@pytest.mark.parametrize(
    ("tool", "gap"), tried(CASES, [case for case in CASES if case[0] == "mkfs.ext4" or case[1] in ("offset", "filled")])
)
def test_tool_is_killed_if_device_changes_after_exec(own_loop: OwnLoop, tmp_path: Path, tool: str, gap: str) -> None:
    """The device changes between the tool's exec and its open: while it loads its libraries, for one."""
    file = two_halves(tmp_path)
    attach_half(own_loop, file)
    before = ""

    def act(_process: str, stop: int) -> None:
        nonlocal before
        if stop == 1:
            GAPS[gap](own_loop, tmp_path)
            before = digest(str(file))

    with proved(own_loop.path, tmp_path) as (prover, cell):
        with pytest.raises(DeviceChanged):
            wiped(prover, cell, (tool, *TOOLS[tool], own_loop.path), before=act)
        assert digest(str(file)) == before
        with pytest.raises(FsconsoleError):
            prover.prove_cell(cell)


@pytest.mark.parametrize("tool", INSTALLED)
def test_wipe_lets_tool_write_when_nothing_changed(
    loop_device: Callable[[int], str], tmp_path: Path, tool: str
) -> None:
    device = loop_device(XFS_BYTES)
    with proved(device, tmp_path) as (prover, cell):
        for _ in range(2):
            assert wiped(prover, cell, (tool, *TOOLS[tool], device)).exit_code == 0
        prover.prove_cell(cell)


def test_uncounted_write_before_tools_open_stops_it(tmp_path: Path) -> None:
    def act(_process: str, stop: int) -> None:
        if stop == 1:
            run("mkfs.ext4", "-q", "-F", "-L", "photos", one)
            seen.append(digest(file_below(disk)))

    seen: list[str] = []
    with partitioned(tmp_path, (1, 62)) as (disk, one):
        counting = Path(f"/sys/block/{Path(disk).name}/queue/iostats")
        counting.write_text("0")
        try:
            with proved(one, tmp_path) as (prover, cell):
                with pytest.raises(DeviceChanged, match="photos"):
                    wiped(prover, cell, ("mkfs.ext4", "-q", "-F", one), before=act)
                assert digest(file_below(disk)) == seen[0]
        finally:
            counting.write_text("1")


def test_device_that_moves_under_the_tool_ends_the_run(own_loop: OwnLoop, tmp_path: Path) -> None:
    attach_half(own_loop, two_halves(tmp_path))
    with proved(own_loop.path, tmp_path) as (prover, cell):
        with pytest.raises(DeviceChanged, match=r"offset .* since mkfs\.ext4 began to write to it"):
            wiped(
                prover, cell, ("mkfs.ext4", "-q", "-F", own_loop.path),
                at_handover=lambda: move(own_loop.path, OFFSET_FIELD, 16 * MIB),
            )  # fmt: skip
        # Whatever is there now is not taken for what the run left.
        assert prover.note_left(own_loop.path) is None


def test_exchanged_node_leads_tool_to_no_other_device(blank: str, victim: str, tmp_path: Path) -> None:
    aside = f"{blank}-aside"

    def act(_process: str, stop: int) -> None:
        if stop == 1:
            os.rename(blank, aside)
            os.mknod(blank, stat.S_IFBLK | 0o600, os.stat(victim).st_rdev)

    try:
        with proved(blank, tmp_path) as (prover, cell), pytest.raises(DeviceChanged, match=r"led mkfs\.ext4 to"):
            wiped(prover, cell, ("mkfs.ext4", "-q", "-F", blank), before=act)
    finally:
        os.rename(aside, blank)


def test_mount_before_tools_open_is_kept_and_noticed(loop_device: Callable[[int], str], tmp_path: Path) -> None:
    device = loop_device(XFS_BYTES)
    point = tmp_path / "mnt"

    def act(_process: str, stop: int) -> None:
        if stop == 1:
            fill(device, tmp_path)
            run("mount", device, str(point))

    with proved(device, tmp_path) as (prover, cell):
        with pytest.raises(DeviceChanged):
            wiped(prover, cell, ("mkfs.ext4", "-q", "-F", device), before=act)
        assert (point / "letters").stat().st_size == MIB
        run("umount", str(point))
        # What somebody else made is not taken for what the run left there.
        assert prover.note_left(device) is None
        with pytest.raises(DeviceChanged):
            prover.prove_cell(cell)


def test_btrfs_is_held_again_after_its_test_of_o_excl(loop_device: Callable[[int], str], tmp_path: Path) -> None:
    if "mkfs.btrfs" not in INSTALLED:
        pytest.skip("NOT INSTALLED HERE: mkfs.btrfs (package btrfs-progs)")
    device = loop_device(XFS_BYTES)
    claims: list[bool] = []
    with proved(device, tmp_path) as (prover, cell):
        argv = ("mkfs.btrfs", "-q", "-f", device)
        assert (
            wiped(prover, cell, argv, at_handover=lambda: claims.append(is_busy(device, is_ours=True))).exit_code == 0
        )
    assert claims == [True]


def test_wipe_refuses_script_that_starts_the_tool(blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "bin" / "mkfs.ext4"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\n/usr/sbin/mkfs.ext4 "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    with proved(blank, tmp_path) as (prover, cell), unchanged(blank), pytest.raises(ToolIsScript):
        wiped(prover, cell, ("mkfs.ext4", "-q", "-F", blank))


def test_wipe_refuses_writes_of_others_beside_the_tool(loop_device: Callable[[int], str], tmp_path: Path) -> None:
    if "mkfs.f2fs" not in INSTALLED:
        pytest.skip("NOT INSTALLED HERE: mkfs.f2fs (package f2fs-tools)")
    device = loop_device(XFS_BYTES)
    with proved(device, tmp_path) as (prover, cell):
        with pytest.raises(DeviceChanged, match=r"somebody wrote 1 ?MiB to it while mkfs\.f2fs was at work"):
            wiped(
                prover, cell, ("mkfs.f2fs", "-q", "-f", device),
                at_handover=lambda: write(device, 200 * MIB, os.urandom(MIB)),
            )  # fmt: skip
        assert prover.note_left(device) is None
        with pytest.raises(FsconsoleError):
            prover.prove_cell(cell)


def test_device_is_refused_where_ptrace_is(blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(trace, "_ptrace", refuse)
    with proved(blank, tmp_path) as (prover, cell), unchanged(blank), pytest.raises(KernelLacks, match="ptrace"):
        wiped(prover, cell, ("mkfs.ext4", "-q", "-F", blank))


@pytest.mark.parametrize("stop", [0, 1])
def test_tool_that_is_killed_while_stopped_writes_nothing(blank: str, tmp_path: Path, stop: int) -> None:
    def act(process: str, number: int) -> None:
        if number == stop:
            os.kill(int(os.path.basename(process)), signal.SIGKILL)

    with proved(blank, tmp_path) as (prover, cell), unchanged(blank):
        result = wiped(prover, cell, ("mkfs.ext4", "-q", "-F", blank), before=act)
        assert result.exit_code == -signal.SIGKILL
        prover.prove_cell(cell)


HOLDS_A_STOPPED_TOOL = """
import sys, time
from fsconsole.model.command import Command
from fsconsole.system.run import RealExecutor
def watch(process):
    print(process, flush=True)
    time.sleep(60)
RealExecutor().run(Command(("mkfs.ext4", "-q", "-F", sys.argv[1]), watch=watch))
"""


def test_stopped_tool_dies_with_its_engine(blank: str) -> None:
    argv = [sys.executable, "-c", HOLDS_A_STOPPED_TOOL, blank]
    with unchanged(blank), subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        process = engine.stdout.readline().strip()
        engine.kill()
        engine.wait()
        wait_until(lambda: not os.path.exists(process) or " Z " in Path(f"{process}/stat").read_text(), "it dies")


def test_tool_whose_exec_is_delayed_dies_with_its_engine(blank: str, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLDS_A_STOPPED_TOOL, blank]
    with (
        exec_delayed("mkfs.ext4", tmp_path) as (delay, path),
        unchanged(blank),
        subprocess.Popen(argv, stdout=subprocess.PIPE, env=os.environ | {"PATH": path}) as engine,
    ):
        pid = delay.arrive()
        engine.kill()
        engine.wait()
        delay.let_go()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "it dies")
