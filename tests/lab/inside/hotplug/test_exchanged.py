"""Within one run a disk goes, another comes, and the first comes back: the run touches neither.

The engine holds its devices for as long as it lives, so that the kernel gives their names to nobody else.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import inspect_device
from fsconsole.devices.identity import differences
from fsconsole.errors import ExitCode
from fsconsole.model.state import CellStatus
from fsconsole.system.run import RealExecutor
from tests.lab.guest import run, settle, wait_until
from tests.lab.pulled import content
from tests.lab.qmp import DRIVE, SHARE, HotDisk, Qmp
from tests.lab.runs import RUNS, act, begin, cells_on, new_run, state_of

PLAN = "tests/lab/inside/hotplug/returns.toml"
SIZE_MIB = 32

SR0 = Path("/sys/block/sr0")
LISTED = "lsblk --nodeps --noheadings --output SERIAL"


def exchange(disk: HotDisk, other: HotDisk, name: str) -> tuple[str, ...]:
    """Return the command that pulls a disk of that kernel name, puts in another, and then the first again."""
    lines = (
        disk.pulled_by,
        f"while [ -e /sys/block/{name} ]; do sleep 0.1; done",
        f"sha256sum <{SHARE}/{disk.name} >/tmp/{disk.name}.sum",
        other.plugged_by,
        f"until {LISTED} | grep -qx {other.serial}; do sleep 0.1; done",
        disk.plugged_by,
        f"until {LISTED} | grep -qx {disk.serial}; do sleep 0.1; done",
    )
    return ("sh", "-ec", "\n".join(lines))


@pytest.mark.parametrize("step", ["mkfs", "drain"])
def test_neither_the_disk_that_returns_nor_one_that_came_meanwhile_is_touched(qmp: Qmp, step: str) -> None:
    disk, stays = qmp.disk(f"leaves-{step}", SIZE_MIB, "virtio"), qmp.disk(f"stays-{step}", SIZE_MIB, "scsi")
    other = qmp.disk(f"other-{step}", SIZE_MIB, "virtio")
    Path(SHARE, other.name).write_bytes(bytes(range(256)) * (SIZE_MIB * 4096))
    before = sha256(Path(SHARE, other.name).read_bytes()).hexdigest()
    name, path_stays = disk.plug(), f"/dev/{stays.plug()}"
    folder = new_run(PLAN, f"/dev/{name}", path_stays)
    first, on_other_disk, *_ = state_of(folder).cells
    assert first in cells_on(state_of(folder), f"/dev/{name}")
    assert on_other_disk in cells_on(state_of(folder), path_stays)
    code = begin(folder, act(on_other_disk, step, exchange(disk, other, name))).wait()
    state = state_of(folder)
    assert {disk.found(), other.found()}.isdisjoint({"", name})
    assert (code, state.exit_code) == (ExitCode.DEVICE_CHANGED,) * 2, Path(folder.engine_log).read_text()
    assert f"/dev/{name}" in state.reason
    done, refused = cells_on(state, f"/dev/{name}")
    assert (done.status, refused.status) == (CellStatus.DONE, CellStatus.STOPPED), refused.reason
    assert {cell.status for cell in cells_on(state, path_stays)} == {CellStatus.DONE}
    assert sha256(content(f"/dev/{other.found()}")).hexdigest() == before
    kept = Path(f"/tmp/{disk.name}.sum").read_text().split()[0]
    assert sha256(content(f"/dev/{disk.found()}")).hexdigest() == kept
    for plugged in (disk, stays, other):
        plugged.pull()


def test_another_medium_in_the_same_drive_is_another_device_at_the_next_proof(qmp: Qmp) -> None:
    run("modprobe", "sr_mod")
    medium, other = (qmp.disk(name, SIZE_MIB, DRIVE) for name in ("medium", "other-medium"))
    medium.plug_in()
    wait_until(lambda: Path("/dev", SR0.name).exists(), "the kernel finds the drive")
    settle()
    # Else the kernel looks every two seconds, as udev has it do.
    (SR0 / "events_poll_msecs").write_text("0")
    context = GateContext(RealExecutor(), RUNS, load_catalog().marks)
    before = inspect_device(f"/dev/{SR0.name}", context).identity
    assert before == inspect_device(f"/dev/{SR0.name}", context).identity
    qmp.do("blockdev-open-tray", id=medium.name, force=True)
    qmp.do("blockdev-remove-medium", id=medium.name)
    qmp.do("blockdev-insert-medium", **{"id": medium.name, "node-name": other.name})
    qmp.do("blockdev-close-tray", id=medium.name)
    (changed,) = differences(before, inspect_device(f"/dev/{SR0.name}", context).identity)
    assert "diskseq" in changed
    medium.pull_out()
    wait_until(lambda: not SR0.exists(), "the kernel forgets the drive")
