"""What a load finds in the filesystem: the files that it works on, and room for those that it makes."""

from __future__ import annotations

import errno
import os

from fsconsole.engine.work import CellWork, StepFailed
from fsconsole.model.workload import Workload
from fsconsole.units import format_bytes_exact
from fsconsole.workloads.naming import subdirectories
from fsconsole.workloads.protocol import LoadResult
from fsconsole.workloads.source import SourceFiles


def source_of(work: CellWork, workload: Workload) -> SourceFiles | None:
    """Return the files that a workload works on, None for one that makes its own. Raises StepFailed."""
    if workload.source is None:
        return None
    source = work.made.get(workload.source)
    if source is None:
        name = work.cell.workloads[workload.source].name
        raise StepFailed(f"there is nothing to work on: '{name}' has made no files")
    return source


def keep_made(work: CellWork, number: int, workload: Workload, result: LoadResult) -> None:
    """Keep where a load has made files, and how many each of its threads, for those that work on them."""
    if result.directory:
        counts = tuple(thread.files_done for thread in result.threads)
        work.made[number] = SourceFiles(result.directory, workload.directories, counts)


def require_inodes(workload: Workload, root: int) -> None:
    """Raise StepFailed where a load wants more files than the filesystem can hold; root is a descriptor of it.

    A filesystem that makes inodes as it goes says 0 in all, or as many as its free space can hold (man 3 statvfs).
    """
    room = os.fstatvfs(root)
    if not room.f_files or not workload.creates or not workload.files:
        return
    directories = subdirectories(workload.directories, threads=workload.threads, files=workload.files)
    wanted = workload.files + len(directories) + 1
    if wanted > room.f_ffree:
        raise StepFailed(
            f"'{workload.name}' makes {workload.files} files and {len(directories) + 1} directories,"
            f" and the filesystem has {room.f_ffree} free inodes (df -i): ask mkfs for more, or make fewer files"
        )


def failure_in_words(workload: Workload, result: LoadResult) -> str:
    """Return why a load failed, with what the kernel leaves out where it refuses direct I/O."""
    if workload.direct and any(thread.errno == errno.EINVAL for thread in result.threads):
        block = format_bytes_exact(workload.block_size_bytes)
        return (
            f"{result.failures} (direct I/O in blocks of {block} is refused by the filesystem or its device)"
        )
    return result.failures
