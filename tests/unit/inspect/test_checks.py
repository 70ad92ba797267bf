"""Verdicts and first complaints of checks, and kernel log lines."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect import checks
from fsconsole.inspect.features import first_complaint

DATA = Path(__file__).parents[2] / "data" / "checks"

RECORDED = {
    "e2fsck-1.47.0-clean": ("ext4", 0, checks.CheckVerdict.CLEAN),
    "e2fsck-1.47.0-repaired": ("ext3", 1, checks.CheckVerdict.REPAIRED),
    "e2fsck-1.47.0-errors": ("ext2", 4, checks.CheckVerdict.ERRORS),
    "e2fsck-1.47.0-mounted": ("ext4", 8, checks.CheckVerdict.FAILED),
    "e2fsck-1.47.0-missing": ("ext4", 8, checks.CheckVerdict.FAILED),
    "e2fsck-1.47.0-no-superblock": ("ext4", 8, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-clean": ("xfs", 0, checks.CheckVerdict.CLEAN),
    "xfs_repair-6.1.0-errors": ("xfs", 1, checks.CheckVerdict.ERRORS),
    "xfs_repair-6.1.0-dirty-log": ("xfs", 1, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-dirty-log-repair": ("xfs", 2, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-mounted": ("xfs", 1, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-missing": ("xfs", 1, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-short": ("xfs", 1, checks.CheckVerdict.FAILED),
    "xfs_repair-6.1.0-usage": ("xfs", 1, checks.CheckVerdict.FAILED),
    "btrfs-6.2-clean": ("btrfs", 0, checks.CheckVerdict.CLEAN),
    "btrfs-4.4-clean": ("btrfs", 0, checks.CheckVerdict.CLEAN),
    "btrfs-6.2-one-bad-copy": ("btrfs", 0, checks.CheckVerdict.ERRORS),
    "btrfs-6.2-unreadable": ("btrfs", 1, checks.CheckVerdict.ERRORS),
    "btrfs-5.10-errors": ("btrfs", 1, checks.CheckVerdict.ERRORS),
    "btrfs-6.2-mounted": ("btrfs", 1, checks.CheckVerdict.FAILED),
    "btrfs-6.2-missing": ("btrfs", 1, checks.CheckVerdict.FAILED),
    "btrfs-6.2-usage": ("btrfs", 0, checks.CheckVerdict.FAILED),
    "fsck.f2fs-1.15-clean": ("f2fs", 0, checks.CheckVerdict.CLEAN),
    "fsck.f2fs-1.15-errors": ("f2fs", 1, checks.CheckVerdict.ERRORS),
    "fsck.f2fs-1.15-errors-255": ("f2fs", 255, checks.CheckVerdict.ERRORS),
    "fsck.f2fs-1.15-no-superblock": ("f2fs", 255, checks.CheckVerdict.FAILED),
    "fsck.f2fs-1.15-missing": ("f2fs", 8, checks.CheckVerdict.FAILED),
    "fsck.jfs-1.1.15-clean": ("jfs", 0, checks.CheckVerdict.CLEAN),
    "fsck.jfs-1.1.15-errors": ("jfs", 4, checks.CheckVerdict.ERRORS),
    "fsck.jfs-1.1.15-repaired": ("jfs", 0, checks.CheckVerdict.REPAIRED),
    "fsck.jfs-1.1.15-no-superblock": ("jfs", 8, checks.CheckVerdict.FAILED),
    "fsck.jfs-1.1.15-missing": ("jfs", 16, checks.CheckVerdict.FAILED),
    "reiserfsck-3.6.27-clean": ("reiserfs", 0, checks.CheckVerdict.CLEAN),
    "reiserfsck-3.6.27-errors": ("reiserfs", 4, checks.CheckVerdict.ERRORS),
    "reiserfsck-3.6.27-no-superblock": ("reiserfs", 8, checks.CheckVerdict.FAILED),
}


def test_every_recorded_check_has_its_verdict() -> None:
    assert {path.stem for path in DATA.iterdir()} == RECORDED.keys()
    found = {
        name: (filesystem, code, checks.verdict_of(filesystem, code, recorded(name)))
        for name, (filesystem, code, _) in RECORDED.items()
    }
    assert found == RECORDED


def recorded(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


BITS = {
    checks.CheckVerdict.CLEAN: (0,),
    checks.CheckVerdict.REPAIRED: (1, 2, 3),
    checks.CheckVerdict.ERRORS: (4, 5, 12, 127),
    checks.CheckVerdict.FAILED: (8, 9, 16, 32, 33, 128),
}


def test_the_bits_of_fsck_are_read() -> None:
    wanted = {code: verdict for verdict, codes in BITS.items() for code in codes}
    for filesystem in ("ext2", "ext3", "ext4", "f2fs"):
        assert {code: checks.verdict_of(filesystem, code, "") for code in wanted} == wanted, filesystem


@given(st.sampled_from(["ext4", "xfs", "btrfs", "jfs"]), st.integers(-64, 255), st.text())
def test_a_signal_says_nothing_and_no_exit_code_but_0_is_clean(filesystem: str, exit_code: int, output: str) -> None:
    verdict = checks.verdict_of(filesystem, exit_code, output)
    assert exit_code >= 0 or verdict is checks.CheckVerdict.FAILED
    assert exit_code == 0 or verdict is not checks.CheckVerdict.CLEAN
    # btrfs is clean only by its own last words.
    assert checks.verdict_of("btrfs", 0, output) is checks.CheckVerdict.FAILED


def test_e2fscks_share_of_fragmented_files_is_read() -> None:
    lines = {
        "a.img: 31/25584 files (0.0% non-contiguous), 12101/102400 blocks": 0.0,
        "/dev/md0: 138/262144 files (97.1% non-contiguous), 1/2 blocks": 97.1,
        "lost: 11/64 files (100% non-contiguous)": 100.0,
        "no such line": None,
    }
    assert {line: checks.non_contiguous_percent(f"Pass 5\n{line}\n") for line in lines} == lines


@given(
    st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 1000), st.text(alphabet="ab ()%/.0\n"), st.booleans()
)
def test_whatever_stands_around_it_a_share_that_e2fsck_printed_is_read_as_printed(
    files: int, inodes: int, tenths: int, around: str, is_there: bool
) -> None:
    """e2fsck prints tenths of a per cent (e2fsck/unix.c, show_stats); no other text makes a share."""
    line = f"/dev/x: {files}/{inodes} files ({tenths // 10}.{tenths % 10}% non-contiguous), 1/2 blocks"
    found = checks.non_contiguous_percent(f"{around}\n{line if is_there else ''}\n{around}")
    assert found == (tenths / 10 if is_there else None)


COMPLAINTS = {
    "e2fsck-1.47.0-repaired": "Entry 'f3' in /d (12) has deleted/unused inode 15.  Clear? yes",
    "e2fsck-1.47.0-missing": "e2fsck: No such file or directory while trying to open /nope",
    "e2fsck-1.47.0-no-superblock": "e2fsck: Superblock invalid, trying backup blocks...",
    "xfs_repair-6.1.0-errors": "sb_fdblocks 5, counted 65504",
    "xfs_repair-6.1.0-missing": "/nope: No such file or directory",
    "btrfs-5.10-errors": "ref mismatch on [13631488 4096] extent item 1, found 0",
    "btrfs-6.2-one-bad-copy": "checksum verify failed on 30621696 wanted 0x7e086a42 found 0x3cd10748",
    "fsck.f2fs-1.15-missing": "Error: Failed to get the device stat!",
    "fsck.jfs-1.1.15-errors": "Errors detected in the Primary File/Directory Allocation Table.",
    "fsck.jfs-1.1.15-missing": "Error: Cannot open device /nonexist",
    "reiserfsck-3.6.27-no-superblock": "Failed to open the device 'z': Unknown code er3k 127",
    "e2fsck-1.47.0-clean": "",
    "xfs_repair-6.1.0-clean": "",
    "btrfs-6.2-clean": "",
}


def test_the_first_line_that_is_no_routine_is_the_complaint_and_is_cut() -> None:
    assert {name: first_complaint(recorded(name)) for name in COMPLAINTS} == COMPLAINTS
    assert len(first_complaint("x" * 5000)) == 200


ERRORS = [
    "EXT4-fs error (device loop0): ext4_lookup:1857: inode #2: comm ls: deleted inode referenced: 12",
    "EXT3-fs error (device sdb1): ext3_get_inode_loc: unable to read inode block - inode=2, block=260",
    "EXT4-fs (loop0): Remounting filesystem read-only",
    "Aborting journal on device loop0-8.",
    "JBD2: Detected IO errors while flushing file data on loop0-8",
    "XFS (loop0): Metadata corruption detected at xfs_agi_verify+0xd1/0x1a0, xfs_agi block 0x2",
    "XFS (sdc): Corruption of in-memory data (0x8) detected at xfs_defer_finish (fs/xfs/libxfs/xfs_defer.c:560).",
    'XFS (dm-0): metadata I/O error in "xfs_da_read_buf+0xe1" at daddr 0x10 len 8 error 5',
    "XFS (loop0): log I/O error -5",
    "XFS (loop0): Filesystem has been shut down due to log error (0x2). Shutting down filesystem",
    "BTRFS error (device loop0): bdev /dev/loop0 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0",
    "BTRFS error (device sdb: state EA): parent transid verify failed on logical 30507008",
    "BTRFS critical (device sda2): corrupt leaf: root=5 block=1104625664 slot=15",
    "BTRFS: error (device sdb) in btrfs_commit_transaction:2494: errno=-5 IO failure",
    "BTRFS warning (device loop0): csum failed root 5 ino 257 off 0 csum 0x8941f998 expected csum 0x0",
    "blk_update_request: I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
    "I/O error, dev nvme0n1, sector 123456 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    "Buffer I/O error on dev loop0, logical block 0, lost sync page write",
    "critical medium error, dev sda, sector 976773160 op 0x0:(READ) flags 0x0",
    "INFO: task kworker/u8:3:712 blocked for more than 120 seconds.",
    "md/raid:md0: Disk failure on sdc1, disabling device.",
    "md/raid1:md0: sda1: rescheduling sector 2048; read error corrected",
    "ata3.00: failed command: WRITE FPDMA QUEUED",
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
]
NAMED = ("loop0", "sdb1", "sdb", "sdc", "sda2", "dm-0")
"""The devices that the lines above are about."""
HARMLESS = [
    "EXT4-fs (loop0): mounted filesystem c78c65bc r/w with ordered data mode. Quota mode: none.",
    "EXT4-fs (loop0): unmounting filesystem c78c65bc.",
    "EXT4-fs (loop0): Ignoring removed nobh option",
    "XFS (loop0): Mounting V5 Filesystem 8d5f2b6e",
    "XFS (loop0): Ending clean mount",
    "XFS (loop0): Unmounting Filesystem 8d5f2b6e",
    "BTRFS info (device loop0): using crc32c (crc32c-intel) checksum algorithm",
    "BTRFS info (device loop0): checking UUID tree",
    "BTRFS info (device loop0): using free-space-tree",
    "BTRFS: device fsid 8d5f2b6e devid 1 transid 6 /dev/loop0 scanned by mount (231)",
    "loop0: detected capacity change from 0 to 204800",
    "EXT4-fs (loop0): re-mounted c78c65bc r/w. Quota mode: none.",
    "md/raid:md0: raid level 5 active with 4 out of 4 devices, algorithm 2",
    "JBD2: no valid journal superblock found... is what a label may say",
]


def test_an_error_is_worth_a_warning_unless_it_is_of_a_filesystem_on_another_device() -> None:
    for line in ERRORS:
        assert any(checks.worth_a_warning([line], device) == (line,) for device in NAMED), line
        if "(" in line.split(":")[0] or "loop0" in line:
            assert checks.worth_a_warning([line], "vdx9") == (), line
    disk = "I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2"
    assert checks.worth_a_warning([disk], "md0") == (disk,)


@given(st.lists(st.sampled_from(ERRORS + HARMLESS)))
def test_errors_stay_in_their_order_and_what_every_mount_logs_is_none(lines: list[str]) -> None:
    on_loop0 = [line for line in ERRORS if "loop0" in line]
    lines = [line for line in lines if line not in ERRORS or line in on_loop0] + HARMLESS
    assert checks.worth_a_warning(lines, "loop0") == tuple(line for line in lines if line in on_loop0)


def test_the_kernels_own_words_for_a_refused_mount_are_found_among_others() -> None:
    refusals = (
        ("ext4", "ext4: Unknown parameter 'nomballoc'"),
        ("ext3", "ext3: Unknown parameter 'nomballoc'"),
        ("ext3", "EXT4-fs (loop0): can't mount with data=, fs mounted w/o journal"),
        ("ext2", "EXT4-fs (loop0): couldn't mount as ext2 due to feature incompatibilities"),
        ("xfs", "XFS (loop0): V4 filesystem deprecated. Recreate with crc=1"),
        ("xfs", "xfs: Unknown parameter 'nobarrier'"),
        ("btrfs", "BTRFS error (device loop0): cannot use v1 space cache with free space tree"),
        ("btrfs", "BTRFS info (device sda1): unrecognized mount option 'nodatasum2'"),
        ("btrfs", "btrfs: Unknown parameter 'nodatasum2'"),
        ("ext4", "VFS: Can't find ext4 filesystem on dev loop0."),
        ("ext4", "/dev/loop0: Can't open blockdev"),
    )
    routine = [line for line in HARMLESS if "Ignoring removed" not in line and "re-mounted" not in line]
    others = ["usb 1-1: new high-speed USB device", "XFS (dm-1): Ending clean mount", *routine]
    found = [(filesystem, checks.refusal_words(filesystem, [*others, line])) for filesystem, line in refusals]
    assert found == [(filesystem, (line,)) for filesystem, line in refusals]
    assert checks.refusal_words("ext4", ["XFS (loop3): Unmounting Filesystem", "BTRFS error (device sdb): x"]) == ()


def test_of_everybodys_log_the_lines_about_a_mount_are_kept() -> None:
    kept = {
        ("EXT4-fs (loop5): bad block size 65536", ""): True,
        ("EXT4-fs (loop6): bad block size 65536", ""): False,
        ("BTRFS error (device loop6): open_ctree failed: -22", ""): False,
        ("BTRFS: error (device loop6) in btrfs_commit_transaction:2494", ""): False,
        ("EXT4-fs: Mount option(s) incompatible with ext3", "delalloc"): True,
        ("ext4: Unknown parameter 'nomballoc'", "nomballoc"): True,
        ("ext4: Unknown parameter 'nomballoc'", "commit=5"): False,
        ("ext4: Bad value for 'data'", "data=ordered"): True,
        ("EXT4-fs: Ignoring removed nobh option", "nobh"): True,
        ("EXT4-fs: Ignoring removed nobh option", "noatime"): False,
        ("xfs: Deprecated parameter 'attr2'", "attr2"): True,
    }
    assert {(line, words): checks.words_about([line], "loop5", words) == (line,) for line, words in kept} == kept


def test_lines_lose_the_device_and_what_only_follows_from_another() -> None:
    said = (
        "BTRFS error (device loop5): sectorsize 65536 not yet supported for page size 4096",
        "BTRFS error (device loop5): superblock contains fatal errors",
        "BTRFS error (device loop5 state C): open_ctree failed: -22",
    )
    assert checks.without_device(said) == ("BTRFS error: sectorsize 65536 not yet supported for page size 4096",)
    assert checks.without_device(said[2:]) == ("BTRFS error: open_ctree failed: -22",)
    assert checks.without_device(["XFS (loop5): x", "XFS (loop5): x"]) == ("XFS: x",)
    incompatible = "EXT4-fs: Mount option(s) incompatible with ext3"
    assert checks.without_device([incompatible]) == (incompatible,)


GLOBAL = (
    "Out of memory: Killed process 412 (xfs_repair) total-vm:912342kB, anon-rss:800100kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:1700kB oom_score_adj:0"
)
OF_A_CGROUP = "Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB, anon-rss:1kB, UID:0 pgtables:1kB"
OLD = "Out of memory: Kill process 5 (py(t)hon) score 9 or sacrifice child"


def test_who_was_killed_for_want_of_memory_is_known_by_name_and_is_a_warning_but_in_a_cgroup() -> None:
    for line, name in ((GLOBAL, "xfs_repair"), (OF_A_CGROUP, "python3"), (OLD, "py(t)hon")):
        others = "python3 invoked oom-killer: gfp_mask=0x140cca", "oom_reaper: reaped process 77 (python3)"
        assert checks.killed_for_memory((others[0], line, line, others[1])) == (name,)
    assert checks.worth_a_warning((GLOBAL, OF_A_CGROUP), "sdb") == (GLOBAL,)


def test_a_device_is_named_by_its_whole_name_only() -> None:
    said = (
        "Buffer I/O error on dev dm-1, logical block 9, lost async page write",
        "Buffer I/O error on dev dm-11, logical block 9, lost async page write",
        "EXT4-fs error (device dm-1): ext4_find_entry:1685: inode #2: comm rm: reading directory lblock 0",
        "XFS (dm-1): log I/O error -5",
        "I/O error, dev vdm-1, sector 0",
        "JBD2: Detected IO errors while flushing file data on dm-1-8",
    )
    assert checks.naming(said, "dm-1") == (said[0], said[2], said[3], said[5])
