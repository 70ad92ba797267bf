"""The gauges on a page of 80 columns and 24 lines, and as plain pages and lines of JSON."""

from __future__ import annotations

import io
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.cli.gauge_watch import LivePages, Printed, gauge_view
from fsconsole.model.sample import BdiStats, CpuShares, DeviceRates, NumberedCpu, Pressure, Role, Sample
from fsconsole.show.gauges import depths, page_lines
from fsconsole.text import KIB, cells_of, printable
from tests.unit.cli.recorded import Terminal
from tests.unit.results import build

ARRAY = DeviceRates("md0", 0.0, 410.2e6, 0.0, 800.0, 12, 98.2, 14.0, 11.5)
SDA = DeviceRates("sda", 0.0, 205.1e6, 0.0, 400.0, 6, 97.0, None, 5.5, Role.MEMBER, "md0")
LOOP = DeviceRates("loop7", 1.5e6, 0.0, 30.0, 0.0, 0, 0.5, 0.25, 0.0)
BELOW = DeviceRates("vda", 1.5e6, 0.0, 30.0, 0.0, 0, 0.5, 0.25, 0.0, Role.BELOW, "loop7")
BDI = BdiStats(
    writeback_bytes=73344 * KIB, reclaimable_bytes=568960 * KIB, dirty_thresh_bytes=764400 * KIB,
    dirtied_bytes=41943040 * KIB, written_bytes=41300736 * KIB, bandwidth_bytes_s=102400 * KIB,
    b_dirty=1, b_io=1, b_more_io=0,
)  # fmt: skip
PRESSURE = Pressure(12.34, 9.81, 3.0, 0.5, 0.25)
FULL = replace(
    build.sample(load=False),
    cpu=replace(build.sample().cpu, steal=2.5),
    devices=(ARRAY, SDA, LOOP, BELOW),
    bdi=BDI,
    pressure=PRESSURE,
)
PAGE = "gauges of /dev/md0, /dev/loop7, 2 per second"


def test_a_page_with_everything_is_this_one() -> None:
    assert page_lines(FULL, PAGE, 80, 24) == [
        "gauges of /dev/md0, /dev/loop7, 2 per second",
        "CPU     [######--------------] 30.0 % busy, user 10, system 20, iowait 30 %",
        "        user 10.0  nice 0.0  system 19.6  irq 0.0  softirq 0.4  steal 2.5 %",
        "        cpu0  20  cpu1  40",
        "dirty   [################----] 300.0 MiB + 12.0 MiB writeback",
        "        limit 400.0 MiB, background 200.0 MiB",
        "waiting I/O some 12.3 %, all 9.8 %; memory some 0.5 %, all 0.2 %; CPU some 3.0 %",
        "device                 write    read  writes   reads   queue    busy latency",
        "                        MB/s    MB/s     1/s     1/s               %      ms",
        "md0                      410       0     800       0    11.5    98.2    14.0",
        "  member sda             205       0     400       0     5.5    97.0       -",
        "loop7                      0    1.50       0      30     0.0     0.5    0.25",
        "  below vda                0    1.50       0      30     0.0     0.5    0.25",
        "writeback of this device: bandwidth 105 MB/s, dirtied 40.0 GiB, written 39.4 GiB",
        "        dirty 555.6 MiB of 746.5 MiB, in writeback 71.6 MiB",
        "        inodes: b_dirty 1, b_io 1, b_more_io 0",
    ]


def test_a_narrow_page_lacks_columns_and_breaks_lines_rather_than_lose_their_middle() -> None:
    lines = page_lines(FULL, PAGE, 60)
    assert max(map(len, lines)) <= 60
    assert lines[1:3] == ["CPU     [######--------------] 30.0 % busy, user 10, system", "        20, iowait 30 %"]
    assert "device                 write    read   queue    busy latency" in lines
    assert "md0                      410       0    11.5    98.2    14.0" in lines
    assert "device                 write    read    busy" in page_lines(FULL, PAGE, 44)
    assert "..." not in "".join(lines)


def test_what_the_machine_does_not_offer_is_absent() -> None:
    bare = replace(build.sample(load=False, threshold_bytes=None), devices=(), per_cpu=())
    assert page_lines(bare, "gauges of this machine, 2 per second", 80) == [
        "gauges of this machine, 2 per second",
        "CPU     [######--------------] 30.0 % busy, user 10, system 20, iowait 30 %",
        "        user 10.0  nice 0.0  system 19.6  irq 0.0  softirq 0.4 %",
        "dirty   300.0 MiB + 12.0 MiB writeback",
    ]
    old = page_lines(replace(bare, bdi=BdiStats(4096, 8192), pressure=Pressure(cpu_some_percent=1.0)), PAGE, 80)
    assert old[4:] == ["waiting CPU some 1.0 %", "writeback of this device: dirty 8.0 KiB, in writeback 4.0 KiB"]


def test_a_device_that_is_gone_is_told_in_its_place_and_those_without_room_are_counted() -> None:
    lines = page_lines(replace(FULL, devices=(LOOP,)), "t", 80, gone=("md0",))
    assert lines[9] == "md0                  is gone"
    members = tuple(replace(SDA, name=f"sd{letter}") for letter in "abcdefghijklmnopqrst")
    lines = page_lines(replace(FULL, devices=(ARRAY, *members)), PAGE, 80, 23)
    assert len(lines) == 23
    assert lines[19] == "and 11 more devices"
    assert lines[20].startswith("writeback of this device")


def test_every_level_of_layers_is_indented_once_more_and_cpus_are_numbered() -> None:
    volume = replace(ARRAY, name="dm-0")
    array = replace(ARRAY, role=Role.MEMBER, above="dm-0")
    assert depths([volume, array, SDA, LOOP, BELOW]) == [0, 1, 2, 0, 1]
    # The array of a member gave no rates this time.
    assert depths([SDA]) == [1]
    # CPUs go by their numbers, and those that find no room are counted.
    shares = CpuShares(50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0)
    cpus = tuple(NumberedCpu(number, shares) for number in (0, 1, 3, *range(100, 140)))
    lines = page_lines(replace(FULL, per_cpu=cpus), PAGE, 80)
    assert lines[3] == "        cpu0    50  cpu1    50  cpu3    50  cpu100  50  cpu101  50  cpu102  50"
    assert lines[4].endswith("cpu107  50  +32")
    assert all(len(line) <= 80 for line in lines)


@given(st.text(max_size=40), st.text(max_size=40), st.integers(20, 120), st.integers(8, 40))
def test_no_name_makes_a_page_wider_higher_or_acts_on_the_terminal(
    name: str, title: str, width: int, height: int
) -> None:
    sample = replace(FULL, devices=(replace(ARRAY, name=name), SDA))
    lines = page_lines(sample, title, width, height, gone=(name,))
    assert len(lines) <= height
    assert all(cells_of(line) <= width for line in lines)
    assert all(printable(line) == line for line in lines)


def test_samples_are_printed_as_lines_of_json_or_pages_below_each_other() -> None:
    json_stream, plain_stream = io.StringIO(), io.StringIO()
    for stream, as_json in ((json_stream, True), (plain_stream, False)):
        with gauge_view("t", as_json=as_json, stream=stream) as view:
            assert isinstance(view, Printed)
            view.show(FULL, ())
            view.show(FULL, ())
    first, second = json_stream.getvalue().splitlines()
    assert first == second
    document = json.loads(first)
    names = {field.name for field in fields(Sample)} - {"wall_ns"}
    assert set(document) == names | {"schema", "event", "time"}
    assert document["devices"][1]["role"] == "member"
    assert document["load"] is None
    assert plain_stream.getvalue().count("\n\n") == 2
    assert plain_stream.getvalue().isascii()
    assert "\x1b" not in plain_stream.getvalue()


def test_a_device_that_goes_is_told_once_and_again_when_it_goes_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gauge_view("t", as_json=True, stream=io.StringIO()) as view:
        for gone in ((), ("sd\x1b",), ("sd\x1b",), (), ("sd\x1b",)):
            view.show(FULL, gone)
    told = "note: sd\\x1b is gone; the others are still watched\n"
    assert capsys.readouterr().err == told * 2


def test_a_terminal_gets_a_page_that_is_painted_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TERM", "linux"), ("COLUMNS", "80"), ("LINES", "24")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("fsconsole.cli.gauge_watch.time.monotonic", iter([10.0, 10.1, 10.5]).__next__)
    terminal = Terminal()
    with gauge_view("gauges of t", as_json=False, stream=terminal) as view:
        assert isinstance(view, LivePages)
        for _ in range(3):
            view.show(FULL, ())
    # The second came too soon after the first; leaving paints the last one once more.
    assert terminal.getvalue().count("gauges of t") == 3
    assert "\x1b[1A" in terminal.getvalue()
    monkeypatch.setenv("TERM", "dumb")
    with gauge_view("t", as_json=False, stream=Terminal()) as view:
        assert isinstance(view, Printed)
