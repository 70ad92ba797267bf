"""Raw pages of a tracefs buffer: recorded ones beside the kernel's own text of them, made ones, and damaged ones."""

from __future__ import annotations

import re
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.engine.writeback import histograms
from fsconsole.model.metrics import Metric
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.trace_buffer import events_in, parse_format, parse_lost, parse_page_format
from fsconsole.telemetry.trace_figures import INODE, REQUEST, START, UNLIMITED, TracedDisk, TraceFigures

RECORDED = Path(__file__).parents[2] / "data" / "trace"
"""By kernel: three files written to ext4 (6.18: on a loop device; 6.1: on a virtio disk), synced, read after a remount."""
LOOP3 = 7 << 20 | 3
TEXT = re.compile(r".*\] \S+ +(?P<s>[\d.]+): (?P<kind>\w+): (?P<rest>.*)")
ISSUED = re.compile(r"issue: \d+,\d+ (?P<rwbs>\w+) \d+ \(\) (?P<sector>\d+) \+ (?P<sectors>\d+) ")
STARTED = re.compile(r"\] \S+ +(?P<s>[\d.]+): writeback_start: .*nr_pages=(?P<pages>-?\d+) .* reason=(?P<reason>\w+)")
ALWAYS = (0, 2**63)
OLD = """name: block_rq_issue
ID: 1080
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;
\tfield:dev_t dev;\toffset:8;\tsize:4;
\tfield:sector_t sector;\toffset:16;\tsize:8;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;
\tfield:char rwbs[8];\toffset:32;\tsize:8;
"""
"""Of 4.x and before, whose oldest tell no signs."""


class Recording:
    """What was recorded of one kernel."""

    def __init__(self, kernel: str, disk: TracedDisk) -> None:
        self.folder, self.disk = RECORDED / kernel, disk
        self.page = parse_page_format((self.folder / "header_page").read_text())
        self.formats = {
            name: parse_format((self.folder / f"{name.split('/')[1]}.format").read_text())
            for name in (REQUEST, START, INODE)
        }
        self.lines = (self.folder / "trace.txt").read_text().splitlines()
        # More events may have come between the text and the pages.
        self.end_ns = int(float(self.lines[-1].split()[3].rstrip(":")) * 1e6 + 1) * 1000

    def pages(self) -> list[bytes]:
        raws = [path.read_bytes() for path in sorted(self.folder.glob("cpu*.pages"))]
        size = self.page.page_bytes
        return [raw[at : at + size] for raw in raws for at in range(0, len(raw), size)]

    def figures(self, *disks: TracedDisk) -> TraceFigures:
        return TraceFigures(disks or (self.disk,), self.page, self.formats)

    def written(self) -> list[tuple[int, int]]:
        """Return sector and length of the text's writes, in its order."""
        issued = [hit for hit in map(ISSUED.search, self.lines) if hit and "W" in hit["rwbs"]]
        return [(int(hit["sector"]), int(hit["sectors"])) for hit in issued if int(hit["sectors"])]


NEW = Recording("6.18", TracedDisk(LOOP3))
RECORDINGS = {"6.18": NEW, "6.1": Recording("6.1", TracedDisk(254 << 20))}
of_each_kernel = pytest.mark.parametrize("kernel", RECORDINGS)
PAGE, FORMATS, pages, figures = NEW.page, NEW.formats, NEW.pages, NEW.figures


@of_each_kernel
def test_every_recorded_event_is_found_at_the_microsecond_that_the_kernel_prints(kernel: str) -> None:
    one = RECORDINGS[kernel]
    names = {layout.number: name.split("/")[1] for name, layout in one.formats.items()}
    found = sorted(
        (stamp, names[kind])
        for page in one.pages()
        for stamp, kind, _ in events_in(page, one.page)
        if stamp <= one.end_ns
    )
    told = [(hit["s"], hit["kind"]) for hit in map(TEXT.match, one.lines) if hit]
    assert len(found) == len(told) == len(one.lines) > 100
    assert sorted((f"{(stamp + 500) // 1000 / 1e6:.6f}", kind) for stamp, kind in found) == sorted(told)


@of_each_kernel
def test_figures_of_recorded_pages_are_those_of_the_text(kernel: str) -> None:
    one = RECORDINGS[kernel]
    sums = one.figures()
    sums.add(one.pages(), 0, one.end_ns)
    writes = one.written()
    distances = [abs(after[0] - sum(before)) * 512 for before, after in pairwise(writes)]
    assert sums.writes == len(writes)
    assert sums.seek_bytes == sum(distances)
    assert sums.seeks[0] == distances.count(0) > 0
    meta = [hit for hit in map(ISSUED.search, one.lines) if hit and set("RM") <= set(hit["rwbs"])]
    assert (sums.meta_reads, sums.meta_read_bytes) == (len(meta), 512 * sum(int(hit["sectors"]) for hit in meta))
    read = [int(hit["sectors"]) for hit in map(ISSUED.search, one.lines) if hit and "R" in hit["rwbs"]]
    assert sums.small_reads == sum(0 < sectors <= 8 for sectors in read)
    assert 0 < sums.small_reads < len(read)
    starts = [STARTED.search(line) for line in one.lines]
    told = [(hit["reason"], int(hit["pages"])) for hit in starts if hit]
    assert {reason: list(values) for reason, values in sums.starts.items()} == {
        reason: [pages for name, pages in told if name == reason] for reason, _ in told
    }
    wrote = [
        tuple(map(int, hit.groups())) for line in one.lines if (hit := re.search(r"to_write=(\d+) wrote=(\d+)", line))
    ]
    assert sorted(zip(sums.limits, sums.chunks, strict=True)) == sorted(pair for pair in wrote if pair[1])
    value = {figure.metric: figure.value for figure in sums.measurements(wrote=True)}
    assert value[Metric.INODE_PAGES] == sum(sums.chunks) / len(sums.chunks)
    assert value[Metric.STARTS_SYNC] + value[Metric.STARTS_PERIODIC] == value[Metric.WRITEBACK_STARTS] == len(told)
    assert value[Metric.NR_PAGES_UNLIMITED] == sum(pages >= UNLIMITED for _, pages in told) > 0
    assert value[Metric.NR_PAGES_NEGATIVE] == 0
    assert value[Metric.NR_PAGES_LEAST] == min(pages for _, pages in told)
    assert Metric.NR_TO_WRITE not in value, "a sync has no limit"


@of_each_kernel
def test_each_writeback_start_is_told_with_its_time_nr_pages_and_reason_the_first_thousand(kernel: str) -> None:
    one = RECORDINGS[kernel]
    found = [(hit["s"], hit["pages"], hit["reason"]) for hit in map(STARTED.search, one.lines) if hit]
    begin_us = round(float(found[0][0]) * 1e6) - 5
    sums = one.figures()
    sums.add(one.pages(), begin_us * 1000, one.end_ns)
    text = histograms(sums)
    _, _, rows = text.partition(f"writeback_start, the first {len(found)}:\n")
    told = [line.split() for line in rows.splitlines()[1:]]
    # The kernel's text rounds to microseconds.
    assert [(pages, reason) for _, pages, reason in told] == [(pages, reason) for _, pages, reason in found]
    for (at_s, _, _), (s, _, _) in zip(told, found, strict=True):
        assert abs(round(float(at_s) * 1e6) - (round(float(s) * 1e6) - begin_us)) <= 1
    assert max(map(len, text.splitlines())) <= 80
    for _ in range(1000 // len(found) + 1):
        sums.add(one.pages(), begin_us * 1000, one.end_ns)
    assert sum(map(len, sums.starts.values())) > len(sums.first_starts) == 1000


def test_nr_to_write_is_the_median_of_those_with_a_limit() -> None:
    sums, unlimited = figures(), struct.pack("=qQ", 2**63 - 1, 640)
    limited = [raw.replace(unlimited, struct.pack("=qQ", 24576, 640), 2) for raw in pages()]
    assert sum(raw.count(unlimited) for raw in pages()) - sum(raw.count(unlimited) for raw in limited) == 2
    sums.add(limited, 0, NEW.end_ns)
    value = {one.metric: one.value for one in sums.measurements(wrote=True)}
    assert value[Metric.NR_TO_WRITE] == 24576
    assert "nr_to_write of these: 1 without a limit, others 24576 to 24576, median 24576" in histograms(sums)


def test_events_outside_the_load_and_requests_of_other_disks_or_partitions_are_not_counted() -> None:
    before, other, part = figures(), figures(TracedDisk(LOOP3 + 1)), figures(TracedDisk(LOOP3, 20000, 30000))
    before.add(pages(), 0, 10)
    assert before.events == 0
    for sums in (other, part):
        sums.add(pages(), *ALWAYS)
    assert other.writes == other.meta_reads == 0
    assert part.writes == sum(20000 <= sector < 30000 for sector, _ in NEW.written())


def test_a_negative_nr_pages_is_counted_and_the_lowest_is_told() -> None:
    sums = figures()
    sums.starts["background"] = type(sums.chunks)("q", [-898403, -951001, 2**63 - 1, 500])
    value = {one.metric: one.value for one in sums.measurements(wrote=True)}
    assert value[Metric.NR_PAGES_NEGATIVE] == 2
    assert value[Metric.NR_PAGES_LEAST] == -951001
    assert value[Metric.NR_PAGES_UNLIMITED] == 1
    assert value[Metric.STARTS_BACKGROUND] == 4
    assert value[Metric("nr_pages_background")] == -898403


def page(*events: bytes, stamp: int = 1000) -> bytes:
    data = b"".join(events)
    return (struct.pack("=QQ", stamp, len(data)) + data).ljust(PAGE.page_bytes, b"\0")


def event(type_len: int, delta: int, *words: int) -> bytes:
    return struct.pack(f"={1 + len(words)}I", type_len | delta << 5, *words)


def test_long_events_pauses_absolute_times_and_discarded_events_keep_the_clock() -> None:
    kind = 7
    made = page(
        event(2, 5, kind, 0),
        event(0, 5, 12, kind, 0),  # its length stands in a word of its own
        event(30, 3, 2),  # 2 << 27 | 3 ns passed
        event(29, 4, 8, 0),  # discarded by its filter
        event(31, 1, 4),  # the time is 4 << 27 | 1
        event(1, 1, kind),
        event(29, 0, 0),  # the rest is empty
        event(1, 1, kind),
    )
    extended = 1010
    assert [(stamp, found) for stamp, found, _ in events_in(made, PAGE)] == [
        (1005, kind), (extended, kind), ((4 << 27 | 1) + 1, kind),
    ]  # fmt: skip
    # The flags above the length say that events are missing before the page.
    flagged = struct.pack("=QQ", 1000, 12 | 1 << 31) + event(2, 5, kind, 0)
    assert len(list(events_in(flagged, PAGE))) == 1


@given(st.binary(max_size=300))
def test_a_damaged_page_ends_early_and_raises_nothing(raw: bytes) -> None:
    whole = struct.pack("=QQ", 1, len(raw)) + raw
    for damaged in (raw, whole, pages()[0][: len(raw)] + raw):
        found = list(events_in(damaged, PAGE))
        assert all(PAGE.data_at < at <= len(damaged) - 2 for _, _, at in found)


@given(st.text(max_size=200))
def test_a_format_of_another_shape_is_unreadable(text: str) -> None:
    for parse in (parse_format, parse_page_format):
        with pytest.raises(Unreadable):
            parse(text)


def test_formats_of_older_kernels_are_read_and_lacking_fields_are_named() -> None:
    old = parse_format(OLD)
    reader = old.unpacker("dev", "sector", "nr_sector", "rwbs")
    assert reader.unpack_from(struct.pack("=8xI4xQII8s", LOOP3, 99, 8, 4096, b"WSM")) == (
        LOOP3,
        99,
        8,
        b"WSM".ljust(8, b"\0"),
    )
    with pytest.raises(Unreadable, match="wrote"):
        old.unpacker("wrote")
    assert FORMATS[START].symbols[0] == "background"


def test_lost_events_are_those_overwritten_and_those_dropped() -> None:
    assert parse_lost((NEW.folder / "stats").read_text()) == 0
    assert parse_lost("entries: 5\noverrun: 3\ncommit overrun: 2\nbytes: 9\ndropped events: 4\n") == 9
    assert parse_lost("") == 0
