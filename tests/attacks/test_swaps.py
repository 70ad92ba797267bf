"""Devices and files exchanged between a proof and the wipe that relies on it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.devices import gather, scratch
from fsconsole.devices.claims import lock_disks
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.targets import ScratchMissing
from fsconsole.journal.past import read_state
from fsconsole.model.device import ContentSample
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import CellStatus
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import run
from tests.lab.soak import tried
from tests.loop.commands import OwnLoop, each
from tests.loop.gate_cases import file_below, held_by_another_process, outdate, sparse, unchanged, write
from tests.loop.runs import TINY_PLAN, WHOLE_PLAN, new_run, wait_for_end
from tests.loop.test_kill_engine import CELL, hanging
from tests.loop.wiping import proved, wiped

SIZE = 64 * MIB
AT = 37 * MIB + 4096
"""No sampled block lies there."""


def assert_not_wiped(prover: Prover, cell: Cell) -> None:
    try:
        wiped(prover, cell, ("mkfs.ext4", "-q", "-F", cell.target))
    except FsconsoleError:
        return
    raise AssertionError("it was wiped")


def keep_a_file(device: str, directory: Path) -> None:
    point = directory / "mnt"
    point.mkdir(exist_ok=True)
    run("mount", device, str(point))
    (point / "letters").write_text("dear")
    run("umount", str(point))


Swap = Callable[[str, str, Path], object]
"""Is given the device, the victim, and an empty directory."""
CONTENT: dict[str, tuple[Swap]] = {
    "another disk's content, into the file": (
        lambda device, victim, _: run("cp", "--sparse=never", file_below(victim), file_below(device)),
    ),
    "one block, into the file": (
        lambda device, *_: run("dd", "if=/dev/urandom", f"of={file_below(device)}", "bs=4096", f"seek={AT // 4096}", "count=1", "conv=notrunc"),
    ),
    "one block, onto the device": (lambda device, *_: write(device, AT, os.urandom(4096)),),
    "a hole in the file": (lambda device, *_: run("fallocate", "-p", "-o", "0", "-l", "16MiB", file_below(device)),),
    "a discard": (lambda device, *_: run("blkdiscard", "-f", device),),
    "a file in the filesystem": (lambda device, _, directory: keep_a_file(device, directory),),
    "another filesystem": (lambda device, *_: run("mkfs.ext4", "-q", "-F", "-L", "photos", device),),
    "the same filesystem with another label": (lambda device, *_: run("e2label", device, "new"),),
    "a shorter file": (lambda device, *_: (os.truncate(file_below(device), SIZE // 2), run("losetup", "-c", device)),),
    "a file of another owner": (lambda device, *_: os.chown(file_below(device), 1000, 1000),),
}  # fmt: skip
"""What was agreed upon is an ext4 named "agreed". A proof is good for a second, but for none of these."""
NO_WRITES: dict[str, tuple[Swap]] = {
    "a renamed file": (lambda device, _, directory: os.rename(file_below(device), directory / "photos.img"),),
    "no writes any more": (lambda device, *_: run("blockdev", "--setro", device),),
}
"""What no count of writes tells: it is noticed when that second is over."""


def test_no_change_of_a_device_between_its_proof_and_the_wipe_goes_unnoticed(
    own_loop: OwnLoop, victim: str, tmp_path: Path
) -> None:
    def noticed(number: int, swap: Swap) -> None:
        directory = tmp_path / str(number)
        directory.mkdir()
        own_loop.attach(sparse(directory / "disk"))
        run("mkfs.ext4", "-q", "-L", "agreed", own_loop.path)
        with proved(own_loop.path, directory) as (prover, cell):
            swap(own_loop.path, victim, directory)
            if (swap,) in NO_WRITES.values():
                outdate(prover)
            assert_not_wiped(prover, cell)
        run("blockdev", "--setrw", own_loop.path)

    cases = (CONTENT | NO_WRITES).items()
    each({name: (number, *case) for number, (name, case) in enumerate(cases)}, noticed)


@contextmanager
def replaced(node: str, make: Callable[[], object]) -> Iterator[None]:
    """Have something else at a node's path for a while."""
    os.rename(node, f"{node}-aside")
    try:
        make()
        yield
    finally:
        os.unlink(node)
        os.rename(f"{node}-aside", node)


@contextmanager
def covered(node: str, other: str) -> Iterator[None]:
    run("mount", "--bind", other, node)
    try:
        yield
    finally:
        run("umount", node)


def alias(node: str, other: str) -> None:
    os.mknod(node, stat.S_IFBLK | 0o600, os.stat(other).st_rdev)


NODES = {
    "another device's number": lambda node, victim: replaced(node, lambda: alias(node, victim)),
    "a link to another device": lambda node, victim: replaced(node, lambda: os.symlink(victim, node)),
    "a plain file": lambda node, victim: replaced(node, lambda: shutil.copyfile(file_below(victim), node)),
    "a mount of another device's node": covered,
}


def test_a_name_that_leads_elsewhere_since_the_proof_is_not_written_to(
    own_loop: OwnLoop, victim: str, tmp_path: Path
) -> None:
    def kept(number: int, act: Callable[..., Iterator[None]]) -> None:
        directory = tmp_path / str(number)
        directory.mkdir()
        own_loop.attach(sparse(directory / "disk"))
        with (
            proved(own_loop.path, directory) as (prover, cell),
            act(own_loop.path, victim),  # type: ignore[attr-defined]
        ):
            assert_not_wiped(prover, cell)

    each({name: (number, act) for number, (name, act) in enumerate(NODES.items())}, kept)


def test_what_is_written_while_the_proof_goes_on_is_noticed_before_the_wipe(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = gather.sample_content

    def sample(path: str, size_bytes: int, **how: bool) -> ContentSample:
        found = real(path, size_bytes, **how)
        if not written:
            written.append(True)
            # As if the engine had been stopped here, and gone on later.
            write(path, AT, os.urandom(4096))
        return found

    written = [True]
    monkeypatch.setattr(gather, "sample_content", sample)
    with proved(blank, tmp_path) as (prover, cell):
        written.clear()
        outdate(prover)
        assert_not_wiped(prover, cell)


EVERY_STEP_PLAN = (
    WHOLE_PLAN.replace('["ordered", "writeback"]', '"ordered"')
    + """cold = true
with = { read_ahead = "64KiB" }
"""
)
EVERY_STEP = (
    StepKind.GATE, StepKind.EQUALISE, StepKind.MKFS, StepKind.FEATURES, StepKind.MOUNT, StepKind.COLD, StepKind.WORKLOAD,
    StepKind.REMOUNT, StepKind.UNMOUNT, StepKind.CHECK, StepKind.COLD_MOUNT, StepKind.DELETE, StepKind.RELEASE,
)  # fmt: skip
# The first of each kind: a wipe, a program that writes, the mount, a program that reads, what is done without a program.
STEPS = tried(EVERY_STEP, (StepKind.EQUALISE, StepKind.MKFS, StepKind.MOUNT, StepKind.CHECK, StepKind.DELETE))


def test_a_node_that_is_exchanged_before_any_step_leads_no_tool_to_another_device(
    own_loop: OwnLoop, victim: str, tmp_path: Path
) -> None:
    def kept(kind: StepKind) -> None:
        directory = tmp_path / kind.value
        directory.mkdir()
        own_loop.attach(sparse(directory / "disk"))
        folder = new_run(EVERY_STEP_PLAN, own_loop.path, str(directory / "runs"))
        engine = hanging(folder, kind, "before", directory / "marker", cell=0)
        with replaced(own_loop.path, lambda: alias(own_loop.path, victim)), unchanged(victim):
            (directory / "marker").unlink()
            engine.wait(timeout=60)
            wait_for_end(folder)
        after = read_state(folder)
        said = (after.reason, after.cells[0].reason)
        assert after.exit_code, said
        assert any(own_loop.path in words for words in said), said

    each({kind.value: (kind,) for kind in STEPS}, kept)


@contextmanager
def mounts_it(device: str, directory: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", "-F", device)
    (directory / "mnt").mkdir()
    # For reading: ext4 itself would write a few seconds later.
    run("mount", "-o", "ro", device, str(directory / "mnt"))
    try:
        yield
    finally:
        run("umount", str(directory / "mnt"))


@contextmanager
def formats_it(device: str, _directory: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", "-F", "-L", "photos", device)
    yield


@contextmanager
def opens_it(device: str, _directory: Path) -> Iterator[None]:
    with held_by_another_process(device, "os.O_RDWR"):
        # No write: it is seen once the proof is older than it holds.
        run("sleep", "1.2")
        yield


RACES = {
    "mounted": (mounts_it, {ExitCode.DEVICE_MOUNTED, ExitCode.DEVICE_CHANGED}, CellStatus.STOPPED),
    "formatted": (formats_it, {ExitCode.DEVICE_CHANGED}, CellStatus.STOPPED),
    # Who only has it open is waited for, and costs a cell, not the run.
    "opened": (opens_it, {ExitCode.CELLS_FAILED}, CellStatus.FAILED),
}


@pytest.mark.parametrize("name", tried(tuple(RACES), ("mounted", "formatted")))
def test_what_happened_since_the_gate_is_seen_before_the_wipe(blank: str, tmp_path: Path, name: str) -> None:
    act, codes, status = RACES[name]
    folder = new_run(TINY_PLAN, blank, str(tmp_path / "runs"))
    engine = hanging(folder, StepKind.EQUALISE, "before", tmp_path / "marker")
    with act(blank, tmp_path), unchanged(blank):  # type: ignore[attr-defined]
        (tmp_path / "marker").unlink()
        engine.wait(timeout=60)
        wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code in codes
    assert after.cells[0].status is CellStatus.DONE
    assert after.cells[CELL].status is status


def test_a_file_that_took_the_place_of_a_scratch_file_is_not_filled_up(
    own_scratch: scratch.Scratch, tmp_path: Path
) -> None:
    folder, file = new_run(TINY_PLAN, own_scratch.device, str(tmp_path / "runs")), Path(own_scratch.path)
    engine = hanging(folder, StepKind.GATE, "before", tmp_path / "marker")
    os.rename(file, tmp_path / "scratch" / "moved.img")
    file.write_text("letters")
    (tmp_path / "marker").unlink()
    engine.wait(timeout=60)
    wait_for_end(folder)
    assert file.read_text() == "letters"
    assert read_state(folder).exit_code == ExitCode.DEVICE_CHANGED


def test_a_file_that_took_the_place_of_a_scratch_file_is_not_removed(
    own_scratch: scratch.Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, file = scratch.held_for_removal, Path(own_scratch.path)

    @contextmanager
    def held(device: str) -> Iterator[None]:
        with real(device):
            os.rename(file, file.with_name("moved.img"))
            file.write_text("letters")
            yield

    monkeypatch.setattr(scratch, "held_for_removal", held)
    with pytest.raises(ScratchMissing):
        scratch.remove(own_scratch)
    assert file.read_text() == "letters"


def test_a_filesystem_that_is_named_only_after_a_long_mkfs_is_still_the_runs_own(blank: str, tmp_path: Path) -> None:
    if shutil.which("mkfs.jfs") is None:
        pytest.skip("NOT INSTALLED HERE: mkfs.jfs (package jfsutils)")
    folder = new_run(TINY_PLAN, blank, str(tmp_path / "runs"))
    state = read_state(folder)
    cell = state.request.plan.cells[0]
    prover = Prover(RealExecutor(), state, folder.path)
    make, name = ("mkfs.jfs", "-q", blank), ("jfs_tune", "-U", cell.uuid, blank)
    with lock_disks(find_device(blank)):
        wiped(prover, cell, make)
        # As on a large disk: longer than one proof holds.
        run("sleep", "1.2")
        wiped(prover, cell, name)
        prover.prove_cell(cell)
