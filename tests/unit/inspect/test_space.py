from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect.extents import usable_and_overhead
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric


def test_overhead_is_the_share_of_the_device_that_is_not_free() -> None:
    assert usable_and_overhead(1000, 984) == (
        Measurement(Metric.USABLE, 984.0),
        Measurement(Metric.OVERHEAD, 1.6),
    )


@given(st.integers(1, 2**60), st.floats(0, 1))
def test_overhead_is_never_below_0_nor_above_100(device_bytes: int, share: float) -> None:
    _, overhead = usable_and_overhead(device_bytes, int(device_bytes * share))
    assert 0 <= overhead.value <= 100
