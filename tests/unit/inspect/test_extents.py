"""Extents as filefrag counts them, and the space of an empty filesystem."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect import extents as extents_module
from fsconsole.inspect.extents import (
    ExtentSurvey,
    FileLayout,
    layout_measurements,
    layout_of,
    median,
)
from fsconsole.model.metrics import Metric
from fsconsole.system.block import ExtentFlag, RawExtent

KIB = 1024
NOT_ALIGNED, DATA_INLINE, UNWRITTEN, MERGED, SHARED = 0x100, 0x200, 0x800, 0x1000, 0x2000


def extent(logical: int, physical: int, length: int, flags: int = 0) -> RawExtent:
    return RawExtent(logical * KIB, physical * KIB, length * KIB, flags)


RUNS = (
    ([], ()),
    ([extent(0, 100, 4)], (4,)),
    ([extent(0, 100, 4), extent(4, 104, 4)], (8,)),
    ([extent(0, 100, 4), extent(4, 108, 4)], (4, 4)),
    ([extent(0, 100, 4), extent(4, 96, 4)], (4, 4)),
    # A hole in the file, none on the disk, or one as long: filefrag counts one.
    ([extent(0, 100, 4), extent(64, 104, 4)], (8,)),
    ([extent(0, 100, 4), extent(64, 164, 4)], (8,)),
    ([extent(0, 100, 4), extent(64, 160, 4)], (4, 4)),
    ([extent(16, 100, 4)], (4,)),
    ([extent(0, 0, 4)], (4,)),
    ([extent(0, 100, 4, MERGED), extent(4, 104, 4, UNWRITTEN)], (8,)),
)


def test_runs_are_what_filefrag_counts() -> None:
    for extents, runs in RUNS:
        assert layout_of(extents).runs == tuple(length * KIB for length in runs), extents


def test_flags_of_any_extent_tell_what_a_file_is() -> None:
    flags = {
        0: (False, False),
        ExtentFlag.ENCODED: (True, False),
        ExtentFlag.UNKNOWN | ExtentFlag.DELALLOC: (False, True),
        SHARED | DATA_INLINE | NOT_ALIGNED: (False, False),
    }
    for flag, wanted in flags.items():
        layout = layout_of([extent(0, 100, 4), extent(4, 104, 4, flag), extent(8, 200, 4)])
        assert (layout.is_compressed, layout.is_unwritten) == wanted, flag


LENGTHS = st.lists(st.integers(1, 2**20), max_size=30)


@given(LENGTHS, st.lists(st.booleans(), min_size=30, max_size=30))
def test_merging_keeps_every_byte_and_counts_every_gap(lengths: list[int], gaps: list[bool]) -> None:
    logical = physical = 0
    extents = []
    for length, gap in zip(lengths, gaps, strict=False):
        physical += 7 if gap else 0
        extents.append(RawExtent(logical, physical, length, 0))
        logical, physical = logical + length, physical + length
    runs = layout_of(extents).runs
    assert sum(runs) == sum(lengths)
    assert len(runs) == (1 + sum(gaps[1 : len(lengths)]) if lengths else 0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40))
def test_the_median_is_that_of_all_values(values: list[int]) -> None:
    assert median(Counter(values)) == statistics.median(values)
    with pytest.raises(ValueError, match="no values"):
        median(Counter())


def test_files_are_recorded_in_the_order_of_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extents_module, "extents", lambda _: iter(()))
    names = [f"d{number % 3}/f{number:04d}" for number in (7, 3, 5, 0, 1, 6, 2, 4, 8)]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    seen: list[str] = []
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        extents_module.survey_tree(fd, lambda path, *_: seen.append(path))
    finally:
        os.close(fd)
    assert seen == sorted(names)


def survey_of(*layouts: FileLayout) -> ExtentSurvey:
    survey = ExtentSurvey()
    for layout in layouts:
        survey.add(layout)
    return survey


def figures(survey: ExtentSurvey) -> dict[Metric, float]:
    return {figure.metric: figure.value for figure in layout_measurements(survey)}


def test_the_figures_are_over_all_files_and_all_extents() -> None:
    survey = survey_of(FileLayout((4096,)), FileLayout((4096, 8192, 65536)), FileLayout(()))
    assert figures(survey) == {
        Metric.FILES_MAPPED: 3,
        Metric.FILES_COMPRESSED: 0,
        Metric.EXTENTS_MEAN: pytest.approx(4 / 3),
        Metric.EXTENTS_MEDIAN: 1,
        Metric.EXTENTS_MAX: 3,
        Metric.EXTENT_SIZE_MEDIAN: 6144,
    }


def test_compressed_files_are_told_apart_and_not_called_fragmented() -> None:
    survey = survey_of(FileLayout((4096,)), FileLayout((131072,) * 40, is_compressed=True))
    assert figures(survey)[Metric.EXTENTS_MAX] == 1
    assert figures(survey)[Metric.FILES_COMPRESSED] == 1


def test_where_nothing_counts_there_is_no_figure_that_could_mislead() -> None:
    for layouts in ((), (FileLayout((131072,), is_compressed=True),)):
        assert set(figures(survey_of(*layouts))) == {Metric.FILES_MAPPED, Metric.FILES_COMPRESSED}
