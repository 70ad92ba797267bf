"""A named load with its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WorkloadKind(str, Enum):
    """Loads that a plan may name; the values are the plan file's words."""

    CREATE = "create"
    APPEND = "append"
    READ = "read"
    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    STAT = "stat"
    DELETE = "delete"
    MIX = "mix"
    FIO = "fio"
    BONNIE = "bonnie"
    FFSB = "ffsb"
    COMMAND = "command"


class DataKind(str, Enum):
    """What is written into files."""

    RANDOM = "random"
    ZERO = "zero"


class Layout(str, Enum):
    """Where the files of a workload lie."""

    ONE = "one"
    PER_THREAD = "per-thread"
    PER_COUNT = "per-count"


@dataclass(frozen=True, slots=True)
class Directories:
    """Layout with, for PER_COUNT, the number of files in each directory."""

    layout: Layout = Layout.ONE
    files_per_directory: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """One load: threads write files of file_size_bytes each in writes of block_size_bytes."""

    name: str
    kind: WorkloadKind
    threads: int
    files: int
    """In all, over all threads; thread i writes files i, i + threads, ..."""
    file_size_bytes: int
    block_size_bytes: int
    directories: Directories = Directories()
    data: DataKind = DataKind.RANDOM
    cold: bool = False

    @property
    def total_bytes(self) -> int:
        """Bytes that the load writes if nothing stops it."""
        return self.files * self.file_size_bytes
