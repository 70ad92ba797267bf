"""Axes of a block: everything but the variant in which its rows differ; words that variants share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from fsconsole.errors.targets import BadQuantity
from fsconsole.model.plan import Variant, array_words
from fsconsole.model.workload import Layout, Workload
from fsconsole.results.figures import RowKey
from fsconsole.text import printable
from fsconsole.units import format_bytes_exact, parse_bytes

_ARRAY_KNOBS = ("stripe_cache_size", "bitmap", "consistency_policy")


def aspects_of(key: RowKey, part: int | None) -> dict[str, str]:
    """Return what a row was measured with, the variant apart, by names of the plan's keys.

    part is the index of the block's workload, whose own parameters have no prefix; None: of the life, or raw.
    """
    # A directory is its row's name already.
    found = {"device": key.target} if key.array is None and not key.variant.is_directory else {}
    if (spec := key.array) is not None:
        members = spec.members or len(key.members)
        found |= {"level": spec.level, "chunk": format_bytes_exact(spec.chunk_bytes) if spec.chunk_bytes else ""}
        found |= {"members": str(members) if members else ""}
        found |= {name: str(getattr(spec, name) or "") for name in _ARRAY_KNOBS}
        found["group_thread_count"] = "" if spec.group_thread_count < 0 else str(spec.group_thread_count)
        found["assume_clean"] = "yes" if spec.assume_clean else ""
    found |= dict(key.setting.values)
    return found if key.variant.is_raw else found | _of_loads(key.workloads, part)


@lru_cache(maxsize=256)
def _of_loads(loads: tuple[Workload, ...], part: int | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, load in enumerate(loads):
        prefix = "" if number == part or len(loads) == 1 else f"{load.name} "
        found |= {f"{prefix}{name}": value for name, value in _of_load(load)}
    return found


def _of_load(load: Workload) -> Iterator[tuple[str, str]]:
    yield "threads", str(load.threads)
    yield "file_size", format_bytes_exact(load.file_size_bytes)
    yield "block_size", format_bytes_exact(load.block_size_bytes)
    yield "files", str(load.files)
    of = load.directories
    yield "directories", str(of.files_per_directory) if of.layout is Layout.PER_COUNT else of.layout.value
    yield "data", load.data.value
    yield from load.settings


_FIRST = ("threads", "block_size")
"""Axes that others follow: the sizes of files that share a total, the threads of loads on the files of a create."""


def telling_axes(aspects: Sequence[dict[str, str]]) -> tuple[str, ...]:
    """Return the names whose values differ between rows, without those that change only together with another."""
    names = dict.fromkeys(name for one in aspects for name in one)
    told: dict[str, tuple[int, ...]] = {}
    for name in sorted(names, key=lambda name: (name not in _FIRST, " " in name)):
        first: dict[str, int] = {}
        # Equal for two axes whose values change at the same rows.
        changes = tuple(first.setdefault(one.get(name, ""), row) for row, one in enumerate(aspects))
        if any(changes) and changes not in told.values():
            told[name] = changes
    return tuple(name for name in names if name in told)


def plain(name: str) -> str:
    """Return the name of an axis as it is compared: case, spaces, dashes and underscores don't matter."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


Numbered = tuple[int, float, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def numbered(value: str) -> Numbered:
    """Return a key that sorts values of an axis by size (16KiB before 2MiB), others by the numbers in them (raid6, raid10)."""
    try:
        return (0, parse_bytes(value), ())
    except BadQuantity:
        parts = re.split(r"([0-9]{1,18})", value)
        return (1, 0.0, tuple((0, int(part), "") if number % 2 else (1, 0, part) for number, part in enumerate(parts)))


# Options: labels show those that tell variants apart; what they share is said once.

OURS = frozenset({
    ("-E", "lazy_itable_init=0"), ("-E", "lazy_journal_init=0"), ("-E", "nodiscard"), ("-K", ""), ("-t", "0"),
})  # fmt: skip
"""Words that fsconsole gives to each mkfs: those of base_mkfs in the catalog."""


def common_words(keys: Sequence[RowKey]) -> tuple[str, ...]:
    """Return what no name shows: "array: raid5 64KiB" of all rows, "xfs: -m reflink=0; logbsize=256k" of a filesystem's.

    Options that only some of its variants have, and that their labels don't show, follow with the label.
    """
    arrays = {array_words(key.array, len(key.members)) for key in keys if key.array is not None}
    lines = [f"array: {words}" for words in arrays] if len(arrays) == 1 else []
    of_filesystem: dict[str, dict[Variant, None]] = {}
    for key in keys:
        of_filesystem.setdefault(key.variant.filesystem, {})[key.variant] = None
    for filesystem, known in of_filesystem.items():
        words = {variant: _words(variant) for variant in known}
        hidden = {variant: [one for one in of if not _is_shown(one, variant.label)] for variant, of in words.items()}
        first = next(iter(known))
        shared = [one for one in hidden[first] if all(one in of for of in words.values())]
        lines += [f"{filesystem}: {_as_text(shared)}"] if shared else []
        for variant, of in hidden.items():
            own = [one for one in of if one not in shared]
            lines += [f"{variant.label or filesystem}: {_as_text(own)}"] if own else []
    return tuple(dict.fromkeys(map(printable, lines)))


_Word = tuple[str, str, str]
"""Command, flag and value; those of mounts have no flag."""


def _words(variant: Variant) -> list[_Word]:
    """Return each option of a variant by itself, without those that fsconsole gives to all."""
    found: list[_Word] = []
    for command, argv in (("mkfs", variant.mkfs_words), ("tune", variant.tune_words)):
        flag = ""
        for word in argv:
            if word.startswith("-"):
                flag = word
                found.append((command, flag, ""))
            else:
                # The flag was taken for one without a value.
                found = [*found[:-1]] if found and found[-1] == (command, flag, "") else found
                found += [(command, flag, value) for value in word.split(",")]
    found += [("mount", "", word) for word in variant.mount_words]
    return [one for one in found if one[1:] not in OURS]


def _is_shown(word: _Word, label: str) -> bool:
    shown = re.split(r"[\s,]+", label)
    return (word[2] or word[1]) in shown


def _as_text(words: Sequence[_Word]) -> str:
    """Return options as the commands take them: "-m reflink=0 -i size=1024; logbsize=256k,noatime"."""
    parts = []
    for command in ("mkfs", "tune", "mount"):
        flags: dict[str, list[str]] = {}
        for _, flag, value in (one for one in words if one[0] == command):
            flags.setdefault(flag, []).extend([value] if value else [])
        text = " ".join(" ".join(filter(None, (flag, ",".join(values)))) for flag, values in flags.items())
        parts += [f"tune2fs {text}" if command == "tune" else text] if text else []
    return "; ".join(parts)
