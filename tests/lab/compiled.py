"""Byte code of what guests load, compiled here once for all boots: in a guest it would take as long again at each start."""

from __future__ import annotations

import fcntl
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.lab.cache import CACHE

LAYER = CACHE / "code"
"""A layer of the guests' roots: byte code as it would lie beside its source."""
_PACKAGES = ("fsconsole", "tests/lab", "tests/loop")


def compile_all(checkout: Path) -> None:
    """Bring the layer up to date with a checkout."""
    LAYER.mkdir(parents=True, exist_ok=True)
    with (CACHE / "code.lock").open("w") as lock:
        # Several guests are started at the same time, and all need the same.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for source in _sources(checkout):
            _compile(source, source.stat().st_mtime_ns)


def _sources(checkout: Path) -> Iterator[Path]:
    for package in _PACKAGES:
        yield from (checkout / package).rglob("*.py")


def _compile(source: Path, changed_ns: int) -> None:
    # Not where this process may keep its own (PYTHONPYCACHEPREFIX): a guest looks beside the source.
    beside = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    target = LAYER / str(beside).lstrip("/")
    if target.exists() and target.stat().st_mtime_ns == changed_ns:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    py_compile.compile(str(source), str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    os.utime(target, ns=(changed_ns, changed_ns))
