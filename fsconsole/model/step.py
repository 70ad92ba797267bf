"""One thing that a cell does, as a value that can be listed before it is done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StepKind(str, Enum):
    """The kinds of steps in a cell's life, in the order of measurement.md; values are printed and stored."""

    GATE = "gate"
    SETTINGS = "settings"
    EQUALISE = "equalise"
    ARRAY = "array"
    ARRAY_SYNC = "array-sync"
    MKFS = "mkfs"
    FEATURES = "features"
    MOUNT = "mount"
    QUIESCE = "quiesce"
    COLD = "cold"
    WORKLOAD = "workload"
    DRAIN = "drain"
    SETTINGS_BACK = "settings-back"
    REMOUNT = "remount"
    EXTENTS = "extents"
    UNMOUNT = "unmount"
    CHECK = "check"
    COLD_MOUNT = "cold-mount"
    DELETE = "delete"
    DELETE_UNMOUNT = "delete-unmount"
    RAW_WRITE = "raw-write"
    RAW_READ = "raw-read"
    READTEST = "readtest"
    ARRAY_STOP = "array-stop"
    RELEASE = "release"


CLOSED_BY = {StepKind.WORKLOAD: StepKind.DRAIN, StepKind.DELETE: StepKind.DELETE_UNMOUNT}
"""What brings to the device what a step may have done in memory only, where it comes right after that step."""


@dataclass(frozen=True, slots=True)
class Write:
    """A setting that the engine's own code writes: name as the plan calls it, value as the kernel's file takes it."""

    name: str
    path: str
    value: str


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
    writes: tuple[Write, ...] = ()
    """Settings in the order in which they are written; given back in reverse."""
    device: str = ""
    """The one that it wipes, where that is a member of the cell's array; empty: the cell's target."""
