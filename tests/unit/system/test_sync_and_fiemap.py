from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.system.block import extents, syncfs


def test_a_filesystem_is_synced_by_any_descriptor_on_it(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        syncfs(fd)
    finally:
        os.close(fd)


def test_a_closed_descriptor_is_an_error_with_its_number() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        syncfs(10_000)


def test_a_file_without_extents_to_tell_is_an_error() -> None:
    fd = os.open("/proc/self/status", os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"not supported|Inappropriate"):
            tuple(extents(fd))
    finally:
        os.close(fd)
