from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect.checks import CheckVerdict, non_contiguous_percent, verdict_of

DATA = Path(__file__).parents[2] / "data" / "checks"

RECORDED = [
    ("e2fsck-1.47.0-clean", "ext4", 0, CheckVerdict.CLEAN),
    ("e2fsck-1.47.0-repaired", "ext3", 1, CheckVerdict.REPAIRED),
    ("e2fsck-1.47.0-errors", "ext2", 4, CheckVerdict.ERRORS),
    ("e2fsck-1.47.0-mounted", "ext4", 8, CheckVerdict.FAILED),
    ("e2fsck-1.47.0-missing", "ext4", 8, CheckVerdict.FAILED),
    ("e2fsck-1.47.0-no-superblock", "ext4", 8, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-clean", "xfs", 0, CheckVerdict.CLEAN),
    ("xfs_repair-6.1.0-errors", "xfs", 1, CheckVerdict.ERRORS),
    ("xfs_repair-6.1.0-dirty-log", "xfs", 1, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-dirty-log-repair", "xfs", 2, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-mounted", "xfs", 1, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-missing", "xfs", 1, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-short", "xfs", 1, CheckVerdict.FAILED),
    ("xfs_repair-6.1.0-usage", "xfs", 1, CheckVerdict.FAILED),
    ("btrfs-6.2-clean", "btrfs", 0, CheckVerdict.CLEAN),
    ("btrfs-4.4-clean", "btrfs", 0, CheckVerdict.CLEAN),
    ("btrfs-6.2-one-bad-copy", "btrfs", 0, CheckVerdict.ERRORS),
    ("btrfs-6.2-unreadable", "btrfs", 1, CheckVerdict.ERRORS),
    ("btrfs-5.10-errors", "btrfs", 1, CheckVerdict.ERRORS),
    ("btrfs-6.2-mounted", "btrfs", 1, CheckVerdict.FAILED),
    ("btrfs-6.2-missing", "btrfs", 1, CheckVerdict.FAILED),
    ("btrfs-6.2-usage", "btrfs", 0, CheckVerdict.FAILED),
    ("fsck.f2fs-1.15-clean", "f2fs", 0, CheckVerdict.CLEAN),
    ("fsck.f2fs-1.15-errors", "f2fs", 1, CheckVerdict.ERRORS),
    ("fsck.f2fs-1.15-errors-255", "f2fs", 255, CheckVerdict.ERRORS),
    ("fsck.f2fs-1.15-no-superblock", "f2fs", 255, CheckVerdict.FAILED),
    ("fsck.f2fs-1.15-missing", "f2fs", 8, CheckVerdict.FAILED),
    ("fsck.jfs-1.1.15-clean", "jfs", 0, CheckVerdict.CLEAN),
    ("fsck.jfs-1.1.15-errors", "jfs", 4, CheckVerdict.ERRORS),
    ("fsck.jfs-1.1.15-repaired", "jfs", 0, CheckVerdict.REPAIRED),
    ("fsck.jfs-1.1.15-no-superblock", "jfs", 8, CheckVerdict.FAILED),
    ("fsck.jfs-1.1.15-missing", "jfs", 16, CheckVerdict.FAILED),
    ("reiserfsck-3.6.27-clean", "reiserfs", 0, CheckVerdict.CLEAN),
    ("reiserfsck-3.6.27-errors", "reiserfs", 4, CheckVerdict.ERRORS),
    ("reiserfsck-3.6.27-no-superblock", "reiserfs", 8, CheckVerdict.FAILED),
]


@pytest.mark.parametrize(
    ("name", "filesystem", "exit_code", "verdict"), RECORDED, ids=[r[0] for r in RECORDED]
)
def test_a_recorded_check_has_its_verdict(
    name: str, filesystem: str, exit_code: int, verdict: CheckVerdict
) -> None:
    assert verdict_of(filesystem, exit_code, (DATA / f"{name}.txt").read_text()) is verdict


def test_every_recording_is_used() -> None:
    assert {path.stem for path in DATA.iterdir()} == {name for name, *_ in RECORDED}


@pytest.mark.parametrize(
    ("exit_code", "verdict"),
    [
        (0, CheckVerdict.CLEAN),
        (1, CheckVerdict.REPAIRED),
        (2, CheckVerdict.REPAIRED),
        (3, CheckVerdict.REPAIRED),
        (4, CheckVerdict.ERRORS),
        (5, CheckVerdict.ERRORS),
        (12, CheckVerdict.ERRORS),
        (8, CheckVerdict.FAILED),
        (9, CheckVerdict.FAILED),
        (16, CheckVerdict.FAILED),
        (32, CheckVerdict.FAILED),
        (33, CheckVerdict.FAILED),
        (128, CheckVerdict.FAILED),
        (127, CheckVerdict.ERRORS),
    ],
)
@pytest.mark.parametrize("filesystem", ["ext2", "ext3", "ext4", "f2fs"])
def test_the_bits_of_fsck_are_read(filesystem: str, exit_code: int, verdict: CheckVerdict) -> None:
    assert verdict_of(filesystem, exit_code, "") is verdict


@given(st.sampled_from(["ext4", "xfs", "btrfs", "jfs"]), st.integers(-64, -1), st.text())
def test_a_check_that_a_signal_ended_says_nothing(filesystem: str, exit_code: int, output: str) -> None:
    assert verdict_of(filesystem, exit_code, output) is CheckVerdict.FAILED


@given(st.sampled_from(["ext4", "xfs", "btrfs", "jfs"]), st.integers(1, 255), st.text())
def test_no_exit_code_but_0_is_clean(filesystem: str, exit_code: int, output: str) -> None:
    assert verdict_of(filesystem, exit_code, output) is not CheckVerdict.CLEAN


@given(st.text())
def test_btrfs_is_clean_only_by_its_own_last_words(output: str) -> None:
    assert verdict_of("btrfs", 0, output) is CheckVerdict.FAILED


@pytest.mark.parametrize(
    ("line", "percent"),
    [
        ("a.img: 31/25584 files (0.0% non-contiguous), 12101/102400 blocks", 0.0),
        ("/dev/md0: 138/262144 files (97.1% non-contiguous), 1/2 blocks", 97.1),
        ("lost: 11/64 files (100% non-contiguous)", 100.0),
        ("no such line", None),
    ],
)
def test_e2fscks_share_of_fragmented_files_is_read(line: str, percent: float | None) -> None:
    assert non_contiguous_percent(f"Pass 5\n{line}\n") == percent
