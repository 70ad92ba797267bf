"""Whether every program that a plan will call is there, before anything is touched."""

from __future__ import annotations

from fsconsole.model.plan import Plan
from fsconsole.system.command import find_program

ENGINE_PROGRAMS = ("unshare", "bwrap", "mount", "umount", "wipefs")
"""What gate and engine call beside the commands of the plan's steps."""


def require_tools(plan: Plan) -> None:
    """Look for every program of the plan's available cells. Raises ToolMissing with the package that brings it."""
    wanted = dict.fromkeys(ENGINE_PROGRAMS)
    for cell in plan.cells:
        if not cell.unavailable:
            wanted.update(dict.fromkeys(argv[0] for step in cell.steps for argv in step.commands))
    for name in wanted:
        find_program(name)
