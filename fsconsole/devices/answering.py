"""Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from fsconsole.errors import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.units import format_guess

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""
GLANCE_LIMIT_S = 20.0
"""The same for a listing, which is looked at again anyhow: few disks take longer to spin up."""
_AT_ONCE = 16


def require_answer(path: str, executor: Executor, limit_s: float | None = None) -> None:
    """Let a device pass that gives its first block, or an error. Raises DeviceSilent, ToolMissing.

    What the page cache has of it, and could answer in its place, is dropped before. O_DIRECT would do without, but it
    has what is dirty written first: on a device that somebody has mounted that would be a write.
    """
    limit_s = ANSWER_LIMIT_S if limit_s is None else limit_s
    reading = ("dd", f"if={path}", "of=/dev/null", "bs=4096", "status=none")
    for words in (("iflag=nocache", "count=0"), ("count=1",)):
        if executor.run(Command((*reading, *words), timeout_s=limit_s)).timed_out:
            raise DeviceSilent(path, format_guess(limit_s))


def silent_among(paths: Sequence[str], executor: Executor) -> dict[str, Hazard]:
    """Return those devices that don't answer within GLANCE_LIMIT_S, each with the hazard that it is. Raises ToolMissing.

    They are asked at the same time: one controller that is dead takes all its disks with it.
    """
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        said = threads.map(lambda path: _silence(path, executor), paths)
        return {path: hazard for path, hazard in zip(paths, said, strict=True) if hazard is not None}


def _silence(path: str, executor: Executor) -> Hazard | None:
    try:
        require_answer(path, executor, GLANCE_LIMIT_S)
    except DeviceSilent as error:
        return Hazard("silent", Verdict.REFUSED, path, "does not answer", error.hint)
    return None
