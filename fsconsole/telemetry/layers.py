"""What a watched device stands on, from sysfs alone: array members, volumes' disks, the disk below a loop device.

A loop device's I/O counts on the loop and on the disk below it, an array's on its members too: what a sample
shows of them is marked, so that nobody adds it up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from fsconsole.model.sample import Role
from fsconsole.system.mounts import read_mounts
from fsconsole.system.text import read_text_or
from fsconsole.telemetry.blockstat import Watched

SYS = "/sys"


def watched_tree(name: str, sys: str = SYS) -> tuple[Watched, ...]:
    """Return a target and everything that it stands on, each device once, right below what stands on it first."""
    found: dict[str, Watched] = {}
    _add(Watched(name), sys, found)
    return tuple(found.values())


def _add(device: Watched, sys: str, found: dict[str, Watched]) -> None:
    if device.name in found:
        return
    found[device.name] = device
    for lower in _lower(device.name, sys):
        _add(lower, sys, found)


def _lower(name: str, sys: str) -> Iterator[Watched]:
    folder = f"{sys}/class/block/{name}"
    try:
        # Documentation/ABI/testing/sysfs-block: md and dm list there what they are made of.
        members = sorted(os.listdir(f"{folder}/slaves"))
    except OSError:
        members = []
    yield from (Watched(member, Role.MEMBER, name) for member in members)
    backing_file = read_text_or(f"{folder}/loop/backing_file", "")
    below = _disk_of_file(backing_file, sys) if backing_file else ""
    if below:
        yield Watched(below, Role.BELOW, name)


def _disk_of_file(path: str, sys: str) -> str:
    """Return the whole disk that a file, or device, lies on; empty where that can't be told."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return ""
    number = seen.st_rdev or seen.st_dev
    if os.major(number) == 0:
        return _disk_of_source(path, sys)
    return disk_name(block_name(number, sys), sys)


def _disk_of_source(path: str, sys: str) -> str:
    """Return the disk of a filesystem that has a number of its own (btrfs), by its mount table's entry."""
    holders = [entry for entry in read_mounts() if is_below(path, entry.mount_point)]
    nearest = max(holders, key=lambda entry: len(entry.mount_point), default=None)
    if nearest is None or nearest.filesystem != "btrfs":
        return ""
    return disk_name(os.path.basename(os.path.realpath(nearest.source)), sys)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path lies in a folder, or in one below it."""
    return folder in {"/", path} or path.startswith(folder + "/")


def block_name(number: int, sys: str = SYS) -> str:
    """Return the kernel's name of the block device of a number; empty where there is none."""
    link = f"{sys}/dev/block/{os.major(number)}:{os.minor(number)}"
    return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else ""


def disk_name(name: str, sys: str = SYS) -> str:
    """Return the whole disk of a partition, and any other device's own name; empty where there is none."""
    folder = os.path.realpath(f"{sys}/class/block/{name}")
    if not name or not os.path.isdir(folder):
        return ""
    return os.path.basename(os.path.dirname(folder)) if os.path.exists(f"{folder}/partition") else name
