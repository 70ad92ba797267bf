"""What is not the run's: a member that is in use, and an array that has the name of a run's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.system.locks import FileLock
from tests.lab.digest import digest
from tests.lab.guest import create_array, fsconsole, run, settle
from tests.lab.inside.whatif.arrays import DISKS, HERE, arrays, clear_disks, on

A, B, C, D = DISKS
MIRROR = f"{HERE}/mirror.toml"


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


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        ("md9", (B, C), "/dev/vdb is held by /dev/md9"),
        ("md400", (C, D), "is an array of vdc, vdd already"),
    ],
    ids=("member", "name"),
)
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
