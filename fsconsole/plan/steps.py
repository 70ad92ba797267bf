"""The steps of one cell, in the order of its life, with the exact commands.

Steps without commands are the engine's own code. Paths are the same for every run, since each engine has a mount
namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole import units
from fsconsole.catalog import commands
from fsconsole.catalog.filesystem import Filesystem
from fsconsole.model.plan import After, DeleteWith, Equalise, Setting
from fsconsole.model.step import Step, StepKind
from fsconsole.model.variant import Variant
from fsconsole.model.workload import Workload
from fsconsole.plan.target import TargetSpec

MOUNT_POINT = "/run/fsconsole/mnt"
TREE = MOUNT_POINT + "/tree"
"""Workloads write below it, and the delete step removes it."""


@dataclass(frozen=True, slots=True)
class Life:
    """What a cell's steps are made from; filesystem is None for a raw row."""

    target: TargetSpec
    filesystem: Filesystem | None
    variant: Variant
    workloads: tuple[Workload, ...]
    setting: Setting
    equalise: Equalise
    after: After
    uuid: str


def cell_steps(life: Life) -> tuple[Step, ...]:
    """Return all steps of a cell; a raw row has those that need no filesystem."""
    steps = [Step(StepKind.GATE, f"prove that {life.target.path} is what was agreed upon")]
    steps.extend(_settings(life.setting))
    steps.extend(_equalise(life.target, life.equalise))
    if life.filesystem is not None:
        steps.extend(_filesystem_life(life, life.filesystem))
    steps.append(Step(StepKind.RELEASE, "give back everything that was taken"))
    return tuple(steps)


def _filesystem_life(life: Life, filesystem: Filesystem) -> Iterator[Step]:
    device = life.target.path
    mount = commands.mount_command(filesystem, life.variant, device, MOUNT_POINT)
    unmount = commands.unmount_command(filesystem, MOUNT_POINT)
    yield _mkfs(life, filesystem)
    features = commands.features_command(filesystem, device)
    yield Step(StepKind.FEATURES, "read back what mkfs made", (features,))
    yield Step(StepKind.MOUNT, f"mount {device}", (mount,), f"mounts {device}", " ".join(unmount))
    for number, workload in enumerate(life.workloads):
        yield from _load(number, workload)
    yield Step(StepKind.REMOUNT, "unmount and mount, which trims preallocation", (unmount, mount))
    yield Step(StepKind.EXTENTS, "count the extents of every file")
    yield Step(StepKind.UNMOUNT, f"unmount {device}", (unmount,))
    yield from _afterwards(life, filesystem, mount, unmount)


def _mkfs(life: Life, filesystem: Filesystem) -> Step:
    device = life.target.path
    argvs = [commands.mkfs_command(filesystem, life.variant, device, life.uuid)]
    if life.variant.tune_words:
        argvs.append(commands.tune_command(filesystem, life.variant, device))
    return Step(StepKind.MKFS, f"make {filesystem.name} on {device}", tuple(argvs), f"formats {device}")


def _load(number: int, workload: Workload) -> Iterator[Step]:
    yield Step(StepKind.QUIESCE, "wait until Dirty and Writeback are near zero", workload=number)
    yield Step(
        StepKind.WORKLOAD,
        workload_title(workload),
        changes=f"writes below {TREE}",
        workload=number,
    )
    yield Step(StepKind.DRAIN, "syncfs, then fsync of the device: one flush", workload=number)


def _afterwards(
    life: Life, filesystem: Filesystem, mount: tuple[str, ...], unmount: tuple[str, ...]
) -> Iterator[Step]:
    device = life.target.path
    if life.after.check:
        check = commands.check_command(filesystem, device)
        yield Step(StepKind.CHECK, f"check {filesystem.name} in full", (check,))
    if life.after.delete is DeleteWith.NONE:
        return
    changes, undo = f"mounts {device}", " ".join(unmount)
    yield Step(StepKind.COLD_MOUNT, "drop all caches, then mount", (mount,), changes, undo)
    removal = (commands.delete_command(filesystem, TREE),)
    argvs = removal if life.after.delete is DeleteWith.RM else ()
    yield Step(StepKind.DELETE, f"remove {TREE}", argvs, f"removes {TREE}")
    yield Step(StepKind.DELETE_UNMOUNT, f"unmount {device}", (unmount,))


def _settings(setting: Setting) -> Iterator[Step]:
    if setting.values:
        words = ", ".join(f"{name} = {value}" for name, value in setting.values)
        yield Step(StepKind.SETTINGS, f"set {words}", changes="settings of device and kernel")


def _equalise(target: TargetSpec, equalise: Equalise) -> Iterator[Step]:
    device = target.path
    if equalise is Equalise.DISCARD:
        argvs: tuple[tuple[str, ...], ...] = (("blkdiscard", "-f", device),)
        if target.is_scratch:
            # A discard punches holes into the backing file, and fresh holes are slower than blocks.
            size = str(target.size_bytes)
            argvs += (("fallocate", "-l", size, target.backing_file),)
        yield Step(StepKind.EQUALISE, f"discard all of {device}", argvs, f"discards all of {device}")
    elif equalise is Equalise.ZERO:
        argv = ("blkdiscard", "-z", "-f", device)
        yield Step(StepKind.EQUALISE, f"zero all of {device}", (argv,), f"zeroes all of {device}")
    elif equalise is Equalise.PRECONDITION:
        argv = ("shred", "-n", "2", device)
        title = f"fill {device} with random data, twice"
        yield Step(StepKind.EQUALISE, title, (argv,), f"overwrites all of {device}, twice")


def workload_title(workload: Workload) -> str:
    """Return a workload in one line, with its numbers."""
    size = units.format_bytes_exact(workload.file_size_bytes)
    block = units.format_bytes_exact(workload.block_size_bytes)
    files = "file" if workload.files == 1 else "files"
    threads = "thread" if workload.threads == 1 else "threads"
    return (
        f"{workload.name}: {workload.kind.value} {workload.files} {files} of {size}"
        f" by {workload.threads} {threads} in writes of {block}, {workload.data.value} data"
    )
