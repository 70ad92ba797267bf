"""The journal on disks that are full, frozen, or turned read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted, RunInterrupted
from tests.conftest import lose_power
from tests.unit.journal.journals import a_sample, child_that_writes, written

pytestmark = pytest.mark.root

DISK_BYTES = 16 * 2**20


@pytest.fixture(params=["tmpfs", "ext4", "btrfs"])
def small_disk(request: pytest.FixtureRequest, loop_device, mounted) -> Path:
    if request.param == "tmpfs":
        return mounted("tmpfs", filesystem="tmpfs", options="size=4m")
    device = loop_device(128 * 2**20 if request.param == "btrfs" else DISK_BYTES)
    subprocess.run([f"mkfs.{request.param}", "-q", device], check=True, capture_output=True)
    return mounted(device)


def fill_up(disk: Path) -> Path:
    """Leave no room on a disk, and return the file that takes it."""
    ballast = disk / "ballast"
    for step_bytes in (2**20, 4096):
        with ballast.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\xa5" * step_bytes)
                    os.fsync(file.fileno())
            except OSError:
                continue
    return ballast


def free_bytes(disk: Path) -> int:
    free = os.statvfs(disk)
    return free.f_bavail * free.f_bsize


WRITE_ON_ORDER = """
cell = 0
for order in sys.stdin:
    try:
        if order == "close\\n":
            writer.close(finished=True)
        else:
            writer.record(CellFinished(cell, 1, Outcome.DONE, "x" * 100_000))
        print("done", flush=True)
    except JournalFull:
        print("full", flush=True)
    cell += 1
"""


def order(child: subprocess.Popen[str], word: str) -> str:
    child.stdin.write(word + "\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def end(child: subprocess.Popen[str]) -> int:
    child.communicate()
    return child.returncode


def cells(folder: RunFolder) -> list[int]:
    return [seen.cell for seen in written(folder)]


@pytest.fixture
def child(small_disk, make_request) -> Iterator[tuple[subprocess.Popen[str], RunFolder]]:
    folder = create_run(str(small_disk / "runs"), make_request())
    with child_that_writes(folder, WRITE_ON_ORDER) as child:
        yield child, folder


def test_a_full_disk_loses_nothing_that_was_reported_and_the_run_can_go_on(child, small_disk) -> None:
    writer, folder = child
    assert order(writer, "record") == "done"
    ballast = fill_up(small_disk)
    assert order(writer, "record") == "full"
    assert cells(folder) == [0]
    ballast.unlink()
    os.sync()
    assert [order(writer, word) for word in ("record", "close")] == ["done", "done"]
    assert end(writer) == 0
    assert cells(folder) == [0, 2]


def test_a_writer_ends_orderly_on_a_full_disk(child, small_disk) -> None:
    writer, folder = child
    assert order(writer, "record") == "done"
    fill_up(small_disk)
    assert [order(writer, word) for word in ("record", "close")] == ["full", "full"]
    assert end(writer) == 0
    assert cells(folder) == [0]


def test_a_journal_that_fills_its_disk_itself_stops_in_time(child, small_disk) -> None:
    writer, folder = child
    if (ballast_bytes := free_bytes(small_disk) - 4 * 2**20) > 0:
        with (small_disk / "ballast").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, ballast_bytes)
    answers = ["done"]
    while answers[-1] == "done" and len(answers) < 2000:
        answers.append(order(writer, "record"))
    assert answers[-1] == "full"
    assert cells(folder) == list(range(len(answers) - 2))
    assert order(writer, "close") in {"done", "full"}
    assert end(writer) == 0
    assert cells(folder) == list(range(len(answers) - 2))


@pytest.fixture
def disk(loop_device, mounted) -> Path:
    device = loop_device(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    return mounted(device)


def test_a_frozen_disk_stalls_no_sample(disk, make_request) -> None:
    folder = create_run(str(disk / "runs"), make_request())
    writer = JournalWriter(folder, sample_room=10)
    writer.record(CellStarted(0, 1))
    subprocess.run(["fsfreeze", "--freeze", str(disk)], check=True)
    try:
        writer.record(CellStarted(1, 1), durable=False)
        for number in range(50):
            writer.sample(a_sample(number))
        dropped = writer.dropped_samples
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(disk)], check=True)
    writer.close(finished=True)
    kept = JournalReader(folder.journal).read_since(Cursor()).samples
    assert dropped >= 50 - 2 * 10
    assert len(kept) == 50 - dropped
    assert kept[-10:] == tuple(a_sample(number) for number in range(40, 50))
    assert written(folder) == [CellStarted(0, 1), CellStarted(1, 1)]


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_what_was_reported_survives_the_loss_of_power(loop_device, mounted, make_request, filesystem: str) -> None:
    device = loop_device(320 * 2**20)
    subprocess.run([f"mkfs.{filesystem}", "-q", device], check=True)
    before = mounted(device)
    folder = create_run(str(before / "runs"), make_request())
    writer = JournalWriter(folder)
    for cell in range(20):
        writer.record(CellStarted(cell, 1), durable=cell % 5 == 4)
    lose_power(before)
    with pytest.raises(JournalUnusable):
        writer.record(RunInterrupted("too late"))
    with pytest.raises(JournalUnusable):
        writer.close(finished=True)
    subprocess.run(["umount", str(before)], check=True)
    after = mounted(device)
    # Otherwise it is another filesystem: somebody else's loop device has the number.
    assert "runs" in os.listdir(after)
    kept = RunFolder(str(after / "runs" / folder.name))
    assert cells(kept) == list(range(20))
    assert JournalReader(kept.journal).request().run_id == folder.name


def test_a_journal_on_a_read_only_disk_is_not_opened_for_writing(disk, make_request) -> None:
    folder = create_run(str(disk / "runs"), make_request())
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(JournalUnusable, match="read"):
        JournalWriter(folder)
    assert written(folder) == []
