"""One filesystem's writeback as the kernel sees it, from debugfs bdi/NAME/stats (mm/backing-dev.c)."""

from __future__ import annotations

from fsconsole.model.sample import BdiStats
from fsconsole.telemetry.rates import Unreadable
from fsconsole.units import KIB


def parse_bdi(text: str) -> BdiStats:
    """Return the figures of a stats file; sizes are in kB of 1024 bytes there. Raises Unreadable.

    Lines that later kernels add are passed over. Kernels before 3.2 don't count what was dirtied and
    have no bandwidth: for them there are no figures, rather than zeros.
    """
    values = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            values[name.strip()] = int(words[0])
    try:
        return BdiStats(
            writeback_bytes=values["BdiWriteback"] * KIB,
            reclaimable_bytes=values["BdiReclaimable"] * KIB,
            dirty_thresh_bytes=values["BdiDirtyThresh"] * KIB,
            dirtied_bytes=values["BdiDirtied"] * KIB,
            written_bytes=values["BdiWritten"] * KIB,
            bandwidth_bytes_s=values["BdiWriteBandwidth"] * KIB,
            b_dirty=values["b_dirty"],
            b_io=values["b_io"],
            b_more_io=values["b_more_io"],
        )
    except KeyError as error:
        raise Unreadable(f"no {error} in the bdi's stats") from error
