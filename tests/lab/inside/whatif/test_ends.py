"""However a cell ends, its array is taken apart by what it is, not by what it is called."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from tests.lab.digest import digest
from tests.lab.guest import create_array, fsconsole, run, settle
from tests.lab.inside.whatif import arrays as lab
from tests.lab.inside.whatif.arrays import A, B, C, D

MDADM_CONF = Path("/etc/mdadm/mdadm.conf")
SET_ARRAY_INFO = 0x40480923


def test_a_cell_skipped_and_an_engine_killed_leave_no_array_and_no_other_array_is_touched() -> None:
    _leave_a_number_without_members()
    folder = lab.detached_mirror()

    lab.wait_for(folder, lab.is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    # Nobody else takes it apart meanwhile, so that nobody else's gets its name.
    assert subprocess.run(["mdadm", "--stop", "/dev/md400"], check=False, capture_output=True).returncode != 0
    assert fsconsole("stop", folder.name, "--skip").code == 0
    lab.wait_for(folder, lambda state: state.cells[0].status is CellStatus.SKIPPED, "the cell is skipped")

    lab.wait_for(folder, lab.is_in(1, StepKind.RAW_READ), "the stripe has been written")
    assert lab.arrays()["md400"].members == {"ubda", "ubdb"}
    lab.kill_engines()
    # As after a reboot: udev has put it together under a name of its own, and another array has the run's.
    run("mdadm", "--stop", "/dev/md400")
    settle()
    if not lab.arrays():
        run("mdadm", "--assemble", "/dev/md127", A, B)
    (ours,) = lab.arrays().values()
    assert (ours.name != "md400", ours.members) == (True, {"ubda", "ubdb"})
    create_array("md400", "raid1", C, D)
    settle()
    before = [digest(disk) for disk in (C, D)]
    path = _taken_by_somebody(ours.path, folder.name)

    cleaned = fsconsole("cleanup", folder.name)
    assert cleaned.code == 0, cleaned
    assert f"stopped the array {path}" in cleaned.out
    assert "/dev/md400 is an array of ubdc, ubdd, not the run's: left untouched" in cleaned.out
    assert lab.arrays().keys() == {"md400"}
    assert lab.uuids_on(A, B) == set()
    assert [digest(disk) for disk in (C, D)] == before


def _leave_a_number_without_members() -> None:
    """Leave what an mdadm leaves that is killed before it adds the first member: mdadm calls it "already in use"."""
    Path("/sys/module/md_mod/parameters/new_array").write_text("md400")
    array = os.open("/dev/md400", os.O_RDWR)
    # struct mdu_array_info_s in include/uapi/linux/raid/md_u.h: of metadata 1.2.
    fcntl.ioctl(array, SET_ARRAY_INFO, struct.pack("<18i", 1, 2, 0, *([0] * 15)))
    for name, value in (("level", "raid1"), ("raid_disks", "2")):
        Path(f"/sys/block/md400/md/{name}").write_text(value)
    os.close(array)
    assert Path("/sys/block/md400/md/array_state").read_text() == "inactive\n"
    assert lab.arrays() == {}


def _taken_by_somebody(array: str, run_id: str) -> str:
    """Let somebody make a filesystem of his own on a leftover, and stop it: it is left to him until that is gone.

    Return what the array is called in the end.
    """
    run("mkfs.ext4", "-q", "-F", array)
    settle()
    with _not_assembled_by_udev():
        run("mdadm", "--stop", array)
        settle()
        assert lab.arrays().keys() == {"md400"}
        before = [digest(disk) for disk in (A, B)]
        kept = fsconsole("cleanup", run_id)
        (looked_at,) = lab.arrays().keys() - {"md400"}
        assert f"/dev/{looked_at} holds ext4" in kept.out
        assert [digest(disk) for disk in (A, B)] == before
    run("mdadm", "--readwrite", f"/dev/{looked_at}")
    run("wipefs", "--quiet", "--all", f"/dev/{looked_at}")
    settle()
    return f"/dev/{looked_at}"


@contextmanager
def _not_assembled_by_udev() -> Iterator[None]:
    """Have udev leave the members of stopped arrays alone (man 5 mdadm.conf, AUTO)."""
    told = MDADM_CONF.read_text() if MDADM_CONF.exists() else ""
    MDADM_CONF.write_text("AUTO -all\n")
    yield
    MDADM_CONF.write_text(told)
