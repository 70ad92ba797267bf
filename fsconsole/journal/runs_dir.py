"""The directory of all runs: opened and made without following a symbolic link anywhere on the way."""

from __future__ import annotations

import grp
import os
import stat

from fsconsole.errors import RunsReadOnly

GROUP = "fsconsole"
"""Members of this group, where it exists, may read all runs."""

_WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def group_id() -> int | None:
    """Return the id of the readers' group, or None where there is no such group."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return None


def open_or_make(path: str) -> int:
    """Return a descriptor (O_RDONLY) of the directory; what is missing is made, 0750. Raises OSError, RunsReadOnly."""
    walked = os.open("/", _WALK)
    try:
        for name in _parts(path):
            following = _step(walked, name, path)
            os.close(walked)
            walked = following
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=walked)
    finally:
        os.close(walked)


def make_directory(name: str, parent: int) -> None:
    """Make a directory for root and the readers' group. Raises OSError."""
    os.mkdir(name, 0o700, dir_fd=parent)
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        group = group_id()
        if group is None or os.geteuid() != 0:
            os.fchmod(fd, 0o750)
        else:
            os.fchown(fd, -1, group)
            # Set-group-id: what is made in here later belongs to the readers' group too (man 7 inode).
            os.fchmod(fd, 0o2750)
    finally:
        os.close(fd)


def _parts(path: str) -> list[str]:
    return [part for part in os.path.abspath(path).split("/") if part]


def _step(parent: int, name: str, whole: str) -> int:
    try:
        return os.open(name, _WALK, dir_fd=parent)
    except FileNotFoundError:
        make_directory(name, parent)
        return os.open(name, _WALK, dir_fd=parent)
    except NotADirectoryError:
        if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            raise RunsReadOnly(
                path=whole, why=f"{name} is a symbolic link; give the place it leads to"
            ) from None
        raise
