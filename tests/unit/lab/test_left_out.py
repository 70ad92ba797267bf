"""Where no guest can be had, the lab's tests are left out, and that is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.machine import why_no_machine
from tests.lab.soak import ENVIRONMENT
from tests.unit.house.source import CHECKOUT


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("-n0", "tests/lab"), marks=pytest.mark.soak),
        ("-n2", "tests/lab/inside/arrays", "tests/lab/inside/hotplug"),
    ],
)
def test_without_programs_the_lab_is_left_out_with_a_count(tmp_path: Path, words: tuple[str, ...]) -> None:
    # The test command takes several processes; a soak needs all of the programs.
    why = left_out(tmp_path, *words, environment={"PATH": str(tmp_path), ENVIRONMENT: "1"})
    assert "not root" in why or ("qemu-system-x86_64 is missing" in why and "unshare is missing" in why)


@pytest.mark.skipif(bool(why_no_machine()), reason="without any machine all are left out for one reason")
@pytest.mark.parametrize(
    ("folder", "kernel"), [("arrays", "uml"), pytest.param("newer", "newer-kernel", marks=pytest.mark.soak)]
)
def test_without_its_kernel_a_group_is_left_out_with_a_count(tmp_path: Path, folder: str, kernel: str) -> None:
    words = ("-n0", "-p", "tests.unit.lab.missing_kernels", f"tests/lab/inside/{folder}")
    assert f"no kernel in /nowhere/{kernel}" in left_out(tmp_path, *words, environment={ENVIRONMENT: "1"})


def left_out(tmp_path: Path, *words: str, environment: Mapping[str, str] | None = None) -> str:
    """Run tests of which none can run and return why, as it is said with their count."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/pytest"]
    done = subprocess.run(
        [*argv, *words],
        check=False, capture_output=True, text=True, timeout=300, cwd=CHECKOUT, env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"(\d+) tests on real arrays and disks did not run: (.+)", done.stdout)
    assert said, done.stdout
    assert f"{sum(int(count) for count, _ in said)} skipped" in done.stdout
    return "; ".join(why for _, why in said)
