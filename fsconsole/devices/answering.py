"""Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it."""

from __future__ import annotations

from fsconsole.errors import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.units import format_guess

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""


def require_answer(path: str, executor: Executor) -> None:
    """Let a device pass that gives its first block, or an error. Raises DeviceSilent, ToolMissing.

    Past the page cache, which would answer in the device's place. A process that waits in the kernel is ended by no
    signal: the child is left behind then.
    """
    argv = ("dd", f"if={path}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct", "status=none")
    if executor.run(Command(argv, timeout_s=ANSWER_LIMIT_S)).timed_out:
        raise DeviceSilent(path, format_guess(ANSWER_LIMIT_S))
