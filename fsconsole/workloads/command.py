"""Loads that are one command of the operator's."""

from __future__ import annotations

from fsconsole.model.workload import Workload
from fsconsole.workloads.protocol import ProgramFigures
from fsconsole.workloads.tree import SourceFiles


def argvs(workload: Workload, _directory: str, _source: SourceFiles | None) -> tuple[tuple[str, ...], ...]:
    """Return the command."""
    return (workload.argv,)


def figures(_workload: Workload, _out: str, _err: str) -> ProgramFigures:
    """Return no figures: a command's output has no common form."""
    return ProgramFigures()
