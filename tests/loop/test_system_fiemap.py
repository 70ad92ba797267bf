from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fsconsole.model.command import Command
from fsconsole.system import block as system_block
from fsconsole.system.block import ExtentFlag, RawExtent, drop_caches, extents, syncfs
from fsconsole.system.run import RealExecutor
from tests.conftest import MakeLoopDevice, Mount

pytestmark = pytest.mark.root
MIB, BLOCK, UNIT = 2**20, 4096, 512
_ROW = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):", re.MULTILINE)
PATTERNS = {
    "one": [(0, 4 * MIB)],
    "holes": [(block * 2 * BLOCK, BLOCK) for block in range(700)],
    "empty": [],
}


@pytest.fixture(params=["ext2", "ext4", "xfs", "btrfs"])
def tree(request: pytest.FixtureRequest, loop_device: MakeLoopDevice, mounted: Mount) -> Path:
    """A filesystem with a file of one piece, one of 700 pieces, and an empty one, all on the device."""
    device = loop_device(320 * MIB)
    force = ["-f"] if request.param in {"xfs", "btrfs"} else ["-F"]
    argv = (f"mkfs.{request.param}", "-q", *force, device)
    assert RealExecutor().run(Command(argv)).exit_code == 0
    root = mounted(device)
    for name, pieces in PATTERNS.items():
        with (root / name).open("wb") as file:
            for offset, size in pieces:
                file.seek(offset)
                file.write(os.urandom(size))
    fd = os.open(root, os.O_RDONLY)
    syncfs(fd)
    os.close(fd)
    return root


def as_filefrag_says(path: Path) -> list[tuple[int, int, int]]:
    out = RealExecutor().run(Command(("filefrag", "-v", f"-b{UNIT}", str(path)))).out
    return [tuple(int(number) * UNIT for number in row) for row in _ROW.findall(out)]  # type: ignore[misc]


def read(path: Path) -> list[RawExtent]:
    fd = os.open(path, os.O_RDONLY)
    try:
        return list(extents(fd))
    finally:
        os.close(fd)


def test_extents_are_those_that_filefrag_lists(tree: Path) -> None:
    for name in PATTERNS:
        found = [(e.logical_bytes, e.physical_bytes, e.length_bytes) for e in read(tree / name)]
        assert found == as_filefrag_says(tree / name)
    assert len(read(tree / "holes")) >= 700
    assert read(tree / "empty") == []
    assert read(tree / "one")[-1].flags & ExtentFlag.LAST


def test_a_file_of_several_batches_is_walked_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(tree / "holes")
    monkeypatch.setattr(system_block, "_BATCH", 7)
    assert read(tree / "holes") == whole


def test_what_is_not_flushed_is_told_as_delayed(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    device = loop_device(64 * MIB)
    assert RealExecutor().run(Command(("mkfs.ext4", "-q", device))).exit_code == 0
    path = mounted(device) / "unflushed"
    path.write_bytes(bytes(MIB))
    (extent,) = read(path)
    assert extent.physical_bytes == 0
    assert extent.flags == ExtentFlag.LAST | ExtentFlag.UNKNOWN | ExtentFlag.DELALLOC


def test_caches_can_be_dropped() -> None:
    drop_caches()
