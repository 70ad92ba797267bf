"""Processes, extents and FIEMAP of the real system."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.errors.runs import ExtentsUnreadable, KernelLacks
from fsconsole.inspect.extent_lists import DEBUGFS, XFS_DB, debugger_call, share_in_blocks
from fsconsole.inspect.extents import layout_measurements, survey_tree
from fsconsole.inspect.layout import LayoutRecorder
from fsconsole.model.command import Command, CommandResult
from fsconsole.model.metrics import Metric
from fsconsole.results.layout_map import LETTERS, map_lines
from fsconsole.system import block as system_block
from fsconsole.system.block import ExtentFlag, RawExtent, extents
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.mounts import engine_argv
from fsconsole.system.processes import (
    Target,
    holders_of,
    own_pid_in_host_proc,
    stuck_tasks,
)
from fsconsole.system.run import RealExecutor, spawn
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run

LIMIT_S = 60.0
ENVIRONMENT = (("PYTHONPATH", str(Path(__file__).parents[2])),)


def in_namespace(script: str) -> CommandResult:
    argv = engine_argv((sys.executable, "-c", script))
    return RealExecutor().run(Command(argv, timeout_s=LIMIT_S, environment=ENVIRONMENT))


def test_a_process_that_has_a_device_open_is_found_by_any_node(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    device = loop_device(8 * MIB)
    number = os.stat(device).st_rdev
    node = tmp_path / "other node"
    os.mknod(node, 0o600 | 0o060000, number)
    assert holders_of(frozenset({number}), frozenset()) == ()
    with spawn(Command(("/bin/sh", "-c", f"exec 7<'{node}'; echo open; read x"))) as running:
        assert running.receive(LIMIT_S) == "open"
        (holder,) = holders_of(frozenset({number}), frozenset())
        assert (holder.pid, holder.command, holder.path, holder.target) == (running.pid, "sh", str(node), number)
        assert holders_of(frozenset({number}), frozenset({running.pid})) == ()
        assert holders_of(frozenset({os.stat("/dev/null").st_rdev}), frozenset()) == ()


def test_a_process_that_has_a_device_mapped_and_closed_is_found(loop_device: MakeLoopDevice) -> None:
    device = loop_device(8 * MIB)
    number = os.stat(device).st_rdev
    script = (
        "import mmap, os, sys; fd = os.open(sys.argv[1], os.O_RDWR); m = mmap.mmap(fd, 4096);"
        " os.closerange(3, 99); print('mapped', flush=True); input()"
    )
    with spawn(Command((sys.executable, "-ISc", script, device))) as running:
        assert running.receive(LIMIT_S) == "mapped"
        assert [(holder.pid, holder.path) for holder in holders_of(frozenset({number}), frozenset())] == [
            (running.pid, device)
        ]
        assert holders_of(frozenset({number}), frozenset({running.pid})) == ()


def test_a_file_of_a_filesystem_that_was_shut_down_is_no_device_where_its_mount_has_none(make_tree: MakeTree) -> None:
    tree = make_tree("xfs")
    wanted = frozenset({os.stat("/dev/null").st_rdev})
    (tree / "mapped").write_bytes(bytes(4096))
    with open(tree / "kept", "wb") as kept, open(tree / "mapped", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
        system_block.shut_down(kept.fileno())
        with pytest.raises(OSError, match="Input/output error"):
            os.fstat(kept.fileno())
        assert os.getpid() not in [holder.pid for holder in holders_of(wanted, frozenset())]
        mapped.close()


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
        assert not any("nomballoc" in line for line in log.lines())


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
    assert device not in [holder.path for holder in holders_of(*wanted)]
    with open(device, "rb"), file.open():
        own = [holder.path for holder in holders_of(*wanted) if holder.pid == own_pid_in_host_proc()]
        assert sorted(own) == sorted([device, str(file)])
        assert holders_of(frozenset(), frozenset()) == ()
        assert holders_of(frozenset({number}), frozenset({own_pid_in_host_proc()})) == ()


UNIT = 512
_ROW = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):", re.MULTILINE)
SIZES = {"ext2": 64 * MIB, "ext3": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 160 * MIB}
MakeTree = Callable[..., Path]


@pytest.fixture
def make_tree(loop_device: MakeLoopDevice, mounted: Mount) -> MakeTree:
    """Make and mount a filesystem."""

    def made(filesystem: str, options: str = "nosuid,nodev") -> Path:
        device = loop_device(SIZES[filesystem])
        run(f"mkfs.{filesystem}", "-q", device)
        return mounted(device, options=options)

    return made


def write_interleaved(tree: Path, files: int, rounds: int) -> None:
    """Several files that grow in turn, each piece flushed: none can be laid out in one piece."""
    descriptors = [os.open(tree / f"grown{n}", os.O_CREAT | os.O_WRONLY) for n in range(files)]
    for turn in range(rounds):
        for number, fd in enumerate(descriptors):
            os.write(fd, os.urandom(4096 * (1 + (turn + number) % 3)))
            os.fsync(fd)
    for fd in descriptors:
        os.close(fd)


def write_oddities(tree: Path) -> None:
    (tree / "empty").write_bytes(b"")
    (tree / "tiny").write_bytes(b"x")
    (tree / "whole").write_bytes(os.urandom(3 * MIB))
    below = tree / "a" / "b"
    below.mkdir(parents=True)
    with (below / "holes").open("wb") as file:
        for place in range(700):
            file.seek(place * 8192)
            file.write(os.urandom(4096))
    with (below / "reserved").open("wb") as file:
        # ext2 and ext3 have no unwritten extents: there the file stays as it is.
        try:
            os.posix_fallocate(file.fileno(), 0, MIB)
        except OSError:
            file.truncate(MIB)
    (tree / "link").symlink_to("whole")
    os.mkfifo(tree / "pipe")


def as_filefrag_says(path: Path) -> list[tuple[int, int, int]]:
    out = run("filefrag", "-v", f"-b{UNIT}", str(path))
    return [tuple(int(number) * UNIT for number in row) for row in _ROW.findall(out)]  # type: ignore[misc]


def read(path: Path) -> list[RawExtent]:
    with path.open("rb") as file:
        return list(extents(file.fileno()))


def figures(tree: Path) -> dict[Metric, float]:
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = [layout_measurements(survey_tree(fd)) for _ in range(2)]
    finally:
        os.close(fd)
    assert found[0] == found[1]
    return {figure.metric: figure.value for figure in found[0]}


@pytest.mark.parametrize("filesystem", SIZES)
def test_extents_of_every_file_are_those_that_filefrag_lists_and_counts(
    make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch, filesystem: str
) -> None:
    tree = make_tree(filesystem)
    write_interleaved(tree, files=5, rounds=25)
    write_oddities(tree)
    os.sync()
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    # What btrfs keeps inline has a length of its own in either.
    for path in (path for path in files if path.name != "tiny"):
        # Where another test drops the caches in between, ext3 splits the same blocks otherwise.
        for _ in range(5):
            found = [(e.logical_bytes, e.physical_bytes, e.length_bytes) for e in read(path)]
            if found == (said := as_filefrag_says(path)):
                break
        assert found == said, path
    assert read(tree / "empty") == []
    assert read(tree / "whole")[-1].flags & ExtentFlag.LAST
    holes = read(tree / "a" / "b" / "holes")
    assert len(holes) >= 700
    monkeypatch.setattr(system_block, "_BATCH", 7)
    assert read(tree / "a" / "b" / "holes") == holes
    listed = run("filefrag", *map(str, files))
    counts = [int(count) for count in re.findall(r": (\d+) extents? found$", listed, re.MULTILINE)]
    opened = set(os.listdir("/proc/self/fd"))
    value = figures(tree)
    assert set(os.listdir("/proc/self/fd")) == opened
    assert value[Metric.FILES_MAPPED] == len(counts) == len(files)
    assert value[Metric.EXTENTS_MAX] == max(counts)
    assert value[Metric.EXTENTS_MEAN] == pytest.approx(sum(counts) / len(counts))


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_the_layout_of_48_interleaved_files_is_what_filefrag_lists(make_tree: MakeTree, filesystem: str) -> None:
    tree = make_tree(filesystem)
    write_interleaved(tree, files=48, rounds=6)
    with (tree / "sparse").open("wb") as file:
        for place in range(60):
            file.seek(place * 8192)
            file.write(os.urandom(4096))
    os.sync()
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        recorder = LayoutRecorder(SIZES[filesystem], os.fstatvfs(fd).f_frsize)
        survey_tree(fd, recorder.add)
    finally:
        os.close(fd)
    layout = recorder.layout()
    assert layout.names == (*sorted(f"grown{number}" for number in range(48)), "sparse")
    block = layout.unit_bytes
    listed: dict[int, str] = {}
    for name in layout.names:
        for _, physical, length in as_filefrag_says(tree / name):
            listed |= dict.fromkeys(range(physical // block, (physical + length) // block), name)
    found = {at // block: layout.names[file] for begin, end, file in layout.spans() for at in range(begin, end, block)}
    assert found == listed
    # A map of a character for each block shows them in turn.
    last = max(listed) + 1
    (line,) = map_lines(layout, 8 + last, 1, last * block)
    drawn = "".join(text for text, _ in line)[8:]
    assert [drawn[at] for at in range(last)] == [
        LETTERS[layout.names.index(listed[at])] if at in listed else "." for at in range(last)
    ]
    # ext4 has room for 4 extents in an inode, xfs for 21.
    counts = [len(read(tree / name)) for name in layout.names]
    device, program = run("findmnt", "-no", "SOURCE", str(tree)).strip(), {"ext4": DEBUGFS}.get(filesystem, XFS_DB)
    argv, stdin = debugger_call(program, device, recorder.sampled_inodes)
    # What is in the log alone no debugger sees.
    run("mount", "-o", "remount,ro", str(tree))
    run("blockdev", "--flushbufs", device)
    said = subprocess.run(argv, input=stdin, capture_output=True, check=True).stdout.decode()
    beyond = sum(count > {"ext4": 4}.get(filesystem, 21) for count in counts)
    assert beyond >= 1
    assert share_in_blocks(program, device, said) == pytest.approx(100 * beyond / len(counts))


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_file_that_was_not_flushed_is_no_figure_and_its_name_is_data(make_tree: MakeTree, filesystem: str) -> None:
    tree = make_tree(filesystem)
    odd = Path(os.fsdecode(os.fsencode(tree) + b"/late\xff\x1b[2J[b]\n"))
    odd.write_bytes(bytes(MIB))
    (extent,) = read(odd)
    assert extent.physical_bytes == 0
    assert extent.flags == ExtentFlag.LAST | ExtentFlag.UNKNOWN | ExtentFlag.DELALLOC
    with pytest.raises(ExtentsUnreadable, match=r"late.*not flushed") as caught:
        figures(tree)
    assert str(caught.value).isprintable()
    os.sync()
    assert figures(tree)[Metric.FILES_MAPPED] == 1


def test_compressed_files_are_told_apart(make_tree: MakeTree) -> None:
    tree = make_tree("btrfs", "nosuid,nodev,compress=zstd")
    (tree / "zeros").write_bytes(b"fsconsole" * 200_000)
    (tree / "random").write_bytes(os.urandom(MIB))
    os.sync()
    found = figures(tree)
    assert (found[Metric.FILES_MAPPED], found[Metric.FILES_COMPRESSED]) == (2, 1)
    assert found[Metric.EXTENTS_MAX] == 1


def test_a_filesystem_without_extent_maps_is_told_as_such_and_none_is_entered_from_another(
    make_tree: MakeTree, mounted: Mount
) -> None:
    memory = mounted("tmpfs", filesystem="tmpfs", options="size=1m")
    (memory / "file").write_bytes(b"x")
    with pytest.raises(KernelLacks, match="extent maps"):
        figures(memory)
    tree = make_tree("ext4")
    (tree / "inner").mkdir()
    run("mount", "--bind", str(memory), str(tree / "inner"))
    try:
        with pytest.raises(ExtentsUnreadable, match=r"inner.*another filesystem"):
            figures(tree)
    finally:
        run("umount", str(tree / "inner"))


def test_a_filesystem_whose_uuid_was_seen_by_others_before_the_device_was_discarded_is_made_anew(
    loop_device: MakeLoopDevice,
) -> None:
    device, uuid = loop_device(320 * MIB), "5e0c9d4e-2a53-4a3b-9b7c-1d8b6d1f7a10"
    for _ in range(2):
        done = RealExecutor().run(Command(("mkfs.btrfs", "-q", "-f", "-U", uuid, device), timeout_s=LIMIT_S))
        assert done.exit_code == 0, done.err
        # It is in libblkid's cache now, which is believed for some minutes.
        run("blkid", device)
        run("blkdiscard", "--force", device)
