"""The array of a cell as the device that its filesystem is made on: its path, its members, about its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsconsole.model.plan import ArraySpec
from fsconsole.plan.arrays import PARITY, array_objections, least_members
from fsconsole.plan.target import NO_DEVICE, TargetSpec
from fsconsole.units import KIB, MIB, format_bytes, format_bytes_exact

ARRAY_PATH = "/dev/md400"
"""The same for every run, so that a plan tells it exactly: a number needs no udev for its node, and neither mdadm
(127 downwards, then 511 downwards) nor anybody else comes to this one soon. Only one run at a time makes arrays."""
ARRAY_NAME = ARRAY_PATH.removeprefix("/dev/")
_CHUNK_BYTES = 512 * KIB
"""mdadm's own (man 8 mdadm, --chunk)."""
_TABLES_BYTES, _LEAST_HEADROOM_CHUNKS, _HEADROOM_SHARE, _MOST_HEADROOM_BYTES = 3 * MIB, 2, 1024, 128 * MIB
"""What mdadm 4.2 leaves free before the data, rounded up (super1.c, validate_geometry1): it depends on its version."""


@dataclass(frozen=True, slots=True)
class ArraySupport:
    """Why this machine makes no arrays of a level, as (level, clause) pairs; empty where it makes all."""

    lacking: tuple[tuple[str, str], ...] = ()


EVERY_LEVEL = ArraySupport()


def members_of(spec: ArraySpec, targets: Sequence[TargetSpec]) -> tuple[TargetSpec, ...]:
    """Return the targets that the array is made of, the first ones; of too few targets all."""
    if tuple(targets) == (NO_DEVICE,):
        count = spec.members or least_members(spec.level)
        return tuple(replace(NO_DEVICE, path=f"{NO_DEVICE.path}{number + 1}") for number in range(count))
    return tuple(targets[: spec.members or len(targets)])


def array_place(spec: ArraySpec, members: Sequence[TargetSpec]) -> TargetSpec:
    """Return the array as a target."""
    queues = {queue.disk: queue for member in members for queue in member.scheduled}
    return TargetSpec(
        path=ARRAY_PATH,
        size_bytes=usable_bytes(spec, [member.size_bytes for member in members]),
        can_discard=all(member.can_discard for member in members),
        disk=ARRAY_NAME,
        queues=tuple(queues.values()),
        has_stripe_cache=spec.level in PARITY,
    )


def usable_bytes(spec: ArraySpec, sizes_bytes: Sequence[int]) -> int:
    """Return about the size of an array of members of these sizes, rather less; 0 where it isn't known, or none."""
    if len(sizes_bytes) < least_members(spec.level) or 0 in sizes_bytes:
        return 0
    chunk_bytes = 1 if spec.level in ("linear", "raid1") else spec.chunk_bytes or _CHUNK_BYTES
    data = [_data_bytes(spec, size) // chunk_bytes * chunk_bytes for size in sizes_bytes]
    least, count = min(data), len(data)
    if spec.level in ("linear", "raid0"):
        return sum(data) if least else 0
    if spec.level == "raid1":
        return least
    if spec.level == "raid10":
        return least * count // 2 // chunk_bytes * chunk_bytes
    return least * (count - (2 if spec.level == "raid6" else 1))


def _data_bytes(spec: ArraySpec, size_bytes: int) -> int:
    least_bytes = _LEAST_HEADROOM_CHUNKS * (spec.chunk_bytes or _CHUNK_BYTES)
    headroom = max(least_bytes, min(_MOST_HEADROOM_BYTES, size_bytes // _HEADROOM_SHARE))
    return max(0, size_bytes - _TABLES_BYTES - headroom)


def array_reasons(
    spec: ArraySpec, targets: Sequence[TargetSpec], support: ArraySupport = EVERY_LEVEL
) -> tuple[str, ...]:
    """Return why the array can't be made of these targets on this machine, in clauses; empty where it can."""
    members = members_of(spec, targets)
    reasons = [why for level, why in support.lacking if level == spec.level]
    reasons += array_objections(spec)
    if spec.members > len(members):
        reasons.append(f"the array wants {spec.members} members, and there are {len(members)} targets")
    elif len(members) < least_members(spec.level) and not spec.members:
        least = least_members(spec.level)
        reasons.append(f"{spec.level} needs at least {least} members, and there are {len(members)} targets")
    elif _is_too_small(spec, members):
        least = min(member.size_bytes for member in members)
        chunk = format_bytes_exact(spec.chunk_bytes or _CHUNK_BYTES)
        reasons.append(
            f"a member of {format_bytes(least)} has no room for {spec.level} with chunks of {chunk}"
        )
    return tuple(reasons)


def _is_too_small(spec: ArraySpec, members: Sequence[TargetSpec]) -> bool:
    sizes = [member.size_bytes for member in members]
    return 0 not in sizes and usable_bytes(spec, sizes) == 0
