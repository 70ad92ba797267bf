"""What tests start over and over, held in memory: each cold mount in a test drops the page cache of the whole machine.

Without it nearly every program that a test starts is read from the disk again. A filesystem under test has nothing of
it: its device is as cold as before.
"""

from __future__ import annotations

import compileall
import ctypes
import mmap
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import fsconsole
from fsconsole.catalog.loader import load_catalog

_MAP_LOCKED = 0x2000
"""include/uapi/asm-generic/mman.h: what is mapped so is left in memory by drop_caches, and by whatever reclaims it."""
_LEFT_OUT = {"test", "idlelib", "tkinter", "lib2to3", "turtledemo", "ensurepip", "site-packages"}
_PACKAGES = ("msgspec", "rich", "textual")
_PROGRAMS = (
    "sh", "unshare", "bwrap", "mount", "umount", "sync", "losetup", "blkid", "blkdiscard", "wipefs", "rm", "cp", "cat",
    "setpriv", "xfs_io", "fio", "dd", "tmux",
)  # fmt: skip


def hold() -> int:
    """Hold it until this process ends; return how many bytes, which are none without the right to (CAP_IPC_LOCK)."""
    compileall.compile_dir(Path(fsconsole.__file__).parent, quiet=2)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    held_bytes = 0
    for path in {path.resolve() for path in (*_of_python(), *_of_programs())}:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            place = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED | _MAP_LOCKED, file.fileno(), 0)
        if place != ctypes.c_void_p(-1).value:
            held_bytes += size
    return held_bytes


def _of_python() -> Iterator[Path]:
    """Yield what Python loads of itself, of fsconsole, and of the packages that it needs."""
    library = Path(sysconfig.get_path("stdlib"))
    packages = Path(sysconfig.get_path("purelib"))
    for folder in (library, Path(fsconsole.__file__).parent, *(packages / name for name in _PACKAGES)):
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            yield from (
                Path(place, name) for name in names if name.endswith((f"{sys.implementation.cache_tag}.pyc", ".so"))
            )


def _of_programs() -> Iterator[Path]:
    """Yield the programs of most runs, this Python among them, and their libraries."""
    names = {*_PROGRAMS, *(tool for filesystem in load_catalog().filesystems for tool in filesystem.tools)}
    programs = [path for name in names if (path := shutil.which(name))]
    yield from map(Path, {sys.executable, *programs})
    # Not everywhere (musl has another).
    if ldd := shutil.which("ldd"):
        said = subprocess.run([ldd, sys.executable, *programs], check=False, capture_output=True, text=True).stdout
        yield from map(Path, set(re.findall(r"(?m)^\t(?:.* => )?(/\S+) \(", said)))
