"""Extent lists in inodes or in blocks of their own, from recorded output of debugfs 1.47.0 and xfs_db 6.1.0."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.runs import ExtentsUnreadable
from fsconsole.inspect.extent_lists import DEBUGFS, XFS_DB, debugger_call, share_in_blocks

EX = """debugfs: ex -n <12>
Level Entries       Logical      Physical Length Flags
debugfs: ex -n <13>
Level Entries       Logical      Physical Length Flags
debugfs: ex -n <99>
debugfs: ex -n <14>
Level Entries       Logical      Physical Length Flags
 0/ 1   1/  4     0 -   671  8451            672
 0/ 1   2/  4   672 -  1343  8452            672
 0/ 1   3/  4  1344 -  2015  8453            672
 0/ 1   4/  4  2016 -  2395  8454            380
"""
"""A file of one extent, an empty one, one that is not there, and one of 300 pieces."""
FIELDS = """core.format = 2 (extents)
core.nextents = 1
core.format = 2 (extents)
core.nextents = 0
core.format = 3 (btree)
core.nextents = 590
bad inode number 999999999
core.format = 1 (local)
core.nextents = 0
"""


def test_the_share_counts_the_files_that_were_told_of() -> None:
    assert share_in_blocks(DEBUGFS, "/dev/x", EX) == pytest.approx(100 / 3)
    assert share_in_blocks(XFS_DB, "/dev/x", FIELDS) == pytest.approx(100 / 4)


@pytest.mark.parametrize("program", [DEBUGFS, XFS_DB])
def test_nothing_told_is_an_error_that_names_device_and_program(program: str) -> None:
    for said in ("", "debugfs: ex -n <12>\n", "bad inode number 999999999\nno current type\n"):
        with pytest.raises(ExtentsUnreadable, match=f"/dev/x can't be counted: {program} told nothing"):
            share_in_blocks(program, "/dev/x", said)


@given(st.sampled_from([DEBUGFS, XFS_DB]), st.text())
def test_any_output_gives_a_share_or_that_error(program: str, said: str) -> None:
    with suppress(ExtentsUnreadable):
        assert 0 <= share_in_blocks(program, "/dev/x", said) <= 100


def test_the_calls_only_read_and_name_every_inode() -> None:
    assert debugger_call(DEBUGFS, "/dev/x", (12, 14)) == (("debugfs", "-f", "-", "/dev/x"), b"ex -n <12>\nex -n <14>\n")
    argv, stdin = debugger_call(XFS_DB, "/dev/x", (131, 133))
    assert argv[:3] == ("xfs_db", "-r", "-c")
    assert argv[-1] == "/dev/x"
    assert [word for word in argv if word.startswith("inode")] == ["inode 131", "inode 133"]
    assert stdin == b""


def test_the_catalog_names_only_programs_that_are_understood() -> None:
    named = {filesystem.extent_lists for filesystem in load_catalog().filesystems}
    assert named == {"", DEBUGFS, XFS_DB}
