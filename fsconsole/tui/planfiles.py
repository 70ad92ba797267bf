"""Plan files on disks, as the console opens and saves them, never over something that was not shown; and its draft."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice

from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import DraftUnkept, PlanChanged, PlanMissing, PlanUnwritable
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.plan.draft import Draft, plan_to_toml
from fsconsole.plan.read import parse_plan
from fsconsole.system.files import new_file
from fsconsole.text import error_reason

_LAST_PLACE = "/tmp"  # noqa: S108 (it is everybody's, and sticky)
_MOST_CONSOLES = 9
"""Consoles of one operator that keep a draft each."""
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
        raise PlanMissing(path, error_reason(error).lower()) from error


def digest_of_text(text: str) -> str:
    """Return the digest of the file that holds this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def save(path: str, text: str, expected: str) -> str:
    """Write a plan file, whole or not at all, with the rights of what it replaces; return its digest.

    expected is the digest of what is there and may be replaced, empty for nothing: looked at again when the new file
    is ready to take its place. Raises PlanChanged where something else is there, PlanUnwritable, PlanMissing.
    """

    def require_unchanged() -> None:
        if expected and digest_of(path) != expected:
            raise PlanChanged(path)

    try:
        if not expected and os.path.exists(path):
            _require_regular(os.stat(path).st_mode)
        with new_file(path, overwrite=bool(expected), mode=0o666, before_placing=require_unchanged) as file:
            with suppress(FileNotFoundError):
                replaced = os.stat(path)
                os.fchown(file.fileno(), replaced.st_uid, replaced.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(replaced.st_mode))
            file.write(text.encode())
    except FileExistsError as error:
        raise PlanChanged(path) from error
    except (OSError, ValueError) as error:
        raise PlanUnwritable(path, error_reason(error).lower()) from error
    return digest_of_text(text)


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
        raise PlanUnwritable(directory, error_reason(error).lower()) from error
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


KEPT = "The changed plan isn't saved as a file, but kept: the next `fsconsole` shows it again on its Plan screen (2)."


class KeptDraft(Wire, frozen=True):
    """A draft between two consoles."""

    plan: str
    """Text of the whole plan, with what is unticked."""
    off_checklists: tuple[int, ...]
    off_variants: tuple[int, ...]
    saved: str
    """Text of the plan as it was opened or saved last."""
    path: str
    """The file that it was opened from or saved in; empty for none."""
    digest: str
    """Of that file then."""
    runs_dir: str = ""
    """The folder of runs of the console that kept it."""
    kept_ns: int = 0

    def drafts(self) -> tuple[Draft, Draft]:
        """Return the draft, and the plan that it began with. Raises as parse_plan."""
        plan, saved = (parse_plan(text, self.path, needs_rows=False) for text in (self.plan, self.saved))
        return Draft(plan, frozenset(self.off_checklists), frozenset(self.off_variants)), Draft(saved)


def kept_draft(draft: Draft, saved: Draft, digest: str, runs_dir: str = "") -> KeptDraft:
    """Return what is kept of a draft, and of the plan that it began with."""
    # A table of arrays without a level can't be read back, and makes nothing.
    whole = replace(draft.plan, arrays=tuple(axis for axis in draft.plan.arrays if axis.levels))
    off = tuple(sorted(draft.off_checklists)), tuple(sorted(draft.off_variants))
    text, began = (plan.source or plan_to_toml(plan) for plan in (whole, saved.plan))
    return KeptDraft(text, *off, began, draft.plan.path, digest, runs_dir, time.time_ns())


def state_folder() -> str:
    """Return the folder of the operator's own state (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is to be ignored, by the specification.
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "fsconsole")


class DraftStore:
    """Keeps the draft of one console over its end, however it ends; other consoles keep theirs beside it."""

    def __init__(self, runs_dir: str = "") -> None:
        """Take the folder of runs, which tells whose draft it is where consoles have several."""
        self._runs_dir = runs_dir
        self.unkept = ""
        """Why a changed draft would be lost with this console, and what to do; empty where it is kept."""
        self._path = ""
        """File of this console's draft; empty until it is claimed."""
        self._lock = -1
        self._stored: tuple[Draft, Draft] | None = None
        """What was kept last."""

    def claim(self) -> KeptDraft | None:
        """Take over the draft of a console that has ended; None where there is none. Raises DraftUnkept."""
        with self._complaining():
            folder = state_folder()
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if not _is_safe(folder):
                raise ValueError("others may write to it, or it belongs to another user")
            paths = [os.path.join(folder, f"draft-{number}.json") for number in range(1, _MOST_CONSOLES + 1)]
            for path in sorted(paths, key=lambda path: not os.path.lexists(path)):
                if self._locked(path):
                    return self._read()
            raise ValueError(f"{_MOST_CONSOLES} consoles keep drafts there")

    def keep(self, draft: Draft, saved: Draft, digest: str) -> None:
        """Keep a draft that is not as it was saved, on the disk when this returns; one that is needs no keeping."""
        if self._stored is not None and self._stored[0] is draft and self._stored[1] is saved:
            return
        try:
            if not self._path:
                self.claim()
            with self._complaining():
                if draft.plan_file == saved.plan_file:
                    _forget(self._path)
                else:
                    self._write(encode(kept_draft(draft, saved, digest, self._runs_dir)))
            self._stored, self.unkept = (draft, saved), ""
        except DraftUnkept as error:
            self.unkept = f"{error} {error.hint}"

    def _write(self, text: str) -> None:
        with new_file(self._path, overwrite=True, mode=0o600) as file:
            file.write(text.encode("ascii"))

    def release(self) -> None:
        """Leave the draft to the next console."""
        self._stored = None
        if self._lock >= 0:
            os.close(self._lock)
        self._path, self._lock = "", -1

    def _locked(self, path: str) -> bool:
        # Closed when the console ends, so the kernel gives up the lock of one that was killed.
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._path, self._lock = path, lock
        return True

    def _read(self) -> KeptDraft | None:
        try:
            with open(self._path, encoding="ascii") as file:
                kept = decode(KeptDraft, file.read())
            kept.drafts()
        except FileNotFoundError:
            return None
        except (Mismatch, UnicodeDecodeError, FsconsoleError) as error:
            # Set aside, for the operator to look at: the next draft takes its place.
            aside = f"{self._path}.unreadable"
            os.replace(self._path, aside)
            raise ValueError(f"the one there can't be read and is {aside} now ({error})") from error
        return kept

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise DraftUnkept(state_folder(), error_reason(error).lower()) from error


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
