"""Plan files on disks, as the console opens and saves them: never over something that was not shown."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from fsconsole.errors.targets import PlanChanged, PlanMissing, PlanUnwritable

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK})
"""Errors of filesystems without hard links (man 2 link)."""
_LAST_PLACE = "/tmp"  # noqa: S108 (it is everybody's, and sticky)
_CHOICES = 200
"""Names of a directory that are looked at for completing a path."""


def digest_of(path: str) -> str:
    """Return a digest of a file's bytes; empty where there is no such file. Raises PlanMissing."""
    try:
        if not os.path.lexists(path):
            return ""
        # A FIFO would block the open for ever, and what is no file is no plan either.
        _require_regular(os.stat(path).st_mode)
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError) as error:
        raise PlanMissing(path, _why(error)) from error


def digest_of_text(text: str) -> str:
    """Return the digest of the file that holds this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def save(path: str, text: str, expected: str) -> str:
    """Write a plan file, whole or not at all, with the rights of what it replaces; return its digest.

    expected is the digest of what is there and may be replaced, empty for nothing: looked at again when the new file
    is ready to take its place. Raises PlanChanged where something else is there, PlanUnwritable, PlanMissing.
    """
    try:
        place = os.path.realpath(path)
        umask = os.umask(0)
        os.umask(umask)
        mode, owner = 0o666 & ~umask, (-1, -1)
        with suppress(FileNotFoundError):
            found = os.stat(place)
            _require_regular(found.st_mode)
            mode, owner = found.st_mode & 0o7777, (found.st_uid, found.st_gid)
        descriptor, draft = tempfile.mkstemp(prefix=".plan-", dir=os.path.dirname(place))
        try:
            with open(descriptor, "wb") as file:
                file.write(text.encode())
                os.fchmod(file.fileno(), mode)
                os.fchown(file.fileno(), *owner)
                file.flush()
                os.fsync(file.fileno())
            _put(draft, place, path, expected)
        except BaseException:
            _forget(draft)
            raise
    except (OSError, ValueError) as error:
        raise PlanUnwritable(path, _why(error)) from error
    return digest_of_text(text)


def _put(draft: str, place: str, path: str, expected: str) -> None:
    if expected:
        if digest_of(place) != expected:
            raise PlanChanged(path)
        os.replace(draft, place)
        return
    try:
        # Unlike a rename it fails where somebody was there first.
        os.link(draft, place)
        os.unlink(draft)
    except FileExistsError as error:
        raise PlanChanged(path) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if digest_of(place):
            raise PlanChanged(path) from error
        os.replace(draft, place)


@contextmanager
def kept_for_run(text: str) -> Iterator[str]:
    """Give the path of a file of the operator's own that holds a plan until its run has read it.

    Raises PlanUnwritable.
    """
    # Of another user (su, sudo -E) neither is a place for a plan that root carries out.
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir())
    directory = next((place for place in places if place and _is_safe(place)), _LAST_PLACE)
    try:
        descriptor, path = tempfile.mkstemp(prefix="fsconsole-plan-", suffix=".toml", dir=directory)
        with open(descriptor, "wb") as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:
        raise PlanUnwritable(directory, _why(error)) from error
    try:
        yield path
    finally:
        _forget(path)


def _is_safe(directory: str) -> bool:
    try:
        found = os.stat(directory)
    except OSError:
        return False
    is_shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return found.st_uid in {0, os.geteuid()} and not is_shared and os.access(directory, os.W_OK)


def _forget(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def completed(path: str) -> str:
    """Return a path with its last part completed as far as there is one way; the path itself where there is none."""
    directory, start = os.path.split(path)
    try:
        with os.scandir(os.path.expanduser(directory) or ".") as entries:
            names = [
                entry.name + "/" if entry.is_dir() else entry.name
                for entry in islice(entries, _CHOICES)
                if entry.name.startswith(start)
                and (start or not entry.name.startswith("."))
                and (entry.is_dir() or entry.name.endswith(".toml"))
            ]
    except (OSError, ValueError):
        return path
    shared = os.path.commonprefix(names)  # noqa: RUF071 (by characters, as shells complete)
    return os.path.join(directory, shared) if len(shared) > len(start) else path


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError("it is not a regular file")


def _why(error: OSError | ValueError) -> str:
    said = error.strerror if isinstance(error, OSError) else str(error)
    return (said or str(error)).lower()
