"""A free partition of a disk that the system lives on too: here the run folder stands for the system."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from fsconsole.client.engine import start_engine
from fsconsole.devices.claims import lock_disks
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.errors import ExitCode
from fsconsole.errors.targets import DeviceLocked
from fsconsole.journal.past import read_state
from fsconsole.model.device import SHARED
from fsconsole.model.plan import StepKind
from fsconsole.preflight import prepare
from fsconsole.system.locks import FileLock, is_locked
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import Mount, run, unmount
from tests.lab.soak import SOAK, tried
from tests.loop.commands import command, fails, replacing
from tests.loop.gate_cases import inspect, partitioned, questions, refusals, write_dos_table, write_gpt
from tests.loop.runs import (
    TINY_PLAN,
    UNHURRIED_PLAN,
    fsconsole,
    is_in,
    new_run,
    succeed,
    wait_for,
    wait_for_end,
    written,
)
from tests.loop.wiping import wiped

EXTENTS = ((1, 40), (41, 40), (81, 40))


class SystemDisk(NamedTuple):
    """A disk, and its partitions: the first one holds the run folder, the others are free."""

    disk: str
    one: str
    two: str
    three: str
    runs: str


@pytest.fixture
def system(tmp_path: Path, mounted: Mount) -> Iterator[SystemDisk]:
    """A disk with a partition table; nothing is mounted from it any more when it goes."""
    with partitioned(tmp_path, *EXTENTS, size_bytes=124 * MIB) as (disk, one, two, three):
        write_dos_table(disk, *EXTENTS)
        run("mkfs.ext4", "-q", one)
        point = mounted(one)
        try:
            yield SystemDisk(disk, one, two, three, f"{point}/runs")
        finally:
            unmount(point)


def test_a_free_partition_is_asked_about_and_the_rest_of_its_disk_stays_refused(system: SystemDisk) -> None:
    report = inspect(system.two, runs_dir=system.runs)
    assert refusals(report) == {}
    assert questions(report) == {SHARED: "is on a disk shared with the run folder"}
    assert report.needs_consent
    assert "system-disk" in refusals(inspect(system.disk, runs_dir=system.runs))
    assert {"system-disk", "mounted"} <= set(refusals(inspect(system.one, runs_dir=system.runs)))
    for part in (system.disk, system.one):
        for hazard in inspect(part, runs_dir=system.runs).refusals:
            assert "umount" not in hazard.hint
            assert "--runs" in hazard.hint
    run("mkswap", "-q", system.two)
    assert set(refusals(inspect(system.two, runs_dir=system.runs))) == {"system-disk"}
    run("wipefs", "-q", "--all", system.two)
    for extents, kind in ((EXTENTS, 0xEF), (((1, 40), (41, 39), (81, 40)), 0x83), (EXTENTS[:1], 0x83)):
        write_dos_table(system.disk, *extents, kind=kind)
        assert set(refusals(inspect(system.two, runs_dir=system.runs))) == {"system-disk"}, (extents, kind)


@pytest.mark.parametrize("name", ["PARTLABEL=data /srv ext4", "/dev/disk/by-partlabel/data none swap"])
def test_partition_beside_the_system_is_refused_by_label(system: SystemDisk, tmp_path: Path, name: str) -> None:
    parts = ((first, size, f"0f00d0aa-cf13-4cfe-90e2-8b54c80b19f{first % 7}") for first, size in EXTENTS)
    labels = ("system", "data", "free")
    write_gpt(system.disk, 124 * MIB, *((*part, label) for part, label in zip(parts, labels, strict=True)))
    fstab, plan = tmp_path / "fstab", written(tmp_path, TINY_PLAN)
    fstab.write_text(f"{name} noauto 0 0\n")
    under = replacing("/etc/fstab", str(fstab))
    words = ("plan", plan, "--runs", system.runs, "--device")
    fails(
        ExitCode.DEVICE_REFUSED, *words, system.two, names=("the run folder and is named in /etc/fstab",), under=under
    )
    assert command(*words, system.three, under=under).returncode == 0


def test_disk_of_root_is_refused_without_release_hint(tmp_path: Path) -> None:
    """Reads the machine's own disk, and writes nothing: every command here only looks, or is refused before it acts."""
    root = run("findmnt", "--noheadings", "--output", "SOURCE", "--target", "/").strip()
    if not root.startswith("/dev/"):
        pytest.skip("/ lies on no block device here")
    runs = str(tmp_path / "runs")
    plan = written(tmp_path, TINY_PLAN)
    for words in (("plan", plan), ("run", plan), ("quick", "ext4")):
        refused = fsconsole(*words, "--device", root, "--runs", runs)
        assert refused.returncode == ExitCode.DEVICE_MOUNTED, words
        said = refused.stderr.replace("\n", " ")
        assert f"{root} holds the running system; never wiped." in said
        assert "`fsconsole scratch create --size" in said
        assert "umount" not in said.partition("holds the running system")[2]
    (listed,) = json.loads(succeed("devices", root, "--json"))["devices"]
    assert listed["state"]["text"].endswith("; holds the running system; never wiped")
    assert listed["shares_with"].startswith("/")


def test_the_disk_is_locked_only_while_a_tool_writes_and_no_second_run_gets_onto_it(
    system: SystemDisk,
) -> None:
    folder = new_run(TINY_PLAN, system.two, system.runs)
    state = read_state(folder)
    (target,), cell = state.request.targets, state.request.plan.cells[0]
    mkfs = next(step for step in cell.steps if step.kind is StepKind.MKFS).commands[0]
    prover = Prover(RealExecutor(), state, folder.path)
    seen = []

    def look() -> None:
        # As udevd does before it looks at a partition.
        seen.append((is_locked(system.disk), is_locked(system.two)))

    with prover.lock(target):
        look()
        prover.prove_target(target)
        wiped(prover, cell, mkfs, at_handover=look)
        look()
        prover.prove_cell(cell)
        look()
        assert "locked" in refusals(inspect(system.three, runs_dir=system.runs))
        assert "locked" in refusals(inspect(system.three))
        other = Prover(RealExecutor(), state, folder.path)
        for another_run in (
            lambda: other.lock(replace(target, path=system.three)),
            lambda: lock_disks(find_device(system.three)),
        ):
            with pytest.raises(DeviceLocked):
                another_run()
        with FileLock.acquire(system.disk), pytest.raises(DeviceLocked):
            wiped(prover, cell, mkfs)
        # Counts towards the pause, as somebody does who has the device open.
        assert prover.blocked_by
    assert seen == [(False, True), (True, True), (False, True), (False, True)]
    other.lock(target).close()


def test_every_row_says_what_its_disk_is_shared_with_and_nothing_else_on_the_disk_changes(
    system: SystemDisk, tmp_path: Path
) -> None:
    plan, on = (
        written(tmp_path, f"raw = {str(SOAK).lower()}\n{TINY_PLAN}"),
        ("--device", system.two, "--runs", system.runs),
    )
    shared = f"{system.two} is on a disk shared with the run folder"
    text = " ".join(succeed("plan", plan, *on).split())
    assert shared in text
    offer = json.loads(succeed("plan", plan, *on, "--json"))
    assert [hazard["check"] for hazard in offer["targets"][0]["hazards"]].count(SHARED) == 1
    fails(ExitCode.CONSENT_MISSING, "run", plan, *on)
    with open(system.three, "rb") as three, open(system.disk, "rb") as disk:
        before = three.read(), disk.read(MIB)
    succeed("run", plan, *on, "--consent", offer["consent"])
    with open(system.three, "rb") as three, open(system.disk, "rb") as disk:
        assert (three.read(), disk.read(MIB)) == before
    said = "the target is on a disk shared with the run folder"
    for form in ("table", "md"):
        assert said in " ".join(succeed("results", "--format", form, "--runs", system.runs).split()), form
    for more in ((), ("--summary",)):
        lines = csv.DictReader(succeed("results", "--format", "csv", *more, "--runs", system.runs).splitlines())
        assert all("shared-disk" in line["warnings"].split("; ") for line in lines), more
    told = json.loads(succeed("results", "--format", "json", "--runs", system.runs))
    assert all(any(said in one["reason"] for one in cell["warnings"]) for cell in told["cells"])


def test_a_living_run_leaves_the_disk_to_udev_during_its_load_and_keeps_a_second_run_away(
    system: SystemDisk, tmp_path: Path
) -> None:
    # Five seconds a cell: on a busy machine those of a tenth were over before a test saw one.
    folder = new_run(UNHURRIED_PLAN.replace('"128KiB"', '"4MiB"'), system.two, system.runs)
    start_engine(folder)
    try:
        wait_for(folder, is_in(0, StepKind.WORKLOAD))
        assert (is_locked(system.disk), is_locked(system.two)) == (False, True)
        plan = written(tmp_path, TINY_PLAN)
        for runs in (system.runs, str(tmp_path / "elsewhere")):
            fails(ExitCode.DEVICE_LOCKED, "run", plan, "--device", system.three, "--runs", runs)
    finally:
        succeed("stop", "--now", "--runs", system.runs)
        wait_for_end(folder)


def test_an_engine_refuses_what_may_not_be_done_on_a_shared_disk_though_the_plan_was_let_pass(
    system: SystemDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as blind:
        blind.setattr(prepare, "require_apart", lambda *_: None)
        folder = new_run(TINY_PLAN + READ_AHEAD, system.two, system.runs)
    start_engine(folder)
    wait_for_end(folder)
    state = read_state(folder)
    assert "sets read_ahead of that whole disk" in state.reason
    assert not any(cell.steps for cell in state.cells)


READ_AHEAD = '\n[settings]\nread_ahead = ["128KiB", "1MiB"]\n'
OF_WORKLOAD = '\nwith = { scheduler = "none" }\n'
DIRTY = '\n[settings]\ndirty_bytes = "64MiB"\n'
ARRAY = '\n[[array]]\nlevel = "linear"\n'


def test_a_plan_that_sets_the_whole_disk_or_has_another_target_is_refused_and_says_what_to_do(
    system: SystemDisk, blank: str, tmp_path: Path
) -> None:
    plan = Path(written(tmp_path, TINY_PLAN))
    for more, devices, told in (
        (READ_AHEAD, [system.two], "the plan sets read_ahead of that whole disk"),
        (OF_WORKLOAD, [system.two], "the plan sets scheduler of that whole disk"),
        ("", [system.two, blank], "is not the only target"),
        (ARRAY, [system.two, blank], "is not the only target"),
    ):
        plan.write_text(TINY_PLAN + more)
        named = [word for path in devices for word in ("--device", path)]
        for verb in tried(("plan", "run"), ("run",)):
            done = fails(ExitCode.DEVICE_REFUSED, verb, str(plan), *named, "--runs", system.runs)
            assert f"{system.two} is on a disk shared with the system, and {told}" in done.stderr
    plan.write_text(TINY_PLAN + DIRTY)
    assert "shared with the run folder" in succeed("plan", str(plan), "--device", system.two, "--runs", system.runs)
