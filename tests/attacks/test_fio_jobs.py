"""fio told to reach beyond its load, past the reader that would refuse it: what the cage alone lets through."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.targets import FioJobRefused
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.fio_job import read_fio_job
from fsconsole.model.state import CellStatus
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import spawn
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import caged
from tests.loop.commands import Bench, command, each, fails, nothing_changes
from tests.loop.conftest import scratch_folder
from tests.loop.runs import TINY_PLAN
from tests.loop.test_confinement import (
    LIMIT_S,
    LISTENED_IN,
    NEVER,
    OUTSIDE,
    OWN_PID,
    OWN_ROOT,
    a_disk_of_this_machine,
    late_mount,
    listening,
    shared,
)

__all__ = ["scratch_folder", "shared"]

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
RUN_ALL = """
import json, os, subprocess, sys
print("inside", flush=True)
sys.stdin.readline()
tree, cases = sys.argv[1], json.loads(sys.argv[2])
for number, keys in enumerate(cases):
    os.mkdir(f"{tree}/{number}")
    words = [f"--{key}" for key in ["name=x", "clocksource=clock_gettime", "rw=write", "bs=4k", "size=16k", *keys]]
    argv = ["fio", "--output-format=json", "--eta=never", "--warnings-fatal", *words]
    done = subprocess.run(argv, cwd=f"{tree}/{number}", capture_output=True, stdin=subprocess.DEVNULL)
    print(done.returncode, flush=True)
"""


OPENED_FOR_WRITING = ("create_only=1", "file_append=1", "fallocate=none", "allow_file_create=0")
"""fio opens the file for writing, if it is there, and writes nothing."""
SWITCHES = (
    "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/power/state", "/dev/kmsg", "/dev/mem",
    "/var/lib/fsconsole/seal.key", *(f"/proc/{OWN_PID}/{name}" for name in ("mem", "environ", "root/etc/passwd", "cwd/README.md")),
)  # fmt: skip
ABSTRACT = f"fsconsole-test-{OWN_PID}"
SERVED = tuple(f"{place}/{ABSTRACT}" for place in LISTENED_IN)
"""Sockets where services have theirs."""


def connecting(path: str) -> tuple[str, ...]:
    return ("ioengine=net", "protocol=unix", f"filename={path}")


def attacks(tree: Path, bait: Path, victim: str, port: int, late: Path) -> dict[str, tuple[str, ...]]:
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
        "a socket of the engine": connecting(f"{tree.parent}/control"),
        **{f"a socket in {os.path.dirname(path)}": connecting(path) for path in SERVED},
        "a port": ("ioengine=net", "protocol=tcp", "hostname=127.0.0.1", f"port={port}"),
        # fio has no word for a name that begins with NUL.
        "a socket without a place": connecting(f"@{ABSTRACT}"),
        "a datagram": ("ioengine=net", "protocol=udp", "hostname=127.0.0.1", f"port={port}"),
        "a vsock of the hypervisor": ("ioengine=net", "protocol=vsock", "hostname=2", "port=1"),
        "the rest of a file's way by another word": (f"filename_format=$clientuid{bait}/{NEVER}",),
        "what is mounted later": (f"directory={late}",),
        **{switch: (f"filename={switch}", *OPENED_FOR_WRITING) for switch in SWITCHES},
        # fio doesn't open a character device before it writes.
        "the operator's terminal": ("filename=/dev/tty", "size=1", "bs=1", "zero_buffers"),
        "another user": ("uid=1000",),
        "a scheduler": ("ioscheduler=none", f"filename={disk}"),
        "a control group": (f"cgroup={NEVER}",),
        # Last: what is full stays so for the jobs after it.
        **{f"more of {place}": (f"filename={place}/filling", "size=32m", "bs=1m") for place in ("/tmp", "/dev/shm")},
    }


MAY_END_WELL = {
    "a file beside the tree, through a link", "a file beside the tree", "the removal of somebody's file",
    "a command before and after", "a program", "a log", "a control group",
}  # fmt: skip
"""In directories of the cage's own, or where fio says nothing of an unlink, a program, a log or a group that failed."""


def test_whatever_fio_is_told_nothing_outside_its_tree_changes(tmp_path: Path, victim: str, shared: Path) -> None:
    tree, bait, late = tmp_path / "tree", tmp_path / "bait", shared / "late"
    for made in (tree, bait, late):
        made.mkdir()
    (bait / "file").write_bytes(b"dear" * 4096)
    os.mknod(tree / "node", stat.S_IFBLK | 0o600, os.stat(victim).st_rdev)
    (tree / "out").symlink_to(tmp_path / f"beside-{NEVER}")
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as port:
        servers = [stack.enter_context(listening(path)) for path in (str(tmp_path / "control"), f"\0{ABSTRACT}")]
        for path in SERVED:
            servers.append(stack.enter_context(listening(path)))
            stack.callback(os.unlink, path)
        cases = attacks(tree, bait, victim, port.getsockname()[1], late)
        argv = (sys.executable, "-I", "-c", RUN_ALL, str(tree), json.dumps([*cases.values()]))
        readable = (*interpreter_places(), str(bait), str(shared))
        try:
            with (
                caged(argv, tree=str(tree), readable=readable) as confined,
                spawn(replace(confined, argv=engine_argv(confined.argv))) as running,
            ):
                assert running.receive(LIMIT_S) == "inside"
                with late_mount(late):
                    running.send("go")
                    done = running.wait(120.0)
                    assert list(late.iterdir()) == []
            assert done.exit_code == 0, done.err
            codes = dict(zip(cases, map(int, done.out.split()), strict=True))
            assert not [place for place in (*OUTSIDE, "/boot") if Path(place, NEVER).exists()]
            assert not list(Path("/sys/fs/cgroup").glob(f"*/{NEVER}"))
        finally:
            for place in (*OUTSIDE, "/boot"):
                with suppress(OSError):
                    Path(place, NEVER).unlink()
        for waiting in (*servers, port):
            waiting.setblocking(False)
            with pytest.raises(BlockingIOError):
                waiting.accept()
    assert {name for name, code in codes.items() if not code} <= MAY_END_WELL
    assert not list(tmp_path.glob(f"*{NEVER}"))
    assert [path.name for path in bait.iterdir()] == ["file"]
    assert (bait / "file").read_bytes() == b"dear" * 4096
    assert list(late.iterdir()) == []


def test_a_socket_that_were_there_would_be_connected_to(tmp_path: Path) -> None:
    """What proves nothing outside the cage would prove nothing in it."""
    with listening(str(tmp_path / "control")) as server:
        keys = (f"--{key}" for key in ("name=x", "rw=write", "bs=4k", "size=16k", *connecting(server.getsockname())))
        # It ends with 1, since nobody reads.
        subprocess.run(("fio", *keys), check=False, capture_output=True)
        server.setblocking(False)
        server.accept()[0].close()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_switch_that_were_there_would_be_opened(tmp_path: Path) -> None:
    """What proves nothing outside the cage would prove nothing in it."""
    (tmp_path / "switch").write_bytes(b"as it was")
    keys = (f"--{key}" for key in ("name=x", "rw=write", "size=16k", "filename=switch", *OPENED_FOR_WRITING))
    traced = ("strace", "-f", "-e", "trace=openat,write,pwrite64", "fio", *keys)
    done = subprocess.run(traced, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert 'openat(AT_FDCWD, "switch", O_WRONLY) = ' in done.stderr
    assert (tmp_path / "switch").read_bytes() == b"as it was"


def test_each_of_these_jobs_is_refused_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()

    def refused(*keys: str) -> None:
        with pytest.raises(FioJobRefused):
            read_fio_job("\n".join(["[x]", *keys]), "x.fio")

    each(attacks(tmp_path / "tree", tmp_path / "bait", "/dev/loop0", OWN_PID, tmp_path / "late"), refused)


BEYOND = """
[realtime]
prioclass=1
[urgent]
nice=-10
[huge pages]
mem=shmhuge
"""
"""Each key is allowed, and asks for a right that the cage doesn't give."""
LOAD = "rw=write\nbs=4k\nsize=16k\n"
JOB_WORKLOAD = '[[workload]]\nkind = "fio"\njob = "job.fio"\n'
RUN_DIRECTORY_PLAN = """
schema = 1
repeats = 1
after = { check = false, extents = false }
workload = [{ name = "harm", kind = "fio", job = "job.fio" }]
"""


def test_allowed_keys_that_ask_for_too_much_end_their_cell_in_words_and_touch_nothing(
    bench: Bench, victim: str
) -> None:
    place = bench.directory / "place"
    place.mkdir()
    plan = bench.plan(RUN_DIRECTORY_PLAN)
    (bench.directory / "job.fio").write_text(f"[global]\n{LOAD}{BEYOND}")
    done = command("run", plan, "-D", str(place), "--runs", str(bench.runs))
    assert done.returncode == ExitCode.CELLS_FAILED, done.stderr
    (cell,) = read_state(list_runs(str(bench.runs))[0]).cells
    assert cell.status is CellStatus.FAILED
    for word in ("realtime: Operation not permitted", "urgent: Operation not permitted", "huge pages"):
        assert word in cell.reason, cell.reason
    assert list(place.iterdir()) == []


def test_a_job_file_that_is_none_or_asks_for_more_than_there_is_starts_nothing(bench: Bench) -> None:
    job, plan = bench.directory / "job.fio", bench.plan(TINY_PLAN[: TINY_PLAN.index("[[workload]]")] + JOB_WORKLOAD)

    def refused(make: Callable[[], object], code: ExitCode, name: str) -> None:
        job.unlink(missing_ok=True)
        make()
        fails(code, *bench.words("run", plan), names=(name,))

    def huge() -> None:
        job.write_text(f"[x]\n{LOAD}")
        os.truncate(job, 2**40)

    cases: dict[str, tuple[Callable[[], object], ExitCode, str]] = {
        "a pipe": (lambda: os.mkfifo(job), ExitCode.PLAN_BAD_VALUE, "not a regular file"),
        "a device": (lambda: job.symlink_to("/dev/zero"), ExitCode.PLAN_BAD_VALUE, "not a regular file"),
        "a link to nothing": (lambda: job.symlink_to("absent"), ExitCode.PLAN_BAD_VALUE, "can't be read"),
        "a file of 1 TiB": (huge, ExitCode.PLAN_BAD_VALUE, "too long"),
        "no text": (lambda: job.write_bytes(b"[x]\n\xff\xfe"), ExitCode.PLAN_BAD_VALUE, "can't be read"),
        "control characters": (lambda: job.write_bytes(b"[x]\nrw=\x1b[2Jread\n"), ExitCode.PLAN_BAD_VALUE, "control"),
        "more than the device": (lambda: job.write_text("[x]\nrw=write\nsize=1t\n"), ExitCode.DEVICE_TOO_SMALL, bench.device),
        "more by many": (lambda: job.write_text(f"[x]\n{LOAD}numjobs=4000\n"), ExitCode.DEVICE_TOO_SMALL, bench.device),
        "more jobs than fio takes": (lambda: job.write_text(f"[x]\n{LOAD}numjobs=5000\n"), ExitCode.PLAN_BAD_VALUE, "job.fio:5: numjobs=5000"),
        "more by its place": (lambda: job.write_text(f"[x]\n{LOAD}offset=1t\n"), ExitCode.DEVICE_TOO_SMALL, bench.device),
    }  # fmt: skip
    with nothing_changes(bench):
        each(cases, refused)


def test_a_job_file_that_was_replaced_since_it_was_shown_starts_nothing(bench: Bench) -> None:
    job, plan = bench.directory / "job.fio", bench.plan(TINY_PLAN[: TINY_PLAN.index("[[workload]]")] + JOB_WORKLOAD)
    job.write_text(f"[x]\n{LOAD}")
    seen = str(json.loads(command(*bench.words("plan", plan), "--json").stdout)["seen"])
    with nothing_changes(bench):
        job.write_text(f"[x]\n{LOAD}unlink=1\n")
        fails(ExitCode.NOT_AS_SHOWN, *bench.words("run", plan), "--seen", seen)
        job.write_text(f"[x]\n{LOAD}filename={bench.device}\n")
        fails(ExitCode.PLAN_BAD_VALUE, *bench.words("run", plan), "--seen", seen, names=("job.fio:5",))
