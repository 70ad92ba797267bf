"""However a cell ends, its array is taken apart by what it is, not by what it is called."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from pathlib import Path

import pytest

from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import RAW_DEPTHS
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.plan import raw, steps
from tests.lab.digest import digest
from tests.lab.guest import create_array, fsconsole, run, settle
from tests.lab.inside.whatif import arrays as lab
from tests.lab.inside.whatif.arrays import A, B, C, D

SET_ARRAY_INFO = 0x40480923


@pytest.fixture
def _one_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have raw streams of one call at a time alone: each of theirs is a Python that a guest starts for seconds."""
    for module in (raw, steps):
        monkeypatch.setattr(module, "RAW_DEPTHS", RAW_DEPTHS[:1])
    monkeypatch.setattr(raw, "PILOT_BYTES", 4 * raw.MIB)
    monkeypatch.setattr(raw, "PILOT_S", 0.1)


@pytest.mark.usefixtures("_one_depth")
def test_a_skipped_cell_leaves_no_array_and_what_is_stored_on_a_killed_engines_stays_until_it_is_agreed_upon() -> None:
    _leave_a_number_without_members()
    folder = lab.detached_mirror()

    lab.wait_for(folder, lab.is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    # Nobody else takes it apart meanwhile, so that nobody else's gets its name.
    assert subprocess.run(["mdadm", "--stop", "/dev/md400"], check=False, capture_output=True).returncode != 0
    assert fsconsole("stop", folder.name, "--skip").code == 0
    lab.wait_for(folder, lambda state: state.cells[0].status is CellStatus.SKIPPED, "the cell is skipped")

    lab.wait_for(folder, lab.is_in(1, StepKind.RAW_READ), "the stripe has been written")
    assert lab.arrays()["md400"].members == {"ubde", "ubdf"}
    lab.kill_engines()
    # As after a reboot: udev has put it together under a name of its own, and another array has the run's.
    run("mdadm", "--stop", "/dev/md400")
    settle()
    if not lab.arrays():
        run("mdadm", "--assemble", "/dev/md127", A, B)
    (ours,) = lab.arrays().values()
    assert (ours.name != "md400", ours.members) == (True, {"ubde", "ubdf"})
    create_array("md400", "raid1", C, D)
    settle()
    before = [digest(disk) for disk in (C, D)]
    _stored_on_it_stays_until_it_is_agreed_upon(folder, ours.path)
    assert [digest(disk) for disk in (C, D)] == before
    run("mdadm", "--stop", "/dev/md400")

    done = fsconsole("resume", folder.name, "--consent", lab.consent("resume", folder.name, "--show"))
    assert done.code == 0, done
    assert [cell.status for cell in read_state(folder).cells] == [CellStatus.SKIPPED, CellStatus.DONE]
    assert lab.arrays() == {}
    assert lab.uuids_on(A, B) == set()


def _stored_on_it_stays_until_it_is_agreed_upon(folder: RunFolder, array: str) -> None:
    """Let somebody store data, then files on what a killed engine left: all is told, and nothing is touched."""
    show = ("resume", folder.name, "--show")
    unused = lab.consent(*show)
    _write_unsampled(array)
    assert _cleaned_in_vain(folder)
    outdated = fsconsole("resume", folder.name, "--consent", unused)
    assert outdated.code == ExitCode.CONSENT_STALE, outdated

    # By its UUID it is the very filesystem that the run makes in this cell.
    run("mkfs.ext4", "-q", "-F", "-U", read_state(folder).request.plan.cells[1].uuid, array)
    run("mount", array, "/mnt")
    Path("/mnt/letters").write_text("kept")
    assert f"{array} is left assembled" in (told := fsconsole("cleanup", folder.name).out)
    assert "is mounted on /mnt" in told
    assert "letters" not in told + fsconsole(*show).out
    assert fsconsole("resume", folder.name).code == ExitCode.DEVICE_MOUNTED
    run("umount", "/mnt")
    settle()
    told = _cleaned_in_vain(folder)
    assert f"{array} is left assembled" in told
    assert "letters (4 B)" in told
    assert f"`mdadm --stop {array}`, then `mdadm --zero-superblock {A} {B}`" in told
    asked = fsconsole("resume", folder.name)
    assert (asked.code, array in asked.err) == (ExitCode.CONSENT_MISSING, True), asked
    assert "letters (4 B)" in fsconsole(*show).out


def test_resume_offers_no_code_for_grown_or_inactive_array() -> None:
    """A code was printed, and then refused; cleanup said that there is one for what `resume` refuses."""
    folder = lab.detached_mirror()
    lab.wait_for(folder, lab.is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    lab.kill_engines()
    lab.hurry(200000)
    (ours,) = lab.arrays().values()
    subprocess.run(["mdadm", "--wait", ours.path], check=False, capture_output=True)
    run("mdadm", ours.path, "--add", D)
    run("mdadm", "--grow", ours.path, "--raid-devices=3")
    _assert_no_code(folder, "has the member ubdh, which is not the run's")
    lab.clear_disks()
    lab.hurry(200)

    folder = lab.detached_mirror()
    lab.wait_for(folder, lab.is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    lab.kill_engines()
    run("mdadm", "--stop", "/dev/md400")
    settle()
    for array in lab.arrays().values():
        run("mdadm", "--stop", array.path)
    run("mdadm", "-qI", A)
    _assert_no_code(folder, "is an inactive array")


def _assert_no_code(folder: RunFolder, reason: str) -> None:
    told = fsconsole("cleanup", folder.name).out
    assert reason in told
    assert "prints the code" not in told
    assert D not in told, "the run never had it"
    shown = fsconsole("resume", folder.name, "--show")
    assert "No consent is possible" in shown.out, shown
    assert fsconsole("resume", folder.name).code not in (0, ExitCode.CONSENT_MISSING)


def _write_unsampled(array: str) -> None:
    with open(array, "r+b", buffering=0) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        sampled = {offset // BLOCK_BYTES for offset in sample_offsets(size_bytes)}
        # The first MiB is read whole.
        blocks = range(2**20 // BLOCK_BYTES, size_bytes // BLOCK_BYTES)
        file.seek(BLOCK_BYTES * next(n for n in blocks if n not in sampled))
        file.write(os.urandom(BLOCK_BYTES))
        os.fsync(file.fileno())


def _cleaned_in_vain(folder: RunFolder) -> str:
    """Return what cleanup says, which must change nothing."""
    found, before = lab.arrays(), [digest(disk) for disk in (A, B)]
    cleaned = fsconsole("cleanup", folder.name)
    assert cleaned.code == 0, cleaned
    assert lab.arrays() == found
    assert [digest(disk) for disk in (A, B)] == before
    return cleaned.out


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
