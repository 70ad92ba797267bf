"""The steps of a cell in a directory: nothing is formatted, mounted or unmounted, and what was made is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fsconsole.model.place import own_name
from fsconsole.model.plan import Cell, DeleteWith, Step, StepKind
from fsconsole.plan.steps import load_steps

TREE_NAME = "tree"
"""The part of the run's own directory that a generator can reach."""


_TITLES = {
    StepKind.QUIESCE: "write out this filesystem (syncfs), then wait until Dirty and Writeback are near zero",
    StepKind.COLD: "drop the run's own files from the page cache (posix_fadvise); as root all caches (drop_caches)",
    StepKind.DRAIN: "fsync of each of the run's own files and directories",
}
"""Steps that are others than on a device."""


def own_path(directory: str, run_id: str) -> str:
    """Return the path of the directory that a run makes in a directory."""
    return f"{directory.rstrip('/')}/{own_name(run_id)}"


def directory_steps(cell: Cell, run_id: str) -> tuple[Step, ...]:
    """Return all steps; none has a command: the engine works below a descriptor of the run's own directory."""
    return tuple(_steps(cell, own_path(cell.target, run_id)))


def _steps(cell: Cell, own: str) -> Iterator[Step]:
    title = f"verify that {cell.target} is the same directory and has the space, then make {own}"
    yield Step(StepKind.GATE, title, changes=f"makes {own} (mode 0700)", undo=f"removes {own}")
    for number in range(len(cell.workloads)):
        for step in load_steps(number, cell, cell.target, (), ()):
            title, changes = _TITLES.get(step.kind, step.title), f"writes below {own}" if step.changes else ""
            yield replace(step, title=title, changes=changes, commands=())
    makers = [number for number, load in enumerate(cell.workloads) if load.creates or not load.is_built_in]
    for maker in (makers if len(makers) > 1 else (None,)) if cell.after.extents else ():
        of = "" if maker is None else f" of {cell.workloads[maker].name}"
        yield Step(StepKind.EXTENTS, f"count the extents of every file{of}, where FIEMAP tells", workload=maker)
    if cell.after.delete is not DeleteWith.NONE:
        how = "entry by entry (scandir, unlinkat): no link is followed, no mount entered"
        yield Step(StepKind.DELETE, f"remove {own}/{TREE_NAME}, {how}", changes=f"removes {own}/{TREE_NAME}")
    yield Step(StepKind.RELEASE, f"remove what is left of {own}")
