"""The fixtures for real devices: what they make is real, and they leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.root

SIZE_BYTES = 8 * 2**20
CHECKOUT = Path(__file__).parents[2]


def test_a_loop_device_has_the_size_asked_for(loop_device):
    device = loop_device(SIZE_BYTES)
    with open(device, "rb") as file:
        assert file.seek(0, os.SEEK_END) == SIZE_BYTES


def test_an_allocated_backing_file_has_its_blocks(loop_device, tmp_path):
    loop_device(SIZE_BYTES, allocate=True)
    (backing_file,) = tmp_path.glob("disk*")
    assert backing_file.stat().st_blocks * 512 >= SIZE_BYTES


def test_a_mounted_device_can_be_written_to(loop_device, mounted):
    device = loop_device(SIZE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    file = mounted(device) / "file"
    file.write_text("here")
    assert file.read_text() == "here"


def pytest_inside(tmp_path: Path, test_text: str) -> subprocess.CompletedProcess[str]:
    test_file = tmp_path / "test_inside.py"
    test_file.write_text(test_text)
    base = tmp_path / "base"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={tmp_path}", f"--basetemp={base}",
         "-c", os.devnull, "-o", "markers=root", "-p", "no:cacheprovider", str(test_file)],
        cwd=CHECKOUT, check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_a_session_that_leaves_a_loop_device_fails(tmp_path):
    inside = pytest_inside(
        tmp_path,
        "import subprocess\n"
        "def test_leaves(tmp_path):\n"
        "    file = tmp_path / 'left'\n"
        f"    file.write_bytes(bytes({SIZE_BYTES}))\n"
        "    subprocess.run(['losetup', '--find', str(file)], check=True)\n",
    )
    assert inside.returncode == 1, inside.stdout + inside.stderr
    assert "tests left loop devices: ['/dev/loop" in inside.stdout


def test_a_failed_test_leaves_no_mount_and_no_loop_device(tmp_path):
    inside = pytest_inside(
        tmp_path,
        "import subprocess\n"
        "def test_fails(loop_device, mounted):\n"
        f"    device = loop_device({SIZE_BYTES})\n"
        "    subprocess.run(['mkfs.ext4', '-q', device], check=True)\n"
        "    mounted(device)\n"
        "    assert False\n",
    )
    assert inside.returncode == 1
    assert "1 failed in" in inside.stdout, inside.stdout + inside.stderr
    assert "error" not in inside.stdout.rsplit("\n", 2)[-2]
