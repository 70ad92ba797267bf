from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.inspect.features import first_complaint

DATA = Path(__file__).parents[2] / "data" / "checks"


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        ("e2fsck-1.47.0-repaired", "Entry 'f3' in /d (12) has deleted/unused inode 15.  Clear? yes"),
        ("e2fsck-1.47.0-missing", "e2fsck: No such file or directory while trying to open /nope"),
        ("e2fsck-1.47.0-no-superblock", "e2fsck: Superblock invalid, trying backup blocks..."),
        ("xfs_repair-6.1.0-errors", "sb_fdblocks 5, counted 65504"),
        ("xfs_repair-6.1.0-missing", "/nope: No such file or directory"),
        ("btrfs-5.10-errors", "ref mismatch on [13631488 4096] extent item 1, found 0"),
        (
            "btrfs-6.2-one-bad-copy",
            "checksum verify failed on 30621696 wanted 0x7e086a42 found 0x3cd10748",
        ),
        ("fsck.f2fs-1.15-missing", "Error: Failed to get the device stat!"),
        ("fsck.jfs-1.1.15-errors", "Errors detected in the Primary File/Directory Allocation Table."),
        ("fsck.jfs-1.1.15-missing", "Error: Cannot open device /nonexist"),
        ("reiserfsck-3.6.27-no-superblock", "Failed to open the device 'z': Unknown code er3k 127"),
    ],
)
def test_the_first_line_that_is_no_routine_is_the_complaint(recorded: str, complaint: str) -> None:
    assert first_complaint((DATA / f"{recorded}.txt").read_text()) == complaint


@pytest.mark.parametrize("recorded", ["e2fsck-1.47.0-clean", "xfs_repair-6.1.0-clean", "btrfs-6.2-clean"])
def test_a_check_that_found_nothing_complains_of_nothing(recorded: str) -> None:
    assert first_complaint((DATA / f"{recorded}.txt").read_text()) == ""


def test_a_line_that_never_ends_is_cut() -> None:
    assert len(first_complaint("x" * 5000)) == 200
