"""Device and kernel settings that a plan may name, and what each may be."""

from __future__ import annotations

import re

from fsconsole.catalog.tables import Table
from fsconsole.units import TIB

_SIZES = ("read_ahead", "dirty_bytes", "dirty_background_bytes", "stripe_cache_size")
_NUMBERS = {"dirty_ratio": 100, "dirty_background_ratio": 100, "nr_requests": 1_000_000}
_WORDS = ("scheduler",)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,30}")

NAMES = (*_SIZES, *_NUMBERS, *_WORDS)
"""read_ahead, nr_requests, scheduler: Documentation/block/queue-sysfs.rst; dirty_*: admin-guide/sysctl/vm.rst;
stripe_cache_size: admin-guide/md.rst."""


def read_setting_axes(table: Table) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (name, values) pairs; raises PlanUnknownKey, PlanBadValue."""
    table.only(*NAMES)
    return tuple((name, _checked(table, name)) for name in table.names())


def read_settings(table: Table) -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs of settings that take one value each; the same errors."""
    pairs = read_setting_axes(table)
    for name, values in pairs:
        if len(values) != 1:
            raise table.bad(name, "a workload's own setting takes one value", "one value")
    return tuple((name, values[0]) for name, values in pairs)


def _checked(table: Table, name: str) -> tuple[str, ...]:
    if name in _SIZES:
        table.sizes(name, low=0, high=TIB)
    elif name in _NUMBERS:
        for word in table.words(name):
            if not word.isascii() or not word.isdigit() or int(word[:12]) > _NUMBERS[name]:
                raise table.bad(name, "that is out of bounds", f"a whole number up to {_NUMBERS[name]}")
    elif not all(_WORD.fullmatch(word) for word in table.words(name)):
        raise table.bad(name, "that is no name of one", 'a name such as "mq-deadline"')
    return table.words(name)
