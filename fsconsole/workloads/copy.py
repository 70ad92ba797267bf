"""Loads that copy a tree by the system's cp."""

from __future__ import annotations

from os.path import dirname, join

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.workload import Workload
from fsconsole.workloads.protocol import ProgramFigures
from fsconsole.workloads.tree import SourceFiles


def argvs(workload: Workload, directory: str, source: SourceFiles | None) -> tuple[tuple[str, ...], ...]:
    """Return one cp: of the sources, each by its last name; of a subset, by whole paths; or of a create's files.

    It stays on one filesystem for each source, as the manifest does. Raises GeneratorFailed.
    """
    words = ("cp", *workload.copy_flags.split(), "--one-file-system")
    if workload.sources:
        parents = ("--parents",) if workload.at_most_bytes else ()
        return ((*words, *parents, "--", *workload.sources, directory),)
    if source is None:
        raise GeneratorFailed("there is nothing to copy")
    return ((*words, "--", join(dirname(directory), source.directory), directory),)


def figures(_workload: Workload, _out: str, _err: str) -> ProgramFigures:
    """Return no figures: the engine counts what was copied."""
    return ProgramFigures()
