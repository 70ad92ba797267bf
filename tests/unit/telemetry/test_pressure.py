from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.model.sample import Pressure
from fsconsole.telemetry.machine import StallGauge, parse_stalls, pressure_of, stalled_percent
from fsconsole.telemetry.rates import Unreadable
from tests.unit.telemetry.data import kernels_with, recorded


@pytest.mark.parametrize("name", ["pressure_io", "pressure_cpu", "pressure_memory"])
def test_every_kernels_totals_are_read(name: str) -> None:
    for kernel in kernels_with(name):
        text = recorded(kernel, name)
        assert all(
            f"{kind} " in text and f"total={total}" in text for kind, total in parse_stalls(text).items()
        )


def test_what_was_waited_is_a_share_of_the_interval_not_of_ten_seconds() -> None:
    assert stalled_percent({"some": 1_000_000}, {"some": 1_125_000}, "some", 0.5) == 25.0


def test_pressure_of_the_cpu_has_no_full_on_kernels_before_5_13() -> None:
    stalls = parse_stalls(recorded("5.4", "pressure_cpu"))
    assert stalled_percent(stalls, stalls, "full", 0.5) is None
    assert stalled_percent(stalls, stalls, "some", 0.5) == 0.0


def test_totals_that_come_in_lumps_are_never_above_the_whole() -> None:
    # Linux 4.20 brings them up to date every 2 s only.
    assert stalled_percent({"some": 0}, {"some": 2_000_000}, "some", 0.5) == 100.0


def test_a_gauge_needs_two_readings(tmp_path: Path) -> None:
    file = tmp_path / "io"
    file.write_text("some avg10=0.00 total=5\nfull avg10=0.00 total=5\n")
    gauge = StallGauge(str(tmp_path), "io")
    assert gauge.read() is None
    assert gauge.read() == (0.0, 0.0)
    gauge.close()


def test_what_is_not_offered_is_absent() -> None:
    assert pressure_of(None, None, None) is None
    assert pressure_of(None, (12.5, 0.0), None) == Pressure(cpu_some_percent=12.5)
    assert pressure_of((1.0, 2.0), None, (3.0, 4.0)) == Pressure(1.0, 2.0, None, 3.0, 4.0)


@pytest.mark.parametrize(
    "text", ["", "some avg10=1.0\n", "some total=a\n", "\n", "full total=4\n", "some total=-1\n"]
)
def test_pressure_of_another_shape_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_stalls(text)
