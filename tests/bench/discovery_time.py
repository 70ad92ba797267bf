"""How long it takes to find 500 block devices: a made sysfs tree of disks, partitions, arrays and volumes.

    python -m tests.bench.discovery_time [--devices 500] [--pairs 20]

A tenth are arrays of two disks, a tenth volumes on these, three tenths partitions, the rest SATA disks; every second
disk's partition is mounted. The tree is made of files: what a kernel takes to make such files is not in the figure.
Each round finds all devices and then those of a tree of a fifth of the size: the ratio of the two, per device, shows
whether time grows faster than the number of devices. The wall time is the limit's, being what the operator waits.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.bench.paired import as_program, cost_of, in_turn, judge, ratio, table
from tests.unit.devices.system_tree import GIB, SystemTree

ALLOWED_S = 1.0


def made_tree(directory: Path, devices: int) -> SystemTree:
    """Make a tree of so many devices."""
    directory.mkdir()
    tree = SystemTree(directory)
    arrays, partitions = devices // 10, devices * 3 // 10
    disks = devices - 2 * arrays - partitions
    names = [f"sd{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(disks)]
    for number, name in enumerate(names):
        tree.sata(
            name, f"{8 + number // 16}:{number % 16 * 16}",
            {"device/wwid": f"naa.5000c500{number:08x}", "diskseq": str(number + 1)},
        )  # fmt: skip
    for number, name in enumerate(names[:partitions]):
        tree.partition(name, f"{name}1", f"{8 + number // 16}:{number % 16 * 16 + 1}")
    lines = ["Personalities : [raid1]"]
    for number in range(arrays):
        pair = (names[-1 - 2 * number], names[-2 - 2 * number])
        tree.array(f"md{number}", f"9:{number}", 8 * GIB, *pair)
        lines += [
            f"md{number} : active raid1 {pair[1]}[1] {pair[0]}[0]",
            "      8388608 blocks [2/2] [UU]",
            "",
        ]
        tree.volume(f"dm-{number}", f"253:{number}", f"vg{number}-data", f"md{number}")
    tree.write_proc("mdstat", "\n".join([*lines, "unused devices: <none>", ""]))
    mounts = [
        f"{30 + number} 1 {8 + number // 16}:{number % 16 * 16 + 1} / /srv/{name} rw - ext4 /dev/{name}1 rw\n"
        for number, name in enumerate(names[:partitions:2])
    ]
    for process in ("self", "1"):
        tree.write_proc(f"{process}/mountinfo", "".join(mounts))
    return tree


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fsconsole-bench-") as directory:
        large = made_tree(Path(directory) / "large", asked.devices)
        small = made_tree(Path(directory) / "small", asked.devices // 5)
        counts = [len(tree.discover()) for tree in (large, small)]
        if counts[0] != asked.devices:
            raise SystemExit(f"{counts[0]} of {asked.devices} devices were found")
        contestants = {f"{count} devices": tree for count, tree in zip(counts, (large, small), strict=True)}
        found = in_turn(
            {name: lambda tree=tree: cost_of(tree.discover) for name, tree in contestants.items()},
            asked.pairs,
        )
    table(found)
    by_size = list(found.values())
    per_device = [
        [cost.cpu_s / count for cost in costs] for costs, count in zip(by_size, counts, strict=True)
    ]
    judge("CPU per device, large tree / small tree", ratio(*per_device))
    judge("CPU seconds", statistics.median(cost.cpu_s for cost in by_size[0]))
    kept = judge(
        "seconds by the clock", statistics.median(cost.wall_s for cost in by_size[0]), at_most=ALLOWED_S
    )
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main, needs_root=False)
