"""Raw streams keep to their regions, and say what they did in one line that is read back as strictly as written."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.claims import needs_hold
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.text import KIB, MIB
from fsconsole.workloads.raw import StreamJob, StreamReport, from_line, main, region_starts

REPORT = StreamReport(4, 64 * MIB, 10**9, 2 * 10**9, 3 * 10**9, 5 * 10**9)
LINE = json.dumps(asdict(REPORT))


def job(streams: int, bytes_each: int, block_bytes: int = MIB) -> StreamJob:
    return StreamJob(True, "/dev/x", streams, bytes_each, block_bytes)


@given(
    device=st.integers(1, 2**40),
    streams=st.integers(1, 4096),
    blocks=st.integers(1, 64),
    pages=st.integers(1, 256),
)
def test_streams_lie_in_the_device_apart_from_each_other_and_in_whole_blocks(
    device: int, streams: int, blocks: int, pages: int
) -> None:
    block = pages * 4 * KIB
    wanted = job(streams, blocks * block, block)
    if device // streams // block < blocks:
        with pytest.raises(ValueError, match="part of the device"):
            region_starts(device, wanted)
        return
    starts = region_starts(device, wanted)
    assert len(starts) == streams
    assert all(start % block == 0 for start in starts)
    assert all(later - start >= wanted.bytes_each for start, later in pairwise(starts))
    assert starts[-1] + wanted.bytes_each <= device


def test_what_direct_io_can_not_do_is_refused() -> None:
    for bytes_each, block in ((MIB, 1000), (MIB + 512, MIB), (4 * KIB, 6 * KIB)):
        with pytest.raises(ValueError, match="blocks are multiples"):
            region_starts(1024 * MIB, job(1, bytes_each, block))


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
    words = ["--streams", "1", "--bytes", "4096", "--block", "4096"]
    assert main(["write", str(tmp_path / "file"), *words]) == 1
    assert main(["write", str(tmp_path / "none"), *words]) == 1
    assert (tmp_path / "file").read_bytes() == b"kept"
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_only_this_module_of_an_interpreter_is_trusted_to_claim_the_device_itself() -> None:
    assert not needs_hold(("/usr/bin/python3", "-I", "-m", "fsconsole.workloads.raw", "write", "/dev/x"))
    assert needs_hold(("/usr/bin/python3", "-I", "-m", "fsconsole.workloads.host"))
    assert needs_hold(("/usr/bin/python3", "-I", "-m"))
    assert needs_hold(("/usr/bin/python3", "-m", "fsconsole.workloads.raw"))
