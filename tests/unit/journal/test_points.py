"""The lean way to read samples gives the figures of the whole one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import point_of, points_before
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import DeviceRates, Role, Sample
from tests.unit.results import build

TARGET = DeviceRates("sdb", 512.0 * 3, 512.0 * 7, 1.0, 2.0, 3, 40.0, 1.5, 2.0)
BELOW = replace(TARGET, name="vda", role=Role.BELOW, above="sdb", write_bytes_s=512e6)


def samples() -> list[Sample]:
    devices = ((), (TARGET, BELOW), (TARGET, BELOW, replace(TARGET, name="sdc")))
    return [
        replace(build.sample(at * 10**9), devices=devices[at % 3], cell=None if at % 5 == 0 else at)
        for at in range(11)
    ]


def write(folder: RunFolder) -> None:
    journal = JournalWriter(folder)
    for sample in samples():
        journal.sample(sample)
    journal.close(finished=False)


def test_points_are_what_whole_samples_say(folder: RunFolder) -> None:
    write(folder)
    batch = JournalReader(folder.journal).read_since(JournalReader(folder.journal).recent(100))
    following, points = points_before(folder.journal, 2**62, 100)
    assert list(points) == [point_of(sample) for sample in reversed(batch.samples)]
    assert following == 0


def test_points_are_read_backwards_in_batches_without_gap_or_overlap(folder: RunFolder) -> None:
    write(folder)
    found, following = [], 2**62
    while following:
        following, points = points_before(folder.journal, following, 4)
        found += points
    assert [point.monotonic_ns // 10**9 for point in found] == list(range(10, -1, -1))


def test_only_targets_count_and_none_is_not_zero(folder: RunFolder) -> None:
    none, one, two = (point_of(sample) for sample in samples()[:3])
    assert (none.write_bytes_s, one.write_bytes_s, two.write_bytes_s) == (None, 512.0 * 7, 512.0 * 14)


def test_a_journal_that_is_gone_is_told(folder: RunFolder) -> None:
    with pytest.raises(JournalUnusable):
        points_before(folder.journal + "x", 5, 5)


def test_a_sample_that_is_no_number_is_told_and_not_drawn(folder: RunFolder) -> None:
    write(folder)
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        journal.execute("UPDATE sample SET monotonic_ns = 'soon' WHERE monotonic_ns = 5000000000")
    with pytest.raises(JournalUnusable, match="'soon' is not a whole number"):
        points_before(folder.journal, 2**62, 100)
