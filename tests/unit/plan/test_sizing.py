"""Sizes that a pilot chooses: long enough, never beyond what the filesystem has room for, and why where that wins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.journal.fold import settled
from fsconsole.model.events import PilotFinished
from fsconsole.model.plan import Cell, Plan, StepKind
from fsconsole.model.workload import SizedBy, Workload
from fsconsole.plan import sizing
from fsconsole.plan.planfile import FIT_SHARE, TargetSpec, written_bytes
from fsconsole.plan.sizing import Room, amount, first_try, next_try, settle
from fsconsole.text import GIB, KIB, MIB, TIB
from tests.unit.plan.examples import VARIANT, build
from tests.unit.results import build as made

HEAD = "schema = 1\n" + VARIANT + "[[variant]]\ntype = 'xfs'\n"
LARGE = "[[workload]]\nkind = 'create'\nthreads = 4\n"
SMALL = "[[workload]]\nkind = 'create'\nname = 'small'\nfile_size = '8KiB'\nblock_size = '8KiB'\nsize = 'auto'\n"
READ = "[[workload]]\nkind = 'read'\ncold = true\n"
RANDOM = "[[workload]]\nkind = 'random-write'\nblock_size = '4KiB'\n"
MIX = "[[workload]]\nkind = 'mix'\nfile_size = '1MiB'\nweights = { create = 1, read = 3 }\n"
APPEND = "[[workload]]\nkind = 'append'\nfile_size = '256KiB'\n"
PLANS = (LARGE, SMALL + APPEND, LARGE + READ, LARGE + RANDOM + SMALL, SMALL + MIX, LARGE + "direct = true\n" + SMALL)


def cell_of(loads: str, size_bytes: int = TIB) -> Cell:
    return build(HEAD + loads, TargetSpec("/dev/sdz", size_bytes)).cells[0]


def resolved(cell: Cell, tried: dict[int, tuple[int, float]], room: Room) -> tuple[tuple[Workload, ...], list[str]]:
    """Return the loads that a pilot's figures come to, as the journal's fold gives them, and what kept them small."""
    pilot = PilotFinished(0, 1, settle(cell.workloads, tried, room))
    request = made.request((replace(cell, index=0),))
    return settled(request, pilot).plan.cells[0].workloads, [each.why for each in pilot.settled]


def figures(cell: Cell, bytes_per_s: float) -> dict[int, tuple[int, float]]:
    """Return what pilots find that take a second at this rate; operations of a mix take as long as a file of 1 MiB."""
    found = {}
    for number, load in enumerate(cell.workloads):
        if load.source is not None and load.sizing is None:
            of = cell.workloads[load.source]
            found[number] = int(bytes_per_s / of.threads), 1.0
        elif load.sizing.chooses is SizedBy.FILES:
            found[number] = max(1, int(bytes_per_s / max(load.mean_file_bytes, 1))), 1.0
        else:
            found[number] = max(1, int(bytes_per_s / (load.files or 1))), 1.0
    return found


@given(st.sampled_from(PLANS), st.floats(1e4, 1e11), st.integers(64 * MIB, 64 * TIB), st.sampled_from([0, 500, 10**9]))
def test_no_load_writes_more_than_a_third_of_what_is_free_nor_all_of_them_more_than_a_share(
    text: str, bytes_per_s: float, free: int, inodes: int
) -> None:
    cell = cell_of(text, 64 * TIB)
    loads, _ = resolved(cell, figures(cell, bytes_per_s), Room(free, inodes))
    assert written_bytes(loads) <= FIT_SHARE * free + 8 * MIB
    for load in loads:
        least = load.threads * max(load.block_size_bytes, load.mean_file_bytes if load.files else 0)
        assert load.direct or load.added_bytes <= max(free / 3, least)
        assert not inodes or not load.creates or load.files <= max(FIT_SHARE * inodes, load.threads)


@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("bytes_per_s", [2e6, 150e6, 1.5e9])
def test_with_room_enough_every_load_takes_as_long_as_asked_for(text: str, bytes_per_s: float) -> None:
    cell = cell_of(text, 64 * TIB)
    tried = figures(cell, bytes_per_s)
    loads, _ = resolved(cell, tried, Room(64 * TIB))
    for number, load in enumerate(loads):
        of = load if load.sizing is not None or load.source is None else loads[load.source]
        units, took_s = tried[number]
        assert of.sizing is not None
        is_long = amount(of) / units * took_s >= of.sizing.load_time_s
        # Random calls touch no block twice: their files may be used up before.
        assert is_long or of.sizing.why != ""


def test_a_pilots_read_that_is_faster_than_its_write_makes_the_files_larger() -> None:
    cell = cell_of(LARGE + READ)
    (alone, _), _ = resolved(cell, {0: (100 * MIB, 1.0)}, Room(TIB))
    (both, _), _ = resolved(cell, {0: (100 * MIB, 1.0), 1: (100 * MIB, 0.25)}, Room(TIB))
    (slow, _), _ = resolved(cell, {0: (100 * MIB, 1.0), 1: (100 * MIB, 4.0)}, Room(TIB))
    assert slow == alone
    assert both.file_size_bytes == pytest.approx(4 * alone.file_size_bytes, rel=0.01)


def test_where_the_room_wins_the_load_says_why() -> None:
    cell = cell_of(LARGE + "[[workload]]\nkind = 'random-read'\ncold = true\n", GIB)
    tried = {0: (256 * MIB, 1.0), 1: (100 * MIB, 1.0)}
    loads, why = resolved(cell, tried, Room(GIB))
    assert why == ["it may write at most a third of the free space (delayed allocation)",
                   "it reached the end of its files"]  # fmt: skip
    assert loads[0].added_bytes <= GIB / 3
    assert loads[1].limit_bytes <= loads[0].added_bytes


@given(st.sampled_from(PLANS), st.floats(1e3, 1e11))
def test_a_pilot_comes_to_an_end_within_what_it_may_write(text: str, bytes_per_s: float) -> None:
    cell = cell_of(text, 64 * GIB)
    for number, load in enumerate(cell.workloads):
        most, one = amount(load), first_try(cell.workloads, number)
        for _ in range(40):
            assert amount(one) <= max(most, 64 * KIB)
            larger = next_try(one, most, max(one.total_bytes, 1) / bytes_per_s)
            if larger is None:
                break
            assert amount(larger) > amount(one)
            one = larger
        else:
            pytest.fail("it goes on for ever")


def test_a_pilot_takes_the_steps_of_its_cell_but_for_what_only_figures_need() -> None:
    cell = cell_of("[[workload]]\nkind = 'create'\nname = 'fixed'\nfile_size = '1MiB'\n" + LARGE + READ)
    steps = list(sizing.pilot_steps(cell))
    kinds = [step.kind for _, step in steps]
    gate, *loads = [StepKind.GATE, StepKind.MKFS, StepKind.MOUNT], StepKind.QUIESCE, StepKind.PILOT
    assert kinds == [*gate, *loads, StepKind.QUIESCE, StepKind.COLD, StepKind.PILOT, StepKind.UNMOUNT, StepKind.RELEASE]
    # What is listed and sealed is what is executed.
    assert all(step.commands == cell.steps[number].commands for number, step in steps)


def test_a_plan_says_what_its_pilots_may_come_to_and_has_one_for_each_choice_of_threads() -> None:
    plan: Plan = build(HEAD + LARGE.replace("4", "[1, 4]"), TargetSpec("/dev/sdz", 30 * GIB))
    assert [pilot.variant.label for pilot in sizing.pilots(plan)] == ["ext4", "ext4"]
    said = list(sizing.sizes_in_words(plan))
    assert said == ["'create': size auto, 10 s on ext4, at most 9.8 GiB: a third of the free space"]
    most = sum(written_bytes(cell.workloads) for cell in plan.cells)
    assert most <= plan.estimate.bytes_to_write < plan.estimate.bytes_to_write + plan.estimate.likely_bytes
    assert plan.estimate.likely_bytes < plan.estimate.bytes_to_write
