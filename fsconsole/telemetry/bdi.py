"""One filesystem's writeback as the kernel sees it, from debugfs bdi/NAME/stats (mm/backing-dev.c)."""

from __future__ import annotations

from fsconsole.model.sample import BdiStats
from fsconsole.telemetry.rates import MOST, Unreadable, kernel_numbers
from fsconsole.units import KIB


def parse_bdi(text: str) -> BdiStats:
    """Return the figures of a stats file; sizes are in kB of 1024 bytes there. Raises Unreadable.

    Lines that later kernels add are passed over, and what an older one lacks is None: what was dirtied and
    written, and the bandwidth, came with 3.2.
    """
    values = kernel_numbers(text, ":")
    sizes = {name: value * KIB for name, value in values.items()}
    try:
        return BdiStats(
            writeback_bytes=sizes["BdiWriteback"],
            reclaimable_bytes=sizes["BdiReclaimable"],
            dirty_thresh_bytes=sizes.get("BdiDirtyThresh"),
            global_thresh_bytes=sizes.get("DirtyThresh"),
            background_thresh_bytes=sizes.get("BackgroundThresh"),
            dirtied_bytes=sizes.get("BdiDirtied"),
            written_bytes=sizes.get("BdiWritten"),
            bandwidth_bytes_s=sizes.get("BdiWriteBandwidth"),
            b_dirty=values.get("b_dirty"),
            b_io=values.get("b_io"),
            b_more_io=values.get("b_more_io"),
            b_dirty_time=values.get("b_dirty_time"),
            bdi_list=values.get("bdi_list"),
            state=_state(text),
        )
    except KeyError as error:
        raise Unreadable(f"no {error} in the bdi's stats") from error


def _state(text: str) -> int | None:
    """Return the bits of the state line, which alone is in hexadecimal."""
    for line in text.splitlines():
        name, _, word = line.partition(":")
        if name == "state":
            try:
                bits = int(word, 16)
            except ValueError:
                return None
            return bits if 0 <= bits <= MOST else None
    return None
