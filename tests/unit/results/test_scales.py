from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.metrics import Metric
from fsconsole.results.content import ColumnScale, scale_for
from fsconsole.text import KIB, MIB


@pytest.mark.parametrize(
    ("metric", "values", "unit", "texts"),
    [
        (Metric.DURABLE, (78.94e6, 812e6), "MB/s", ["78.9", "812.0"]),
        (Metric.CHECK, (5336.2, 0.0431), "s", ["5336.200", "0.043"]),
        (Metric.MKFS, (0.00912, 0.0324), "s", ["0.009", "0.032"]),
        (Metric.DELETE, (0.0019, 0.00382), "s", ["0.0019", "0.0038"]),
        (Metric.CPU, (29.63,), "%", ["29.6"]),
        (Metric.FILES_PER_S, (45512.0,), "1/s", ["45512"]),
        (Metric.EXTENTS_MEAN, (1.0, 1.5), "", ["1.00", "1.50"]),
        (Metric.EXTENTS_MAX, (1.0, 272.0), "", ["1", "272"]),
        (Metric.EXTENT_SIZE_MEDIAN, (128 * KIB, 4 * MIB), "MiB", ["0.125", "4.000"]),
        (Metric.EXTENT_SIZE_MEDIAN, (0.0,), "B", ["0"]),
        (Metric.PEAK_DIRTY, (), "B", []),
    ],
)
def test_a_column_has_one_unit_and_its_points_in_line(
    metric: Metric, values: tuple[float, ...], unit: str, texts: list[str]
) -> None:
    scale = scale_for(metric, values)
    assert scale.unit == unit
    assert [scale.text(value) for value in values] == texts


@given(
    st.floats(-1e300, 1e300),
    st.integers(0, 6).map(lambda decimals: ColumnScale("", 1.0, decimals)),
)
def test_no_figure_is_so_long_that_it_would_have_to_be_clipped(value: float, scale: ColumnScale) -> None:
    assert len(scale.text(value)) <= 9
    assert float(scale.text(value)) == pytest.approx(value, rel=0.05, abs=0.5)
