"""Files that are used under another name than that below the loop device which is to be wiped."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import struct
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.devices import files, scratch
from fsconsole.devices.evidence import UseKind
from fsconsole.devices.snapshot import find_device
from fsconsole.system.mounts import SwapEntry
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, unmount, wait_until
from tests.loop.commands import each
from tests.loop.gate_cases import (
    held_by_another_process,
    inspect,
    loop_over,
    questions,
    refusals,
    sparse,
    unchanged,
)

MS_RDONLY = 1
SIZE = 37 * MIB + 3 * 4096
"""Of no other file on this machine: tests beside this one have loop devices over blank files, too."""
LIBC = ctypes.CDLL(None, use_errno=True)
ALIAS = "file-alias"


def make_erofs(path: Path, uuid_bytes: bytes = b"", *, extra_devices: int = 0) -> str:
    """Make an erofs with an empty directory (fs/erofs/erofs_fs.h), since few machines have mkfs.erofs."""
    name = (uuid_bytes or uuid.uuid4().bytes, b"lab")
    numbers = (0xE0F5E1E2, 0, 0, 12, 0, 1, 1, 0, 0, 3, 1, 0)
    superblock = struct.pack("<IIIBBHQQIIII16s16sIHHH", *numbers, *name, 8 * extra_devices, 0, extra_devices, 10)
    slot = struct.pack("<64sII", b"", 4, 2048) * extra_devices
    inode = struct.pack("<HHHHIIIIHHI", 0, 0, 0o40755, 2, 27, 0, 2, 1, 0, 0, 0)
    entries = struct.pack("<QHBBQHBB", 1, 24, 2, 0, 1, 25, 2, 0) + b"..."
    with path.open("wb") as file:
        for offset, part in ((1024, superblock), (1280, slot), (4096 + 32, inode), (8192, entries), (SIZE - 1, b"\0")):
            file.seek(offset)
            file.write(part)
    return str(path)


def mount_file(source: str, point: str, options: str = "") -> None:
    """Mount an erofs from a plain file, as mount(8) does not before util-linux 2.41."""
    if LIBC.mount(source.encode(), point.encode(), b"erofs", MS_RDONLY, options.encode()) != 0:
        code = ctypes.get_errno()
        if code in (errno.ENOTBLK, errno.ENODEV):
            pytest.skip("this kernel mounts no erofs from a plain file (Linux 6.12)")
        raise OSError(code, os.strerror(code))


@pytest.fixture
def point(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "erofs"
    path.mkdir()
    yield path
    LIBC.umount2(str(path).encode(), 0)


@contextmanager
def overlaid(tmp_path: Path, name: str = "merged") -> Iterator[tuple[Path, Path]]:
    """Yield an overlay's upper directory and its mount point."""
    upper, work, lower, merged = (tmp_path / f"{name}-{part}" for part in ("upper", "work", "lower", "merged"))
    for path in (upper, work, lower, merged):
        path.mkdir()
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
    run("mount", "-t", "overlay", "-o", layers, "overlay", str(merged))
    try:
        yield upper, merged
    finally:
        run("umount", str(merged))


def test_file_mounted_by_erofs_is_refused(tmp_path: Path, point: Path) -> None:
    image = make_erofs(tmp_path / "image")
    with loop_over(image) as device, unchanged(device):
        assert "mounted" not in refusals(inspect(device))
        mount_file(image, str(point))
        assert refusals(inspect(device)) == {"mounted": f"stands on a file that is mounted on {point} (erofs)"}
    os.link(image, tmp_path / "hard link")
    with loop_over(str(tmp_path / "hard link")) as device, loop_over(device) as top:
        assert set(refusals(inspect(top))) == {"mounted"}
    shutil.copy(image, tmp_path / "copy")
    with loop_over(str(tmp_path / "copy")) as device:
        assert refusals(inspect(device)) == {}


IN_OTHER_NAMESPACE = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
assert libc.unshare(0x20000) == 0 and libc.mount(None, b"/", None, 0x44000, None) == 0
assert libc.mount(sys.argv[1].encode(), sys.argv[2].encode(), b"erofs", 1, None) == 0
print("mounted", flush=True)
time.sleep(999)
"""


def test_file_mounted_in_other_namespace_is_refused(tmp_path: Path, point: Path) -> None:
    image = make_erofs(tmp_path / "image")
    words = [sys.executable, "-c", IN_OTHER_NAMESPACE, image, str(point)]
    with loop_over(image) as device, subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"mounted\n"
            assert "mounted" in refusals(inspect(device))
        finally:
            process.kill()


def test_file_mounted_by_path_of_past_is_asked_about(
    tmp_path: Path, point: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source of such a mount is text: a relative path, a descriptor's, or one that another file has by now."""

    def renamed(image: str) -> None:
        mount_file(image, str(point))
        os.rename(image, f"{image} moved")
        make_erofs(Path(image))

    def relative(image: str) -> None:
        os.rename(image, f"{image} moved")
        monkeypatch.chdir(tmp_path)
        mount_file("image moved", str(point))

    def by_descriptor(image: str) -> None:
        os.rename(image, f"{image} moved")
        fd = os.open(f"{image} moved", os.O_RDONLY)
        mount_file(f"/proc/self/fd/{fd}", str(point))
        os.close(fd)

    def asked(mounts: Callable[[str], object], uuid_bytes: bytes) -> None:
        image = make_erofs(tmp_path / "image", uuid_bytes)
        mounts(image)
        try:
            with loop_over(f"{image} moved") as device:
                assert f"the one that is mounted on {point} (erofs)" in questions(inspect(device))[ALIAS]
        finally:
            LIBC.umount2(str(point).encode(), 0)

    cases = {"renamed": renamed, "relative": relative, "by a descriptor": by_descriptor}
    each({name: (case, b"") for name, case in cases.items()} | {"without a UUID": (relative, bytes(16))}, asked)


def test_further_file_of_mounted_erofs_is_asked_about(tmp_path: Path, point: Path) -> None:
    image, further = make_erofs(tmp_path / "image", extra_devices=1), sparse(tmp_path / "further", MIB)
    mount_file(image, str(point), f"device={further}")
    with loop_over(further) as device:
        told = questions(inspect(device))[ALIAS]
    assert told.endswith(f"the one that is mounted on {point} (erofs), of several files")
    made = scratch.create(MIB, str(tmp_path / "scratch"))
    assert not inspect(made.device).needs_consent
    scratch.remove(made)


def test_loop_over_lower_name_of_overlay_file_is_asked_about(tmp_path: Path, mounted: Mount) -> None:
    with overlaid(tmp_path) as (upper, merged):
        path = sparse(upper / "disk.img", SIZE)
        with loop_over(path) as below:
            run("mkfs.ext4", "-q", below)
            mounted(below)
            with loop_over(str(merged / "disk.img")) as device:
                assert questions(inspect(device))[ALIAS].endswith(f"the one that is below {below}")


def test_loop_over_name_on_fuse_is_asked_about(tmp_path: Path, mounted: Mount) -> None:
    if not os.path.exists("/dev/fuse"):
        pytest.skip("this kernel has no FUSE")
    path, view = sparse(tmp_path / "file", SIZE), tmp_path / "view"
    view.mkdir()
    words = [sys.executable, "-m", "tests.attacks.one_file_fuse", path, str(view)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"open\n"
        try:
            with loop_over(path) as below:
                run("mkfs.ext4", "-q", below)
                point = mounted(below)
                with loop_over(str(view / "disk.img")) as device:
                    told = questions(inspect(device))
                unmount(point)
            assert told[ALIAS].endswith(f"the one that is below {below}")
            other = make_erofs(tmp_path / "other")
            with loop_over(str(view / "disk.img")) as device, loop_over(other):
                assert ALIAS not in questions(inspect(device))
        finally:
            run("umount", str(view))


def test_overlay_file_in_use_by_lower_name_is_asked_about(tmp_path: Path, point: Path) -> None:
    with overlaid(tmp_path) as (upper, merged):
        path = make_erofs(upper / "disk.img")
        with loop_over(str(merged / "disk.img")) as device:
            assert ALIAS not in questions(inspect(device))
            with held_by_another_process(path, "os.O_RDWR") as pid:
                assert f"is open in process {pid}" in questions(inspect(device))[ALIAS]
            mount_file(path, str(point))
            assert f"is mounted on {point} (erofs)" in questions(inspect(device))[ALIAS]
        LIBC.umount2(str(point).encode(), 0)
        with loop_over(path) as device, held_by_another_process(str(merged / "disk.img"), "os.O_RDWR") as pid:
            assert f"is open in process {pid}" in questions(inspect(device))[ALIAS]


def test_overlay_file_that_is_swap_or_exported_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with overlaid(tmp_path) as (upper, merged):
        path = sparse(upper / "disk.img", SIZE)
        with loop_over(str(merged / "disk.img")) as device, loop_over(path) as plain:
            monkeypatch.setattr(files, "read_swaps", lambda: (SwapEntry(path, "file", SIZE),))
            monkeypatch.setattr(files, "exported_paths", lambda: ((path, "is exported by a test"),))
            (uses, doubts) = files.find_file_uses([find_device(device), find_device(plain)], ())
    assert [(use.kind, use.number) for use in uses] == [(UseKind.SWAP, os.makedev(7, int(plain[9:])))]
    assert doubts[os.makedev(7, int(device[9:]))] == (f"is the swap file {path}", "is exported by a test")
    assert doubts[os.makedev(7, int(plain[9:]))] == ()


def test_other_file_on_overlay_is_told_apart(tmp_path: Path) -> None:
    """By size, by content, and by where it lies; two blank files of one size in two places are told apart by nothing."""
    with overlaid(tmp_path) as (_, merged), overlaid(tmp_path, "other") as (_, other):
        target = sparse(merged / "target", SIZE)

        def asked(make: Callable[[Path], object], expected: bool) -> None:
            path = other / "file"
            make(path)
            with loop_over(target) as device, loop_over(str(path)) as beside:
                told = questions(inspect(device)).get(ALIAS, "")
            assert told.endswith(f"below {beside}") is expected, told
            path.unlink()

        def filled(path: Path) -> None:
            sparse(path, SIZE)
            with path.open("r+b") as file:
                file.write(b"other")

        def allocated(path: Path) -> None:
            sparse(path, SIZE)
            run("fallocate", "--length", str(SIZE), str(path))

        cases: dict[str, tuple[Callable[[Path], object], bool]] = {
            "another size": (lambda path: sparse(path, SIZE + MIB), False),
            "other content": (filled, False),
            "other extents": (allocated, False),
            "blank": (lambda path: sparse(path, SIZE), True),
        }
        each(cases, asked)


def test_loop_of_other_namespace_is_told_apart(tmp_path: Path) -> None:
    """As in another container: the path that the kernel has of its file leads nowhere here."""
    (tmp_path / "theirs").mkdir()
    script = (
        "mount -t tmpfs theirs $0/theirs && mkdir $0/theirs/l $0/theirs/u $0/theirs/w $0/theirs/m && "
        "mount -t overlay -o lowerdir=$0/theirs/l,upperdir=$0/theirs/u,workdir=$0/theirs/w o $0/theirs/m && "
        "printf %s $2 >$0/theirs/m/file && truncate -s $1 $0/theirs/m/file && "
        "losetup --find --show $0/theirs/m/file && read line; losetup -d $(losetup -nO NAME -j $0/theirs/m/file)"
    )
    with overlaid(tmp_path) as (_, merged), loop_over(sparse(merged / "file", SIZE)) as device:

        def asked(content: str, expected: bool) -> None:
            words = (
                "unshare",
                "--mount",
                "--propagation",
                "slave",
                "sh",
                "-c",
                script,
                str(tmp_path),
                str(SIZE),
                content,
            )
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                other = process.stdout.readline().strip()
                told = questions(inspect(device)).get(ALIAS, "")
                process.communicate("\n")
            assert told.endswith(f"below {other}") is expected, told

        each({"blank": ("", True), "other content": ("theirs", False)}, asked)


def test_scratch_devices_on_overlay_need_no_consent(tmp_path: Path) -> None:
    """In a container every file is on overlay."""
    with overlaid(tmp_path) as (upper, merged):
        made = [scratch.create(SIZE, str(merged / "scratch")) for _ in range(2)]
        try:
            assert [inspect(one.device).needs_consent for one in made] == [False, False]
            with loop_over(str(upper / "scratch" / os.path.basename(made[0].path))) as below:
                report = inspect(made[0].device)
                assert report.needs_consent
                assert questions(report) == {
                    ALIAS: f"stands on a file that may be, by another name, the one that is below {below}"
                }
                assert not inspect(made[1].device).needs_consent
        finally:
            for one in made:
                scratch.remove(scratch.find(one.path))
                wait_until(
                    lambda path=one.device: not Path(f"/sys/block/{Path(path).name}/loop").exists(), "it is detached"
                )  # type: ignore[misc]


def test_files_that_keep_their_numbers_are_told_apart(
    tmp_path: Path, loop_device: MakeLoopDevice, mounted: Mount
) -> None:
    """Copies that share extents, bind mounts, and two subvolumes with one inode number are two files, or one by its numbers."""
    disk = loop_device(320 * MIB)
    run("mkfs.btrfs", "-q", disk)
    volume = mounted(disk)
    sparse(volume / "file", SIZE)
    run("cp", "--reflink=always", str(volume / "file"), str(volume / "copy"))
    run("btrfs", "subvolume", "create", str(volume / "sub"))
    run("btrfs", "subvolume", "snapshot", str(volume), str(volume / "snapshot"))
    others = [volume / "copy", volume / "snapshot" / "file"]
    assert os.stat(volume / "file").st_ino == os.stat(others[1]).st_ino
    with loop_over(str(volume / "file")) as device:
        for other in others:
            with loop_over(str(other)):
                assert ALIAS not in questions(inspect(device))
        bound = tmp_path / "bound"
        bound.mkdir()
        run("mount", "--bind", str(volume), str(bound))
        try:
            with loop_over("--offset=1MiB", str(bound / "file")):
                assert "shared-backing-file" in refusals(inspect(device))
        finally:
            run("umount", str(bound))


def test_deleted_file_on_plain_filesystem_is_told_apart(tmp_path: Path) -> None:
    path, other = sparse(tmp_path / "deleted", SIZE), sparse(tmp_path / "other", SIZE)
    with loop_over(path), loop_over(other) as device:
        os.unlink(path)
        assert ALIAS not in questions(inspect(device))
