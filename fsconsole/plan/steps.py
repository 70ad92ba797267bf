"""The steps of one cell, in the order of its life, with the exact commands.

Steps without commands are the engine's own code. Paths are the same for every run, since each engine has a mount
namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fsconsole.catalog import commands
from fsconsole.catalog.filesystem import Filesystem
from fsconsole.model.plan import After, DeleteWith, Equalise, Setting
from fsconsole.model.step import Step, StepKind
from fsconsole.model.variant import Variant
from fsconsole.model.workload import Workload
from fsconsole.plan.array_steps import ArrayLife, making_steps, stopping_step
from fsconsole.plan.load_steps import Mounts, extent_steps, load_steps
from fsconsole.plan.raw import raw_steps
from fsconsole.plan.settings import own_values, writes_of
from fsconsole.plan.target import TargetSpec

MOUNT_POINT = "/run/fsconsole/mnt"
TREE = MOUNT_POINT + "/tree"
"""Workloads write below it, and the delete step removes it."""
_CHANGES, _UNDO = "settings of device and kernel", "writes the old values back"


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
    array: ArrayLife | None = None
    """What the target is to be made of, where it is an array of the run's own."""


def cell_steps(life: Life) -> tuple[Step, ...]:
    """Return all steps of a cell; a raw row has streams where others have a filesystem."""
    steps = list(_beginning(life))
    if life.filesystem is not None:
        steps.extend(_filesystem_life(life, life.filesystem))
    elif life.variant.is_raw:
        steps.extend(_raw_life(life))
    if life.array is not None:
        steps.append(stopping_step(life.array))
    steps.append(Step(StepKind.RELEASE, "give back everything that was taken"))
    return tuple(steps)


def _beginning(life: Life) -> Iterator[Step]:
    """Yield the steps before the filesystem: an array is made of members that are alike, then has its settings."""
    array, settings = life.array, dict(life.setting.values)
    if array is None:
        yield Step(StepKind.GATE, f"prove that {life.target.path} is what was agreed upon")
        yield from _settings(settings, life.target)
        yield from _equalise(life.target, life.equalise)
        return
    paths = ", ".join(member.path for member in array.members)
    yield Step(StepKind.GATE, f"prove that {paths} are what was agreed upon")
    for member in array.members:
        for step in _equalise(member, life.equalise):
            yield replace(step, device=member.path)
    yield from making_steps(array)
    yield from _settings(settings, life.target)


def _raw_life(life: Life) -> Iterator[Step]:
    for step in raw_steps(life.target, life.workloads):
        # A workload's own settings hold for the streams that stand for it, or they would be no reference.
        number = step.workload if step.kind in (StepKind.RAW_WRITE, StepKind.RAW_READ) else None
        if number is not None:
            yield from _own_settings(life, number, life.workloads[number])
        yield step
        if number is not None:
            yield from _own_settings_back(number, life.workloads[number])


def _filesystem_life(life: Life, filesystem: Filesystem) -> Iterator[Step]:
    device = life.target.path
    mount = commands.mount_command(filesystem, life.variant, device, MOUNT_POINT)
    unmount = commands.unmount_command(filesystem, MOUNT_POINT)
    yield _mkfs(life, filesystem)
    features = commands.features_command(filesystem, device)
    yield Step(StepKind.FEATURES, "read back what mkfs made", (features,))
    yield Step(StepKind.MOUNT, f"mount {device}", (mount,), f"mounts {device}", " ".join(unmount))
    for number, workload in enumerate(life.workloads):
        yield from _own_settings(life, number, workload)
        yield from load_steps(number, workload, Mounts(device, TREE, mount, unmount))
        yield from _own_settings_back(number, workload)
    yield Step(StepKind.REMOUNT, "unmount and mount, which trims preallocation", (unmount, mount))
    yield from extent_steps(life.workloads)
    yield Step(StepKind.UNMOUNT, f"unmount {device}", (unmount,))
    yield from _afterwards(life, filesystem, mount, unmount)


def _mkfs(life: Life, filesystem: Filesystem) -> Step:
    device = life.target.path
    argvs = commands.make_commands(filesystem, life.variant, device, life.uuid)
    return Step(StepKind.MKFS, f"make {filesystem.name} on {device}", argvs, f"formats {device}")


def _afterwards(
    life: Life, filesystem: Filesystem, mount: tuple[str, ...], unmount: tuple[str, ...]
) -> Iterator[Step]:
    device = life.target.path
    if life.after.check and filesystem.commands.check:
        check = commands.check_command(filesystem, device)
        yield Step(StepKind.CHECK, f"check {filesystem.name} in full", (check,))
    if life.after.delete is DeleteWith.NONE:
        return
    changes, undo = f"mounts {device}", " ".join(unmount)
    yield Step(StepKind.COLD_MOUNT, "drop all caches, then mount", (mount,), changes, undo)
    removal = (commands.delete_command(filesystem, TREE),)
    argvs = removal if life.after.delete is DeleteWith.RM else ()
    how = "" if argvs else ", entry by entry (scandir, unlinkat)"
    yield Step(StepKind.DELETE, f"remove {TREE}{how}", argvs, f"removes {TREE}")
    yield Step(StepKind.DELETE_UNMOUNT, f"unmount {device}", (unmount,))


def _settings(values: dict[str, str], target: TargetSpec) -> Iterator[Step]:
    if values:
        writes = writes_of(values, target)
        yield Step(StepKind.SETTINGS, f"set {_in_words(values)}", changes=_CHANGES, undo=_UNDO, writes=writes)


def _own_settings(life: Life, number: int, workload: Workload) -> Iterator[Step]:
    if workload.settings:
        title = f"for {workload.name} alone, set {_in_words(dict(workload.settings))}"
        writes = writes_of(own_values(life.setting, workload.settings), life.target)
        yield Step(StepKind.SETTINGS, title, (), _CHANGES, _UNDO, number, writes)


def _own_settings_back(number: int, workload: Workload) -> Iterator[Step]:
    if workload.settings:
        title = f"write back what was set for {workload.name} alone"
        yield Step(StepKind.SETTINGS_BACK, title, changes=_CHANGES, workload=number)


def _in_words(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


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
