"""Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fsconsole.errors import DeviceSilent, FsconsoleError
from fsconsole.model.command import Command, Executor
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.system.waiting import waits_of
from fsconsole.units import format_guess

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""
GLANCE_LIMIT_S = 20.0
"""The same for a listing, which is looked at again anyhow: few disks take longer to spin up."""
_PROGRAM = "dd"
_BLOCK_BYTES = 4096
_AT_ONCE = 16


def require_answer(path: str, size_bytes: int, executor: Executor, limit_s: float | None = None) -> None:
    """Let a device pass that gives its first block and its last, or an error: what it is made of may hang in part.

    size_bytes 0: only the first is asked for. Raises DeviceSilent, ToolMissing, ToolFailed.
    """
    limit_s = ANSWER_LIMIT_S if limit_s is None else limit_s
    _ask(path, size_bytes, _Asking(executor, limit_s, waits_of(_PROGRAM)))


def silent_among(sizes: Mapping[str, int], executor: Executor) -> dict[str, Hazard]:
    """Return which of some devices, by path with their bytes, don't answer within GLANCE_LIMIT_S, as hazards.

    They are asked at the same time: one controller that is dead takes all its disks with it.
    """
    asking = _Asking(executor, GLANCE_LIMIT_S, waits_of(_PROGRAM))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        said = threads.map(lambda path: _silence(path, sizes[path], asking), sizes)
        return {path: hazard for path, hazard in zip(sizes, said, strict=True) if hazard is not None}


@dataclass(frozen=True, slots=True)
class _Asking:
    executor: Executor
    limit_s: float
    waits_s: Mapping[tuple[str, ...], float]
    """Who of earlier looks still waits for its answer, and for how long."""


def _ask(path: str, size_bytes: int, asking: _Asking) -> None:
    for block in sorted({0, max(size_bytes // _BLOCK_BYTES - 1, 0)}):
        # The page cache would answer in its place: a mounted ext4 keeps its first block there.
        if _gives(path, block, ("iflag=direct",), asking) != 0:
            _gives(path, block, (), asking)


def _gives(path: str, block: int, words: tuple[str, ...], asking: _Asking) -> int:
    place = (f"if={path}", "of=/dev/null", f"bs={_BLOCK_BYTES}", "count=1", f"skip={block}", "status=none")
    argv = (_PROGRAM, *place, *words)
    if asking.waits_s.get(argv, 0.0) >= asking.limit_s:
        # One more would wait for this very answer too, for ever.
        raise DeviceSilent(path, format_guess(asking.limit_s))
    result = asking.executor.run(Command(argv, timeout_s=asking.limit_s))
    if result.timed_out:
        raise DeviceSilent(path, format_guess(asking.limit_s))
    return result.exit_code


def _silence(path: str, size_bytes: int, asking: _Asking) -> Hazard | None:
    try:
        _ask(path, size_bytes, asking)
    except DeviceSilent as error:
        return Hazard("silent", Verdict.REFUSED, path, "does not answer", error.hint)
    except FsconsoleError:
        # It could not be asked; whoever looks at it next is told the same, of this one device.
        return None
    return None
