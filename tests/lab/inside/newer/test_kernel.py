"""The newer kernel is what runs here, and what it no longer has is told before a run would meet it."""

from __future__ import annotations

import os
import subprocess

from fsconsole.preflight.machine import levels_here
from tests.lab.cache import NEWER_KERNEL, kernel_release
from tests.lab.guest import stop_arrays


def test_the_kernel_is_that_of_the_backports() -> None:
    assert os.uname().release == kernel_release(NEWER_KERNEL)


def test_linear_is_among_the_levels_that_are_told_where_the_kernel_makes_it() -> None:
    words = [
        "mdadm",
        "--create",
        "/dev/md9",
        "--run",
        "--level=linear",
        "--raid-devices=2",
        "/dev/vdb",
        "/dev/vdc",
    ]
    made = subprocess.run(words, check=False, capture_output=True)
    stop_arrays("/dev/vdb", "/dev/vdc")
    assert ("linear" in levels_here()) is (made.returncode == 0), made.stderr
    assert {"raid0", "raid1", "raid5", "raid6", "raid10"} <= set(levels_here())
