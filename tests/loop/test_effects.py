"""Real runs whose variants are not what they say: told of, and put together where they come out equal."""

from __future__ import annotations

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.results.grid import build_grid
from fsconsole.text import MIB
from tests.loop.runs import carry_out

pytestmark = pytest.mark.root

PLAN = """
schema = 1
order = "as-listed"
equalise = "none"
[[variant]]
type = "ext4"
label = "plain"
[[variant]]
type = "ext4"
mkfs = "-O uninit_groups"
mount = "nobh"
label = "as in 2008"
as_printed = "-I 256 -O uninit_groups"
[[variant]]
type = "ext4"
mkfs = "-E lazy_itable_init=1"
label = "lazy"
[[variant]]
type = "ext4"
mount = "data=journal,dioread_nolock"
label = "journalled"
[[variant]]
type = "ext4"
mkfs = "-I 256"
label = "the default said"
[[variant]]
type = "ext3"
label = "ext3"
[[workload]]
kind = "create"
threads = 1
file_size = "64KiB"
[after]
check = false
delete = "none"
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """The grid of one run of all these variants."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    try:
        done, folder = carry_out(PLAN, made.device, tmp_path_factory.mktemp("effects"))
    finally:
        scratch.remove(made)
    assert done.returncode == 0, done.stderr
    return build_grid(read_state(folder))


def reasons(grid, kind: WarningKind) -> set[str]:
    return {warning.reason for warning in grid.warnings if warning.kind is kind}


def test_what_was_accepted_and_is_not_in_effect_is_told_with_what_is(grid):
    assert reasons(grid, WarningKind.NOT_IN_EFFECT) == {
        "-O uninit_bg is not in effect: mkfs made it without uninit_bg",
        "nobh is not in effect: the kernel says 'EXT4-fs: Ignoring removed nobh option'",
        "dioread_nolock is not in effect: the kernel mounted it without dioread_nolock",
    }


def test_variants_of_which_the_same_is_read_back_are_one_row_and_told_of(grid):
    assert reasons(grid, WarningKind.EQUAL) == {"'the default said' came out equal to 'plain'"}
    cells = {row.name: len(row.cells) for row in grid.rows}
    assert cells == {"plain": 2, "as in 2008": 1, "lazy": 1, "journalled": 1, "ext3": 1}


def test_a_driver_of_another_name_is_told(grid):
    assert reasons(grid, WarningKind.DRIVER) == {"ext3 uses the ext4 driver"}
