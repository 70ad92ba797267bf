"""What takes too long for the test command: runs killed, stopped and resumed, and what is not the run's."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.devices.md import member_uuid
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.plan.steps import zero_command
from fsconsole.system.locks import FileLock
from tests.lab.digest import digest
from tests.lab.guest import create_array, fsconsole, run, settle, wait_until
from tests.lab.inside.whatif import arrays as lab
from tests.lab.inside.whatif.arrays import DISKS, MIRROR, A, B, C, D
from tests.lab.runs import act, begin, new_run

KINDS = (StepKind.ARRAY_SYNC, StepKind.RAW_PILOT, StepKind.RAW_WRITE, StepKind.READTEST, StepKind.ARRAY_STOP)
_END_BYTES = 128 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_whose_engine_was_killed_is_resumed_to_its_end(kind: StepKind) -> None:
    lab.hurry(200 if kind is StepKind.ARRAY_SYNC else 200000)
    folder = lab.detached_mirror()
    lab.wait_for(folder, lab.is_in(0, kind), f"the cell is in {kind.value}")
    lab.kill_engines()
    # Within its last step the array may have been taken apart and noted, just before the engine died.
    resumed_to_its_end(folder, may_need_no_consent=kind is StepKind.ARRAY_STOP)


@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.8, 1.6])
def test_a_run_whose_engine_was_killed_while_mdadm_made_its_array_is_resumed_to_its_end(
    after_s: float,
) -> None:
    folder = new_run(MIRROR, A, B)
    begun = Path("/tmp/an-array-is-made")
    begun.unlink(missing_ok=True)
    engine = begin(folder, act(read_state(folder).cells[0], "array", ("touch", str(begun))))
    wait_until(begun.exists, "the array is to be made", lab.LIMIT_S)
    time.sleep(after_s)
    engine.kill()
    engine.wait()
    resumed_to_its_end(folder, may_need_no_consent=False)


def resumed_to_its_end(folder: RunFolder, *, may_need_no_consent: bool) -> None:
    lab.hurry(200000)
    shown = ("resume", folder.name, "--show")
    code = lab.consent(*shown)
    assert code or may_need_no_consent
    done = fsconsole("resume", folder.name, "--consent", code)
    assert done.code == 0, done
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}
    assert lab.arrays() == {}
    assert lab.uuids_on(A, B) == set()


def test_every_level_and_knob_makes_a_cell_that_is_done() -> None:
    lab.hurry(200000)
    path = f"{lab.HERE}/every.toml"
    code = lab.consent("plan", path, *lab.on(*DISKS))
    done = fsconsole("run", path, *lab.on(*DISKS), "--consent", code, "--json")
    assert done.code == 0, done.err
    cells = read_state(lab.newest()).cells
    assert {cell.status for cell in cells} == {CellStatus.DONE}, [cell.reason for cell in cells]
    assert lab.uuids_on(*DISKS) == set()


def test_a_run_that_was_stopped_goes_on_unasked_unless_somebody_wrote_on_a_member() -> None:
    folder = lab.detached_mirror()
    _stopped_in_its_resync(folder, 1)
    resume = ("resume", folder.name)
    assert lab.consent(*resume, "--show") == ""
    assert fsconsole(*resume, "--detach").code == 0
    _stopped_in_its_resync(folder, 2)
    lab.hurry(200000)

    _write_block(B, b"a raw database".ljust(BLOCK_BYTES, b"\0"))
    now = [digest(disk) for disk in (A, B)]
    asked = fsconsole(*resume)
    assert asked.code == ExitCode.CONSENT_MISSING, asked
    assert f"{B} " in asked.err
    assert "sampled blocks changed; somebody wrote to it" in asked.err
    assert [digest(disk) for disk in (A, B)] == now

    done = fsconsole(*resume, "--consent", lab.consent(*resume, "--show"))
    assert done.code == 0, done
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}
    assert (lab.arrays(), lab.uuids_on(A, B)) == ({}, set())


def _stopped_in_its_resync(folder: RunFolder, attempt: int) -> None:
    lab.wait_for(folder, lambda state: state.cells[0].attempt == attempt, "the cell has begun")
    lab.wait_for(folder, lab.is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    lab.wait_for(folder, _tells_how_far, "a sample tells how far the resync is")
    assert fsconsole("stop", folder.name, "--now").code == 0
    wait_until(lambda: not is_alive(folder), "the engine ends", lab.LIMIT_S)
    assert read_state(folder).cells[0].status is CellStatus.STOPPED
    assert (lab.arrays(), lab.uuids_on(A, B)) == ({}, set())


def _tells_how_far(state: RunState) -> bool:
    sample = state.last_sample
    return sample is not None and sample.progress is not None and sample.progress.left_s is not None


def _write_block(disk: str, block: bytes) -> None:
    """Write a block where the gate samples."""
    with open(disk, "r+b", buffering=0) as file:
        file.seek(sample_offsets(file.seek(0, os.SEEK_END))[20])
        file.write(block)
        os.fsync(file.fileno())


def test_mdadm_itself_refuses_a_device_that_somebody_has_claimed() -> None:
    # Locked as in a run: udev would put the stopped array together again.
    with FileLock.acquire(A), FileLock.acquire(B):
        create_array("md9", "raid1", A, B)
        run("mdadm", "--stop", "/dev/md9")
        assert lab.arrays() == {}
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


NAME_TAKEN = ("md400", (C, D), "is an array of ubdg, ubdh already")
MEMBER_TAKEN = ("md9", (B, C), "/dev/ubdf is held by /dev/md9")


@pytest.mark.parametrize(("name", "members", "words"), [MEMBER_TAKEN, NAME_TAKEN])
def test_nothing_is_written_where_a_member_or_the_name_is_taken(
    name: str, members: tuple[str, ...], words: str
) -> None:
    create_array(name, "raid1", *members)
    settle()
    before = [digest(disk) for disk in DISKS]
    for command in (("plan", MIRROR), ("run", MIRROR, "--consent", "00000-00000-00000")):
        done = fsconsole(*command, *lab.on(A, B))
        assert done.code == 23, done
        assert words in done.err
    assert [digest(disk) for disk in DISKS] == before
    assert lab.arrays().keys() == {name}
