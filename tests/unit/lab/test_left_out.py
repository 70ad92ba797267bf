"""Where no virtual machine can be had, the lab's tests are left out, and that is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.machine import why_no_machine
from tests.unit.house.source import CHECKOUT


@pytest.mark.parametrize("processes", [0, 3])
def test_without_qemu_the_lab_is_left_out_with_a_count(tmp_path: Path, processes: int) -> None:
    # Three processes are what the test command takes.
    why = left_out(tmp_path, f"-n{processes}", "tests/lab", environment={"PATH": str(tmp_path)})
    assert "not root" in why or "qemu-system-x86_64 is missing" in why


@pytest.mark.skipif(bool(why_no_machine()), reason="without any machine all are left out for one reason")
def test_without_a_newer_kernel_its_tests_alone_are_left_out_with_a_count(tmp_path: Path) -> None:
    why = left_out(tmp_path, "-n0", "-p", "tests.unit.lab.no_newer_kernel", "tests/lab/inside/newer")
    assert "no kernel in /nowhere/newer-kernel" in why


def left_out(tmp_path: Path, *words: str, environment: Mapping[str, str] | None = None) -> str:
    """Run tests of which none can run and return why, as it is said with their count."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/pytest"]
    done = subprocess.run(
        [*argv, *words],
        check=False, capture_output=True, text=True, timeout=300, cwd=CHECKOUT, env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"(\d+) tests on real arrays and disks did not run: (.+)", done.stdout)
    assert said, done.stdout
    assert f"{said[1]} skipped" in done.stdout
    return said[2]
