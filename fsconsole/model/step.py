"""One thing that a cell does, as a value that can be listed before it is done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StepKind(str, Enum):
    """The kinds of steps in a cell's life, in the order of measurement.md; values are printed and stored."""

    GATE = "gate"
    SETTINGS = "settings"
    EQUALISE = "equalise"
    MKFS = "mkfs"
    FEATURES = "features"
    MOUNT = "mount"
    QUIESCE = "quiesce"
    WORKLOAD = "workload"
    DRAIN = "drain"
    REMOUNT = "remount"
    EXTENTS = "extents"
    UNMOUNT = "unmount"
    CHECK = "check"
    COLD_MOUNT = "cold-mount"
    DELETE = "delete"
    DELETE_UNMOUNT = "delete-unmount"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Step:
    """A step with the commands it runs; a step without commands is done by the engine's own code.

    Paths are already filled in: what is listed is what is executed.
    """

    kind: StepKind
    title: str
    commands: tuple[tuple[str, ...], ...] = ()
    changes: str = ""
    """What it changes, for the list of commands: "formats /dev/loop0"; empty for a step that only reads."""
    undo: str = ""
    workload: int | None = None
    """Index of the cell's workload, for workload and drain steps."""
