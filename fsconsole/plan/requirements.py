"""Reads a workload's table of required figures: { fsync_p99 = "<= 10ms", durable = ">= 800MB/s" }."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsconsole.catalog.tables import Table, nearest_words
from fsconsole.errors.runs import UnknownColumn
from fsconsole.errors.targets import BadQuantity
from fsconsole.model.fio_job import FioLoad, load_of, read_fio_job
from fsconsole.model.load import MOST_PROCESSES, timed_in
from fsconsole.model.metrics import OF_DEVICE, Metric, Unit, column_named
from fsconsole.model.plan import Plan
from fsconsole.model.thresholds import LARGEST, LARGEST_MS, Comparator, Requirement
from fsconsole.model.timed import SYNCS
from fsconsole.model.verdicts import LEAST_ROUNDS
from fsconsole.model.workload import BUILT_IN, Workload, WorkloadKind
from fsconsole.units import parse_bytes, parse_seconds

_REQUIREMENT = re.compile(r"(?P<comparator><=|>=)\s*(?P<limit>[0-9].*)")
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>.*)")
_TYPED = re.compile(r"(?P<name>[^<>=]+?)\s*=?\s*(?P<said>[<>].*)")


def read_requirements(table: Table, name: str, _value: object) -> tuple[Requirement, ...]:
    """Return the requirements at a key. Raises PlanBadValue."""
    own = table.table(name)
    found: dict[Metric, Requirement] = {}
    for each in own.names():
        try:
            metric = column_named(each)
        except UnknownColumn as error:
            raise own.bad(each, "there is no such column", f"one of {error.nearest}") from error
        if metric in found:
            raise own.bad(each, f"'{metric.column}' has a limit already", "one limit for each column")
        said = own.as_text(each, own.raw(each), wanted='a limit in quotes, such as "<= 10ms"')
        try:
            found[metric] = parse_requirement(metric, said)
        except BadQuantity as error:
            raise own.bad(each, f"must be {error.wanted}", error.examples) from error
    return tuple(found.values())


def parse_requirement(metric: Metric, text: str) -> Requirement:
    """Return the requirement that a text such as "<= 10ms" makes of a metric. Raises BadQuantity.

    The limit has a unit, except for counts: "10ms", "1.5s", "800MB/s", "64MiB", "5 %", "2000/s", "3".
    """
    example = EXAMPLES[metric.unit]
    said = _REQUIREMENT.fullmatch(text.strip())
    if said is None:
        raise BadQuantity(text=text, wanted="a limit with <= or >= before it", examples=f"<= {example}, >= {example}")
    limit = said["limit"]
    value = _value_of(metric.unit, limit, example)
    if value > (LARGEST_MS if metric.unit is Unit.MILLISECONDS else LARGEST):
        raise BadQuantity(text=text, wanted="a limit that a figure can have", examples=f"<= {example}")
    return Requirement(metric.value, Comparator(said["comparator"]), value, limit)


EXAMPLES = {
    Unit.BYTES: "64MiB",
    Unit.BYTES_PER_S: "800MB/s",
    Unit.SECONDS: "1.5s",
    Unit.MILLISECONDS: "10ms",
    Unit.PERCENT: "5%",
    Unit.PER_SECOND: "2000/s",
    Unit.COUNT: "3",
}
_SIZES = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
_TIMES = ("us", "ms", "s", "min", "h")
_UNITS = {
    Unit.BYTES: _SIZES,
    Unit.BYTES_PER_S: tuple(f"{size}/s" for size in _SIZES),
    Unit.SECONDS: _TIMES,
    Unit.MILLISECONDS: _TIMES,
    Unit.PERCENT: ("%",),
    Unit.PER_SECOND: ("/s", "1/s"),
    Unit.COUNT: ("",),
}


def _value_of(unit: Unit, limit: str, example: str) -> float:
    """Return a limit in the base unit. Raises BadQuantity."""
    found = _NUMBER.fullmatch(limit)
    # A bare number would be seconds or bytes where the column shows ms or MB/s.
    if found is None or found["unit"] not in _UNITS[unit]:
        near = nearest_words(found["unit"] if found else "", _UNITS[unit])
        wanted = "a number without a unit" if unit is Unit.COUNT else "a number with its unit"
        raise BadQuantity(text=limit, wanted=wanted, examples=f"{example} (units: {near})" if near else example)
    if unit in (Unit.BYTES, Unit.BYTES_PER_S):
        return float(parse_bytes(limit.removesuffix("/s")))
    if unit in (Unit.SECONDS, Unit.MILLISECONDS):
        seconds = parse_seconds(limit)
        return 1000 * seconds if unit is Unit.MILLISECONDS else seconds
    return float(found["number"])


def requirements_toml(some: tuple[Requirement, ...]) -> object:
    """Return requirements as a plan file has them."""
    return {one.column: one.said for one in some}


def typed_requirements(text: str) -> object:
    """Return "fsync_p99 <= 10ms, durable >= 800MB/s" as a table; text where a part names no limit."""
    parts = [_TYPED.fullmatch(part.strip()) for part in text.split(",") if part.strip()]
    return {part["name"]: part["said"] for part in parts if part} if all(parts) else text


def limits_in_words(plan: Plan) -> Iterator[str]:
    """Yield what a plan requires of each of its loads, and that it has too few rounds to decide it."""
    loads = dict.fromkeys((load.name, load.require) for cell in plan.cells for load in cell.workloads if load.require)
    for name, require in loads:
        yield f"'{name}' requires {', '.join(one.words for one in require)}"
    if loads and plan.repeats < LEAST_ROUNDS:
        yield f"Requirements stay undecided: they need at least {LEAST_ROUNDS} rounds"


def wrong_requirements(load: Workload) -> Iterator[tuple[str, str, str]]:
    """Yield "require", what is wrong with a limit of a workload, and what it may limit instead."""
    having = {metric.value for metric in columns_of(load)}
    for one in load.require:
        if one.column not in having:
            yield (
                "require",
                f"a load of kind {load.kind.value}{_without(load)} has no '{one.column}'",
                nearest_words(one.column, having),
            )


def _without(load: Workload) -> str:
    """Return what else of a load decides on its columns."""
    syncs = "" if load.syncs or not load.writes else " without fsync"
    many = f" with over {MOST_PROCESSES} threads" if max(load.thread_counts) > MOST_PROCESSES else ""
    return syncs + many


_ALWAYS = frozenset({
    Metric.FIRST_DONE, Metric.LAST_DONE, Metric.REAL, Metric.USER, Metric.SYSTEM, Metric.CPU, Metric.CPU_GENERATOR,
    Metric.CPU_BY_GENERATOR, Metric.CPU_BY_KERNEL, Metric.CPU_BY_OTHERS, Metric.OBSERVER, Metric.PEAK_DIRTY,
}) | OF_DEVICE  # fmt: skip
_OF_MOVING = frozenset({Metric.CPU_PER_GIB, Metric.GENERATOR_PER_GIB, Metric.CPU_EFFICIENCY})
_OF_READS = frozenset({Metric.READ, Metric.READ_BYTES, Metric.READ_TIME})
_OF_WRITES = frozenset({
    Metric.WRITE, Metric.DURABLE, Metric.WRITTEN, Metric.WRITE_TIME, Metric.STALLS, Metric.WRITE_AMPLIFICATION,
})  # fmt: skip
_OF_CREATES = frozenset({
    Metric.EXTENTS_MEAN, Metric.EXTENTS_MEDIAN, Metric.EXTENTS_MAX, Metric.EXTENT_SIZE_MEDIAN,
})  # fmt: skip
_OF_CALLS = ("mean", "count", "p50", "p95", "p99", "max", "ops_per_s")
_NOT_OF_MANY = frozenset({"mean", "p95", "p99"})
"""Latency figures that loads have not whose writers share processes."""


def _of_job(load: FioLoad) -> frozenset[Metric]:
    """Return the metrics of a fio job: calls of a job that reads and writes are apart."""
    names = ["fsync"] if load.syncs else []
    names += ["read", "write"] if load.reads and load.writes else ["latency"]
    wanted = {f"{name}_{call}" for name in names for call in _OF_CALLS}
    having = {Metric.OPS_PER_S}
    having |= _OF_READS if load.reads else set()
    having |= _OF_WRITES if load.writes else set()
    return frozenset(having | {metric for metric in Metric if metric.value in wanted})


def columns_of(load: Workload) -> frozenset[Metric]:
    """Return the metrics of a plan's workload that it may limit: those that its load has wherever it runs."""
    having = set(_ALWAYS)
    having |= {Metric.FILES_PER_S, Metric.OPS_PER_S} if load.kind in BUILT_IN else set()
    having |= _OF_MOVING if load.reads or load.writes else set()
    having |= _OF_READS if load.reads else set()
    having |= _OF_WRITES if load.writes else set()
    having |= {Metric.DRAIN, Metric.REAL_DRAINED} if load.changes else set()
    having |= _OF_CREATES if load.kind is WorkloadKind.CREATE else set()
    names = ["fsync"] if load.syncs else []
    if load.job:
        return frozenset(having) | _of_job(load_of(read_fio_job(load.job, "job")))
    if load.kind not in BUILT_IN:
        return frozenset(having)
    if load.kind is WorkloadKind.MIX:
        names += [timed.value.replace("-", "_") for timed in timed_in(load) if timed not in SYNCS]
    else:
        names.append("latency")
        having |= {Metric.OVER_2_S, Metric.OVER_10_S}
    calls = [call for call in _OF_CALLS if max(load.thread_counts) <= MOST_PROCESSES or call not in _NOT_OF_MANY]
    wanted = {f"{name}_{call}" for name in names for call in calls}
    return frozenset(having | {metric for metric in Metric if metric.value in wanted})
