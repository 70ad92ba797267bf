from __future__ import annotations

import math
import os

import pytest

from fsconsole.model.sample import BdiStats, Pressure
from fsconsole.telemetry.bdi import parse_bdi
from fsconsole.telemetry.meminfo import parse_writeback, read_writeback
from fsconsole.telemetry.pressure import parse_pressure
from fsconsole.telemetry.rates import Unreadable
from tests.unit.telemetry.data import kernels_with, recorded

KIB = 1024


@pytest.mark.parametrize("kernel", kernels_with("meminfo"))
def test_every_kernels_dirty_pages_are_read(kernel: str) -> None:
    text = recorded(kernel, "meminfo")
    writeback = parse_writeback(text, recorded(kernel, "vmstat"))
    assert f"Dirty: {writeback.dirty_bytes // KIB} kB" in " ".join(text.split())
    assert f"Writeback: {writeback.writeback_bytes // KIB} kB" in " ".join(text.split())


def test_an_old_kernel_has_no_thresholds_rather_than_zero() -> None:
    writeback = parse_writeback(recorded("2.6.18", "meminfo"), recorded("2.6.18", "vmstat"))
    assert (writeback.threshold_bytes, writeback.background_threshold_bytes) == (None, None)
    assert parse_writeback(recorded("5.10", "meminfo"), "").threshold_bytes is None


def test_thresholds_are_in_pages() -> None:
    writeback = parse_writeback(recorded("5.10", "meminfo"), recorded("5.10", "vmstat"))
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    assert writeback.threshold_bytes == 612044 * page_bytes
    assert writeback.background_threshold_bytes == 305648 * page_bytes


def test_writeback_tmp_is_not_taken_for_writeback() -> None:
    assert parse_writeback(recorded("5.10", "meminfo"), "").writeback_bytes == 131072 * KIB


def test_a_file_without_dirty_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        parse_writeback("MemTotal: 12 kB\n", "")


def test_this_machine_tells_its_dirty_pages() -> None:
    assert read_writeback().dirty_bytes >= 0


def test_bdi_stats_are_in_kb_and_later_lines_are_passed_over() -> None:
    assert parse_bdi(recorded("4.4", "bdi_stats")) == BdiStats(
        writeback_bytes=73344 * KIB,
        reclaimable_bytes=568960 * KIB,
        dirty_thresh_bytes=764400 * KIB,
        dirtied_bytes=41943040 * KIB,
        written_bytes=41300736 * KIB,
        bandwidth_bytes_s=102400 * KIB,
        b_dirty=1,
        b_io=1,
        b_more_io=0,
    )
    assert parse_bdi(recorded("6.18", "bdi_stats")).dirty_thresh_bytes > 0


@pytest.mark.parametrize("text", ["", "BdiWriteback: 4 kB\n", recorded("2.6.38", "bdi_stats")])
def test_a_bdi_that_tells_too_little_gives_no_figures_rather_than_zeros(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_bdi(text)


def test_pressure_is_the_average_over_ten_seconds() -> None:
    assert parse_pressure(recorded("5.10", "pressure_io")) == Pressure(12.44, 9.81)
    here = parse_pressure(recorded("6.18", "pressure_io"))
    assert math.isfinite(here.io_some_percent + here.io_full_percent)


@pytest.mark.parametrize(
    "text", ["", "some avg10=1.0\n", "some x=1\nfull x=1\n", "some avg10=a\nfull avg10=b\n", "\n"]
)
def test_pressure_of_another_shape_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_pressure(text)
