"""Values that mkfs derives from size, device and its own configuration: pinned as measured, or listed as differing.

A winner on 2 GiB is not the same filesystem on 10 TiB: mke2fs.conf has other block sizes and inode ratios for other
sizes, mkfs.xfs other allocation groups (man 5 mke2fs.conf, man 8 mkfs.xfs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.catalog.filesystem import Filesystem, Option, Scope
from fsconsole.catalog.words import (
    Effect,
    Where,
    Word,
    broken_rules,
    choose,
    effect_of,
    given_options,
    split_flags,
    to_argv,
)
from fsconsole.errors.runs import NothingToApply
from fsconsole.model.plan import Variant
from fsconsole.text import MIB, TIB
from fsconsole.units import format_bytes

_RATIOS = tuple(2**power for power in range(10, 23))
"""Bytes for each inode that mke2fs.conf has: 4096, 16384, 32768 ... (man 5 mke2fs.conf)."""
_RATIO_SLACK = 0.9
"""Inode tables are filled up to whole blocks of each group: of the ratio, at least so much is found."""
_LEAST_GROUP_BYTES, _MOST_GROUP_BYTES = 16 * MIB, TIB
"""Of xfs (man 8 mkfs.xfs, agsize)."""
_MOST_NUMBERS = 2**32 - 1
"""Of inodes, and of blocks without the feature 64bit (ext2fs.h)."""
_COUNT = "-N"
"""mke2fs's number of inodes: on another size it is another ratio."""
_WHERE = Where("the run's plan", "variant")

Seen = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Derived:
    """A variant for another size."""

    variant: Variant
    """Without a number that means something else there."""
    pinned: tuple[str, ...]
    """mkfs words that hold what was measured."""
    differing: tuple[str, ...]
    """Sentences on what is not the same there."""
    expected: tuple[tuple[str, str], ...]
    """Features that must be read back, by name."""


def derive(filesystem: Filesystem, variant: Variant, seen: Seen, old_bytes: int, new_bytes: int) -> Derived:
    """Return a variant for a device of new_bytes, by what was read back on one of old_bytes.

    Raises OptionRefused, NothingToApply.
    """
    _require_room(filesystem, seen, new_bytes)
    own = choose(filesystem, " ".join(variant.mkfs_words), "", "", _WHERE)
    has_count = any(word.flag == _COUNT for word in own.own_mkfs)
    kept = tuple(word for word in own.own_mkfs if word.flag != _COUNT)
    variant = replace(variant, mkfs_words=to_argv(kept))
    pinned = [*_options(filesystem, kept, seen), *_ratio(filesystem, kept, seen, old_bytes)]
    groups = _groups(filesystem, kept, seen, new_bytes)
    held = _without_broken_rules(filesystem, variant, [*pinned, *groups])
    rules = filesystem.kit
    free = {*rules.by_size, *rules.by_device, *rules.by_use} - ({"meta-data.agcount"} if groups else set())
    return Derived(
        variant=variant,
        pinned=tuple(held),
        differing=tuple(_differing(filesystem, seen, sizes=(old_bytes, new_bytes), free=free, has_count=has_count)),
        expected=tuple(sorted((name, value) for name, value in seen.items() if name not in free)),
    )


def _require_room(filesystem: Filesystem, seen: Seen, new_bytes: int) -> None:
    """Raise NothingToApply where ext without 64bit has no numbers for so many blocks: mkfs would refuse, too late."""
    block = seen.get("block_size", "")
    if filesystem.option("inode_ratio", Scope.MKFS) is None or not block.isdigit() or seen.get("64bit") == "on":
        return
    if new_bytes // int(block) > _MOST_NUMBERS:
        most = format_bytes(int(block) << 32)
        raise NothingToApply(why=f"with blocks of {block} bytes and without 64bit {filesystem.name} ends at {most}")


def _options(filesystem: Filesystem, said: Sequence[Word], seen: Seen) -> Iterator[str]:
    """Yield the declared options as they were in effect, but for those that the variant sets itself."""
    if not seen:
        return
    given = {one.option.name for one in given_options(filesystem, tuple(said), ())}
    for name in filesystem.kit.pinned:
        option = filesystem.option(name, Scope.MKFS)
        if option is not None and option.name not in given and (text := _in_effect(option, seen)):
            yield text


def _in_effect(option: Option, seen: Seen) -> str:
    """Return the text of an option's value in effect; empty where it doesn't show, or older tools refuse the word."""
    values = list(option.texts)
    if not values:
        name = option.shown.of("").partition("=")[0]
        values = [seen[name]] if option.accepts(seen.get(name, "")) else []
    for value in values:
        shown = option.shown_as(value)
        if shown.startswith("!") and option.tools_since:
            continue
        if shown and effect_of(option, value, seen) is Effect.IN_EFFECT:
            return option.text(value)
    return ""


def _ratio(filesystem: Filesystem, said: Sequence[Word], seen: Seen, old_bytes: int) -> Iterator[str]:
    """Yield the inode ratio that was measured, where mkfs takes one and the variant has none."""
    option = filesystem.option("inode_ratio", Scope.MKFS)
    inodes = int(seen["inodes"]) if seen.get("inodes", "").isdigit() else 0
    if option is None or not inodes or not old_bytes or any(word.flag in ("-i", "-T") for word in said):
        return
    found = old_bytes / inodes
    near = (ratio for ratio in _RATIOS if ratio * _RATIO_SLACK <= found <= ratio)
    block = int(seen["block_size"]) if seen.get("block_size", "").isdigit() else 1024
    yield option.text(str(max(block, next(near, int(found)))))


def _groups(filesystem: Filesystem, said: Sequence[Word], seen: Seen, new_bytes: int) -> list[str]:
    """Return xfs's number of allocation groups, where groups of that number have a possible size."""
    option, count = filesystem.option("agcount", Scope.MKFS), seen.get("meta-data.agcount", "")
    is_said = any(word.key in ("agcount", "agsize") for word in said)
    if option is None or not count.isdigit() or is_said or not new_bytes:
        return []
    size = new_bytes // max(1, int(count))
    return [option.text(count)] if _LEAST_GROUP_BYTES <= size < _MOST_GROUP_BYTES else []


def _without_broken_rules(filesystem: Filesystem, variant: Variant, pinned: Sequence[str]) -> Iterator[str]:
    """Yield the words that go with the variant, and with each other, by the catalog's rules."""
    mount, tune = ",".join(variant.mount_words), " ".join(variant.tune_words)
    held = " ".join(variant.mkfs_words)
    taken = {(word.flag, word.key.removeprefix("no")) for word in split_flags(held, filesystem.mkfs_flags, _WHERE)}
    known = set(broken_rules(filesystem, choose(filesystem, held, mount, tune, _WHERE)))
    for text in pinned:
        words = split_flags(text, filesystem.mkfs_flags, _WHERE)
        if any((word.flag, word.key.removeprefix("no")) in taken for word in words):
            continue
        chosen = choose(filesystem, f"{held} {text}", mount, tune, _WHERE)
        if set(broken_rules(filesystem, chosen)) <= known:
            held = f"{held} {text}"
            yield text


def _differing(
    filesystem: Filesystem, seen: Seen, *, sizes: tuple[int, int], free: set[str], has_count: bool
) -> Iterator[str]:
    old, new = (format_bytes(size) if size else "a size that isn't known" for size in sizes)
    yield f"It was measured on {old} and is made on {new}: times of mkfs, mount and check, and seeks, grow with the size."
    if has_count:
        yield "The plan's number of inodes (-N) is left out: the ratio that it meant there is kept instead."
    rules = filesystem.kit
    for names, why in ((rules.by_size, "by the size here"), (rules.by_device, "by the device here")):
        told = [f"{name} {seen[name]}" for name in names if seen.get(name, "0") != "0" and name in free]
        if told:
            yield f"Measured with {', '.join(told)}: not kept, as mkfs chooses {why}."
    if filesystem.option("inode_ratio", Scope.MKFS) is not None and seen.get("block_size") in ("1024", "2048"):
        yield (
            f"Blocks of {seen['block_size']} bytes are mke2fs.conf's choice for devices under 512 MiB, or the plan's, and are "
            "kept with their inode ratio: measure on 1 GiB or more for those of larger devices."
        )
    yield from _inodes(filesystem, seen, sizes)
    if filesystem.name == "btrfs":
        yield "Profiles of data and metadata are not read back: mkfs.btrfs chooses them by the device, unless the plan said."
    if not seen:
        yield "Nothing was read back of it: nothing is pinned, and nothing can be compared."


def _inodes(filesystem: Filesystem, seen: Seen, sizes: tuple[int, int]) -> Iterator[str]:
    """Yield how many inodes the filesystem gets, where mkfs fixes their number."""
    if filesystem.option("inode_ratio", Scope.MKFS) is None:
        return
    inodes = int(seen["inodes"]) if seen.get("inodes", "").isdigit() else 0
    if not inodes or not all(sizes):
        yield "Its number of inodes is fixed by mkfs and not known here: see `df -i`."
        return
    number = inodes * sizes[1] // sizes[0]
    if number > _MOST_NUMBERS:
        yield "Its inode ratio would make more than 4,294,967,295 inodes: mke2fs stops there, so there are fewer for each byte."
    else:
        yield f"By its inode ratio it gets about {number:,} inodes here, and holds no more files than that: see `df -i`."
