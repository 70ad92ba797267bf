"""Sources of copies and commands: read into the page cache and hashed before the load, and counted in what it made."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace

from fsconsole.engine.steps.life import TREE_NAME, open_mount
from fsconsole.engine.work import CellWork, Interrupted, LoadWindow, StepFailed, StepResult
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.state import RunState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.sources import lies_in, sources_objection
from fsconsole.system.files import available_bytes
from fsconsole.text import error_reason, printable
from fsconsole.units import format_bytes
from fsconsole.workloads import manifest, protocol
from fsconsole.workloads.launcher import Seen
from fsconsole.workloads.manifest import Counts, Manifest, SourceUnusable, Stopped
from fsconsole.workloads.tree import DIRECTORY_FLAGS

_DIGITS = 16
"""Of a SHA-256, as it is shown and compared."""
_SHOWN_DIRECTORIES = 3
_COLD_HINT = (
    "Use fewer sources (at_most), or a machine with more memory: the figures include reads of the sources' disk."
)
_CHANGED_HINT = "Compare cells with the same manifest only: use sources that do not change during the run."


def hidden_from_loads(work: CellWork) -> tuple[str, ...]:
    """Return the directories that no load may see: the run's, and fsconsole's own with seal, runs and scratch files."""
    own = os.path.dirname(DEFAULT_SCRATCH_DIR)
    runs = os.path.dirname(work.run.folder_path)
    return tuple(dict.fromkeys(os.path.realpath(path) for path in (runs, own) if os.path.isdir(path)))


def warm(work: CellWork, step: Step) -> StepResult:
    """Read the sources of a load, so that they come from memory, and journal their manifest."""
    load = _load_of(work, step)
    hidden, key = hidden_from_loads(work), (load.sources, load.at_most_bytes)
    if why := sources_objection(load.sources, is_copied_by_name=False):
        raise StepFailed(why)
    for path in load.sources:
        if lies_in(os.path.realpath(work.tree), path):
            raise StepFailed(f"{path} is a source, and holds the directory that is the target")
    is_stopped, room = (lambda: work.run.requests.interrupting), available_bytes()
    known = work.run.manifests.get(key)
    try:
        found = manifest.survey(load.sources, at_most=load.at_most_bytes, hidden=hidden, stop=is_stopped)
        if load.kind is WorkloadKind.COMMAND and found.counts.pipes:
            raise StepFailed("the sources have a named pipe in them, which a command could write to")
        if load.kind is WorkloadKind.COPY:
            _require_room(work, load, found.counts)
        if known is None or not known.is_steady or found.stamp != known.stamp:
            known = manifest.read_manifest(load.sources, at_most=load.at_most_bytes, hidden=hidden, stop=is_stopped)
        else:
            manifest.warm(found.roots, hidden=hidden, stop=is_stopped)
    except Stopped as stopped:
        raise Interrupted from stopped
    except SourceUnusable as error:
        raise StepFailed(f"sources: {error}") from error
    _compare(work, step, load, known)
    work.run.manifests[key] = known
    if not known.is_steady:
        work.warn(WarningKind.SOURCES, f"sources of '{load.name}' changed while they were read", _CHANGED_HINT)
    if known.counts.size_bytes > room:
        amounts = f"{format_bytes(known.counts.size_bytes)}, and {format_bytes(room)} of memory were free"
        work.warn(WarningKind.SOURCES, f"sources not warm: '{load.name}' has {amounts}", _COLD_HINT)
    figures = (
        Measurement(Metric.SOURCE_FILES, known.counts.names),
        Measurement(Metric.SOURCE_BYTES, copied_bytes(load, known.counts)),
    )
    return StepResult(figures, verdict=manifest_words(known.digest))


def _require_room(work: CellWork, load: Workload, counts: Counts) -> None:
    """Raise StepFailed where no copy of the sources fits; none is read then."""
    with ExitStack() as opened:
        root = open_mount(work)
        opened.callback(os.close, root)
        room = os.fstatvfs(root)
    wanted, free_bytes = copied_bytes(load, counts), room.f_bavail * room.f_frsize
    if wanted > free_bytes:
        has = f"the filesystem on {work.cell.target} has {format_bytes(free_bytes)} free"
        raise StepFailed(f"{too_much_words(load, wanted)}, and {has}")


def too_much_words(load: Workload, wanted_bytes: int) -> str:
    """Return that a copy's sources are too large, and whether they were smaller when the plan was made."""
    if 0 < load.sources_bytes < wanted_bytes:
        return f"sources of '{load.name}' have grown to {format_bytes(wanted_bytes)} since the plan was made"
    return f"sources of '{load.name}' have {format_bytes(wanted_bytes)}"


def manifest_words(digest: str) -> str:
    """Return a manifest's hash as a step's verdict has it."""
    return f"manifest {digest[:_DIGITS]}"


def _load_of(work: CellWork, step: Step) -> Workload:
    if step.workload is None:
        raise StepFailed("the step names no workload")
    return work.cell.workloads[step.workload]


def _compare(work: CellWork, step: Step, load: Workload, now: Manifest) -> None:
    """Warn where the sources have changed since an earlier cell of the run; in a resumed run, of another attempt."""
    before = _known(work, load)
    was = manifest_words(before.digest) if before is not None else work.run.manifests_before.get(step.workload or 0, "")
    if was in ("", manifest_words(now.digest)):
        return
    changed = manifest.changed_directories(before, now) if before is not None else ()
    more = len(changed) - _SHOWN_DIRECTORIES
    places = ", ".join(manifest.shown(path) for path in changed[:_SHOWN_DIRECTORIES])
    places += f" and {more} more directories" if more > 0 else ""
    why = f"sources of '{load.name}' changed since an earlier cell" + (f": in {places}" if places else "")
    work.warn(WarningKind.SOURCES, printable(why), _CHANGED_HINT)


def journalled(state: RunState) -> dict[int, str]:
    """Return the verdict of the last reading of each workload's sources in earlier attempts, by its number."""
    return {
        number: step.verdict
        for cell, known in zip(state.request.plan.cells, state.cells, strict=False)
        for step in known.steps
        if step.kind is StepKind.WARM
        and step.verdict
        and step.number < len(cell.steps)
        and (number := cell.steps[step.number].workload) is not None
    }


def copied_bytes(load: Workload, counts: Counts) -> int:
    """Return the bytes that a copy writes: cp -r makes hard links files of their own, cp -a links them again."""
    return counts.linked_bytes if load.keeps_links else counts.size_bytes


def _known(work: CellWork, load: Workload) -> Manifest | None:
    return work.run.manifests.get((load.sources, load.at_most_bytes))


def roots_of(work: CellWork, load: Workload) -> tuple[str, ...]:
    """Return the paths that a subset of a load's sources is made of, as they were read; none for the whole of them."""
    known = _known(work, load)
    return known.roots if load.at_most_bytes and known is not None else ()


def seen_of(work: CellWork, load: Workload) -> tuple[Seen, ...]:
    """Return a load's sources as they were read."""
    known = _known(work, load)
    return known.seen if known is not None else ()


def change_in_words(work: CellWork, load: Workload) -> str:
    """Return that a load's sources are no longer as they were read, in a clause; empty where they are, or it has none.

    Raises Interrupted.
    """
    known = _known(work, load)
    if not load.sources or known is None:
        return ""
    hidden, is_stopped = hidden_from_loads(work), (lambda: work.run.requests.interrupting)
    try:
        now = manifest.survey(load.sources, at_most=load.at_most_bytes, hidden=hidden, stop=is_stopped)
    except Stopped as stopped:
        raise Interrupted from stopped
    except SourceUnusable as error:
        return f"sources of '{load.name}' changed after they were read: {error}"
    if known.is_steady and now.stamp == known.stamp:
        return ""
    # The cage's read-only mount doesn't keep a program from writing to it (man 7 fifo).
    has_pipe = load.kind is WorkloadKind.COMMAND and now.counts.pipes
    pipe = ", and have a named pipe in them now, which the command could write to" if has_pipe else ""
    return f"sources of '{load.name}' changed after they were read{pipe}"


def expect_copied(work: CellWork, window: LoadWindow) -> tuple[Measurement, ...]:
    """Make the files and bytes that a copy was to copy those of the window's result, and return its rates.

    Where its sources changed meanwhile they are those that were copied. Raises StepFailed, Interrupted.
    """
    load = window.handle.workload
    if load.kind is not WorkloadKind.COPY:
        return ()
    known, source = _known(work, load), work.made.get(load.source) if load.source is not None else None
    if known is None:
        wanted = _count(work, source.directory if source is not None else "")
    elif why := change_in_words(work, load):
        wanted = _count(work, window.result.directory)
        copied, whole = (format_bytes(copied_bytes(load, counts)) for counts in (wanted, known.counts))
        of = f"{wanted.names} of {known.counts.names} files, {copied} of {whole}"
        work.warn(WarningKind.SOURCES, printable(f"{why}; its figures are of what was copied: {of}"), _CHANGED_HINT)
    else:
        wanted = known.counts
    window.result = replace(window.result, written_bytes=copied_bytes(load, wanted), files_done=wanted.names)
    return protocol.rate_measurements(window.result)


def count_made(work: CellWork, window: LoadWindow) -> tuple[Measurement, ...]:
    """Return files and bytes of what a command or a copy made, after all that is timed: the walk takes CPU time.

    Raises StepFailed where a copy is not what was to be copied, Interrupted.
    """
    load, result = window.handle.workload, window.result
    if load.kind not in (WorkloadKind.COMMAND, WorkloadKind.COPY):
        return ()
    if load.kind is WorkloadKind.COMMAND and (why := change_in_words(work, load)):
        work.warn(WarningKind.SOURCES, printable(f"{why}; its figures are not of its manifest"), _CHANGED_HINT)
    made = _count(work, result.directory)
    copied, whole = copied_bytes(load, made), result.written_bytes
    if load.kind is WorkloadKind.COPY and (made.names, copied) != (result.files_done, whole):
        raise StepFailed(
            f"copied {made.names} of {result.files_done} files, {format_bytes(copied)} of {format_bytes(whole)}"
        )
    return (Measurement(Metric.FILES_MADE, made.names), Measurement(Metric.MADE, made.size_bytes))


def _count(work: CellWork, directory: str) -> Counts:
    """Return what lies in a load's directory now. Raises StepFailed, Interrupted."""
    with ExitStack() as opened:
        fd = open_mount(work)
        opened.callback(os.close, fd)
        for name in (TREE_NAME, directory):
            try:
                fd = os.open(name, DIRECTORY_FLAGS, dir_fd=fd)
            except OSError as error:
                raise StepFailed(f"{work.tree}/{directory}: its directory is gone ({error_reason(error)})") from error
            opened.callback(os.close, fd)
        try:
            return manifest.count(fd, stop=lambda: work.run.requests.interrupting)
        except Stopped as stopped:
            raise Interrupted from stopped
        except SourceUnusable as error:
            raise StepFailed(f"what was made can't be counted: {error}") from error
