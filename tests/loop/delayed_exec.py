"""Delays the exec of a program by a fanotify permission event, as endpoint-security agents do."""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fsconsole.system.run import find_program

_CLASS_CONTENT, _CLOEXEC, _MARK_ADD = 0x4, 0x1, 0x1
_OPEN_EXEC_PERM = 0x40000
"""include/uapi/linux/fanotify.h"""
_ALLOW = 1
_EVENT = struct.Struct("=IBBHQii")
"""struct fanotify_event_metadata: length, version, reserved, length of this, mask, descriptor, pid."""
_EVENT_BYTES = 4096
_AT_FDCWD = -100
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fanotify_mark.argtypes = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p)


class Delay:
    """Keeps whoever executes a file waiting, from arrive() to let_go()."""

    def __init__(self, path: str) -> None:
        self._group = _libc.fanotify_init(_CLASS_CONTENT | _CLOEXEC, os.O_RDONLY)
        if self._group < 0 or _libc.fanotify_mark(self._group, _MARK_ADD, _OPEN_EXEC_PERM, _AT_FDCWD, path.encode()):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        self._waiting: list[int] = []

    def arrive(self, limit_s: float = 60.0) -> int:
        """Wait until somebody executes the file, and return the pid."""
        assert select.select([self._group], [], [], limit_s)[0], "nobody executes it"
        *_, descriptor, pid = _EVENT.unpack_from(os.read(self._group, _EVENT_BYTES))
        self._waiting.append(descriptor)
        return int(pid)

    def let_go(self) -> None:
        """Have the exec go on."""
        for descriptor in self._waiting:
            os.write(self._group, struct.pack("=iI", descriptor, _ALLOW))
            os.close(descriptor)
        self._waiting.clear()

    def close(self) -> None:
        """Delay nobody any more: the kernel allows whatever is still waiting."""
        os.close(self._group)
        for descriptor in self._waiting:
            with suppress(OSError):
                os.close(descriptor)


@contextmanager
def exec_held(tool: str, directory: Path, barrier: Path) -> Iterator[str]:
    """Hold each exec of a tool that is to wipe while a file is there; yields a PATH for whoever is to be held."""
    directory.mkdir()
    with exec_delayed(tool, directory) as (delay, path):
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                with suppress(AssertionError):
                    pid = delay.arrive(0.1)
                    while _is_traced(pid) and barrier.exists() and not over.wait(0.02):
                        pass
                    delay.let_go()

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield path
        finally:
            over.set()
            server.join()


def _is_traced(pid: int) -> bool:
    """Return whether an engine watches a process: it does not watch a tool that only says its version."""
    with suppress(FileNotFoundError):
        return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
    return False


@contextmanager
def exec_delayed(tool: str, directory: Path) -> Iterator[tuple[Delay, str]]:
    """Copy a tool into a directory, and delay the exec of the copy; yields the delay and a PATH that begins there."""
    copy = directory / tool
    shutil.copy(os.path.realpath(find_program(tool)), copy)
    delay = Delay(str(copy))
    try:
        yield delay, f"{directory}:{os.environ['PATH']}"
    finally:
        delay.close()
