from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.sample import BdiStats
from fsconsole.telemetry.machine import parse_bdi, parse_stalls, parse_writeback, read_writeback
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
    assert parse_bdi(recorded("4.4", "bdi_stats") + "later: 7\n") == BdiStats(
        writeback_bytes=73344 * KIB,
        reclaimable_bytes=568960 * KIB,
        dirty_thresh_bytes=764400 * KIB,
        global_thresh_bytes=764400 * KIB,
        background_thresh_bytes=382200 * KIB,
        dirtied_bytes=41943040 * KIB,
        written_bytes=41300736 * KIB,
        bandwidth_bytes_s=102400 * KIB,
        b_dirty=1,
        b_io=1,
        b_more_io=0,
        b_dirty_time=3,
        bdi_list=1,
        state=1,
    )
    assert parse_bdi(recorded("6.18", "bdi_stats")).state == 5


@pytest.mark.parametrize("kernel", ["2.6.32", "2.6.38"])
def test_what_an_older_kernels_bdi_does_not_tell_is_absent_rather_than_zero(kernel: str) -> None:
    bdi = parse_bdi(recorded(kernel, "bdi_stats"))
    assert (bdi.reclaimable_bytes, bdi.b_dirty, bdi.state) == (568960 * KIB, 1, 8)
    assert (bdi.dirtied_bytes, bdi.written_bytes, bdi.bandwidth_bytes_s, bdi.b_dirty_time) == (None,) * 4


def test_the_state_alone_is_hexadecimal() -> None:
    text = "BdiWriteback: 4 kB\nBdiReclaimable: 4 kB\nb_dirty: 10\nstate: {}\n"
    assert (parse_bdi(text.format("1a")).state, parse_bdi(text.format("10")).b_dirty) == (0x1A, 10)
    assert parse_bdi(text.format("running")).state is None


@pytest.mark.parametrize("text", ["", "BdiWriteback: 4 kB\n", "BdiWriteback: -4 kB\nBdiReclaimable: 1 kB\n"])
def test_a_bdi_without_its_foundations_gives_no_figures(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_bdi(text)


@given(st.text(max_size=100) | st.text("state: BdiWritebackReclaimable0123456789\n", max_size=200))
def test_any_text_is_bdi_figures_or_unreadable(text: str) -> None:
    for parse in (parse_bdi, parse_stalls):
        try:
            parse(text)
        except Unreadable:
            continue
