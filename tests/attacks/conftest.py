"""Devices to be wiped, and a victim beside them that must keep every byte."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, run
from tests.loop.conftest import bench, blank, device, other_boot, own_loop, own_scratch, scratch_folder
from tests.loop.gate_cases import unchanged

__all__ = ["bench", "blank", "device", "other_boot", "own_loop", "own_scratch", "scratch_folder"]


@pytest.fixture
def victim(loop_device: MakeLoopDevice) -> Iterator[str]:
    """A loop device with somebody's ext4; the test fails if a single byte of it is another one afterwards."""
    path = loop_device(64 * MIB)
    run("mkfs.ext4", "-q", "-L", "production", path)
    with open(path, "r+b") as file:
        file.seek(32 * MIB)
        file.write(os.urandom(MIB))
    with unchanged(path):
        yield path
