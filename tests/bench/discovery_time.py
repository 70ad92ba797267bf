"""How long `fsconsole devices` takes: 75 and 300 loop devices, and 60 of them with 4 partitions each.

    python -m tests.bench.discovery_time [--rounds 5]

Loop devices over sparse files, ext4 on every tenth; the command looks at all block devices of the machine, with
signatures and sampled blocks of those that nothing uses. CPU seconds are those of the command and of all its children:
a limit holds for 300 devices and for 60 disks, and four times the devices may take five times as much. What the kernel
takes on behalf of the loop devices is not in them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fsconsole.system.block import attach, detach
from fsconsole.text import MIB
from tests.bench.paired import Cost, as_program, cost_of, judge, table

ALLOWED_CPU_S = 1.5
ALLOWED_GROWTH = 5.0
FEW, MANY, DISKS, PARTITIONS = 75, 300, 60, 4
SIZE = 16 * MIB
_COMMAND = (sys.executable, "-m", "fsconsole", "devices")


@contextmanager
def loop_device(image: Path, *, is_formatted: bool) -> Iterator[str]:
    """Have a loop device over a new sparse file."""
    image.touch()
    os.truncate(image, SIZE)
    if is_formatted:
        subprocess.run(("mkfs.ext4", "-q", "-F", "-O", "^has_journal", str(image)), check=True)
    device = attach(str(image))
    try:
        yield device
    finally:
        detach(device)
        image.unlink()


@contextmanager
def partitioned(device: str) -> Iterator[None]:
    """Have the kernel show partitions of a loop device, which needs no partition table (man 8 addpart)."""
    sectors = SIZE // 512 // (PARTITIONS + 1)
    numbers = [str(number) for number in range(1, PARTITIONS + 1)]
    for number in numbers:
        start = str(int(number) * sectors)
        subprocess.run(("addpart", device, number, start, str(sectors)), check=True)
    try:
        yield
    finally:
        for number in numbers:
            subprocess.run(("delpart", device, number), check=True)


def costs(rounds: int) -> list[Cost]:
    """Return what the command took, once for each round."""

    def look() -> None:
        subprocess.run(_COMMAND, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    look()
    return [cost_of(look) for _ in range(rounds)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="fsconsole-bench-") as directory, ExitStack() as made:

        def make(first: int, last: int) -> list[str]:
            places = [(Path(directory) / f"disk{number}", number % 10 == 0) for number in range(first, last)]
            return [made.enter_context(loop_device(image, is_formatted=formatted)) for image, formatted in places]

        make(0, FEW)
        found[f"{FEW} loop devices"] = costs(rounds)
        make(FEW, MANY)
        found[f"{MANY} loop devices"] = costs(rounds)
        made.close()
        for device in make(0, DISKS):
            made.enter_context(partitioned(device))
        found[f"{DISKS} disks with {PARTITIONS} partitions"] = costs(rounds)
    table(found)
    few_s, many_s, disks_s = (statistics.median(cost.cpu_s for cost in each) for each in found.values())
    kept = [
        judge(f"CPU seconds, {MANY} loop devices", many_s, at_most=ALLOWED_CPU_S),
        judge(f"CPU seconds, {DISKS} disks", disks_s, at_most=ALLOWED_CPU_S),
        judge(f"{MANY} devices / {FEW}", many_s / few_s, at_most=ALLOWED_GROWTH),
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    as_program(main)
