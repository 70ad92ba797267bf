"""Device and kernel settings that a plan may name: what each may be, and which writes it comes to.

read_ahead, nr_requests, scheduler: Documentation/block/queue-sysfs.rst; dirty_*: admin-guide/sysctl/vm.rst;
stripe_cache_size: admin-guide/md.rst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsconsole.catalog.tables import Table
from fsconsole.model.plan import Setting, Write
from fsconsole.plan.planfile import TargetSpec
from fsconsole.text import GIB, KIB, TIB
from fsconsole.units import format_bytes_exact, parse_bytes

_VM = "/proc/sys/vm"
_PAGE_BYTES = 4 * KIB
"""The least page of any machine; where pages are larger the kernel rounds down, and the run says so."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a number may be, and in which steps."""

    low: int
    high: int
    step: int = 1


STRIPE_CACHE = Range(17, 32768)
"""raid5_set_cache_size takes no other (drivers/md/raid5.c)."""

_SIZES = {
    "read_ahead": Range(0, GIB, _PAGE_BYTES),
    "dirty_bytes": Range(2 * _PAGE_BYTES, TIB),
    "dirty_background_bytes": Range(1, TIB),
}
_NUMBERS = {
    # BLKDEV_MIN_RQ (include/linux/blkdev.h), BLK_MQ_MAX_DEPTH (include/linux/blk-mq.h).
    "nr_requests": Range(4, 10240),
    "dirty_ratio": Range(1, 100),
    "dirty_background_ratio": Range(0, 100),
    "stripe_cache_size": STRIPE_CACHE,
}
_WORDS = ("scheduler",)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_ONE_LIMIT = (("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio"))
"""Each is one limit in two units: writing one sets the other to 0."""

NAMES = ("read_ahead", "scheduler", "nr_requests", "dirty_bytes", "dirty_background_bytes",
         "dirty_ratio", "dirty_background_ratio", "stripe_cache_size")  # fmt: skip
"""In the order in which they are written: a scheduler begins with a number of requests of its own."""

MACHINE_WIDE = frozenset(name for pair in _ONE_LIMIT for name in pair)
"""Settings of the whole machine: two runs can't vary them at once."""


def read_setting_axes(table: Table) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (name, values) pairs; raises PlanUnknownKey, PlanBadValue."""
    table.only(*NAMES)
    for in_bytes, in_percent in _ONE_LIMIT:
        if table.has(in_bytes) and table.has(in_percent):
            why = (
                f"{in_bytes} and {in_percent} are one limit: the kernel forgets one when the other is written"
            )
            raise table.bad(in_percent, why, "only one of the two")
    return tuple((name, _checked(table, name)) for name in table.names())


def read_settings(table: Table) -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs of settings that take one value each; the same errors."""
    pairs = read_setting_axes(table)
    for name, values in pairs:
        if len(values) != 1:
            raise table.bad(name, "a workload's own setting takes one value", "one value")
    return tuple((name, values[0]) for name, values in pairs)


def writes_of(values: Mapping[str, str], target: TargetSpec) -> tuple[Write, ...]:
    """Return what is written, and where, for settings of a target, in the order of writing."""
    return tuple(
        Write(name, path, _as_written(name, values[name]))
        for name in NAMES
        if name in values
        for path in _paths(name, target)
    )


def objections(values: Mapping[str, str], target: TargetSpec) -> tuple[str, ...]:
    """Return why a target, or the kernel, can't have these settings, in clauses; empty where nothing is known."""
    reasons = []
    wanted = values.get("scheduler", "")
    for queue in target.scheduled if wanted else ():
        if queue.schedulers and wanted not in queue.schedulers:
            offered = ", ".join(queue.schedulers)
            reasons.append(
                f"{queue.disk} has no scheduler {wanted}, it offers {offered} (`modprobe {wanted}` may add it)"
            )
    if "stripe_cache_size" in values and not target.has_stripe_cache:
        reasons.append(f"{target.path} has no stripe cache: only md arrays of level 4, 5 and 6 have one")
    if _is_background_above(values):
        reasons.append(
            "dirty_background_bytes is not below dirty_bytes: the kernel would take half of dirty_bytes"
        )
    return tuple(reasons)


def own_values(setting: Setting, own: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what is set for a workload alone; a scheduler of its own takes the cell's number of requests with it."""
    values, of_cell = dict(own), dict(setting.values)
    if "scheduler" in values and "nr_requests" in of_cell:
        return {"nr_requests": of_cell["nr_requests"]} | values
    return values


def _checked(table: Table, name: str) -> tuple[str, ...]:
    if name in _SIZES:
        return _checked_sizes(table, name, _SIZES[name])
    if name in _NUMBERS:
        allowed = _NUMBERS[name]
        for word in table.words(name):
            if not word.isascii() or not word.isdigit() or not allowed.low <= int(word[:12]) <= allowed.high:
                wanted = f"a whole number from {allowed.low} to {allowed.high}"
                raise table.bad(name, "that is out of bounds", wanted)
        return tuple(dict.fromkeys(str(int(word)) for word in table.words(name)))
    if not all(_WORD.fullmatch(word) for word in table.words(name)):
        raise table.bad(name, "that is no name of one", 'a name such as "mq-deadline"')
    return table.words(name)


def _checked_sizes(table: Table, name: str, allowed: Range) -> tuple[str, ...]:
    sizes = table.sizes(name, low=allowed.low, high=allowed.high)
    if any(size % allowed.step for size in sizes):
        step = format_bytes_exact(allowed.step)
        raise table.bad(name, "the kernel counts it in pages", f"a multiple of {step}")
    return tuple(format_bytes_exact(size) for size in sizes)


def _as_written(name: str, value: str) -> str:
    if name not in _SIZES:
        return value
    size_bytes = parse_bytes(value)
    return str(size_bytes // KIB if name == "read_ahead" else size_bytes)


def _paths(name: str, target: TargetSpec) -> tuple[str, ...]:
    if name in MACHINE_WIDE:
        return (f"{_VM}/{name}",)
    if name == "stripe_cache_size":
        return (f"/sys/block/{target.sysfs_name}/md/{name}",)
    if name == "read_ahead":
        return (f"/sys/block/{target.sysfs_name}/queue/read_ahead_kb",)
    return tuple(f"/sys/block/{queue.disk}/queue/{name}" for queue in target.scheduled)


def _is_background_above(values: Mapping[str, str]) -> bool:
    limits = [values.get(name) for name in ("dirty_background_bytes", "dirty_bytes")]
    background, most = (None if text is None else parse_bytes(text) for text in limits)
    return background is not None and most is not None and background >= most
