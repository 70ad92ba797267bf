"""What is not the run's: a member that is in use, and an array that has the name of a run's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.md import member_uuid
from fsconsole.plan.steps import zero_command
from fsconsole.system.locks import FileLock
from tests.lab.digest import digest
from tests.lab.guest import create_array, fsconsole, run, settle
from tests.lab.inside.whatif.arrays import DISKS, HERE, arrays, clear_disks, on
from tests.lab.soak import SOAK

__test__ = SOAK
"""Not even collected otherwise: a test that is left out is one that a machine is missing for."""

A, B, C, D = DISKS
MIRROR = f"{HERE}/mirror.toml"
_END_BYTES = 128 * 1024


@pytest.fixture(autouse=True)
def _clear() -> Iterator[None]:
    yield
    clear_disks()


def test_mdadm_itself_refuses_a_device_that_somebody_has_claimed() -> None:
    # Locked as in a run: udev would put the stopped array together again.
    with FileLock.acquire(A), FileLock.acquire(B):
        create_array("md9", "raid1", A, B)
        run("mdadm", "--stop", "/dev/md9")
        assert arrays() == {}
        before = [digest(disk) for disk in (A, B)]
        _try_while_held()
        assert [digest(disk) for disk in (A, B)] == before


def _try_while_held() -> None:
    with held_exclusively(A):
        for argv in (
            ("mdadm", "--zero-superblock", A),
            ("mdadm", "--create", "/dev/md8", "--run", "--level=raid1", "--raid-devices=2", A, B),
        ):
            assert not needs_hold(argv)
            assert subprocess.run(argv, check=False, capture_output=True).returncode != 0


def test_a_superblock_of_another_version_stays_where_that_of_a_run_is_cleared() -> None:
    # As of an array that somebody has made of the last partition since: version 0.90 lies at the very end of both.
    with FileLock.acquire(A), FileLock.acquire(B):
        run("mdadm", "--create", "/dev/md9", "--run", "--metadata=0.90", "--level=raid1", "-n2", A, B)
        run("mdadm", "--stop", "/dev/md9")
        theirs = _end_of(A)
        assert any(theirs)
        create_array("md9", "raid1", A, B)
        run("mdadm", "--stop", "/dev/md9")
        assert member_uuid(A) != ""
        with open(A, "r+b") as disk:
            disk.seek(-len(theirs), os.SEEK_END)
            disk.write(theirs)
            disk.flush()
            os.fsync(disk.fileno())
        run(*zero_command(A))
        assert member_uuid(A) == ""
        assert _end_of(A) == theirs
        run("mdadm", "--zero-superblock", A)


def _end_of(disk: str) -> bytes:
    """Return what lies at the end of a disk, past what the page cache holds of it."""
    fd = os.open(disk, os.O_RDONLY)
    try:
        size_bytes = os.lseek(fd, 0, os.SEEK_END)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.pread(fd, _END_BYTES, size_bytes - _END_BYTES)
    finally:
        os.close(fd)


NAME_TAKEN = ("md400", (C, D), "is an array of vdc, vdd already")
MEMBER_TAKEN = ("md9", (B, C), "/dev/vdb is held by /dev/md9")
"""For the soak: the gate's answer to it is among the hazards."""


@pytest.mark.parametrize(("name", "members", "words"), [MEMBER_TAKEN, NAME_TAKEN])
def test_nothing_is_written_where_a_member_or_the_name_is_taken(
    name: str, members: tuple[str, ...], words: str
) -> None:
    create_array(name, "raid1", *members)
    settle()
    before = [digest(disk) for disk in DISKS]
    for command in (("plan", MIRROR), ("run", MIRROR, "--consent", "00000-00000-00000")):
        done = fsconsole(*command, *on(A, B))
        assert done.code == 23, done
        assert words in done.err
    assert [digest(disk) for disk in DISKS] == before
    assert arrays().keys() == {name}
