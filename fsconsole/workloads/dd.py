"""dd: a built-in create made by one dd for each file, as scripts of copied commands do."""

from __future__ import annotations

from fsconsole.model.workload import SyncAt, SyncCall, Workload
from fsconsole.workloads.launcher import EACH_FILE
from fsconsole.workloads.protocol import ProgramFigures
from fsconsole.workloads.tree import SourceFiles


def argvs(workload: Workload, _directory: str, _source: SourceFiles | None) -> tuple[tuple[str, ...], ...]:
    """Return the command line of each file: zeros, in calls of the block size (man 1 dd)."""
    size, block = workload.file_size_bytes, workload.block_size_bytes
    count, rest = divmod(size, block)
    words = ["dd", "if=/dev/zero", f"of={EACH_FILE}", f"bs={block}"]
    words += ["iflag=count_bytes", f"count={size}"] if rest else [f"count={count}"]
    if workload.direct:
        words.append("oflag=direct")
    if workload.sync_at is SyncAt.EACH_FILE:
        words.append(f"conv={'fsync' if workload.sync_call is SyncCall.FSYNC else 'fdatasync'}")
    return ((*words, "status=none"),)


def figures(workload: Workload, _out: str, _err: str) -> ProgramFigures:
    """Return what was written; any dd that fails ends the load before."""
    written = workload.files * workload.file_size_bytes
    return ProgramFigures(written_bytes=written, files_done=workload.files, counts=(workload.files,))
