"""Ageing: what is done follows from the seed alone, fills and empties as said, and is what lies on the disk afterwards."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.text import KIB, MIB
from fsconsole.workloads.ageing import LARGEST_BYTES, SYNC, AgeJob, AgeReport, acts_of, carry_out
from fsconsole.workloads.job import Stage


@given(st.integers(0, 2**63), st.integers(1, 4), st.integers(1, 64 * MIB))
def test_each_cycle_fills_to_the_bytes_asked_for_then_syncs_and_removes_half(
    seed: int, cycles: int, full_bytes: int
) -> None:
    acts = list(acts_of(seed, cycles, full_bytes))
    assert acts == list(acts_of(seed, cycles, full_bytes))
    there: dict[int, int] = {}
    at_syncs = []
    for act in acts:
        if act is SYNC:
            at_syncs.append(sum(there.values()))
        elif act.is_removal:
            assert there.pop(act.number) == act.size_bytes
        else:
            assert act.number not in there
            assert 0 < act.size_bytes <= LARGEST_BYTES
            there[act.number] = act.size_bytes
    assert len(at_syncs) == 2 * cycles
    assert set(at_syncs[::2]) == {full_bytes}
    assert all(held <= full_bytes // 2 for held in at_syncs[1::2])


def test_sizes_are_mixed_and_another_seed_draws_others() -> None:
    sizes = [act.size_bytes for act in acts_of(1, 1, 512 * MIB) if act.size_bytes and not act.is_removal]
    assert min(sizes) < 16 * KIB
    assert max(sizes) > 4 * MIB
    powers = {size.bit_length() for size in sizes}
    assert powers >= set(range(14, 23)), "some of each power of two"
    assert sizes != [act.size_bytes for act in acts_of(2, 1, 512 * MIB) if act.size_bytes and not act.is_removal]


def content_of(tree: Path) -> dict[str, tuple[int, str]]:
    files = (path for path in tree.rglob("*") if path.is_file())
    return {
        str(path.relative_to(tree)): (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    }


def aged(tree: Path, job: AgeJob) -> AgeReport:
    tree.mkdir()
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return carry_out(job, fd, sync=lambda _: None)
    finally:
        os.close(fd)


def test_two_filesystems_get_the_same_names_and_bytes_and_the_report_is_what_is_left(tmp_path: Path) -> None:
    job = AgeJob("/unused", 0, 7, 3, 4 * MIB)
    report = aged(tmp_path / "one", job)
    assert aged(tmp_path / "other", job) == report
    left = content_of(tmp_path / "one")
    assert left == content_of(tmp_path / "other")
    assert (report.event, report.files, report.left_bytes) == (
        Stage.DONE,
        len(left),
        sum(size for size, _ in left.values()),
    )
    assert len({digest for _, digest in left.values()}) == len(left)
    assert 8 * MIB <= report.written_bytes <= 9 * MIB
