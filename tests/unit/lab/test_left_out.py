"""Where no virtual machine can be had, the lab's tests are left out, and that is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.source import CHECKOUT


@pytest.mark.parametrize("processes", [0, 2])
def test_without_qemu_the_lab_is_left_out_with_a_count(tmp_path: Path, processes: int) -> None:
    # Two processes are what the test command takes.
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path}/pytest",
        f"-n{processes}",
    ]
    done = subprocess.run(
        [*argv, "tests/lab"],
        check=False, capture_output=True, text=True, timeout=300, cwd=CHECKOUT, env={**os.environ, "PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"(\d+) tests on real arrays and disks did not run: (.+)", done.stdout)
    assert said, done.stdout
    assert f"{said[1]} skipped" in done.stdout
    assert "not root" in said[2] or "qemu-system-x86_64 is missing" in said[2]
