"""Samples as a busy machine gives them, made from a seed: every source there, every figure of a usual size."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fsconsole.model.sample import (
    BdiStats,
    CpuShares,
    DeviceRates,
    LoadProgress,
    NumberedCpu,
    Pressure,
    Role,
    Sample,
    Writeback,
)
from fsconsole.text import GIB, KIB, MIB

PERIOD_NS = 500_000_000


def made_samples(count: int, *, cpus: int, members: int, seed: int = 1) -> Iterator[Sample]:
    """Give samples of a load on an array: the target, and so many members; none has a figure that is zero by rule."""
    dice = random.Random(seed)  # noqa: S311
    done = 0
    for number in range(count):
        rate = dice.uniform(100e6, 2e9)
        done += int(rate / 2)
        yield Sample(
            monotonic_ns=40_000_000_000_000 + number * PERIOD_NS + dice.randrange(10**6),
            wall_ns=1_795_248_600_000_000_000 + number * PERIOD_NS + dice.randrange(10**6),
            interval_s=0.5 + dice.uniform(0, 0.001),
            cell=number // 200,
            step="workload",
            cpu=shares(dice),
            per_cpu=tuple(NumberedCpu(cpu, shares(dice)) for cpu in range(cpus)),
            writeback=Writeback(pages(dice, 20 * GIB), pages(dice, GIB), 24 * GIB + 4096 * 77, 12 * GIB),
            devices=(
                device(dice, "md127", rate),
                *(device(dice, f"sd{chr(97 + m)}", rate / 8, Role.MEMBER) for m in range(members)),
            ),
            bdi=bdi(dice, done),
            pressure=Pressure(*(dice.uniform(0, 100) for _ in range(5))),
            load=LoadProgress(done, done // (64 * KIB), done // MIB, 128, rate),
        )


def shares(dice: random.Random) -> CpuShares:
    parts = [dice.random() for _ in range(7)]
    return CpuShares(*(100 * part / sum(parts) for part in parts), steal=dice.uniform(0, 5))


def pages(dice: random.Random, most_bytes: int) -> int:
    return dice.randrange(most_bytes // 4096) * 4096


def device(dice: random.Random, name: str, rate: float, role: Role = Role.TARGET) -> DeviceRates:
    return DeviceRates(
        name=name,
        read_bytes_s=dice.uniform(1e6, rate / 10),
        write_bytes_s=dice.uniform(rate / 2, rate),
        read_iops=dice.uniform(1, 500),
        write_iops=rate / dice.uniform(16 * KIB, 512 * KIB),
        in_flight=dice.randrange(64),
        utilisation_percent=dice.uniform(50, 100),
        latency_ms=dice.uniform(1, 200),
        queue_depth=dice.uniform(1, 100),
        role=role,
        above="" if role is Role.TARGET else "md127",
    )


def bdi(dice: random.Random, done: int) -> BdiStats:
    return BdiStats(
        writeback_bytes=pages(dice, GIB),
        reclaimable_bytes=pages(dice, 20 * GIB),
        dirty_thresh_bytes=24 * GIB,
        global_thresh_bytes=24 * GIB,
        background_thresh_bytes=12 * GIB,
        dirtied_bytes=done,
        written_bytes=done - done % 4096,
        bandwidth_bytes_s=dice.randrange(10**6) * KIB,
        b_dirty=dice.randrange(1000),
        b_io=dice.randrange(1000),
        b_more_io=dice.randrange(100),
        b_dirty_time=dice.randrange(100),
        bdi_list=1,
        state=5,
    )
