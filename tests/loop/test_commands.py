"""Commands on real devices: plan, demo, doctor, the catalog's command lines."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import zlib
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.command import Command, CommandResult
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import CellStatus
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import find_config, parse_plan
from fsconsole.preflight.machine import examine
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, loops_under, run, wait_until
from tests.loop.commands import AS_NOBODY, command, replacing
from tests.loop.gate_cases import file_below, unchanged, write
from tests.loop.runs import fsconsole, processes_with, succeed, wait_for_end
from tests.unit.cli.contract import checked

EXT4_BYTES = 24 * MIB
BTRFS_BYTES = 112 * MIB
WORKLOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def plan_cell(device: str, variant: str, *, size_bytes: int = 300 * MIB, head: str = "") -> Cell:
    """Return the only cell of a plan with one variant, given as the lines of its table."""
    text = f"schema = 1\nrepeats = 1\n{head}\n[[variant]]\n{variant}\n{WORKLOAD}"
    target = TargetSpec(device, size_bytes)
    (cell,) = build_plan(parse_plan(text, "plan.toml"), (target,), load_catalog(), run_id=f"test {device}").cells
    return cell


def execute(argv: tuple[str, ...]) -> CommandResult:
    return RealExecutor().run(Command(argv, timeout_s=120))


def run_step(cell: Cell, kind: StepKind) -> list[CommandResult]:
    """Execute a step's commands as listed."""
    (step,) = (step for step in cell.steps if step.kind is kind)
    results = [execute(argv) for argv in step.commands]
    for result in results:
        assert result.exit_code == 0, f"{result.argv}: {result.err}{result.out}"
    return results


def test_inode_tables_are_written_by_mkfs_unless_the_variant_says_otherwise(
    loop_device: MakeLoopDevice,
) -> None:
    device = loop_device(EXT4_BYTES)
    for words, zeroed in (("", True), ("-E lazy_itable_init=1", False)):
        run_step(plan_cell(device, f'type = "ext4"\nmkfs = "{words} -b 1024"'), StepKind.MKFS)
        last_group = execute(("dumpe2fs", device)).out.rpartition("\nGroup ")[2]
        assert ("ITABLE_ZEROED" in last_group) is zeroed


def test_words_of_all_extended_options_take_effect_together_and_tuning_words_after_them(
    loop_device: MakeLoopDevice,
) -> None:
    device = loop_device(EXT4_BYTES)
    words = "-E stride=16 -b 4096 -E stripe-width=64 -O ^flex_bg -O ^64bit,uninit_groups,^metadata_csum"
    cell = plan_cell(device, f'type = "ext4"\nmkfs = "{words}"\ntune = "-c 0 -i 0 -r 100"')
    assert len(run_step(cell, StepKind.MKFS)) == 2
    found = dict(re.findall(r"^([\w ]+): +(.+)$", execute(("dumpe2fs", "-h", device)).out, re.MULTILINE))
    shown = [found[name] for name in ("RAID stride", "RAID stripe width", "Reserved block count")]
    assert shown == ["16", "64", "100"]
    features = set(found["Filesystem features"].split())
    assert "uninit_bg" in features
    assert not {"flex_bg", "64bit", "metadata_csum"} & features


def test_mkfs_does_not_undo_the_equalising_of_a_scratch_file(loop_device: MakeLoopDevice) -> None:
    device = loop_device(BTRFS_BYTES, allocate=True)
    target = TargetSpec(device, BTRFS_BYTES, is_scratch=True)
    text = "schema = 1\nrepeats = 1\n" + "".join(f'[[variant]]\ntype = "{name}"\n' for name in ("ext4", "btrfs"))
    plan = build_plan(parse_plan(text + WORKLOAD, "plan.toml"), (target,), load_catalog(), run_id="r")
    for cell in plan.cells:
        for kind in (StepKind.EQUALISE, StepKind.MKFS):
            run_step(cell, kind)
            allocated_bytes = os.stat(file_below(device)).st_blocks * 512
            assert allocated_bytes >= BTRFS_BYTES, (cell.variant.label, kind)


def test_equalising_leaves_nothing_of_what_was_there(loop_device: MakeLoopDevice) -> None:
    device = loop_device(8 * MIB)
    for how in ("discard", "zero", "precondition"):
        write(device, 0, b"before" * 1000)
        cell = plan_cell(device, 'type = "ext4"', size_bytes=8 * MIB, head=f'equalise = "{how}"')
        run_step(cell, StepKind.EQUALISE)
        with open(device, "rb") as file:
            head = file.read(4096)
        assert b"before" not in head
        assert (head == bytes(4096)) is (how != "precondition"), how


def test_preconditioning_fills_the_device_twice_with_random_data_that_mkfs_leaves_there(
    loop_device: MakeLoopDevice,
) -> None:
    for name, size_bytes in (("ext4", EXT4_BYTES), ("btrfs", BTRFS_BYTES)):
        device = loop_device(size_bytes)
        stat = Path(f"/sys/block/{os.path.basename(device)}/stat")
        cell = plan_cell(device, f'type = "{name}"', head='equalise = "precondition"')
        before = int(stat.read_text().split()[6])
        run_step(cell, StepKind.EQUALISE)
        # Sectors written (Documentation/block/stat.rst); the count may go on from the number's last user.
        assert (int(stat.read_text().split()[6]) - before) * 512 == 2 * size_bytes
        found = random_pages(device)
        assert len(found) == size_bytes // 4096 // 16
        run_step(cell, StepKind.MKFS)
        # What mkfs writes itself: tables of inodes, a journal.
        assert len(found & random_pages(device)) > 0.7 * len(found), name


def random_pages(device: str) -> set[bytes]:
    """Return digests of the pages that a compressor can't make smaller, of each sixteenth page."""
    data = Path(device).read_bytes()
    pages = (data[at : at + 4096] for at in range(0, len(data), 16 * 4096))
    return {hashlib.sha256(page).digest() for page in pages if len(zlib.compress(page, 1)) >= 4096}


SIZE = 320 * MIB


def plan(*words: str) -> dict[str, object]:
    """Return what the command says of the demo's plan."""
    return json.loads(succeed("plan", "demo", *words, "--json"))


def test_the_code_stays_the_same_while_the_device_does_and_changes_with_it(
    loop_device: MakeLoopDevice,
) -> None:
    device = loop_device(SIZE)
    with unchanged(device):
        first, second = (plan("-d", device) for _ in range(2))
        assert "mkfs.btrfs -f -U" in succeed("plan", "demo", "-d", device, "--commands")
    assert {"cells", "consent", "bytes_to_write", "estimate_s"} <= set(first)
    assert first["bytes_to_write"] > 0
    assert len(first["cells"]) == 25
    cell = first["cells"][0]
    assert {"cell", "target", "variant", "repeat", "array", "raw", "workloads", "steps"} <= set(cell)
    (mkfs,) = (step["commands"][0] for step in cell["steps"] if step["kind"] == "mkfs")
    assert cell["uuid"] in " ".join(mkfs)
    assert first["consent"] == second["consent"] != ""
    assert cell["uuid"] != second["cells"][0]["uuid"]
    run("mkfs.ext4", "-q", device)
    assert plan("-d", device)["consent"] != first["consent"]


def test_a_mounted_device_is_shown_and_refused_without_a_code(blank: str, mounted: Mount) -> None:
    run("mkfs.ext4", "-q", blank)
    mounted(blank)
    shown = fsconsole("plan", "demo", "--device", blank)
    assert shown.returncode == ExitCode.DEVICE_MOUNTED
    assert "REFUSED" in shown.stdout
    assert "--consent" not in shown.stdout
    assert "Traceback" not in shown.stderr


def test_one_device_named_twice_is_one_target_and_two_devices_are_two(
    loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    first, second = loop_device(SIZE), loop_device(SIZE)
    (tmp_path / "link").symlink_to(first)
    shown = plan("-d", first, "-d", str(tmp_path / "link"), "-d", second)
    assert [target["path"] for target in shown["targets"]] == [first, second]
    assert len(shown["cells"]) == 50


def test_without_a_device_nothing_is_looked_at_and_nobody_need_be_root() -> None:
    shown = command("plan", "demo", "--commands", under=AS_NOBODY)
    assert shown.returncode == 0, shown.stderr
    assert "mkfs.xfs -f -m uuid=" in shown.stdout
    assert "--consent" not in shown.stdout


def test_namespace_confinement_and_loop_devices_work_and_nothing_is_left(tmp_path):
    machine = examine(RealExecutor(), load_catalog(), str(tmp_path))
    assert machine.is_root
    assert (machine.namespace, machine.confinement, machine.loop) == ("", "", "")
    assert machine.namespace == ""
    assert os.listdir(tmp_path) == []
    wait_until(lambda: not loops_under(str(tmp_path)), "the loop device is gone")


VARIANTS = ("ext4", "ext4 nodelalloc")
SMALLER = {
    "repeats = 5": "repeats = 3", "threads = 16": "threads = 4", '"discard"': '"none"', '"40MiB"': '"1MiB"', "files = 3000": "files = 60", '"2MiB"': '"64KiB"',
    '[[variant]]\ntype = "ext3"\n\n[[variant]]\ntype = "xfs"\n\n[[variant]]\ntype = "btrfs"\n\n': "",
}  # fmt: skip
"""All its variants are run in the soak of test_shipped_plans.py."""


def smaller_demo(directory: Path) -> str:
    """Write the demo's plan of two variants, in three rounds of small files on a device that isn't cleared, and return its path."""
    text = find_config("demo").read_text()
    for old, new in SMALLER.items():
        assert old in text
        text = text.replace(old, new)
    path = directory / "demo.toml"
    path.write_text(text)
    return str(path)


def test_the_demo_prints_a_grid_and_last_what_it_shows_and_takes_its_scratch_device_away(tmp_path):
    directory, runs = tmp_path / "scratch", str(tmp_path / "runs")
    directory.mkdir()
    words = ("demo", "--dir", str(directory), "--runs", runs, "--size", "320MiB")
    done = command(*words, under=replacing(str(find_config("demo")), smaller_demo(tmp_path)), limit_s=300)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"scratch file of 320\.0 MiB written in \d+\.\d s\n", done.stderr)
    (folder,) = list_runs(runs)
    state = read_state(folder)
    assert state.outcome is Outcome.DONE
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert all(cell.value(Metric.DURABLE) > 0 for cell in state.cells)
    grid = done.stdout.partition("\nvariant ")[2].splitlines()
    assert [name for name in VARIANTS if not any(row.startswith(f"{name}  ") for row in grid)] == []
    assert max(map(len, done.stdout.partition("\n\n")[2].splitlines())) <= 80
    assert re.match(r"(What|After) 3 rounds ", done.stdout.split("\n\n")[-1])
    assert os.listdir(directory) == []
    assert loops_under(str(tmp_path)) == []
    wait_until(lambda: processes_with(str(tmp_path)) == [], "its processes end")


def test_a_detached_demo_says_where_its_run_is(tmp_path):
    directory, runs = tmp_path / "scratch", str(tmp_path / "runs")
    directory.mkdir()
    out = succeed("demo", "--dir", str(directory), "--runs", runs, "--size", "320MiB", "--detach", "--json")
    (folder,) = list_runs(runs)
    assert checked("demo", out) == [{"schema": 4, "run_id": folder.name, "folder": folder.path}]
    checked("stop", succeed("stop", folder.name, "--now", "--runs", runs, "--json"))
    wait_for_end(folder)
    (device,) = loops_under(str(tmp_path))
    succeed("scratch", "remove", device, "--runs", runs, "--yes")
    assert os.listdir(directory) == []


def test_a_demo_that_cannot_begin_leaves_no_scratch_device(tmp_path):
    directory, runs = tmp_path / "scratch", tmp_path / "runs"
    directory.mkdir()
    runs.write_text("no directory")
    done = fsconsole("demo", "--dir", str(directory), "--runs", str(runs), "--size", "320MiB")
    assert done.returncode != 0
    assert "\nfsconsole: Runs can't be kept" in done.stderr
    assert os.listdir(directory) == []
    assert loops_under(str(tmp_path)) == []


class WithoutBubblewrap(RealExecutor):
    """As on a machine where bubblewrap confines nothing: the program is run by itself."""

    def run(self, command: Command):
        if "bwrap" not in command.argv:
            return super().run(command)
        bare = command.argv[command.argv.index("touch") :]
        return super().run(Command(bare, timeout_s=command.timeout_s))


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_cage_that_does_not_hold_is_told_of(tmp_path):
    machine = examine(WithoutBubblewrap(), load_catalog(), str(tmp_path))
    assert machine.confinement == "a confined program could write outside its tree"
