"""Runs beside /boot: on a linear volume, where nothing below it is locked or set, and on a partition while udevd works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.events import WarningKind
from fsconsole.model.state import CellStatus
from tests.lab.digest import digest
from tests.lab.guest import fsconsole, udevd
from tests.lab.hazards import BESIDE
from tests.lab.inside.hazards.test_battery import shell, take_apart
from tests.lab.runs import act, begin, new_run, state_of
from tests.lab.soak import tried
from tests.loop.faulty_engine import Event

PLAN = Path("tests/lab/tiny.toml")
VOLUME, BOOT, SEEN = "/dev/lab/data", "/dev/lab/boot", Path("/run/seen")
LOOK = f"for node in /dev/ubdc {{}}; do flock -ns $node echo free || echo locked; done >{SEEN}"


@pytest.fixture
def volume() -> Iterator[str]:
    """The volume of a case of the battery."""
    case = next(case for case in BESIDE if case.name.startswith("a linear volume"))
    shell(case.made)
    yield VOLUME
    take_apart(case)


def test_a_run_on_a_volume_locks_it_alone_and_leaves_the_one_beside_it_as_it_was(volume: str) -> None:
    before = digest(BOOT)
    folder = new_run(str(PLAN), volume)
    (cell,), (target,) = state_of(folder).cells, state_of(folder).request.targets
    # A lock is one of a node: without udevd the volume's name is a node of its own.
    look = act(cell, "workload", ("sh", "-c", LOOK.format(target.path)))
    assert begin(folder, look).wait() == 0
    (cell,) = state_of(folder).cells
    assert cell.status is CellStatus.DONE
    assert [one.reason for one in cell.warnings if one.kind is WarningKind.SHARED_DISK] == [
        "the target is on a disk shared with /boot: the system's own I/O affects its figures"
    ]
    assert SEEN.read_text().split() == ["free", "locked"]
    assert digest(BOOT) == before


def test_a_volume_may_have_a_read_ahead_of_its_own_and_the_disk_no_other_scheduler(volume: str) -> None:
    plan = Path("/tmp/set.toml")
    for setting, code in (('read_ahead = "1MiB"', 0), ('scheduler = "none"', ExitCode.DEVICE_REFUSED)):
        plan.write_text(f"{PLAN.read_text()}\n[settings]\n{setting}\n")
        done = fsconsole("plan", str(plan), "--device", volume)
        assert done.code == code, (setting, done)


TYPE, MADE = 'type = "{}"', tried(("ext4", "btrfs"), ("btrfs",))
PARTED = "printf 'size=8MiB,type=83\\ntype=83\\n' | sfdisk -q $C; udevadm settle; mkfs.ext4 -q ${C}1; mkdir -p /boot; mount -o ro ${C}1 /boot"
TYPE_SEEN = f"udevadm settle; udevadm info --query=property {{}} | grep ID_FS_TYPE >>{SEEN}"


def test_udevd_sees_each_filesystem_of_a_run_on_a_partition_though_the_disk_is_locked_to_make_it() -> None:
    plan = Path("/tmp/shared.toml")
    plan.write_text(PLAN.read_text().replace('type = "ext4"', "\n[[filesystem]]\n".join(map(TYPE.format, MADE))))
    SEEN.write_text("")
    with udevd():
        shell(PARTED)
        try:
            folder = new_run(str(plan), "/dev/ubdc2")
            acts = []
            for cell in state_of(folder).cells:
                locked = LOOK.replace(" >", " >>").format("/dev/ubdc2")
                acts += [
                    Event(cell.index, "mkfs", locked, "middle"),
                    Event(cell.index, "workload", TYPE_SEEN.format("/dev/ubdc2")),
                ]
            assert begin(folder, *acts).wait() == 0
        finally:
            shell("umount /boot; for part in 1 2; do delpart $C $part; done; blkdiscard -f $C")
    assert [cell.status for cell in state_of(folder).cells] == [CellStatus.DONE] * len(MADE)
    made = (["locked", "locked", f"ID_FS_TYPE={name}"] for name in MADE)
    assert SEEN.read_text().split() == [word for words in made for word in words]
