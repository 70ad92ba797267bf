"""Which arrays this machine can make: mdadm, and the kernel's personalities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.devices.md_members import held_arrays
from fsconsole.devices.mdstat import MDSTAT_PATH
from fsconsole.errors import DeviceRefused, ToolMissing
from fsconsole.plan.array_place import ARRAY_NAME, ARRAY_PATH, ArraySupport
from fsconsole.plan.arrays import LEVELS
from fsconsole.system import host
from fsconsole.system.programs import find_program
from fsconsole.system.text import read_text_or

MDADM = "mdadm"


@dataclass(frozen=True, slots=True)
class LevelHere:
    """A level of md on this machine: why it makes none, as a clause, and what to do about that; empty where it does."""

    level: str
    why: str
    remedy: str


def array_support() -> ArraySupport:
    """Return what stands against arrays of each level on this machine."""
    return ArraySupport(tuple((level, why) for level, why, _ in _lacking(levels_here())))


def every_level() -> tuple[LevelHere, ...]:
    """Return how this machine stands to each level there is."""
    lacking = tuple(_lacking(levels_here()))
    return tuple(
        LevelHere(
            level,
            "; ".join(why for lacks, why, _ in lacking if lacks == level),
            " ".join(remedy for lacks, _, remedy in lacking if lacks == level),
        )
        for level in LEVELS
    )


def levels_here() -> tuple[str, ...]:
    """Return the levels that the running kernel makes arrays of."""
    modules = f"/lib/modules/{host.kernel_release()}/modules.alias"
    return array_levels(read_text_or(MDSTAT_PATH, ""), read_text_or(modules, ""))


def array_levels(mdstat: str, aliases: str) -> tuple[str, ...]:
    """Return the levels that the kernel has, or a module of it that mdadm makes it load.

    mdstat names those loaded, "[raid6] [raid5] [raid4]"; the kernel asks for the module md-LEVEL (drivers/md/md.c).
    """
    loaded = {
        word.strip("[]")
        for line in mdstat.splitlines()
        if line.startswith("Personalities")
        for word in line.split()
    }
    modules = {
        line.split()[1].removeprefix("md-") for line in aliases.splitlines() if line.startswith("alias md-")
    }
    return tuple(level for level in LEVELS if level in loaded | modules)


def require_free_array_name() -> None:
    """Let pass where no array has the name that a run's own gets. Raises DeviceRefused."""
    for array in held_arrays():
        if array.name == ARRAY_NAME:
            members = ", ".join(sorted(array.members))
            raise DeviceRefused(
                ARRAY_PATH,
                f"is an array of {members} already, and a run makes its arrays under that name",
                f"`fsconsole cleanup`, where a killed run left it; else `mdadm --detail {ARRAY_PATH}` shows it.",
            )


def _lacking(levels: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield level, clause and remedy for all that stands against an array of a level."""
    try:
        find_program(MDADM)
    except ToolMissing as missing:
        why = f"mdadm is not installed (Debian's package {missing.package})"
        yield from ((level, why, f"Install {missing.package}.") for level in LEVELS)
    for level in LEVELS:
        if level not in levels:
            why = f"this kernel makes no {level}: /proc/mdstat does not name it, and there is no module md-{level}"
            yield level, why, "Use a kernel that has it, or an array that is there as the target."
