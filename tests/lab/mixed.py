"""One mixed plan on a raid5 array, and a load over threads, for each kernel that the lab boots: these tests stand in a group of each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices.snapshot import discover, find_device
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Role
from fsconsole.model.state import CellStatus
from fsconsole.plan.arrays import stripes_of
from fsconsole.text import KIB
from tests.lab.guest import fsconsole
from tests.lab.kept import KEPT, kept, rows_of
from tests.lab.whole import MEMBERS, Whole, run_on_array

PLAN = "tests/lab/mixed.toml"
OVER_THREADS = "tests/lab/threads.toml"
IN_ORDER = ("xfs", "ext4", "btrfs")
"""As the plan's seed shuffles them, on every kernel."""
WRITTEN_BYTES, READ_BYTES = (2097152, 1245184), (1179648,)
"""By each workload: all draws are the seed's, on every kernel and filesystem."""
GRIDS = Path("tests/data/kernels")
"""The grids of one such run on each kernel, kept for whoever wants to see them side by side."""


@pytest.fixture(scope="module")
def mixed() -> Iterator[Whole]:
    with run_on_array(PLAN, "raid5", *MEMBERS) as whole:
        yield whole


def test_a_mixed_load_is_done_on_each_filesystem_in_the_order_of_the_seed(mixed: Whole) -> None:
    assert (mixed.done.code, mixed.done.err) == (0, ""), mixed.done
    variants = [cell.variant.filesystem for cell in mixed.state.request.plan.cells]
    assert tuple(variants) == IN_ORDER
    for cell in mixed.state.cells:
        assert cell.status is CellStatus.DONE, (cell.reason, mixed.done)
        assert [step.kind for step in cell.steps].count(StepKind.WORKLOAD) == 2
        assert {step.verdict for step in cell.steps if step.kind is StepKind.CHECK} == {"clean"}


def test_each_filesystem_was_given_the_same_to_do(mixed: Whole) -> None:
    for metric, bytes_moved in ((Metric.WRITTEN, WRITTEN_BYTES), (Metric.READ_BYTES, READ_BYTES)):
        for cell in mixed.state.cells:
            found = [each.value for step in cell.steps for each in step.measurements if each.metric is metric]
            assert tuple(found) == bytes_moved, (cell.index, metric)


def test_the_gauges_show_array_and_members_and_count_nothing_twice(mixed: Whole) -> None:
    assert mixed.gauges == {("md0", Role.TARGET, ""), *((name, Role.MEMBER, "md0") for name in MEMBERS)}
    written = sum(WRITTEN_BYTES) * len(IN_ORDER)
    assert mixed.written_bytes(Role.TARGET) > written
    # Parity, or what is written twice: on the members it is more, and no gauge adds the two up.
    assert mixed.written_bytes(Role.MEMBER) > 1.2 * mixed.written_bytes(Role.TARGET)


def test_the_array_is_read_alike_with_its_stripes(mixed: Whole) -> None:
    devices = discover()
    array = find_device("/dev/md0", devices)
    assert array.md is not None
    assert (array.md.level, array.md.chunk_bytes, array.md.slots) == ("raid5", 512 * KIB, "UUU")
    assert sorted(member.name for member in array.md.members) == list(MEMBERS)
    told = stripes_of(array, devices)
    assert (told.shape, told.cautions) == ("512KiB on each of 2 data disks, 1MiB in all", ())
    assert told.words.endswith("mkfs.ext4 sees that itself, mkfs.xfs only from 1 GiB on")
    assert any(note.startswith("/dev/md0 holds 512KiB on each") for note in mixed.state.request.plan.notes)


def test_its_grid_has_the_rows_that_every_kernel_gave(mixed: Whole) -> None:
    printed = fsconsole("results", mixed.name, "--format", "md")
    assert printed.code == 0, printed.err
    kept(f"grid-{os.uname().release}.md", printed.out)
    recorded = {path.name: rows_of(path.read_text()) for path in GRIDS.glob("grid-*.md")}
    assert len(recorded) == 2
    assert set(recorded.values()) == {rows_of(printed.out)}, recorded


@pytest.mark.soak
def test_a_load_over_threads_becomes_a_curve_that_another_kernel_s_can_be_laid_beside() -> None:
    planned = fsconsole("plan", OVER_THREADS, "--device", f"/dev/{MEMBERS[0]}", "--json", "--cell", "0")
    assert planned.code == 0, planned.err
    consent = json.loads(planned.out)["consent"]
    done = fsconsole("run", OVER_THREADS, "--device", f"/dev/{MEMBERS[0]}", "--consent", consent, "--json")
    assert (done.code, done.err) == (0, ""), done
    KEPT.mkdir(exist_ok=True)
    file = KEPT / f"threads-{os.uname().release}.fsrun"
    file.unlink(missing_ok=True)
    exported = fsconsole("export", "latest", str(file))
    assert exported.code == 0, exported.err
