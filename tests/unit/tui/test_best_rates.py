"""A console that comes late tells the same best rates as one that has read every sample."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.samples import sample_row
from fsconsole.model.events import CellStarted, StepStarted
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import DeviceRates, Role, Sample
from fsconsole.model.state import RunState
from fsconsole.show.history import History, Keeper
from fsconsole.tui import bridge
from fsconsole.tui.bridge import Watch
from tests.unit.cli.recorded import STARTED, make_run, write
from tests.unit.results import build

S_NS = 10**9
SAMPLES = 2500
TARGET = DeviceRates("sdb", 0.0, 0.0, 1.0, 2.0, 3, 40.0, 1.5, 2.0)
BELOW = replace(TARGET, name="vda", role=Role.BELOW, above="sdb", write_bytes_s=512e9, read_bytes_s=512e9)


def sample(at_ns: int, cell: int | None, write_sectors: int, read_sectors: int) -> Sample:
    target = replace(TARGET, write_bytes_s=512.0 * write_sectors, read_bytes_s=512.0 * read_sectors)
    devices = (target, replace(target, name="sdc"), BELOW)
    return replace(build.sample(at_ns), devices=devices, cell=cell)


def cell_at(number: int, change: int) -> int | None:
    """Cell 0 at first, then none, then cell 0 again, and 1 from a change on."""
    if number < 20:
        return 0 if number < 10 else None
    return 0 if number < change else 1


def put(folder: RunFolder, samples: Iterable[Sample]) -> None:
    with closing(sqlite3.connect(folder.journal)) as connection, connection:
        for one in samples:
            sample_row(one).insert(connection)


def told_late(folder: RunFolder) -> History:
    """Return what a console tells that comes late and has read all."""
    late = Watch(folder)
    late.look()
    while late.look_back():
        pass
    return late.look().history


LOADING = (STARTED, CellStarted(0, 1), StepStarted(0, 1, 2, StepKind.WORKLOAD, "large files"))


def loading(runs_dir: Path) -> tuple[RunFolder, RunState, int]:
    """Return a run in its first load, its state, and when that load began in ns."""
    folder = make_run(runs_dir)
    write(folder, LOADING)
    state = Watch(folder).look().state
    return folder, state, state.cells[0].steps[0].started_monotonic_ns


CHOSEN = {30: (5, 25, 1500), 2400: (0, 15, 1499, 2410, 2499)}
"""What the test command tries: a peak before and in the cell, at the ends of what is read at once, and of all."""


@pytest.mark.parametrize(
    ("peak", "change"),
    [
        pytest.param(peak, change, id=f"{peak}-{name}", marks=[pytest.mark.soak] * (peak not in CHOSEN[change]))
        for peak in (0, 5, 15, 25, 1000, 1499, 1500, 2410, 2498, 2499)
        for change, name in ((30, "one cell of late"), (2400, "two cells of late"))
    ],
)
def test_the_best_rates_are_those_of_every_sample(tmp_path: Path, peak: int, change: int) -> None:
    folder, state, began_ns = loading(tmp_path)
    # The first samples are of an earlier attempt: before the cell's beginning.
    began_ns -= 20 * S_NS // 2
    samples = [
        sample(
            began_ns + n * S_NS // 2,
            cell_at(n, change),
            1000 if n == peak else n % 7,
            900 if n == peak else 3,
        )
        for n in range(SAMPLES)
    ]
    put(folder, samples)
    there_all_along = Keeper()
    there_all_along.add(samples, state)
    for known in (there_all_along.history(), told_late(folder)):
        assert (known.best_write_bytes_s, known.best_read_bytes_s) == (1000 * 1024.0, 900 * 1024.0)


def test_a_third_cell_counts_though_no_curve_shows_it(tmp_path: Path) -> None:
    folder, _, began_ns = loading(tmp_path)
    put(
        folder,
        (
            sample(began_ns + n * S_NS // 2, cell, 9 if n == 1 else 1, 9 if n == 0 else 1)
            for n, cell in enumerate((2, 2, 2, 1, 1, 0, 0))
        ),
    )
    told = told_late(folder)
    assert (told.best_write_bytes_s, told.best_read_bytes_s) == (9 * 1024.0, 9 * 1024.0)
    assert told.current.cell == 0


def test_what_was_before_the_boot_does_not_count(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED,))
    times = [*range(5000, 5010), *range(10, 30)]
    put(folder, (sample(at_s * S_NS, 0, 50 if at_s >= 5000 else 2, 1) for at_s in times))
    assert told_late(folder).best_write_bytes_s == 2 * 1024.0


def test_the_first_look_at_a_long_run_reads_one_sample_and_the_past_comes_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, began_ns = loading(tmp_path)
    put(folder, (sample(began_ns + n * S_NS // 2, n // 10 and 1, 1, 1) for n in range(SAMPLES)))
    batches: list[int] = []
    former = bridge.points_before

    def counted(path: str, last: int, limit: int) -> tuple[int, tuple[object, ...]]:
        following, points = former(path, last, limit)
        batches.append(len(points))
        return following, points

    monkeypatch.setattr(bridge, "points_before", counted)
    first = Watch(folder).look()
    assert batches == []
    assert len(first.history.current.points) == 1
    whole = told_late(folder)
    assert batches == [1000]
    assert whole.current.cell == 1
    assert len(whole.recent) > 100
    assert whole.current.points[-1][0] > 1240
