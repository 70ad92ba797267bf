"""Counts refusals where nobody interferes: makes filesystems through the engine's own handover of the device.

python -m tests.bench.wipes [COUNT]

Each wipe goes on with what the one before left, every eighth is a new target. Prints the count by tool and the seconds
that a wipe takes beyond the tool's own; exits with 1 after a refusal.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from fsconsole.errors import FsconsoleError
from fsconsole.system import block
from fsconsole.text import MIB
from tests.loop.gate_cases import sparse
from tests.loop.wiping import proved, wiped

_BYTES = 330 * MIB
TOOLS = {
    "mkfs.ext2": ("-q", "-F"),
    "mkfs.ext3": ("-q", "-F"),
    "mkfs.ext4": ("-q", "-F"),
    "mkfs.xfs": ("-q", "-f"),
    "mkfs.btrfs": ("-q", "-f"),
    "mkfs.f2fs": ("-q", "-f"),
    "mkfs.nilfs2": ("-q", "-f"),
    "mkfs.jfs": ("-q",),
    "mkreiserfs": ("-q", "-ff"),
    "wipefs": ("-a", "-f"),
    "blkdiscard": ("-f",),
    "shred": ("-n", "0", "-z"),
}
"""Options that make a tool ask nothing, by tool; of these the installed ones are run."""
INSTALLED = tuple(tool for tool in TOOLS if shutil.which(tool))
_WIPES_OF_A_TARGET = 8


def main(count: int) -> int:
    """Wipe that often, in turn with all tools, and return the exit code."""
    wipes, refusals, extra_s = defaultdict[str, int](int), list[str](), defaultdict[str, list[float]](list)
    number = 0
    while number < count:
        with tempfile.TemporaryDirectory(prefix="fsconsole-wipes-") as name:
            directory = Path(name)
            device = block.attach(str(sparse(directory / "disk", _BYTES)))
            try:
                with proved(device, directory) as (prover, cell):
                    for _ in range(_WIPES_OF_A_TARGET):
                        tool = INSTALLED[number % len(INSTALLED)]
                        begun_s = time.monotonic()
                        result = wiped(prover, cell, (tool, *TOOLS[tool], device))
                        extra_s[tool].append(time.monotonic() - begun_s - result.usage.elapsed_s)
                        if result.exit_code != 0:
                            refusals.append(f"{tool}: {result.err}")
                        number += 1
                        wipes[tool] += 1
                    prover.prove_cell(cell)
            except FsconsoleError as error:
                refusals.append(f"{tool}: {error}")
                number += 1
            finally:
                block.detach(device)
    for tool, done in wipes.items():
        sys.stdout.write(f"{tool:12} {done:5} wipes, {statistics.median(extra_s[tool]):.3f} s beyond the tool's own\n")
    sys.stdout.write(f"{sum(wipes.values())} wipes, {len(refusals)} refusals\n" + "".join(f"{r}\n" for r in refusals))
    return 1 if refusals else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
