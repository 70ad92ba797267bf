"""fio told to reach beyond its load, past the reader that would refuse it: what the cage alone lets through."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.targets import FioJobRefused
from fsconsole.model.fio_job import read_fio_job
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import caged
from tests.loop.commands import each
from tests.loop.conftest import scratch_folder
from tests.loop.test_confinement import NEVER, OUTSIDE, OWN_PID, OWN_ROOT, a_disk_of_this_machine, listening

__all__ = ["scratch_folder"]

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
RUN_ALL = """
import json, os, subprocess, sys
tree, cases = sys.argv[1], json.loads(sys.argv[2])
for number, keys in enumerate(cases):
    os.mkdir(f"{tree}/{number}")
    words = [f"--{key}" for key in ["name=x", "clocksource=clock_gettime", "rw=write", "bs=4k", "size=16k", *keys]]
    argv = ["fio", "--output-format=json", "--eta=never", "--warnings-fatal", *words]
    done = subprocess.run(argv, cwd=f"{tree}/{number}", capture_output=True, stdin=subprocess.DEVNULL)
    print(done.returncode, flush=True)
"""


def attacks(tree: Path, bait: Path, victim: str, port: int) -> dict[str, tuple[str, ...]]:
    """Return keys of a job, each with one that the reader refuses."""
    disk = a_disk_of_this_machine()
    touch = f"touch {' '.join(f'{place}/{NEVER}' for place in OUTSIDE)}"
    (tree / "log").write_text(f"fio version 2 iolog\n/etc/{NEVER} add\n/etc/{NEVER} open\n/etc/{NEVER} write 0 4096\n")
    return {
        "a device": (f"filename={victim}",),
        "a disk": (f"filename={disk}", "rw=read"),
        "a device of the host": (f"filename={OWN_ROOT}{victim}",),
        "a node that lies in the tree": (f"filename={tree}/node", "direct=1"),
        "a file beside the tree, through a link": (f"filename={tree}/out",),
        "a file beside the tree": (f"filename=../../beside-{NEVER}",),
        **{f"a file in {place}": (f"filename={place}/{NEVER}",) for place in (*OUTSIDE, "/boot", "/sys")},
        "a directory": (f"directory={bait}",),
        "a switch of the kernel": ("filename=/proc/sys/vm/drop_caches", "size=1", "bs=1"),
        "a process of the host": (f"filename={OWN_ROOT}/etc/{NEVER}",),
        "somebody's file": (f"filename={bait}/file",),
        "somebody's files": (f"opendir={bait}",),
        "the removal of somebody's file": (f"filename={bait}/file", "rw=read", "unlink=1"),
        "their removal by an engine": (f"filename={bait}/file", "ioengine=filedelete"),
        "a command before and after": (f"exec_prerun={touch}", f"exec_postrun={touch}"),
        "a program": ("ioengine=exec", "program=touch", f"arguments=/etc/{NEVER}", "time_based", "runtime=1"),
        "a log": (f"write_bw_log=/etc/{NEVER}",),
        "a recorded log": (f"read_iolog={tree}/log",),
        "memory in a file": (f"iomem=mmapshared:/etc/{NEVER}",),
        "io_uring": ("ioengine=io_uring",),
        "a socket of the engine": ("ioengine=net", "protocol=unix", f"filename={tree.parent}/control,0"),
        "a port": ("ioengine=net", "protocol=tcp", "hostname=127.0.0.1", f"port={port}"),
        "another user": ("uid=1000",),
        "a scheduler": ("ioscheduler=none", f"filename={disk}"),
        "a control group": (f"cgroup={NEVER}",),
    }


MAY_END_WELL = {
    "a file beside the tree, through a link", "a file beside the tree", "the removal of somebody's file",
    "a command before and after", "a program", "a log", "a control group",
}  # fmt: skip
"""In directories of the cage's own, or where fio says nothing of an unlink, a program, a log or a group that failed."""


def test_whatever_fio_is_told_nothing_outside_its_tree_changes(tmp_path: Path, victim: str) -> None:
    tree, bait = tmp_path / "tree", tmp_path / "bait"
    tree.mkdir()
    bait.mkdir()
    (bait / "file").write_bytes(b"dear" * 4096)
    os.mknod(tree / "node", stat.S_IFBLK | 0o600, os.stat(victim).st_rdev)
    (tree / "out").symlink_to(tmp_path / f"beside-{NEVER}")
    with listening(str(tmp_path / "control")) as server, socket.create_server(("127.0.0.1", 0)) as port:
        cases = attacks(tree, bait, victim, port.getsockname()[1])
        argv = (sys.executable, "-I", "-c", RUN_ALL, str(tree), json.dumps([*cases.values()]))
        readable = (*interpreter_places(), str(bait))
        try:
            with caged(argv, tree=str(tree), readable=readable) as command:
                done = RealExecutor().run(replace(command, argv=engine_argv(command.argv), timeout_s=120.0))
            assert done.exit_code == 0, done.err
            codes = dict(zip(cases, map(int, done.out.split()), strict=True))
            assert not [place for place in (*OUTSIDE, "/boot") if Path(place, NEVER).exists()]
            assert not list(Path("/sys/fs/cgroup").glob(f"*/{NEVER}"))
        finally:
            for place in (*OUTSIDE, "/boot"):
                with suppress(OSError):
                    Path(place, NEVER).unlink()
        for waiting in (server, port):
            waiting.setblocking(False)
            with pytest.raises(BlockingIOError):
                waiting.accept()
    assert {name for name, code in codes.items() if not code} <= MAY_END_WELL
    assert not list(tmp_path.glob(f"*{NEVER}"))
    assert [path.name for path in bait.iterdir()] == ["file"]
    assert (bait / "file").read_bytes() == b"dear" * 4096


def test_each_of_these_jobs_is_refused_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()

    def refused(*keys: str) -> None:
        with pytest.raises(FioJobRefused):
            read_fio_job("\n".join(["[x]", *keys]), "x.fio")

    each(attacks(tmp_path / "tree", tmp_path / "bait", "/dev/loop0", OWN_PID), refused)
