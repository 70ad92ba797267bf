"""A cage for commands that are given hostile files: they run in this process, and what they must never do is caught.

Python tells an audit hook of each file that it opens, each program that it starts (docs.python.org/3/library/audit_events.html).
What SQLite opens itself is not told: the places around the files are looked at afterwards.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from fsconsole.cli.main import main
from fsconsole.errors import ExitCode

HANGS_AFTER_S = 30
"""No command on a small file takes so long, on however busy a machine."""
_PROGRAMS = frozenset({
    "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty", "pty.spawn",
    "fcntl.ioctl", "socket.bind", "os.kill", "os.chroot", "os.mount",
})  # fmt: skip
_CHANGES = frozenset({
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate",
    "os.setxattr", "os.removexattr", "os.utime", "shutil.rmtree", "shutil.move", "sqlite3.connect", "socket.connect",
})  # fmt: skip
_OF_LINKS = frozenset({"os.remove", "os.rename", "os.rmdir", "os.symlink"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TOLD = re.compile(r"(?:[^\n]*\n)*fsconsole: [^\n]+\nhint: [^\n]+\n")
_QUESTIONS = frozenset({0x4C05, 0x1268, 0x80081272, 0x5413, 0x5401, 0x80087601})
"""LOOP_GET_STATUS64, BLKSSZGET, BLKGETSIZE64, TIOCGWINSZ, TCGETS, FS_IOC_GETVERSION."""
_SILENT = frozenset({ExitCode.OK, ExitCode.CELLS_FAILED, ExitCode.STOPPED})


class Escaped(BaseException):
    """What was in the cage did something that it must not; no handler of errors may take it for an error."""


@dataclass(slots=True)
class _Cage:
    inside: str = ""
    """The directory in which all may be changed; empty while nothing is caged."""
    harmless: frozenset[str] = field(default_factory=frozenset)
    """Files elsewhere that may be written to: locks that hold nothing."""
    is_hooked: bool = False


_CAGE = _Cage()


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def caged(inside: Path, *harmless: str) -> Iterator[None]:
    """Let nothing be executed meanwhile, nor anything be changed outside of a directory. Raises Escaped."""
    if not _CAGE.is_hooked:
        sys.addaudithook(_watch)
        _CAGE.is_hooked = True
    former = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS_AFTER_S)
    # A signal ends no open() of SQLite's that waits for the other end of a pipe: then this process ends, with a trace.
    faulthandler.dump_traceback_later(2 * HANGS_AFTER_S, exit=True, file=sys.__stderr__)
    _CAGE.inside, _CAGE.harmless = str(inside), frozenset(harmless)
    try:
        yield
    finally:
        _CAGE.inside = ""
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, former)


def say(*words: str) -> Said:
    """Carry out a command of fsconsole in this process, as its own main function does."""
    out, err = io.StringIO(), io.StringIO()
    argv = sys.argv
    sys.argv = ["fsconsole", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main()
    finally:
        sys.argv = argv
    return Said(code, out.getvalue(), err.getvalue())


def assert_harmless(said: Said, words: tuple[str, ...]) -> None:
    """Prove that a command ended well, or with a sentence and a hint, and printed nothing that a terminal acts upon."""
    acting = acting_in(said.out + said.err)
    assert acting == [], (words, acting)
    assert "Traceback" not in said.out + said.err, words
    if said.code not in _SILENT:
        assert _TOLD.fullmatch(said.err), (words, said)


def acting_in(text: str) -> list[str]:
    """Return the characters that a terminal may act upon; to Python a wide blank is as unprintable as an escape."""
    return sorted({c for c in text if not (c.isprintable() or c == "\n" or unicodedata.category(c) == "Zs")})


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _CAGE.inside:
        return
    if event in _PROGRAMS and not _only_asks(event, arguments):
        _escape(event, arguments)
    if event == "open" and not _is_opened_well(arguments):
        _escape(event, arguments)
    # A link that is removed or renamed is followed by nobody.
    if event in _CHANGES and not _is_inside(arguments[event == "socket.connect"], is_followed=event not in _OF_LINKS):
        _escape(event, arguments)


def _only_asks(event: str, arguments: tuple[object, ...]) -> bool:
    """Return whether a device is asked what it is, or a program for its version, by which its options are known."""
    if event == "fcntl.ioctl":
        return arguments[1] in _QUESTIONS
    words = arguments[1] if event == "subprocess.Popen" else ()
    return (
        isinstance(words, list) and words[1:] == ["-V"] and str(arguments[0]).startswith(("/usr/", "/sbin/", "/bin/"))
    )


def _escape(event: str, arguments: tuple[object, ...]) -> None:
    _CAGE.inside = ""
    raise Escaped(f"{event}{arguments!r}")


def _is_opened_well(arguments: tuple[object, ...]) -> bool:
    path, mode, flags = arguments
    writes = isinstance(flags, int) and bool(flags & _WRITING)
    if isinstance(mode, str) and not set(mode) & set("wax+"):
        writes = False
    return not writes or _is_inside(path)


def _is_inside(place: object, *, is_followed: bool = True) -> bool:
    """Return whether a path lies in the cage; one that is relative belongs to a directory that was opened before."""
    if isinstance(place, bytes):
        place = os.fsdecode(place)
    if not isinstance(place, str):
        return isinstance(place, int)
    path = place.removeprefix("file:").partition("?")[0]
    if path in (":memory:", "/dev/null") or path in _CAGE.harmless or not path.startswith("/"):
        return True
    if "__pycache__" in path or (sys.pycache_prefix and path.startswith(sys.pycache_prefix)):
        return True
    lies_inside = os.path.realpath(os.path.dirname(path)).startswith(_CAGE.inside)
    return lies_inside and not (is_followed and _leads_out(path))


def _leads_out(path: str) -> bool:
    return os.path.islink(path) and not os.path.realpath(path).startswith(_CAGE.inside)


def _hangs(_number: int, frame: FrameType | None) -> None:
    _CAGE.inside = ""
    where = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    raise Escaped(f"did not end within {HANGS_AFTER_S} s{where}")
