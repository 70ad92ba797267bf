"""What comes onto a device between the gate and the wipe: the engine stands still there, and somebody else acts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from tests.conftest import MakeLoopDevice, run
from tests.loop.gate_cases import MIB, held_by_another_process, unchanged, write
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end
from tests.loop.test_kill_engine import CELL, hanging

pytestmark = pytest.mark.root

Act = Callable[[str, Path], "contextmanager[None]"]


@contextmanager
def mounts_it(device: str, directory: Path) -> Iterator[None]:
    run("mkfs.ext4", "-q", "-F", device)
    (directory / "mnt").mkdir()
    run("mount", device, str(directory / "mnt"))
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
        yield


@contextmanager
def writes_over_the_filesystem(device: str, _directory: Path) -> Iterator[None]:
    run("wipefs", "--all", device)
    write(device, 0, os.urandom(MIB))
    yield


RACES = {
    "mounted": (mounts_it, {ExitCode.DEVICE_MOUNTED, ExitCode.DEVICE_CHANGED}),
    "formatted": (formats_it, {ExitCode.DEVICE_CHANGED}),
    "opened": (opens_it, {ExitCode.DEVICE_REFUSED}),
    "overwritten": (writes_over_the_filesystem, {ExitCode.DEVICE_CHANGED}),
}


@pytest.mark.parametrize(("act", "codes"), RACES.values(), ids=RACES)
def test_what_happened_since_the_gate_is_seen_before_the_wipe(
    loop_device: MakeLoopDevice, tmp_path: Path, act: Callable[..., object], codes: set[ExitCode]
) -> None:
    device = loop_device(64 * MIB)
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    engine = hanging(folder, StepKind.EQUALISE, "before", tmp_path / "marker")
    with act(device, tmp_path), unchanged(device):  # type: ignore[attr-defined]
        # Longer than one proof holds.
        run("sleep", "1.2")
        (tmp_path / "marker").unlink()
        engine.wait(timeout=60)
        wait_for_end(folder)
    after = read_state(folder)
    assert after.exit_code in codes
    assert after.cells[0].status is CellStatus.DONE
    assert after.cells[CELL].status is CellStatus.STOPPED
