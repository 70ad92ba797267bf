"""What a plan may ask of dd and bonnie++: anything else is an error at its key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import Generator, SyncAt, Workload, WorkloadKind
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec, written_bytes
from fsconsole.plan.read import parse_plan
from fsconsole.plan.steps import workload_title
from fsconsole.text import GIB
from fsconsole.workloads.dd import argvs
from fsconsole.workloads.launcher import EACH_FILE

HEAD = 'schema = 1\n[[variant]]\ntype = "ext4"\n[[workload]]\n'
DD = 'kind = "create"\ngenerator = "dd"\ndata = "zero"\n'
BONNIE = 'kind = "bonnie"\n'
TEN = 'files = 10\nfile_size = "1MiB"\n'


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f'kind = "create"\ngenerator = "dd"\n{TEN}', "data"),
        (f"{DD}{TEN}threads = 2\n", "threads"),
        (f'{DD}files = 10\nfile_size = ["64KiB", "1MiB"]\n', "file_size"),
        (f'{DD}file_size = "1MiB"\n', "files"),
        (f"{DD}{TEN}fsync = 4\n", "fsync"),
        (f'{DD}{TEN}bytes = "1MiB"\n', "bytes"),
        (f'{DD}{TEN}directories = "per-thread"\n', "directories"),
        (f'{TEN}kind = "create"\n[[workload]]\nkind = "read"\ngenerator = "dd"\ndata = "zero"\n', "generator"),
        (f'{BONNIE}bytes = "8GiB"\nblock_size = "3KiB"\n', "block_size"),
        (f'{BONNIE}bytes = "1000KiB"\n', "bytes"),
        (f"{BONNIE}files = 1000\n", "files"),
        (f'{BONNIE}bytes = "8GiB"\nfile_size = "4KiB"\n', "file_size"),
        (f'{BONNIE}bytes = "8GiB"\nfsync = "end"\n', "fsync"),
        (f'{BONNIE}bytes = "8GiB"\ndata = "zero"\n', "data"),
        (f'{BONNIE}bytes = "8GiB"\nduration = "9s"\n', "duration"),
    ],
)
def test_what_the_generator_cant_do_is_an_error_at_its_key(text: str, key: str) -> None:
    """A figure must not look as if it had been done."""
    with pytest.raises(PlanBadValue) as caught:
        parse_plan(HEAD + text, "plan.toml")
    assert caught.value.key.endswith(f".{key}")


def test_a_bonnie_is_named_with_its_sizes_and_needs_room_for_them() -> None:
    """Its axes make cells, as those of other loads; its files come after its data."""
    text = f'{HEAD}{BONNIE}bytes = "8GiB"\nblock_size = ["8KiB", "32KiB"]\nfiles = 262144\ndirectories = 1024\n'
    plan_file = parse_plan(text, "plan.toml")
    plan = build_plan(plan_file, [TargetSpec("/dev/x", 20 * GIB)], load_catalog(), run_id="one", kernel="6.18")
    loads = {cell.workloads[0] for cell in plan.cells if not cell.unavailable}
    assert {load.block_size_bytes for load in loads} == {8192, 32768}
    (load,) = (one for one in loads if one.block_size_bytes == 32768)
    assert written_bytes((load,)) == 8 * GIB
    assert workload_title(load) == (
        "bonnie: bonnie++, 8GiB of data in writes of 32KiB, 262144 empty files, 1024 in a directory"
    )
    small = build_plan(plan_file, [TargetSpec("/dev/x", 4 * GIB)], load_catalog(), run_id="one", kernel="6.18")
    assert all("use scale" in cell.unavailable for cell in small.cells)


def test_a_bonnie_without_sizes_has_twice_the_memory_and_needs_room_for_it() -> None:
    """Counted before it runs, not when the device is full."""
    plan_file = parse_plan(HEAD + BONNIE, "plan.toml")
    (target,) = [TargetSpec("/dev/x", 20 * GIB)]
    plan = build_plan(plan_file, [target], load_catalog(), run_id="one", kernel="6.18", memory_bytes=4 * GIB + 4096)
    assert {cell.workloads[0].limit_bytes for cell in plan.cells} == {8 * GIB}
    assert not plan.cells[0].unavailable
    plan = build_plan(plan_file, [target], load_catalog(), run_id="one", kernel="6.18", memory_bytes=16 * GIB)
    assert "the workloads write 32.0 GiB" in plan.cells[0].unavailable


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "bs=4096 count=3 status=none"),
        ({"file_size_bytes": 10_000}, "bs=4096 iflag=count_bytes count=10000 status=none"),
        ({"sync_at": SyncAt.EACH_FILE, "direct": True}, "bs=4096 count=3 oflag=direct conv=fsync status=none"),
    ],
)
def test_each_dd_writes_its_file_in_calls_of_the_block_size(more: dict[str, object], words: str) -> None:
    """As copied commands do; a file that is no whole number of blocks ends with a part of one."""
    load = Workload("x", WorkloadKind.CREATE, 1, 5, 12288, 4096, generator=Generator.DD)
    (argv,) = argvs(replace(load, **more), "/tree/x", None)  # type: ignore[arg-type]
    assert " ".join(argv) == f"dd if=/dev/zero of={EACH_FILE} {words}"


def test_one_dd_a_file_is_named_so() -> None:
    """The plan says what will run."""
    (load,) = parse_plan(f"{HEAD}{DD}{TEN}", "plan.toml").workloads
    assert (load.kind, load.generator) == (WorkloadKind.CREATE, Generator.DD)
    assert workload_title(load) == "create: create 10 files of 1MiB by one dd a file in writes of 64KiB, zero data"
