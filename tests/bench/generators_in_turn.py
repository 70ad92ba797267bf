"""fio's own rates and percentiles beside the built-in generator's, load by load, in turn: the loads of generators_crossed.toml.

    sudo python -m tests.bench.generators_in_turn [--pairs 5] [--dir DIRECTORY]

Each run is the create and what follows of it, by one generator in a directory of its own. fio's figures are those that
the product reads of its JSON: bandwidth, calls a second and percentiles over fio's own clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fsconsole.model.workload import Generator, Workload
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.read import parse_plan
from fsconsole.text import GIB, MIB
from tests.bench.paired import as_program
from tests.bench.phases import OPS, SPEED, Ours, Run, in_directory, memory_group, side_by_side
from tests.bench.scratch_fs import Mounted, filesystem, room


def loads_of(plan: Path, generator: Generator, scale: int) -> tuple[Workload, ...]:
    """Return one generator's loads of the plan, of a scale-th of its bytes, each with its source's number among them."""
    loads = workload_choices(parse_plan(plan.read_text(), plan.name))[0]
    kept = [number for number, load in enumerate(loads) if load.generator is generator]
    return tuple(
        replace(
            loads[number],
            name=loads[number].name.partition(",")[0],
            source=None if (source := loads[number].source) is None else kept.index(source),
            file_size_bytes=loads[number].file_size_bytes // scale,
            limit_bytes=loads[number].limit_bytes // scale,
        )
        for number in kept
    )


def run_of(loads: Sequence[Workload], disk: Mounted, group: str) -> Run:
    return in_directory(disk, lambda directory: Ours(disk, directory, group).carry_out(loads))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scale", type=int, default=1, help="divides the plan's sizes")
    parser.add_argument("--memory-mib", type=int, default=0, help="of the page cache; 0: all there is")
    parser.add_argument("--device-gib", type=int, default=8)
    parser.add_argument("--filesystem", default="ext4")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    plan = Path(__file__).with_name("generators_crossed.toml")
    own, other = (loads_of(plan, generator, asked.scale) for generator in (Generator.BUILT_IN, Generator.FIO))
    with (
        room(asked.dir) as place,
        filesystem(place, asked.device_gib * GIB, asked.filesystem) as disk,
        memory_group(asked.memory_mib * MIB) as group,
    ):
        ours = {"built-in": lambda: run_of(own, disk, group)}
        kept = side_by_side("fio", lambda: run_of(other, disk, group), ours, asked.pairs, judged=(SPEED, OPS))
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
