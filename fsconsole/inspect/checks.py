"""What a filesystem check found, from its exit code and its words. Pure."""

from __future__ import annotations

import re
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
"""xfs_repair exits 1 for these too: no such device, mounted, too short; and for a log that was not replayed, where
even a sound filesystem shows differences (xfsprogs repair/, man 8 xfs_repair)."""

_BTRFS_DONE = re.compile(r"^found \d+ bytes used", re.MULTILINE)
_BTRFS_DAMAGE = re.compile(r"checksum verify failed|error\(s\) found|err is [1-9-]")
"""With one bad copy of two, btrfs check reads the other and exits 0."""

_BTRFS_NOT_RUN = re.compile(
    r"is currently mounted|could not check mount status|ERROR: mount check: |^usage: btrfs", re.MULTILINE
)
_F2FS_DAMAGE = re.compile(r"\[Fail\]|^\[ASSERT\]", re.MULTILINE)
_F2FS_BROKE_OFF = 255
"""fsck.f2fs exits as fsck does; 255 is where it broke off: only its words say whether it had found anything by then.
What --dry-run only pretends to correct, it calls corrected (f2fs-tools fsck/main.c)."""

_JFS_REPAIRED = re.compile(r"^Errors detected", re.MULTILINE)
"""fsck.jfs -f exits 0 for what it repaired."""

_NON_CONTIGUOUS = re.compile(r"\d+/\d+ files \((\d+(?:\.\d+)?)% non-contiguous\)")


class Verdict(str, Enum):
    """What a check says of a filesystem; the values are printed and stored."""

    CLEAN = "clean"
    REPAIRED = "repaired"
    ERRORS = "errors"
    FAILED = "failed"
    """The check could not be carried out, so nothing is known."""


def verdict_of(filesystem: str, exit_code: int, output: str) -> Verdict:
    """Return the verdict of the filesystem's own check; an exit code below 0 is a signal.

    A filesystem that has no rule of its own here is read by the rule for fsck (man 8 fsck), as e2fsck is; so is
    reiserfsck --check, whose 6 says that what it left uncorrected could be repaired (man 8 reiserfsck).
    """
    if exit_code < 0:
        return Verdict.FAILED
    rules = {"xfs": _xfs, "btrfs": _btrfs, "f2fs": _f2fs, "jfs": _jfs}
    return rules[filesystem](exit_code, output) if filesystem in rules else _fsck(exit_code)


def non_contiguous_percent(output: str) -> float | None:
    """Return the share of fragmented files that e2fsck prints at its end, or None where it printed none."""
    found = _NON_CONTIGUOUS.search(output)
    return float(found[1]) if found else None


def _fsck(exit_code: int) -> Verdict:
    if exit_code == 0:
        return Verdict.CLEAN
    if exit_code & E2FSCK_ERRORS_LEFT:
        return Verdict.ERRORS
    return Verdict.FAILED if exit_code & ~E2FSCK_CORRECTED else Verdict.REPAIRED


def _xfs(exit_code: int, output: str) -> Verdict:
    """Read `xfs_repair -n`: 0 clean, 1 anything else. Without -n it exits 0 repaired or not, and 2 for a dirty log."""
    if exit_code == 0:
        return Verdict.CLEAN
    if exit_code != 1 or _XFS_NOT_RUN.search(output):
        return Verdict.FAILED
    return Verdict.ERRORS


def _btrfs(exit_code: int, output: str) -> Verdict:
    """Read `btrfs check --readonly`: its words count as much as its exit code, which is 0 after usage, too."""
    if _BTRFS_NOT_RUN.search(output) or exit_code > 1:
        return Verdict.FAILED
    if exit_code == 1 or _BTRFS_DAMAGE.search(output):
        return Verdict.ERRORS
    return Verdict.CLEAN if _BTRFS_DONE.search(output) else Verdict.FAILED


def _f2fs(exit_code: int, output: str) -> Verdict:
    """Read `fsck.f2fs -f --dry-run`."""
    if exit_code != 0 and _F2FS_DAMAGE.search(output):
        return Verdict.ERRORS
    return Verdict.FAILED if exit_code == _F2FS_BROKE_OFF else _fsck(exit_code)


def _jfs(exit_code: int, output: str) -> Verdict:
    """Read `fsck.jfs -f -n`, and one without -n too."""
    if exit_code == 0 and _JFS_REPAIRED.search(output):
        return Verdict.REPAIRED
    return _fsck(exit_code)
