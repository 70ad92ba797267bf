"""What disturbs a figure is named in whole runs on real filesystems, and nothing is named where nothing disturbs."""

from __future__ import annotations

import re

import pytest

from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.results.grid import Grid, build_grid
from fsconsole.text import MIB
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import carry_out

PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [
    { type = "ext4", label = "plain" },
    { type = "ext4", label = "without barriers", mount = "nobarrier" },
    { type = "ext4", label = "later", mkfs = "-O ^has_journal -E lazy_itable_init=1" },
    { type = "btrfs", label = "squeezed", mount = "compress=zstd" },
    { type = "btrfs", label = "btrfs" },
]
workload = [
    { name = "zeros", kind = "create", threads = 1, file_size = "1MiB", data = 0.5 },
    { name = "noise", kind = "create", threads = 1, file_size = "1MiB" },
]
after = { check = false, delete = "none" }
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    directory = tmp_path_factory.mktemp("warnings")
    with scratch_device(directory, 128 * MIB) as device:
        done, folder = carry_out(PLAN, device, directory)
    assert done.returncode == 0, done.stderr
    return build_grid(read_state(folder))


def told(grid: Grid, kind: WarningKind) -> dict[str, tuple[int, ...]]:
    return {warning.reason: warning.cells for warning in grid.warnings if warning.kind is kind}


def test_zeros_on_a_filesystem_that_compresses_are_told_and_random_data_or_one_that_does_not_is_not(grid):
    reason = "'zeros' writes 50 % zeros, and compress=zstd:3 compresses them"
    assert told(grid, WarningKind.COMPRESSIBLE) == {reason: (3,)}


def test_a_row_without_barriers_or_journal_beside_others_that_have_them_is_told(grid):
    assert told(grid, WarningKind.UNSAFE_SIDE) == {
        "'without barriers' runs without barriers, other rows with them": (1,),
        "'later' runs without a journal, other rows with it": (2,),
    }


def test_a_load_waits_until_the_kernel_has_written_the_inode_tables_that_mkfs_left_to_it(grid):
    waits = told(grid, WarningKind.LAZY_INIT)
    assert set(waits.values()) == {(2,)}
    pattern = r"mkfs left inode tables to ext4lazyinit: the load waited \d+\.\d s for it"
    assert all(re.fullmatch(pattern, reason) for reason in waits)


def test_a_loop_device_is_no_fresh_flash_and_has_no_link(grid):
    assert not told(grid, WarningKind.FRESH_FLASH) | told(grid, WarningKind.FASTER_THAN_LINK)
