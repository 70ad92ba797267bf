"""The commands that a plan lists, executed for real on small loop devices."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.command import Command, CommandResult
from fsconsole.model.plan import Cell, StepKind
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import parse_plan
from fsconsole.plan.steps import MOUNT_POINT
from fsconsole.preflight.machine import Driver, driver_of
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice

pytestmark = pytest.mark.root

SIZES = {"ext2": 24 * MIB, "ext3": 24 * MIB, "ext4": 24 * MIB, "xfs": 300 * MIB, "btrfs": 112 * MIB}
WORKLOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def plan_cell(device: str, variant: str, *, size_bytes: int = 300 * MIB, head: str = "") -> Cell:
    """Return the only cell of a plan with one variant, given as the lines of its table."""
    text = f"schema = 1\n{head}\n[[variant]]\n{variant}\n{WORKLOAD}"
    target = TargetSpec(device, size_bytes)
    (cell,) = build_plan(
        parse_plan(text, "plan.toml"), (target,), load_catalog(), run_id=f"test {device}"
    ).cells
    return cell


def execute(argv: tuple[str, ...]) -> CommandResult:
    return RealExecutor().run(Command(argv, timeout_s=120))


def run_step(cell: Cell, kind: StepKind, mount_point: Path | None = None) -> list[CommandResult]:
    """Execute a step's commands as listed, with a mount point of the test's own."""
    (step,) = (step for step in cell.steps if step.kind is kind)
    point = str(mount_point or MOUNT_POINT)
    results = [execute(tuple(part.replace(MOUNT_POINT, point) for part in argv)) for argv in step.commands]
    for result in results:
        assert result.exit_code == 0, f"{result.argv}: {result.err}{result.out}"
    return results


def uuid_of(device: str) -> str:
    return execute(("blkid", "--probe", "--output", "value", "--match-tag", "UUID", device)).out.strip()


def superblock(device: str) -> str:
    return execute(("dumpe2fs", "-h", device)).out


@pytest.mark.parametrize("filesystem", load_catalog().names)
def test_every_filesystem_lives_its_life_by_the_listed_commands(
    filesystem: str, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    if driver_of(filesystem) is Driver.ABSENT:
        pytest.skip(f"THIS KERNEL HAS NO {filesystem}: its tools alone are tried (test_rare_filesystems.py)")
    catalogued = load_catalog().get(filesystem)
    device = loop_device(SIZES.get(filesystem, catalogued.trial_bytes))
    cell = plan_cell(device, f'type = "{filesystem}"')
    point = tmp_path / "mounted"
    point.mkdir()
    run_step(cell, StepKind.MKFS)
    assert uuid_of(device) == cell.uuid
    (features,) = run_step(cell, StepKind.FEATURES)
    assert features.out.strip()
    run_step(cell, StepKind.MOUNT, point)
    try:
        assert_mounted_safely(point, filesystem)
        (point / "tree" / "below").mkdir(parents=True)
        (point / "tree" / "below" / "file").write_bytes(b"x" * 4096)
        run_step(cell, StepKind.DELETE, point)
        assert not (point / "tree").exists()
    finally:
        run_step(cell, StepKind.UNMOUNT, point)
    if catalogued.commands.check:
        run_step(cell, StepKind.CHECK)


def assert_mounted_safely(point: Path, filesystem: str) -> None:
    (entry,) = (line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {point} " in line)
    _, _, kind, options, *_ = entry.split(" ")
    assert kind == filesystem
    assert {"nosuid", "nodev"} <= set(options.split(","))


def test_words_of_all_extended_options_take_effect_together(loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZES["ext4"])
    words = "-E stride=16 -b 4096 -E stripe-width=64 -O ^flex_bg -O ^64bit,uninit_groups,^metadata_csum"
    run_step(plan_cell(device, f'type = "ext4"\nmkfs = "{words}"'), StepKind.MKFS)
    found = superblock(device)
    assert re.search(r"RAID stride: +16$", found, re.MULTILINE)
    assert re.search(r"RAID stripe width: +64$", found, re.MULTILINE)
    features = re.search(r"^Filesystem features: +(.*)$", found, re.MULTILINE)
    assert features is not None
    assert "uninit_bg" in features[1].split()
    assert not {"flex_bg", "64bit", "metadata_csum"} & set(features[1].split())


@pytest.mark.parametrize(("words", "zeroed"), [("", True), ("-E lazy_itable_init=1", False)])
def test_inode_tables_are_written_by_mkfs_unless_the_variant_says_otherwise(
    words: str, zeroed: bool, loop_device: MakeLoopDevice
) -> None:
    device = loop_device(SIZES["ext4"])
    run_step(plan_cell(device, f'type = "ext4"\nmkfs = "{words} -b 1024"'), StepKind.MKFS)
    groups = execute(("dumpe2fs", device)).out
    assert ("ITABLE_ZEROED" in last_group(groups)) is zeroed


def last_group(text: str) -> str:
    return text[text.rindex("\nGroup ") :]


def test_tuning_words_are_applied_after_mkfs(loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZES["ext4"])
    cell = plan_cell(device, 'type = "ext4"\ntune = "-c 0 -i 0 -r 100"')
    assert len(run_step(cell, StepKind.MKFS)) == 2
    assert re.search(r"^Reserved block count: +100$", superblock(device), re.MULTILINE)


def test_mkfs_does_not_undo_the_equalising_of_a_scratch_file(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZES["btrfs"], allocate=True)
    backing_file = Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text().strip()
    size = SIZES["btrfs"]
    target = TargetSpec(device, size, is_scratch=True, backing_file=backing_file)
    text = "schema = 1\n" + "".join(f'[[variant]]\ntype = "{name}"\n' for name in ("ext4", "btrfs"))
    plan = build_plan(parse_plan(text + WORKLOAD, "plan.toml"), (target,), load_catalog(), run_id="r")
    for cell in plan.cells:
        run_step(cell, StepKind.EQUALISE)
        assert allocated_bytes(backing_file) >= size
        run_step(cell, StepKind.MKFS)
        assert allocated_bytes(backing_file) >= size, cell.variant.label


def allocated_bytes(path: str) -> int:
    return Path(path).stat().st_blocks * 512


@pytest.mark.parametrize("how", ["discard", "zero", "precondition"])
def test_equalising_leaves_nothing_of_what_was_there(how: str, loop_device: MakeLoopDevice) -> None:
    device = loop_device(8 * MIB)
    with open(device, "r+b") as file:
        file.write(b"before" * 1000)
    cell = plan_cell(device, 'type = "ext4"', size_bytes=8 * MIB, head=f'equalise = "{how}"')
    run_step(cell, StepKind.EQUALISE)
    with open(device, "rb") as file:
        head = file.read(4096)
    assert b"before" not in head
    assert (head == bytes(4096)) is (how != "precondition")


def test_mkfs_refuses_a_mounted_device_although_it_asks_nothing(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    device = loop_device(SIZES["ext4"])
    cell = plan_cell(device, 'type = "ext4"')
    point = tmp_path / "mounted"
    point.mkdir()
    run_step(cell, StepKind.MKFS)
    run_step(cell, StepKind.MOUNT, point)
    try:
        (mkfs,) = (step for step in cell.steps if step.kind is StepKind.MKFS)
        assert execute(mkfs.commands[0]).exit_code != 0
    finally:
        run_step(cell, StepKind.UNMOUNT, point)


def test_a_damaged_ext4_is_repaired_by_the_check_and_says_so(loop_device: MakeLoopDevice) -> None:
    device = loop_device(SIZES["ext4"])
    cell = plan_cell(device, 'type = "ext4"')
    run_step(cell, StepKind.MKFS)
    execute(("debugfs", "-w", "-R", "clri <2>", device))
    (check,) = (step for step in cell.steps if step.kind is StepKind.CHECK)
    assert execute(check.commands[0]).exit_code == 1
    assert execute(check.commands[0]).exit_code == 0


def test_a_cell_keeps_its_uuid_when_it_is_done_again() -> None:
    first = plan_cell("/dev/loop7", 'type = "xfs"')
    assert first == plan_cell("/dev/loop7", 'type = "xfs"')
    assert dataclasses.replace(first, uuid="") != first
