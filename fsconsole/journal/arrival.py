"""Order in which runs arrived that were made on this machine: a number in each run's folder.

Neither the name nor the clock of a run tells which one is the latest: an imported run brings both along, and a clock can be
set back. The number is given under a lock when the folder appears. It is kept in the folder, so that no index can be lost or
overwritten; with it are the run's name and this machine, so that a copy under another name, or from elsewhere, has none.
"""

from __future__ import annotations

import fcntl
import hmac
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.seal import machine_key, seal_of
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.system.files import opened, read_text_or

COUNTER_PATH = "/var/lib/fsconsole/arrivals"
"""The last number, of all directories of runs. Where it is lost, or not root's to write, the highest in the directory counts."""
_COUNTER_BYTES = 20
_MOST = 2**53
"""Higher numbers are nobody's: no run could follow."""
_MARK_BYTES = 4096
"""More than the longest mark."""


class Mark(Wire, frozen=True):
    """Content of the file: which run arrived when, and where."""

    number: int
    run: str
    machine: str
    """Digest of /etc/machine-id, which every reader can compute (man 5 machine-id asks for a digest)."""
    seal: str
    """By the key of this machine, for root; empty where that could not be read."""


def arrival_numbers(folders: Iterable[RunFolder]) -> Mapping[str, int]:
    """Return the numbers of runs by their folders' paths: above 0 for one that was made here, 0 for any other."""
    key, machine = machine_key(make=False), _machine()
    return {folder.path: _number(folder, key, machine) for folder in folders}


def _number(folder: RunFolder, key: bytes, machine: str) -> int:
    if folder.is_imported:
        return 0
    try:
        with opened(folder.arrived, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            owner, text = os.fstat(fd).st_uid, os.pread(fd, _MARK_BYTES, 0)
        mark, directory_owner = decode(Mark, text), os.stat(os.path.dirname(folder.path)).st_uid
    except (OSError, Mismatch):
        return 0
    if (mark.run, mark.machine) != (folder.name, machine) or not 0 < mark.number < _MOST:
        return 0
    if owner == 0:
        # Only root can read the key; for other readers the machine must do.
        is_here = not key or hmac.compare_digest(mark.seal.encode(), _seal(key, mark).encode())
    else:
        is_here = owner == directory_owner
    return mark.number if is_here else 0


@contextmanager
def arriving(runs_dir: str) -> Iterator[int]:
    """Give the number of the run that is made in a with block; others wait until it ends. Raises OSError."""
    with ExitStack() as stack:
        try:
            fd = stack.enter_context(opened(COUNTER_PATH, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        except OSError:
            fd = stack.enter_context(opened(runs_dir, os.O_RDONLY | os.O_DIRECTORY))
        fcntl.flock(fd, fcntl.LOCK_EX)
        with os.scandir(runs_dir) as entries:
            folders = [RunFolder(os.path.join(os.path.abspath(runs_dir), entry.name)) for entry in entries]
        number = max(_counted(fd), *arrival_numbers(folders).values(), 0) + 1
        with suppress(OSError):
            # A directory, or a full disk: then the folders alone tell.
            os.pwrite(fd, str(number).zfill(_COUNTER_BYTES).encode(), 0)
            os.fsync(fd)
        yield number


def _counted(fd: int) -> int:
    try:
        number = int(os.pread(fd, _COUNTER_BYTES, 0))
    except (OSError, ValueError):
        return 0
    return number if 0 < number < _MOST - 1 else 0


def leave_mark(folder: RunFolder, run: str, number: int) -> None:
    """Write the mark of a run into its folder, which may still have another name. Raises OSError."""
    mark = Mark(number, run, _machine(), "")
    key = machine_key(make=False)
    text = encode(Mark(number, run, mark.machine, _seal(key, mark)))
    with opened(folder.arrived, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as fd:
        # The readers' group may read it, whatever the umask.
        os.fchmod(fd, 0o640)
        os.write(fd, text.encode("ascii"))
        os.fsync(fd)


def _seal(key: bytes, mark: Mark) -> str:
    return seal_of(key, "arrival", f"{mark.number}\n{mark.run}\n{mark.machine}")


def _machine() -> str:
    return hmac.new(read_text_or("/etc/machine-id", "").encode(), b"fsconsole run", "sha256").hexdigest()
