"""Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from fsconsole.errors import DeviceSilent, FsconsoleError
from fsconsole.model.command import Command, Executor
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.units import format_guess

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""
GLANCE_LIMIT_S = 20.0
"""The same for a listing, which is looked at again anyhow: few disks take longer to spin up."""
_BLOCK_BYTES = 4096
_AT_ONCE = 16


def require_answer(path: str, size_bytes: int, executor: Executor, limit_s: float | None = None) -> None:
    """Let a device pass that gives its first block and its last, or an error: what it is made of may hang in part.

    size_bytes 0: only the first is asked for. Raises DeviceSilent, ToolMissing, ToolFailed.
    """
    limit_s = ANSWER_LIMIT_S if limit_s is None else limit_s
    for block in sorted({0, max(size_bytes // _BLOCK_BYTES - 1, 0)}):
        # The page cache would answer in its place: a mounted ext4 keeps its first block there.
        if _gives(path, block, ("iflag=direct",), executor, limit_s) != 0:
            _gives(path, block, (), executor, limit_s)


def silent_among(sizes: Mapping[str, int], executor: Executor) -> dict[str, Hazard]:
    """Return which of some devices, by path with their bytes, don't answer within GLANCE_LIMIT_S, as hazards.

    They are asked at the same time: one controller that is dead takes all its disks with it.
    """
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        said = threads.map(lambda path: _silence(path, sizes[path], executor), sizes)
        return {path: hazard for path, hazard in zip(sizes, said, strict=True) if hazard is not None}


def _gives(path: str, block: int, words: tuple[str, ...], executor: Executor, limit_s: float) -> int:
    reading = (
        "dd",
        f"if={path}",
        "of=/dev/null",
        f"bs={_BLOCK_BYTES}",
        "count=1",
        f"skip={block}",
        "status=none",
    )
    result = executor.run(Command((*reading, *words), timeout_s=limit_s))
    if result.timed_out:
        raise DeviceSilent(path, format_guess(limit_s))
    return result.exit_code


def _silence(path: str, size_bytes: int, executor: Executor) -> Hazard | None:
    try:
        require_answer(path, size_bytes, executor, GLANCE_LIMIT_S)
    except DeviceSilent as error:
        return Hazard("silent", Verdict.REFUSED, path, "does not answer", error.hint)
    except FsconsoleError:
        # It could not be asked; whoever looks at it next is told the same, of this one device.
        return None
    return None
