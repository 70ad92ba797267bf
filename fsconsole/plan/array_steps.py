"""The steps that make a cell's array before its filesystem, and take it apart after it, with the exact commands.

man 8 mdadm; Documentation/admin-guide/md.rst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsconsole.model.plan import ArraySpec
from fsconsole.model.step import Step, StepKind, Write
from fsconsole.plan.array_place import ARRAY_NAME, ARRAY_PATH
from fsconsole.plan.arrays import resyncs
from fsconsole.plan.target import TargetSpec
from fsconsole.units import KIB

METADATA = "1.2"
HOMEHOST, NAME = "fsconsole", "what-if"
"""Of no machine: what udev puts together of a run's leftovers is a foreign array, and takes no number of the host's own."""


@dataclass(frozen=True, slots=True)
class ArrayLife:
    """What a cell's array is made of; uuid is the one that this run gives it."""

    spec: ArraySpec
    members: tuple[TargetSpec, ...]
    uuid: str


def making_steps(array: ArrayLife) -> Iterator[Step]:
    """Yield the steps from free members to an array that is in step."""
    spec, paths = array.spec, _paths(array)
    yield Step(
        StepKind.ARRAY,
        f"make {spec.level} of {', '.join(paths)}" + (", assumed clean" if spec.assume_clean else ""),
        (create_command(array),),
        f"makes {ARRAY_PATH} of {', '.join(paths)}",
        "stops it and clears its members",
    )
    if resyncs(spec):
        yield Step(StepKind.ARRAY_SYNC, f"wait until {ARRAY_PATH} is in step")
    writes = tuple(_knobs(spec))
    if writes:
        words = ", ".join(f"{write.name} = {write.value}" for write in writes)
        yield Step(StepKind.SETTINGS, f"set {words}", changes=f"knobs of {ARRAY_PATH}", writes=writes)


def stopping_step(array: ArrayLife) -> Step:
    """Return the step that takes the array apart."""
    paths = _paths(array)
    commands = (stop_command(ARRAY_PATH), *(zero_command(path) for path in paths))
    changes = f"stops {ARRAY_PATH}, clears the superblocks on {', '.join(paths)}"
    return Step(StepKind.ARRAY_STOP, f"take {ARRAY_PATH} apart", commands, changes)


def create_command(array: ArrayLife) -> tuple[str, ...]:
    """Return the command that makes the array: it asks nothing, and writes on nothing but its members."""
    spec = array.spec
    words = [f"--level={spec.level}", f"--raid-devices={len(array.members)}"]
    if spec.chunk_bytes:
        words.append(f"--chunk={spec.chunk_bytes // KIB}K")
    # mdadm wants the bitmap said where the policy is the bitmap (mdadm 4.2: "--bitmap is required").
    bitmap = spec.bitmap or ("internal" if spec.consistency_policy == "bitmap" else "")
    if bitmap:
        words.append(f"--bitmap={bitmap}")
    if spec.consistency_policy:
        words.append(f"--consistency-policy={spec.consistency_policy}")
    if spec.assume_clean:
        words.append("--assume-clean")
    return (
        "mdadm", "--create", ARRAY_PATH, "--run", f"--metadata={METADATA}", f"--uuid={array.uuid}",
        f"--homehost={HOMEHOST}", f"--name={NAME}", *words, *_paths(array),
    )  # fmt: skip


def stop_command(path: str) -> tuple[str, ...]:
    """Return the command that stops an array; its members keep what is written on them."""
    return ("mdadm", "--stop", path)


def look_command(path: str, members: Sequence[str]) -> tuple[str, ...]:
    """Return the command that puts a stopped array together without writing on it, degraded too (man 8 mdadm)."""
    return ("mdadm", "--assemble", "--readonly", "--run", path, *members)


def zero_command(member: str) -> tuple[str, ...]:
    """Return the command that makes a former member an ordinary device again.

    Without its version mdadm clears every superblock that it finds: one of version 0.90 at the end of a disk may be
    that of an array which somebody has made of the last partition since.
    """
    return ("mdadm", "--zero-superblock", f"--metadata={METADATA}", member)


def _knobs(spec: ArraySpec) -> Iterator[Write]:
    folder = f"/sys/block/{ARRAY_NAME}/md"
    if spec.stripe_cache_size:
        yield Write("stripe_cache_size", f"{folder}/stripe_cache_size", str(spec.stripe_cache_size))
    if spec.group_thread_count >= 0:
        yield Write("group_thread_count", f"{folder}/group_thread_cnt", str(spec.group_thread_count))


def _paths(array: ArrayLife) -> tuple[str, ...]:
    return tuple(member.path for member in array.members)
