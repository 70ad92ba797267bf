"""Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it."""

from __future__ import annotations

from fsconsole.errors import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.units import format_guess

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""


def require_answer(path: str, executor: Executor) -> None:
    """Let a device pass that gives its first block, or an error. Raises DeviceSilent, ToolMissing.

    What the page cache has of it, and could answer in its place, is dropped before. O_DIRECT would do without, but it
    has what is dirty written first: on a device that somebody has mounted that would be a write.
    """
    reading = ("dd", f"if={path}", "of=/dev/null", "bs=4096", "status=none")
    for words in (("iflag=nocache", "count=0"), ("count=1",)):
        if executor.run(Command((*reading, *words), timeout_s=ANSWER_LIMIT_S)).timed_out:
            raise DeviceSilent(path, format_guess(ANSWER_LIMIT_S))
