"""Sources of a plan's copies and commands, looked up on this machine: what is there, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import CommandMissing, ToolMissing
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.lines import in_its_line
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.sources import lies_in
from fsconsole.system.run import find_program
from fsconsole.text import printable
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import PROGRAMS
from fsconsole.workloads.manifest import SourceUnusable, survey


def with_sources(plan: PlanFile, runs_dir: str = "") -> tuple[PlanFile, tuple[str, ...]]:
    """Return the plan with the sources that exist here and the size of each copy, and notes of what was left out.

    A command needs all of its sources, a copy one. Files are counted, not read. Raises PlanBadValue, CommandMissing.
    """
    for number, load in enumerate(plan.workloads):
        if load.kind is WorkloadKind.COMMAND:
            _require_program(plan, f"workload[{number}].argv", load)
    notes: list[str] = []
    loads = tuple(
        _found(plan, number, load, runs_dir, notes) if load.sources else load
        for number, load in enumerate(plan.workloads)
    )
    return replace(plan, workloads=loads), tuple(notes)


def _require_program(plan: PlanFile, key: str, load: Workload) -> None:
    """Raise the error of a command whose program its cage would not have: it is told before a device is wiped."""
    name = load.argv[0]
    if "/" in name and not (name.startswith("/") and _is_in_cage(name, load.sources)):
        why = "the command starts in an empty directory, and sees only /usr and its sources"
        wanted = "a program's name, or an absolute path below /usr or one of its sources"
        error = PlanBadValue(plan.path, key, f'"{printable(name)}"', why, wanted)
        raise in_its_line(error, plan.path, plan.source)
    try:
        find_program(name)
    except ToolMissing as error:
        missing = CommandMissing(error.tool, error.package, plan.path, key)
        raise in_its_line(missing, plan.path, plan.source) from error


def _is_in_cage(path: str, sources: tuple[str, ...]) -> bool:
    places = (*PROGRAMS, *interpreter_places(), *sources)
    return any(lies_in(one, place) for one in (path, os.path.realpath(path)) for place in places)


def _found(plan: PlanFile, number: int, load: Workload, runs_dir: str, notes: list[str]) -> Workload:
    def bad(why: str, wanted: str) -> FsconsoleError:
        said = ", ".join(map(printable, load.sources))
        error = PlanBadValue(plan.path, f"workload[{number}].sources", f'"{said}"', why, wanted)
        return in_its_line(error, plan.path, plan.source)

    missing = [path for path in load.sources if not os.path.lexists(path)]
    if missing and (load.kind is WorkloadKind.COMMAND or len(missing) == len(load.sources)):
        raise bad(f"there is no {missing[0]} on this machine", "files and directories that exist")
    for path in missing:
        notes.append(f"'{load.name}': there is no {path} on this machine; it is left out")
    there = tuple(path for path in load.sources if path not in missing)
    own = [os.path.realpath(path) for path in (runs_dir, os.path.dirname(DEFAULT_SCRATCH_DIR)) if path]
    for why in _objections(load, there, own):
        raise bad(why, "files and directories of this machine, by their own paths")
    if load.kind is WorkloadKind.COMMAND:
        return load
    try:
        counts = survey(there, at_most=load.at_most_bytes, hidden=own).counts
    except SourceUnusable as error:
        raise bad(str(error), "readable files and directories") from error
    size = counts.linked_bytes if load.keeps_links else counts.size_bytes
    return replace(load, sources=there, sources_bytes=size, sources_files=counts.names)


def _objections(load: Workload, sources: tuple[str, ...], own: list[str]) -> Iterator[str]:
    for path in sources:
        inside = next((place for place in own if lies_in(path, place)), "")
        if inside:
            yield f"{path} lies in {inside}, which is fsconsole's own"
        folder = os.path.dirname(path)
        if os.path.realpath(folder) != folder:
            yield f"the way to {path} has a symbolic link in it; write {os.path.realpath(path)}"
        if load.kind is WorkloadKind.COMMAND and os.path.islink(path):
            yield f"{path} is a symbolic link; write {os.path.realpath(path)}"
