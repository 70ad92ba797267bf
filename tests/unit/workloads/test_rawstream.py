"""Raw streams keep to their regions, and say what they did in one line that is read back as strictly as written."""

from __future__ import annotations

import json
import os
import struct
import time
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.claims import needs_hold
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.text import KIB, MIB
from fsconsole.workloads.raw import Bounds, Places, StreamJob, StreamReport, from_line, main

REPORT = StreamReport(4, 64 * MIB, 10**9, 2 * 10**9, 3 * 10**9, 5 * 10**9)
LINE = json.dumps(asdict(REPORT))


def job(least_bytes: int, block_bytes: int = MIB, *, writes: bool = True) -> StreamJob:
    return StreamJob(writes, "/dev/x", 4, least_bytes, block_bytes)


@given(
    device=st.integers(1, 2**40),
    least=st.integers(1, 2**40),
    pages=st.integers(1, 256),
    writes=st.booleans(),
)
def test_a_stream_moves_whole_blocks_of_the_device_and_reads_only_what_a_write_of_as_many_bytes_wrote(
    device: int, least: int, pages: int, *, writes: bool
) -> None:
    block = pages * 4 * KIB
    if device < block:
        with pytest.raises(ValueError, match="the device has"):
            Bounds.of(job(least, block), device)
        return
    bounds = Bounds.of(job(least, block, writes=writes), device)
    assert [value % block for value in (bounds.least, bounds.most, bounds.turn)] == [0, 0, 0]
    assert 0 <= device - bounds.most < block
    assert min(least, bounds.most) <= bounds.least <= bounds.most
    assert bounds.turn == (bounds.most if writes else bounds.least)


def test_what_direct_io_can_not_do_is_refused() -> None:
    with pytest.raises(ValueError, match="blocks are multiples"):
        Bounds.of(job(MIB, 1000), 1024 * MIB)


def test_places_are_taken_in_order_each_once_until_bytes_and_time_are_over() -> None:
    later = time.monotonic_ns() + 10**12
    places = Places(Bounds(least=2 * MIB, most=4 * MIB, turn=3 * MIB), MIB)
    assert [places.take(0) for _ in range(3)] == [0, MIB, None]
    assert places.take(later) == 0  # the fourth, where only three were written
    assert places.take(later) is None
    places = Places(Bounds(least=4 * MIB, most=4 * MIB, turn=4 * MIB), MIB)
    places.end()
    assert places.take(later) is None


def test_forked_processes_take_every_place_once() -> None:
    blocks, later = 20_000, time.monotonic_ns() + 10**12
    places = Places(Bounds(blocks, blocks, blocks), 1)
    told, say = os.pipe()
    pids = []
    for _ in range(4):
        pids.append(os.fork())
        if pids[-1] == 0:
            taken = list(iter(lambda: places.take(later), None))
            os.write(say, struct.pack("qq", len(taken), sum(taken)))
            os._exit(0)
    # Not os.wait(): this process may have children of other tests.
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    counts, sums = zip(*struct.iter_unpack("qq", os.read(told, 4 * 16)), strict=True)
    os.close(told)
    os.close(say)
    assert (sum(counts), sum(sums)) == (blocks, blocks * (blocks - 1) // 2)


def test_a_report_counts_the_flush_and_is_read_back_as_it_was_written_and_nothing_else_is() -> None:
    assert from_line(LINE) == REPORT
    assert REPORT.bytes_per_s == 64 * MIB / 4
    assert StreamReport(1, 1, 5, 5, 5, 5).bytes_per_s == 0
    more, odd = json.dumps({**json.loads(LINE), "more": 1}), LINE.replace("67108864", '"many"')
    for text in ("", "[]", "{}", "[" * 99999, more, odd):
        with pytest.raises(GeneratorFailed, match="gave no figures"):
            from_line(text)


def test_a_device_that_is_none_is_told_in_a_sentence(tmp_path, capsys) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    words = ["--depth", "1", "--bytes", "4096", "--block", "4096"]
    assert main(["write", str(tmp_path / "file"), *words]) == 1
    assert main(["write", str(tmp_path / "none"), *words]) == 1
    assert (tmp_path / "file").read_bytes() == b"kept"
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_only_this_module_of_an_interpreter_is_trusted_to_claim_the_device_itself() -> None:
    assert not needs_hold(("/usr/bin/python3", "-I", "-m", "fsconsole.workloads.raw", "write", "/dev/x"))
    assert needs_hold(("/usr/bin/python3", "-I", "-m", "fsconsole.workloads.host"))
    assert needs_hold(("/usr/bin/python3", "-I", "-m"))
    assert needs_hold(("/usr/bin/python3", "-m", "fsconsole.workloads.raw"))
