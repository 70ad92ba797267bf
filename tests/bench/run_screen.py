"""What the Run screen costs while a run goes on: `python -m tests.bench.run_screen [--seconds 20]`.

Another process writes a sample each half second, in which every figure moves; the console follows it on a pty, with all
gauges and the plot. Counted is the CPU time of the console's process from 5 s after its Run screen was there. It exits
with 1 where that is more than 5 % of one CPU.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.console_pty import compiled, console
from tests.bench.growing import growing
from tests.tui.recorded import recorded

ALLOWED_PERCENT = 5.0
SIZES = ((80, 24), (120, 40), (200, 60))
SETTLING_S = 5.0
TERM = "xterm-256color"


def main() -> int:
    """Measure each size, print, and return 0 where the limit holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    worst = 0.0
    with compiled():
        for size in SIZES:
            percent, bytes_s = measured(size, seconds)
            worst = max(worst, percent)
            print(f"{size[0]:>3}x{size[1]}: {percent:5.2f} % of a CPU, {bytes_s:6.0f} bytes/s sent", flush=True)
    holds = worst <= ALLOWED_PERCENT
    print(f"the most: {worst:.2f} %; allowed at most {ALLOWED_PERCENT:g} %: {'holds' if holds else 'DOES NOT HOLD'}")
    return int(not holds)


def measured(size: tuple[int, int], seconds: float) -> tuple[float, float]:
    """Return per cent of a CPU, and bytes sent each second."""
    with (
        tempfile.TemporaryDirectory() as directory,
        growing(recorded("killed", Path(directory))),
        console("--runs", directory, term=TERM, size=size) as shown,
    ):
        shown.wait_for("Devices")
        shown.press(b"3")
        shown.wait_for("dirty")
        shown.read_for(SETTLING_S)
        begun_s, cpu_s = time.monotonic(), shown.cpu_s
        sent = shown.read_for(seconds)
        elapsed_s = time.monotonic() - begun_s
        return 100 * (shown.cpu_s - cpu_s) / elapsed_s, sent / elapsed_s


if __name__ == "__main__":
    sys.exit(main())
