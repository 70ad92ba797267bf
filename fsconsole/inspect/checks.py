"""Verdicts of filesystem checks, and the kernel log lines that matter to a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

E2FSCK_CORRECTED = 1 | 2
E2FSCK_ERRORS_LEFT = 4
"""Bits of e2fsck's exit code: corrected (and reboot), left uncorrected; all others mean that it didn't get through:
8 operational error, 16 usage error, 32 cancelled, 128 shared library error (man 8 e2fsck)."""

_XFS_NOT_RUN = re.compile(
    r"^fatal error -- "
    r"|valuable metadata changes in a log"
    r"|^usage: xfs_repair",
    re.MULTILINE | re.IGNORECASE,
)
"""xfs_repair exits 1 for these, too: no such device, mounted, too short; and for a log that was not replayed, where
even a sound filesystem shows differences (xfsprogs repair/, man 8 xfs_repair)."""

_BTRFS_DONE = re.compile(r"^found \d+ bytes used", re.MULTILINE)
_BTRFS_DAMAGE = re.compile(r"checksum verify failed|error\(s\) found|err is [1-9-]")
"""With one bad copy of two, btrfs check reads the other and exits 0."""

_BTRFS_NOT_RUN = re.compile(
    r"is currently mounted|could not check mount status|ERROR: mount check: |^usage: btrfs", re.MULTILINE
)
_F2FS_DAMAGE = re.compile(r"\[Fail\]|^\[ASSERT\]", re.MULTILINE)
_F2FS_BROKE_OFF = 255
"""fsck.f2fs exits as fsck does; 255: it aborted, and only its output tells whether it had found anything by then.
It reports as corrected what --dry-run only pretends to correct (f2fs-tools fsck/main.c)."""

_JFS_REPAIRED = re.compile(r"^Errors detected", re.MULTILINE)
"""fsck.jfs -f exits 0 for what it repaired."""

_NON_CONTIGUOUS = re.compile(r"\d+/\d+ files \((\d+(?:\.\d+)?)% non-contiguous\)")


class CheckVerdict(str, Enum):
    """Result of a check; the values are printed and stored."""

    CLEAN = "clean"
    REPAIRED = "repaired"
    ERRORS = "errors"
    FAILED = "failed"
    """The check could not run: nothing is known."""


def verdict_of(filesystem: str, exit_code: int, output: str) -> CheckVerdict:
    """Return the verdict of the filesystem's own check; an exit code below 0 is a signal.

    Filesystems without a rule of their own follow fsck (man 8 fsck), as e2fsck does, and reiserfsck --check, whose 6
    means uncorrected but repairable errors (man 8 reiserfsck).
    """
    if exit_code < 0:
        return CheckVerdict.FAILED
    rules = {"xfs": _xfs, "btrfs": _btrfs, "f2fs": _f2fs, "jfs": _jfs}
    return rules[filesystem](exit_code, output) if filesystem in rules else _fsck(exit_code)


def non_contiguous_percent(output: str) -> float | None:
    """Return e2fsck's share of fragmented files, or None if it printed none."""
    found = _NON_CONTIGUOUS.search(output)
    return float(found[1]) if found else None


def _fsck(exit_code: int) -> CheckVerdict:
    if exit_code == 0:
        return CheckVerdict.CLEAN
    if exit_code & E2FSCK_ERRORS_LEFT:
        return CheckVerdict.ERRORS
    return CheckVerdict.FAILED if exit_code & ~E2FSCK_CORRECTED else CheckVerdict.REPAIRED


def _xfs(exit_code: int, output: str) -> CheckVerdict:
    """Judge `xfs_repair -n`: 0 clean, 1 anything else. Without -n it exits 0 repaired or not, and 2 for a dirty log."""
    if exit_code == 0:
        return CheckVerdict.CLEAN
    if exit_code != 1 or _XFS_NOT_RUN.search(output):
        return CheckVerdict.FAILED
    return CheckVerdict.ERRORS


def _btrfs(exit_code: int, output: str) -> CheckVerdict:
    """Judge `btrfs check --readonly` by its output, too: its exit code is 0 even after a usage message."""
    if _BTRFS_NOT_RUN.search(output) or exit_code > 1:
        return CheckVerdict.FAILED
    if exit_code == 1 or _BTRFS_DAMAGE.search(output):
        return CheckVerdict.ERRORS
    return CheckVerdict.CLEAN if _BTRFS_DONE.search(output) else CheckVerdict.FAILED


def _f2fs(exit_code: int, output: str) -> CheckVerdict:
    """Judge `fsck.f2fs -f --dry-run`."""
    if exit_code != 0 and _F2FS_DAMAGE.search(output):
        return CheckVerdict.ERRORS
    return CheckVerdict.FAILED if exit_code == _F2FS_BROKE_OFF else _fsck(exit_code)


def _jfs(exit_code: int, output: str) -> CheckVerdict:
    """Judge `fsck.jfs -f`, with -n or without."""
    if exit_code == 0 and _JFS_REPAIRED.search(output):
        return CheckVerdict.REPAIRED
    return _fsck(exit_code)


_ERRORS = re.compile(
    r"EXT[234]-fs error"
    r"|EXT[234]-fs .*: (?:Remounting filesystem read-only|previous I/O error|failed to convert)"
    r"|JBD2?: (?:Detected IO errors|Error|I/O error)|Aborting journal"
    r"|XFS .*(?:Corruption|[Cc]orrupt|metadata I/O error|log I/O error|[Ss]hutting down|xfs_force_shutdown|Internal error)"
    r"|BTRFS(?: error| critical|: error)|BTRFS warning .*(?:csum failed|checksum verify failed)"
    r"|\bI/O error\b|critical (?:medium|target|space allocation|nexus) error"
    r"|blk_update_request: .* error"
    r"|task \S+ blocked for more than \d+ seconds"
    r"|(?:md|raid)\S*: .*(?:Disk failure|read error)"
    r"|lost (?:async|sync) page write|Buffer I/O error"
    r"|Out of memory[^:]*: Kill(?:ed)? process"
    r"|(?:ata|sd|nvme)\S* .*(?:failed command|Medium Error|controller is down|timeout, aborting)"
)
"""Words of fs/ext4/super.c, fs/jbd2, fs/xfs/xfs_message.c, fs/btrfs/messages.c, block/blk-core.c, kernel/hung_task.c, mm/oom_kill.c,
drivers/md, drivers/ata/libata-eh.c and drivers/nvme/host/pci.c."""

_OF_BLOCK_LAYER = re.compile(r"\bdev \S+, sector \d+|blk_update_request|Buffer I/O error")


def is_of_the_device(line: str) -> bool:
    """Return whether a line tells of a failed request to a device, which no shutdown of a filesystem causes."""
    return _OF_BLOCK_LAYER.search(line) is not None


_REFUSAL_ABOUT = (r"{driver}\d?(?:-fs)?\b", r"\b{driver}: ", r"(?:VFS|blockdev|loop\d+|/dev/\S+): ")
_NO_REFUSAL = re.compile(
    r"mounted filesystem|[Mm]ounting V\d|[Ee]nding clean mount|[Uu]nmounting|recovery complete|capacity change"
    r"|scanned by|mounting ext[23] file system using"
    r"|BTRFS info .*: (?:using|enabling|turning|use |disk space|has skinny|first mount|checking UUID|last unmount)"
)
"""Messages of successful mounts."""

_DRIVERS = {"ext2": "ext4|ext2", "ext3": "ext4|ext3"}


_FILESYSTEM_ON = re.compile(
    r"(?:EXT[234]-fs|XFS|BTRFS:?)[^(:]*\((?:device )?(?P<mounted>[\w!-]+)"
    r"|(?:journal on device|file data on) (?P<journal>[\w!-]+)-\d+\b"
    r"|dev (?P<loop>loop\d+),"
)
"""Names of the filesystem's device in drivers' messages. Block layer errors on other disks may concern this one (a member, a shared
cable), but not those on other loop devices."""


def worth_a_warning(lines: Sequence[str], device: str) -> tuple[str, ...]:
    """Return the lines about damage, lost writes, I/O errors or hung tasks, in order.

    device is the target's kernel name: lines about a filesystem on another device are left out.
    """
    return tuple(line for line in lines if _ERRORS.search(line) and not _is_about_another(line, device))


def _is_about_another(line: str, device: str) -> bool:
    named = _FILESYSTEM_ON.search(line)
    return named is not None and device not in named.groups()


def refusal_words(filesystem: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Return the kernel's reasons for a refused mount, oldest first; mount(8) has one message for nearly all."""
    driver = f"(?:{_DRIVERS.get(filesystem, re.escape(filesystem))})"
    about = re.compile("|".join(part.format(driver=driver) for part in _REFUSAL_ABOUT), re.IGNORECASE)
    return tuple(line for line in lines if about.search(line) and not _NO_REFUSAL.search(line))


_KILLED = re.compile(r"[Oo]ut of memory[^:]*: Kill(?:ed)? process \d+ \((?P<name>.*?)\)[ ,]")
"""mm/oom_kill.c; for a memory cgroup "Memory cgroup out of memory", before 5.3 "Kill"."""


def naming(lines: Sequence[str], device: str) -> tuple[str, ...]:
    """Return the lines that contain a device's kernel name as a whole word."""
    named = re.compile(rf"(?<![\w-]){re.escape(device)}(?!\w)")
    return tuple(line for line in lines if named.search(line))


def killed_for_memory(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the programs that the kernel's OOM killer ended, each once."""
    found = (_KILLED.search(line) for line in lines)
    return tuple(dict.fromkeys(match["name"] for match in found if match is not None))


_SAID_OF_DEVICE = re.compile(r" \((?:device )?[\w!-]+(?: state \w+)?\)")
_SAID_OF_WORD = re.compile(r"(?:parameter '|[Vv]alue for '|removed )(?P<word>\w+)")
_AFTERMATH = re.compile(r"open_ctree failed|superblock contains fatal errors|SB validate failed")


def words_about(lines: Sequence[str], device: str, words: str) -> tuple[str, ...]:
    """Return the lines about a device or one of its mount options; other lines belong to other mounts."""
    return tuple(
        line
        for line in lines
        if not _is_about_another(line, device)
        and ((named := _SAID_OF_WORD.search(line)) is None or named["word"] in words)
    )


def without_device(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines with the device's name removed, and without mere consequences of another line."""
    bare = tuple(dict.fromkeys(_SAID_OF_DEVICE.sub("", line, count=1) for line in lines))
    return tuple(line for line in bare if not _AFTERMATH.search(line)) or bare
