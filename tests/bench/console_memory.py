"""What the console holds in memory over 12 hours of samples: `python -m tests.bench.console_memory`.

It follows a run on a pty of 80x24 while another process writes as many samples as 12 hours have at 2 Hz, as quickly as
the console takes them. Its memory is read after each quarter. It exits with 1 where it is by a tenth more at the end than
after the first half: by then all that it keeps of the past, which is bounded, has been filled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fsconsole.text import MIB
from tests.bench.console_pty import compiled, console
from tests.bench.growing import growing
from tests.tui.recorded import recorded

ALLOWED_RATIO = 1.1
HOURS_12 = 86_400
SETTLING_S = 3.0
TERM = "xterm-256color"


def main() -> int:
    """Measure, print, and return 0 where memory stays flat."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=HOURS_12)
    samples = parser.parse_args().samples
    with compiled(), tempfile.TemporaryDirectory() as directory:
        folder = recorded("killed", Path(directory))
        with (
            console("--runs", directory, term=TERM) as shown,
            growing(folder, "--samples", str(samples)) as engine,
        ):
            assert engine.stdin is not None
            assert engine.stdout is not None
            shown.wait_for("Devices")
            shown.press(b"3")
            shown.wait_for("dirty")
            held = []
            while len(held) < 4:
                # The console's terminal is read meanwhile: one that nobody reads would keep it waiting.
                shown.read_until_told(engine.stdout)
                shown.read_for(SETTLING_S)
                held.append(shown.rss_bytes)
                print(f"{len(held)}/4 of {samples:,} samples: {held[-1] / MIB:6.1f} MiB", flush=True)
                engine.stdin.write("\n")
                engine.stdin.flush()
    ratio = held[-1] / held[1]
    holds = ratio <= ALLOWED_RATIO
    print(
        f"at the end / after a half: {ratio:.3f}; allowed at most {ALLOWED_RATIO:g}: {'holds' if holds else 'DOES NOT HOLD'}"
    )
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
