"""What the rows of a grid are called: the variant, and whatever else tells one row from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.array_words import array_aspects
from fsconsole.model.plan import ArraySpec, Plan, Setting
from fsconsole.model.variant import Variant
from fsconsole.model.workload import Layout, Workload
from fsconsole.units import format_bytes_exact


@dataclass(frozen=True, slots=True)
class RowKey:
    """What the cells of one row have in common: everything but the repeat."""

    target: str
    array: ArraySpec | None
    setting: Setting
    variant: Variant
    workloads: tuple[Workload, ...]
    workload: int | None
    """Index of the workload that the row is about; None where the cell has but one, or none."""
    members: tuple[str, ...] = ()
    """Paths of the devices that the array was made of."""


def row_names(keys: Sequence[RowKey], *, is_brief: bool = False) -> tuple[str, ...]:
    """Return a name for each key that tells it from the others.

    A name is the variant's label and the fewest further words that are needed, most telling first:
    "xfs, 128 threads". What all rows share stands in no name, but for an array's level and chunk, and that it was
    never synced: "xfs, raid5 64KiB, assume-clean"; is_brief: that neither, for whoever says it beside them all.
    """
    settings = tuple(dict.fromkeys(name for key in keys for name, _ in key.setting.values))
    words = [_words(key, settings) for key in keys]
    always = _ALWAYS[:1] if is_brief else _ALWAYS
    shown: list[int] = [0, *always]
    for aspect in range(1, max((len(row) for row in words), default=1)):
        if aspect not in always and _groups(words, [*shown, aspect]) > _groups(words, shown):
            shown.append(aspect)
    shown.sort()
    return tuple(", ".join(row[aspect] for aspect in shown if row[aspect]) for row in words)


def cell_names(plan: Plan, *, is_brief: bool = False) -> tuple[str, ...]:
    """Return what each cell of a plan is called, its repeat left out; is_brief as above."""
    keys = [
        RowKey(cell.target, cell.array, cell.setting, cell.variant, cell.workloads, None, cell.members)
        for cell in plan.cells
    ]
    return row_names(keys, is_brief=is_brief)


_ALWAYS = (2, 8)
"""Level and chunk of an array, and that it was never synced: no figure stands without them."""


def _groups(words: Sequence[tuple[str, ...]], aspects: Sequence[int]) -> int:
    return len({tuple(row[aspect] for aspect in aspects) for row in words})


def _words(key: RowKey, settings: tuple[str, ...]) -> tuple[str, ...]:
    """Return a key as words, one per aspect, settings by these names; all keys give equally many."""
    variant, values = key.variant, dict(key.setting.values)
    return (
        variant.label or variant.filesystem,
        key.target if key.array is None else "",
        *array_aspects(key.array, len(key.members)),
        *(f"{name}={values[name]}" if name in values else "" for name in settings),
        *_workload_words(key),
        " ".join((variant.filesystem, *variant.mkfs_words, *variant.tune_words)),
        ",".join(variant.mount_words),
        variant.as_printed,
        f"workload {key.workload + 1}" if key.workload is not None else "",
        " + ".join(_all_of(workload) for workload in key.workloads),
    )


def _workload_words(key: RowKey) -> tuple[str, ...]:
    if not key.workloads:
        return ("",) * 8
    workload = key.workloads[key.workload or 0]
    if key.variant.is_raw:
        # Its streams are of no workload: only their number is taken from one.
        return ("", f"{workload.threads} thread{'s' if workload.threads != 1 else ''}", *("",) * 6)
    return (
        workload.name,
        f"{workload.threads} thread{'s' if workload.threads != 1 else ''}",
        f"{format_bytes_exact(workload.file_size_bytes)} files",
        f"{format_bytes_exact(workload.block_size_bytes)} blocks",
        f"{workload.files} files",
        _directories(workload),
        f"{workload.data.value} data",
        "cold" if workload.cold else "",
    )


def _all_of(workload: Workload) -> str:
    """Return a workload whole, for two rows that differ in a workload that is neither row's own."""
    parts = (
        workload.name,
        workload.kind.value,
        f"{workload.threads}",
        f"{workload.files}",
        format_bytes_exact(workload.file_size_bytes),
        format_bytes_exact(workload.block_size_bytes),
        _directories(workload),
        workload.data.value,
        str(workload.cold),
        *(f"{name}={value}" for name, value in workload.settings),
    )
    return " ".join(parts)


def _directories(workload: Workload) -> str:
    directories = workload.directories
    if directories.layout is Layout.PER_COUNT:
        return f"{directories.files_per_directory} files per directory"
    return {Layout.ONE: "one directory", Layout.PER_THREAD: "a directory per thread"}[directories.layout]
