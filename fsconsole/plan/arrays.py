"""The keys of [[array]]: what each is, which levels have it, and what makes no sense together.

man 8 mdadm; Documentation/admin-guide/md.rst; mdadm's Create.c and mdadm.c for what it refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.model.plan import ArraySpec

LEVELS = ("linear", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10")
ABOUT_LEVELS = {
    "linear": "One member after the other: the room of all; the loss of one is the loss of all.",
    "raid0": "Striped over all members, without redundancy: the loss of one is the loss of all.",
    "raid1": "All members hold the same: the room of one; all but one may be lost.",
    "raid4": "Striped, with parity on one member: any one may be lost.",
    "raid5": "Striped, with parity on each in turn: any one may be lost.",
    "raid6": "Striped, with two parities: any two may be lost; at least 4 members.",
    "raid10": "Striped over mirrors: half of the room; one of each pair may be lost.",
}
"""A line of help on each."""
REDUNDANT = LEVELS[2:]
PARITY = ("raid4", "raid5", "raid6")
BITMAPS = ("none", "internal")
POLICIES = ("resync", "bitmap", "ppl")
MAX_MEMBERS = 256
"""What mdadm takes for raid6; more disks than that nobody compares by hand."""


@dataclass(frozen=True, slots=True)
class ArrayKey:
    """One key of [[array]]; README and console are made from these."""

    name: str
    about: str
    """One line of help."""
    offered: tuple[str, ...]
    """Values that the console begins with."""
    values: str
    """What it may be, in words."""
    levels: tuple[str, ...] = LEVELS
    """Those that have such a thing; for the others it is left as it comes."""
    lacks: str = ""
    """What is said of the others: "raid1 has no chunks"."""


KEYS = (
    ArrayKey("level", "What md makes of all devices together; several are compared.", LEVELS, "one or more of the levels of md"),
    ArrayKey("chunk", "What goes to one member before the next one has its turn; mdadm's own is 512KiB.",
             ("64KiB", "512KiB"), "size, a power of two from 4KiB", ("raid0", *PARITY, "raid10"), "has no chunks"),
    ArrayKey("members", "How many of the devices become members, the first ones; by itself all.", ("3", "4"), "number"),
    ArrayKey("stripe_cache_size", "Pages per member that md keeps of stripes; the kernel's own is 256.",
             ("256", "4096"), "number from 17 to 32768", PARITY, "has no stripe cache"),
    ArrayKey("group_thread_count", "Threads that work on stripes beside the array's own one; the kernel's own is 0.",
             ("0", "2"), "number", PARITY, "has no threads for stripes"),
    ArrayKey("bitmap", "The write-intent bitmap, of what was being written before a crash: none, or in the members.",
             BITMAPS, "none, internal", REDUNDANT, "has nothing to resync"),
    ArrayKey("consistency_policy", "What makes members agree after a crash: a whole resync, the bitmap, a partial parity log (raid5).",
             POLICIES, "resync, bitmap, ppl", REDUNDANT, "has nothing to resync"),
    ArrayKey("assume_clean", "No resync at the start: quicker to make, and labelled on every figure.",
             ("yes",), "true, false", REDUNDANT, "has nothing to resync"),
)  # fmt: skip
"""In the order in which they are shown."""

_LEVELS_OF = {key.name: key.levels for key in KEYS}


def as_the_level_has_it(spec: ArraySpec) -> ArraySpec:
    """Return the array with whatever its level hasn't left as it comes."""

    def has(name: str) -> bool:
        return spec.level in _LEVELS_OF[name]

    return replace(
        spec,
        chunk_bytes=spec.chunk_bytes if has("chunk") else 0,
        stripe_cache_size=spec.stripe_cache_size if has("stripe_cache_size") else 0,
        group_thread_count=spec.group_thread_count if has("group_thread_count") else -1,
        bitmap=spec.bitmap if has("bitmap") else "",
        consistency_policy=spec.consistency_policy if has("consistency_policy") else "",
        assume_clean=spec.assume_clean and has("assume_clean"),
    )


def least_members(level: str) -> int:
    """Return how many members mdadm wants without --force."""
    return 4 if level == "raid6" else 2


def resyncs(spec: ArraySpec) -> bool:
    """Return whether md brings the array's members in step when it is made."""
    return spec.level in REDUNDANT and not spec.assume_clean


def array_objections(spec: ArraySpec) -> tuple[str, ...]:
    """Return why mdadm would not make such an array, whatever the devices, in clauses; empty where it would."""
    reasons = []
    least = least_members(spec.level)
    if spec.members and spec.members < least:
        reasons.append(f"{spec.level} needs at least {least} members")
    if spec.consistency_policy == "ppl" and spec.level != "raid5":
        reasons.append(f"{spec.level} has no partial parity log: only raid5 has one")
    if spec.consistency_policy == "bitmap" and spec.bitmap == "none":
        reasons.append('consistency_policy "bitmap" needs a bitmap, and bitmap is "none"')
    if spec.consistency_policy in ("resync", "ppl") and spec.bitmap == "internal":
        reasons.append(f'a bitmap makes consistency_policy "bitmap", not "{spec.consistency_policy}"')
    return tuple(reasons)
