"""Plan files on disks, as the console opens and saves them: never over something that was not shown."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress

from fsconsole.errors import PlanMissing, PlanUnwritable

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


def save(path: str, text: str) -> str:
    """Write a plan file, whole or not at all, with the rights of what it replaces; return its digest.

    Raises PlanUnwritable.
    """
    try:
        place = os.path.realpath(path)
        mode, owner = _rights(place)
        descriptor, draft = tempfile.mkstemp(prefix=".plan-", dir=os.path.dirname(place))
        try:
            with open(descriptor, "wb") as file:
                file.write(text.encode())
                os.fchmod(file.fileno(), mode)
                os.fchown(file.fileno(), *owner)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, place)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
    except (OSError, ValueError) as error:
        raise PlanUnwritable(path, _why(error)) from error
    return digest_of_text(text)


def keep_for_run(text: str) -> str:
    """Return the path of a file of the operator's own that holds a plan until its run has read it.

    Raises PlanUnwritable.
    """
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    # Of another user (su, sudo -E) it is no place for a plan that root carries out.
    directory = place if place and _is_own(place) else tempfile.gettempdir()
    try:
        descriptor, path = tempfile.mkstemp(prefix="fsconsole-plan-", suffix=".toml", dir=directory)
        with open(descriptor, "wb") as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:
        raise PlanUnwritable(directory, _why(error)) from error
    return path


def _is_own(directory: str) -> bool:
    try:
        return os.stat(directory).st_uid == os.geteuid() and os.access(directory, os.W_OK)
    except OSError:
        return False


def forget(path: str) -> None:
    """Remove what keep_for_run made."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def completed(path: str) -> str:
    """Return a path with its last part completed as far as there is one way; the path itself where there is none."""
    directory, begun = os.path.split(path)
    try:
        with os.scandir(os.path.expanduser(directory) or ".") as entries:
            found = [entry for _, entry in zip(range(_CHOICES), entries, strict=False)]
    except (OSError, ValueError):
        return path
    names = [
        entry.name + "/" if entry.is_dir() else entry.name
        for entry in found
        if entry.name.startswith(begun) and (entry.is_dir() or entry.name.endswith(".toml"))
    ]
    shared = _shared([name for name in names if begun or not name.startswith(".")])
    return os.path.join(directory, shared) if len(shared) > len(begun) else path


def _shared(names: list[str]) -> str:
    """Return what all names begin with."""
    if not names:
        return ""
    least, most = min(names), max(names)
    alike = (place for place, pair in enumerate(zip(least, most, strict=False)) if pair[0] != pair[1])
    return least[: next(alike, min(len(least), len(most)))]


def _rights(path: str) -> tuple[int, tuple[int, int]]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask, (-1, -1)
    _require_regular(found.st_mode)
    return found.st_mode & 0o7777, (found.st_uid, found.st_gid)


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError("it is not a regular file")


def _why(error: OSError | ValueError) -> str:
    said = error.strerror if isinstance(error, OSError) else str(error)
    return (said or str(error)).lower()
