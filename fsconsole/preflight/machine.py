"""What this machine offers to a run, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Driver(str, Enum):
    """How the kernel serves a filesystem; the values are printed."""

    LOADED = "in the kernel"
    MODULE = "a module, loaded when it is mounted"
    ABSENT = "not in this kernel"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, with its path (empty: not installed) and version (empty: not asked, or not understood)."""

    name: str
    package: str
    path: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class FilesystemSupport:
    """A filesystem of the catalog on this machine."""

    name: str
    driver: Driver
    tools: tuple[Tool, ...]
    why_absent: str = ""
    """Why this kernel has no driver for it, where it has none."""

    @property
    def usable(self) -> bool:
        """True where kernel and tools are there."""
        return self.driver is not Driver.ABSENT and all(tool.path for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that was tried out; why is empty where it worked."""

    tried: bool
    why: str = ""

    @property
    def works(self) -> bool:
        """True where it was tried, and worked."""
        return self.tried and not self.why


@dataclass(frozen=True, slots=True)
class RunsDisk:
    """The place where runs are kept, or its nearest existing parent; trouble is empty where it can be written."""

    path: str
    trouble: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Terminal:
    """What stdout is: columns and lines are 0 where it is no terminal."""

    name: str
    """$TERM."""
    columns: int
    lines: int
    encoding: str


@dataclass(frozen=True, slots=True)
class Machine:
    """All that doctor looks at."""

    is_root: bool
    python: tuple[int, int, int]
    kernel: str
    cpus: int
    memory_bytes: int
    available_bytes: int
    programs: tuple[Tool, ...]
    """What every run needs, whatever the filesystem."""
    filesystems: tuple[FilesystemSupport, ...]
    namespace: Trial
    confinement: Trial
    loop: Trial
    has_debugfs: bool
    udev_runs: bool
    kernel_log_readable: bool
    runs: RunsDisk
    terminal: Terminal
    array_tool: Tool = Tool("mdadm", "mdadm")
    array_levels: tuple[str, ...] = ()
    """What the kernel, or a module of it, makes arrays of."""
