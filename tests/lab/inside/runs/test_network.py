"""Runs in directories of filesystems that lie elsewhere: an NFS that this guest serves to itself, and the host's files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import WarningKind
from fsconsole.model.state import CellState, CellStatus
from tests.lab.guest import fsconsole, run

DISK, SERVED, MOUNTED, HOSTS = "/dev/ubdb", "/run/served", "/run/nfs", "/share/data"
NFSD, RPC = Path("/proc/fs/nfsd"), Path("/proc/net/rpc")
FOR_EVER, NOBODY = 2**31 - 1, 65534
INSECURE, ROOT_SQUASH, NO_SUBTREE_CHECK, FSID = 0x2, 0x4, 0x400, 0x2000
"""include/uapi/linux/nfsd/export.h"""
OPTIONS = "vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1,proto=tcp,port=2049,sec=sys"
PLAN = """
schema = 1
repeats = 1
[[workload]]
kind = "create"
threads = 2
files = 6
file_size = "256KiB"
block_size = "64KiB"
fsync = "each-file"
[[workload]]
name = "back"
kind = "read"
cold = true
"""


def export(more: int = 0) -> None:
    """Export what is served, with more flags."""
    flags = INSECURE | NO_SUBTREE_CHECK | FSID | more
    (RPC / "nfsd.export/channel").write_text(f"lab {SERVED} {FOR_EVER} {flags} {NOBODY} {NOBODY} 0\n")


@pytest.fixture(scope="module")
def served() -> Iterator[None]:
    """Have an ext4 served by NFS and mounted; what mountd would tell the kernel is told beforehand, so none is needed."""
    run("modprobe", "-a", "nfsd", "nfsv4")
    run("ip", "link", "set", "lo", "up")
    run("mkfs.ext4", "-q", "-F", DISK)
    with ExitStack() as undo:

        def mount(*words: str, point: str) -> None:
            os.makedirs(point, exist_ok=True)
            run("mount", *words, point)
            undo.callback(run, "umount", point)

        mount(DISK, point=SERVED)
        os.mkdir(f"{SERVED}/data")
        mount("-t", "nfsd", "nfsd", point=str(NFSD))
        # NFS 3 would need rpcbind. Without a place for the server's notes the end of its grace period can't be told.
        (NFSD / "versions").write_text("-2 -3 +4 +4.1 +4.2\n")
        os.makedirs("/var/lib/nfs/v4recovery", exist_ok=True)
        (RPC / "auth.unix.ip/channel").write_text(f"nfsd 127.0.0.1 {FOR_EVER} lab\n")
        export()
        (RPC / "nfsd.fh/channel").write_text(rf"lab 1 \x00000000 {FOR_EVER} {SERVED}" + "\n")
        (NFSD / "portlist").write_text("tcp 2049\n")
        (NFSD / "threads").write_text("2\n")
        undo.callback((NFSD / "threads").write_text, "0\n")
        (NFSD / "v4_end_grace").write_text("Y\n")
        mount("-i", "-t", "nfs4", "-o", OPTIONS, "127.0.0.1:/", point=MOUNTED)
        yield


@pytest.fixture(scope="module")
def cells(served: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CellState]:
    """One run's cells by their rows, in the NFS and on the host's files."""
    folder = tmp_path_factory.mktemp("network")
    (folder / "plan.toml").write_text(PLAN)
    os.makedirs(HOSTS, exist_ok=True)
    for place in (f"{MOUNTED}/data", HOSTS):
        Path(place, "precious").write_text("kept")
    rows = ("--directory", f"nfs={MOUNTED}/data", "--directory", f"host={HOSTS}")
    done = fsconsole("run", str(folder / "plan.toml"), *rows, "--runs", str(folder / "runs"))
    assert done.code == 0, done
    (made,) = list_runs(str(folder / "runs"))
    state = read_state(made)
    return {cell.variant.label: known for cell, known in zip(state.request.plan.cells, state.cells, strict=True)}


@pytest.mark.parametrize(("row", "filesystem"), [("nfs", "nfs4"), ("host", "hostfs")])
def test_a_load_is_measured_there_and_only_what_it_made_is_deleted(
    cells: dict[str, CellState], row: str, filesystem: str
) -> None:
    cell, place = cells[row], {"nfs": f"{SERVED}/data", "host": HOSTS}[row]
    assert cell.status is CellStatus.DONE, cell.reason
    assert any(filesystem in seen.value for seen in cell.features if seen.name == "filesystem")
    told = {one.metric.value: one.value for step in cell.steps for one in step.measurements}
    assert told["written"] == told["read_bytes"] == 6 * 256 * 1024
    assert {"write", "durable", "fsync_p99", "read", "delete"} <= told.keys()
    assert not {"mkfs", "mount", "usable", "check", "extents_mean"} & told.keys()
    assert os.listdir(place) == ["precious"]
    assert Path(place, "precious").read_text() == "kept"


def test_cold_reads_are_those_that_the_server_counts(cells: dict[str, CellState]) -> None:
    not_cold = {row for row, cell in cells.items() for one in cell.warnings if one.kind is WarningKind.NOT_COLD}
    assert not_cold == {"host"}, "nobody counts what a host reads"


def test_where_the_server_takes_root_for_nobody_a_directory_of_all_is_measured_and_another_one_refused(
    served: None, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    for name, mode in (("own", 0o755), ("all", 0o1777)):
        os.mkdir(f"{SERVED}/{name}")
        os.chmod(f"{SERVED}/{name}", mode)
    export(ROOT_SQUASH)
    try:
        words = ("--runs", str(tmp_path / "runs"))
        refused = fsconsole("run", str(tmp_path / "plan.toml"), "--directory", f"{MOUNTED}/own", *words)
        assert "is not writable for you" in refused.err, refused
        done = fsconsole("run", str(tmp_path / "plan.toml"), "--directory", f"{MOUNTED}/all", *words)
        assert done.code == 0, done
        assert os.listdir(f"{SERVED}/all") == []
    finally:
        export()
