"""The counter page of a load in shared memory, passed on by descriptor (man 2 memfd_create)."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence

from fsconsole.model.load import (
    BUCKETS,
    MAGIC,
    REGION_WORDS,
    Beyond,
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
from fsconsole.system.files import Closing

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class CounterPage(Closing):
    """A mapped counter page: generator threads write their slots, the sampler reads them without a lock."""

    def __init__(self, fd: int, threads: int, regions: int) -> None:
        super().__init__(fd)
        self.threads = threads
        self.regions = regions
        self._map = mmap.mmap(fd, page_bytes(threads, regions))
        self.words = memoryview(self._map).cast("Q")
        """Every word of the page, as model.counters numbers them."""

    @classmethod
    def create(cls, threads: int, regions: int = 0) -> CounterPage:
        """Make a page with every thread at STARTING, with room to time so many operations in each.

        Its size is sealed: nobody who holds the descriptor can cut it under a reader (SIGBUS).
        """
        fd = os.memfd_create("fsconsole-counters", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, page_bytes(threads, regions))
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        page = cls(fd, threads, regions)
        page.words[HeaderWord.REGIONS] = regions
        page.words[HeaderWord.THREADS] = threads
        page.words[HeaderWord.MAGIC] = MAGIC
        return page

    @classmethod
    def from_fd(cls, fd: int) -> CounterPage:
        """Map a page that another process made; the descriptor becomes this page's own.

        Raises ValueError where it is no counter page.
        """
        header = os.pread(fd, page_bytes(0), 0)
        words = memoryview(header).cast("Q") if len(header) == page_bytes(0) else None
        if words is None or words[HeaderWord.MAGIC] != MAGIC:
            raise ValueError(f"descriptor {fd} is not a counter page")
        threads, regions = words[HeaderWord.THREADS], words[HeaderWord.REGIONS]
        if os.fstat(fd).st_size != page_bytes(threads, regions):
            raise ValueError(f"the counter page of descriptor {fd} has another size than its header says")
        return cls(fd, threads, regions)

    def read(self) -> tuple[ThreadCounters, ...]:
        """Return the counters of every thread as they are now."""
        slots = (slot_word(thread, SlotWord.STATE) for thread in range(self.threads))
        return tuple(
            ThreadCounters(
                state=ThreadState(self.words[first + SlotWord.STATE]),
                bytes_done=self.words[first + SlotWord.BYTES],
                operations=self.words[first + SlotWord.OPERATIONS],
                files_done=self.words[first + SlotWord.FILES_DONE],
                started_ns=self.words[first + SlotWord.STARTED_NS],
                ended_ns=self.words[first + SlotWord.ENDED_NS],
                errno=self.words[first + SlotWord.ERRNO],
                read_bytes=self.words[first + SlotWord.READ_BYTES],
            )
            for first in slots
        )

    def latencies(self, operations: Sequence[Timed], edges: Sequence[tuple[int, ...]] = ()) -> tuple[Latencies, ...]:
        """Return the latencies of every operation that was timed, over all threads; operations name the regions.

        edges has the limits of each of them (edges_in()), none where it is empty.
        """
        found = []
        for region, operation in enumerate(operations):
            starts = [region_word(self.threads, self.regions, thread, region) for thread in range(self.threads)]
            rows = [self.words[first : first + REGION_WORDS].tolist() for first in starts]
            # Column by column in C: a page of 4096 threads has millions of words.
            sums = [sum(column) for column in zip(*rows, strict=True)]
            buckets = [LatencyBucket(bucket, count) for bucket, count in enumerate(sums[:BUCKETS]) if count]
            limits = enumerate(edges[region] if edges else (), start=RegionWord.BEYOND)
            found.append(
                Latencies(
                    operation=operation,
                    sum_ns=sums[RegionWord.SUM_NS],
                    max_ns=max(row[RegionWord.MAX_NS] for row in rows),
                    over_2_s=sums[RegionWord.OVER_2_S],
                    over_10_s=sums[RegionWord.OVER_10_S],
                    buckets=tuple(buckets),
                    beyond=tuple(Beyond(edge_ns, sums[word]) for word, edge_ns in limits),
                )
            )
        return tuple(found)

    def request_stop(self) -> None:
        """Ask all threads to stop before their next operation."""
        self.words[HeaderWord.STOP] = 1

    def close(self) -> None:
        """Unmap the page and close the descriptor; a second call does nothing."""
        self.words.release()
        self._map.close()
        super().close()
