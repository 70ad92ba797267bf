"""fsconsole readtest reads, and only reads: any device, in use or not, to its end and again."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from fsconsole.devices.ask import read_test
from fsconsole.devices.snapshot import find_device
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NotRoot
from fsconsole.system.block import open_exclusive
from fsconsole.text import MIB
from tests.conftest import run
from tests.loop.runs import fsconsole, succeed

pytestmark = pytest.mark.root


def test_a_line_tells_the_figure_and_the_read_ahead_in_force(loop_device):
    device = loop_device(64 * MIB)
    pathlib.Path(f"/sys/block/{os.path.basename(device)}/queue/read_ahead_kb").write_text("256")
    said = succeed("readtest", device, "--seconds", "0.2")
    assert said.startswith(f"{device}: ")
    assert " MB/s read through the page cache (" in said
    assert said.endswith("; read-ahead 256.0 KiB, scheduler none\n")


def test_a_small_device_is_read_again_from_its_beginning(loop_device):
    device = loop_device(3 * MIB + 512)
    found = json.loads(succeed("readtest", device, "--seconds", "0.3", "--json"))
    assert found["passes"] > 1
    assert found["read_bytes"] > 3 * MIB
    assert found["bytes_per_s"] == pytest.approx(found["read_bytes"] / found["elapsed_s"])
    assert 0.3 <= found["elapsed_s"] < 30


def test_each_pass_reads_the_device_and_not_the_cache(loop_device):
    device = loop_device(16 * MIB)
    before = sectors_read(device)
    result = read_test(find_device(device), 0.3)
    assert (sectors_read(device) - before) * 512 >= result.read_bytes


def sectors_read(device: str) -> int:
    """Return the third field of a block device's stat (Documentation/block/stat.rst)."""
    return int(pathlib.Path(f"/sys/block/{os.path.basename(device)}/stat").read_text().split()[2])


def test_a_device_in_use_is_read_and_left_as_it_is(loop_device, mounted):
    device = loop_device(32 * MIB)
    run("mkfs.ext4", "-q", device)
    point = mounted(device)
    (point / "kept").write_bytes(b"kept")
    succeed("readtest", device, "--seconds", "0.2")
    assert (point / "kept").read_bytes() == b"kept"
    other = loop_device(8 * MIB)
    held = open_exclusive(other)
    try:
        succeed("readtest", other, "--seconds", "0.2")
    finally:
        os.close(held)


def test_a_device_that_can_not_be_read_is_told_with_the_place(loop_device):
    device = loop_device(16 * MIB)
    backing_file = (
        pathlib.Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file").read_text().strip()
    )
    os.truncate(backing_file, 4 * MIB)
    done = fsconsole("readtest", device)
    assert done.returncode == ExitCode.DEVICE_UNREADABLE
    assert f"Reading {device} failed 4.0 MiB from its beginning: Input/output error." in done.stderr
    assert f"smartctl --all {device}" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("/dev/no-such-disk",), ExitCode.DEVICE_MISSING, "There is no /dev/no-such-disk."),
        (("/dev/null",), ExitCode.NOT_A_BLOCK_DEVICE, "/dev/null is a character device"),
        (("/tmp",), ExitCode.NOT_A_BLOCK_DEVICE, "a directory"),
        (("/dev/null", "--seconds", "0"), ExitCode.USAGE, "--seconds"),
        (("/dev/null", "--seconds", "nan"), ExitCode.USAGE, "--seconds"),
        ((), ExitCode.USAGE, ""),
    ],
)
def test_what_is_no_device_is_told_in_a_sentence(words, code, said):
    done = fsconsole("readtest", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_root_that_is_what_is_said(loop_device):
    found = find_device(loop_device(4 * MIB))
    child = os.fork()
    if child == 0:
        os.setresuid(65534, 65534, 65534)
        try:
            read_test(found, 0.1)
        except NotRoot:
            os._exit(30)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ExitCode.NOT_ROOT
