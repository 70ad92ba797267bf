from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.system.block import extents, syncfs
from fsconsole.system.files import opened


def test_a_filesystem_is_synced_by_any_descriptor_on_it(tmp_path: Path) -> None:
    with opened(str(tmp_path)) as fd:
        syncfs(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        syncfs(10_000)


def test_a_file_without_extents_to_tell_is_an_error() -> None:
    with opened("/proc/self/status") as fd, pytest.raises(OSError, match=r"not supported|Inappropriate"):
        tuple(extents(fd))
