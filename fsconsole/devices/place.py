"""Directories as targets: who they are, what they lie on, and why a load must not run there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from glob import glob

from fsconsole.errors.targets import DirectoryRefused
from fsconsole.model.place import MEMORY, Place
from fsconsole.system.files import available_bytes, boot_id, mount_id
from fsconsole.system.mounts import MountEntry, read_mounts
from fsconsole.text import error_reason

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KERNELS_OWN = ("/proc", "/sys", "/dev", "/run/fsconsole")
"""/run/fsconsole: each engine has one of its own, which hides what is there."""
NO_STORAGE = frozenset({
    "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "pstore", "bpf",
    "configfs", "efivarfs", "mqueue", "hugetlbfs", "autofs", "binfmt_misc", "fusectl", "rpc_pipefs", "nsfs", "selinuxfs",
})  # fmt: skip
"""Filesystems that hold no files of users."""
_IN_MEMORY = "tmpfs"
_ELSEWHERE = "Name a directory of a mounted filesystem that you may write to."


def find_places(words: Sequence[str], runs_dir: str) -> tuple[tuple[str, str, Place], ...]:
    """Return label, path and place of each directory, given as PATH or LABEL=PATH; labels are unique.

    Raises DirectoryRefused.
    """
    found: dict[str, tuple[str, str, Place]] = {}
    for word in words:
        label, path = _split(word)
        place = find_place(path, is_memory=label == MEMORY)
        real = os.path.realpath(path)
        if label in found:
            raise DirectoryRefused(path, f"has the label '{label}' of another one", "Give each its own: LABEL=PATH.")
        for other, known, twin in found.values():
            if (twin.device_number, twin.inode) == (place.device_number, place.inode):
                raise DirectoryRefused(path, f"is {known}, which is a row already ('{other}')", "Name each once.")
        _require_apart(real, runs_dir)
        found[label] = (label, real, place)
    return tuple(found.values())


def _split(word: str) -> tuple[str, str]:
    """Return label and absolute path; the label is the path where none is given."""
    label, is_given, path = word.partition("=")
    if not is_given or "/" in label or not label.strip():
        label, path = "", word
    if not path:
        raise DirectoryRefused("''", "is no path", _ELSEWHERE)
    path = os.path.abspath(path)
    return label.strip() or path, path


def _require_apart(path: str, runs_dir: str) -> None:
    runs = os.path.realpath(runs_dir)
    if f"{path}/".startswith(f"{runs}/"):
        why = f"is in {runs}, where runs are kept: a generator must not reach them"
        raise DirectoryRefused(path, why, "Name a directory elsewhere, or keep runs elsewhere (--runs).")


def find_place(path: str, *, is_memory: bool = False) -> Place:
    """Return who a directory is; path is absolute. Raises DirectoryRefused."""
    with ExitStack() as stack:
        try:
            seen = os.lstat(path)
            if stat.S_ISLNK(seen.st_mode):
                where = os.path.realpath(path)
                raise DirectoryRefused(path, "is a symbolic link", f"Name where it leads to: {where}.")
            if not stat.S_ISDIR(seen.st_mode):
                raise DirectoryRefused(path, "is no directory", _ELSEWHERE)
            fd = os.open(path, DIRECTORY_FLAGS)
            stack.callback(os.close, fd)
            place = place_of(fd)
            why = next(_objections(fd, os.path.realpath(path), place, is_memory=is_memory), None)
        except (OSError, ValueError) as error:
            said = error_reason(error)
            raise DirectoryRefused(path, f"can't be used: {said}", _ELSEWHERE) from error
    if why is not None:
        raise DirectoryRefused(path, *why)
    return place


def _objections(fd: int, path: str, place: Place, *, is_memory: bool) -> Iterator[tuple[str, str]]:
    """Yield why loads must not run there, each with what to do."""
    kind = place.filesystem
    if kind == _IN_MEMORY:
        if not is_memory:
            why = f"is on {kind}, which is memory: nothing of a disk would be measured"
            yield why, f"To measure memory, say so: --directory {MEMORY}={path}."
    elif kind in NO_STORAGE or any(f"{path}/".startswith(f"{own}/") for own in _KERNELS_OWN):
        yield f"is on {kind}, which holds no files of yours", _ELSEWHERE
    room = os.fstatvfs(fd)
    if room.f_flag & os.ST_RDONLY:
        yield "is on a filesystem that is mounted read-only", "Mount it for writing, or name another directory."
    # Root may write wherever the filesystem lets it; NFS (root_squash) doesn't.
    if not os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK, effective_ids=True):
        yield "is not writable for you", "Name a directory of your own, or run as a user who may write there."
    if not place.size_bytes:
        # ramfs, which ends with the machine's memory, and some of FUSE.
        yield f"is on {kind}, which does not tell how much space is free (statfs)", _ELSEWHERE
    if not place.allowed_bytes:
        yield "has no space that a load may fill: at least 5 % of its filesystem stay free", "Free some space first."


def place_of(fd: int) -> Place:
    """Return who an open directory is, and what it lies on. Raises OSError, ValueError."""
    seen, room = os.fstat(fd), os.fstatvfs(fd)
    number = mount_id(fd)
    entry = next((one for one in read_mounts() if one.mount_id == number), None)
    if entry is None:
        raise ValueError("its mount is in no table of this process")
    free_bytes = room.f_bavail * room.f_frsize
    return Place(
        device_number=seen.st_dev,
        inode=seen.st_ino,
        filesystem=entry.filesystem,
        source=entry.source,
        mount_point=entry.mount_point,
        size_bytes=room.f_blocks * room.f_frsize,
        # What tmpfs offers may be more than the memory that is left.
        free_bytes=min(free_bytes, available_bytes()) if entry.filesystem == _IN_MEMORY else free_bytes,
        free_inodes=room.f_favail if room.f_files else 0,
        device=_device_of(seen.st_dev, entry),
        boot_id=boot_id(),
        options=tuple(dict.fromkeys((*entry.options, *entry.super_options))),
    )


def differs(known: Place, now: Place) -> str:
    """Return in what a directory differs from the one that a plan was made for, as a clause; empty if in nothing.

    After a reboot a filesystem may have another device number: NFS, btrfs, overlay and ZFS get one at each mount.
    """
    if (known.filesystem, known.source) != (now.filesystem, now.source):
        return f"it lies on {now.words} now, before on {known.words}"
    is_same_boot = known.boot_id == now.boot_id
    if known.inode != now.inode or (is_same_boot and known.device_number != now.device_number):
        return "another directory has its name now"
    return ""


def _device_of(number: int, entry: MountEntry) -> str:
    """Return the path of the one block device below a filesystem; empty where there is none, or several."""
    if entry.filesystem == "btrfs":
        # Its device numbers are anonymous.
        number = os.stat(entry.source).st_rdev if os.path.exists(entry.source) else 0
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.major(number) or not os.path.exists(link):
        return ""
    name = os.path.basename(os.path.realpath(link))
    if entry.filesystem == "btrfs":
        together = [devices for devices in glob("/sys/fs/btrfs/*/devices") if name in os.listdir(devices)]
        if any(len(os.listdir(devices)) > 1 for devices in together):
            return ""
    return f"/dev/{name.replace('!', '/')}"
