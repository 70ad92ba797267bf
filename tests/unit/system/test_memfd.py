from __future__ import annotations

import os
import sys
from itertools import pairwise

import pytest

from fsconsole.model.command import Command
from fsconsole.model.load import (
    REGION_WORDS,
    HeaderWord,
    Latencies,
    LatencyBucket,
    RegionWord,
    SlotWord,
    ThreadCounters,
    ThreadState,
    page_bytes,
    region_word,
    slot_word,
)
from fsconsole.model.timed import Timed
from fsconsole.system.memfd import CounterPage
from fsconsole.system.run import RealExecutor

WRITER = """
import sys
from fsconsole.model.load import *
from fsconsole.system.memfd import CounterPage
page = CounterPage.from_fd(int(sys.argv[1]))
page.words[slot_word(1, SlotWord.BYTES)] = 2**40
page.words[slot_word(1, SlotWord.STATE)] = ThreadState.RUNNING
sys.exit(page.words[HeaderWord.STOP])
"""


def test_a_new_page_has_every_thread_at_its_start_and_is_closed_once() -> None:
    with CounterPage.create(3) as page:
        assert page.read() == (ThreadCounters(ThreadState.STARTING, 0, 0, 0, 0, 0, 0),) * 3
        assert page.words[HeaderWord.THREADS] == 3
        assert os.fstat(page.fd).st_size == page_bytes(3) == len(page.words) * 8
        # Nobody can cut it under its readers.
        with pytest.raises(PermissionError):
            os.ftruncate(page.fd, 0)
        page.close()


def test_another_process_writes_and_reads_the_same_page() -> None:
    with CounterPage.create(2) as page:
        page.request_stop()
        argv = (sys.executable, "-c", WRITER, str(page.fd))
        command = Command(argv, inherit_fds=(page.fd,), environment=(("PYTHONPATH", os.getcwd()),))
        assert RealExecutor().run(command).exit_code == 1
        assert page.read()[1] == ThreadCounters(ThreadState.RUNNING, 2**40, 0, 0, 0, 0, 0)
        assert page.read()[0].state is ThreadState.STARTING


def test_each_word_of_a_slot_is_its_own_figure() -> None:
    with CounterPage.create(1) as page:
        for value, word in enumerate(SlotWord, start=1):
            page.words[slot_word(0, word)] = value
        assert page.read() == (ThreadCounters(ThreadState.READY, 2, 3, 4, 5, 6, 7, 8),)


def test_latencies_are_those_of_all_threads_by_operation() -> None:
    with CounterPage.create(3, regions=2) as page:
        for thread, count in enumerate((5, 0, 7)):
            first = region_word(3, 2, thread, 1)
            page.words[first + 100] = count
            page.words[first + RegionWord.SUM_NS] = 1000 * count
            page.words[first + RegionWord.MAX_NS] = 10 * count
            page.words[first + RegionWord.OVER_2_S] = count
            page.words[first + RegionWord.OVER_10_S] = count - count % 2
        created, written = page.latencies((Timed.CREATE, Timed.WRITE))
    assert (created.count, created.max_ns) == (0, 0)
    assert written == Latencies(Timed.WRITE, 12_000, 70, 12, 10, (LatencyBucket(100, 12),))


def test_regions_lie_behind_the_slots_and_on_cache_lines_of_their_own() -> None:
    starts = [region_word(3, 2, thread, region) for thread in range(3) for region in range(2)]
    assert starts[0] == slot_word(3, SlotWord.STATE)
    assert {start % 8 for start in starts} == {0}
    assert all(after - before > RegionWord.OVER_10_S for before, after in pairwise(starts))
    assert (starts[-1] + REGION_WORDS) * 8 == page_bytes(3, 2)


def test_other_descriptors_are_refused() -> None:
    fd = os.memfd_create("other")
    try:
        with pytest.raises(ValueError, match="not a counter page"):
            CounterPage.from_fd(fd)
        os.write(fd, bytes(page_bytes(1)))
        with pytest.raises(ValueError, match="not a counter page"):
            CounterPage.from_fd(fd)
        with CounterPage.create(1) as page:
            os.pwrite(fd, bytes(page.words)[: page_bytes(0)], 0)
        os.ftruncate(fd, page_bytes(0))
        with pytest.raises(ValueError, match="another size"):
            CounterPage.from_fd(fd)
    finally:
        os.close(fd)
