"""Test files with their asserts rewritten, before the processes of pytest-xdist begin: each would rewrite all of them by itself."""

from __future__ import annotations

import compileall
import os
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

_HERE = Path(__file__).parent


def rewrite_all(config: pytest.Config) -> None:
    """Bring what Python and pytest load of the tests up to date, by two processes."""
    files = sorted(_HERE.rglob("*.py"), key=lambda file: file.stat().st_size)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _rewrite(files[::2], config)
            code = 0
        finally:
            os._exit(code)
    _rewrite(files[1::2], config)
    assert os.waitpid(pid, 0)[1] == 0, "the other half of the tests could not be compiled"


def _rewrite(files: list[Path], config: pytest.Config) -> None:
    for file in files:
        if not (file.match("test_*.py") or file.name == "conftest.py"):
            compileall.compile_file(file, quiet=2)
            continue
        # As pytest's own import hook does it.
        pyc = rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)
        is_old = not pyc.exists() or pyc.stat().st_mtime < file.stat().st_mtime
        if is_old and rewrite.try_makedirs(pyc.parent):
            source_hash, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, pyc)
