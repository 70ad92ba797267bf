"""How long a load stood still: the device wrote nothing while writers waited."""

from __future__ import annotations

from fsconsole.model.sample import Sample


class StallClock:
    """Adds up the sampling intervals in which writers ran, none of them got anything done, and no target wrote.

    What is shorter than an interval is not seen, so the figure is rather too small than too large.
    """

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, now_ns: int) -> None:
        """Begin anew with a load whose counters are at zero; now_ns is CLOCK_MONOTONIC."""
        self._since_ns = now_ns
        self._done = (0, 0)
        self._stalled_s = 0.0
        self._has_seen = False

    def note(self, sample: Sample) -> None:
        """Take one more sample in; one without a load, or without its target's rates, says nothing."""
        load, targets = sample.load, sample.targets
        if load is None or not targets:
            return
        before, self._done = self._done, (load.bytes_done, load.operations)
        self._has_seen = True
        wrote = any(target.write_bytes_s for target in targets)
        if load.threads_running and not wrote and self._done == before:
            # The first interval began before the load did.
            self._stalled_s += min(sample.interval_s, (sample.monotonic_ns - self._since_ns) / 1e9)

    def stalled_s(self) -> float | None:
        """Return the seconds since the reset; None where no sample could tell."""
        return self._stalled_s if self._has_seen else None
