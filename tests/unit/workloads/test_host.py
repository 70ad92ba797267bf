"""The generator's host: the job that it reads, its confinement, and the workers that it forks."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.command import Command
from fsconsole.model.load import ThreadState
from fsconsole.model.wire import Mismatch, encode, to_plain
from fsconsole.model.workload import (
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Layout,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.system.memfd import CounterPage
from fsconsole.system.run import RunningCommand, spawn
from fsconsole.workloads.job import Job, job_from_line
from fsconsole.workloads.tree import SourceFiles

WORKLOAD = Workload("large files", WorkloadKind.CREATE, 16, 128, 2**30, 65536)
JOB = Job("/mnt/tree", 1793, "load", 2, 7, WORKLOAD, SourceFiles("files", Directories(), (8, 7)))


@given(
    st.text(),
    st.builds(
        Workload,
        name=st.text(),
        kind=st.sampled_from([*OPERATIONS, WorkloadKind.MIX]),
        threads=st.integers(1, 4096),
        files=st.integers(0, 2**40),
        file_size_bytes=st.integers(0, 2**62),
        block_size_bytes=st.integers(1, 2**30),
        directories=st.sampled_from([Directories(), Directories(Layout.PER_THREAD)]),
        data=st.sampled_from(DataKind),
        cold=st.booleans(),
        file_size_max_bytes=st.integers(0, 2**62),
        zero_share=st.floats(0, 1),
        direct=st.booleans(),
        fsync_every=st.integers(0, 2**40),
        sync_at=st.sampled_from(SyncAt),
        sync_call=st.sampled_from(SyncCall),
        limit_bytes=st.integers(0, 2**62),
        duration_s=st.floats(0, 1e9),
        end=st.sampled_from(End),
        weights=st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(1, 9)), min_size=1).map(tuple),
        seed=st.integers(0, 2**63 - 1),
    ),
)
def test_a_job_survives_its_line(tree: str, workload: Workload) -> None:
    job = replace(JOB, tree=tree, workers=1, workload=workload)
    line = encode(job)
    assert "\n" not in line
    assert job_from_line(line) == job


def a_source(directory: str, *counts: int) -> dict[str, object]:
    return {"source": {"directory": directory, "directories": to_plain(Directories()), "counts": counts}}


def directories(layout: str, each: int) -> dict[str, object]:
    return {"directories": {"layout": layout, "files_per_directory": each}}


WRONG_JOBS = [
    {"workers": 17}, {"workers": 0}, {"counters": 1}, {"name": "../etc"}, {"name": ".."}, {"name": ""},
    a_source("a/b", 1), a_source("a"), a_source("a", -1), {"workload": None}, {"more": 1}, {"tree_device": -1},
]  # fmt: skip
WRONG_WORKLOADS = [
    {"threads": 0}, {"threads": 10**6}, {"threads": "16"}, {"threads": True}, {"files": -1},
    {"file_size_bytes": -1}, {"block_size_bytes": 0}, {"block_size_bytes": 2**40},
    directories("everywhere", 0), directories("per-count", 0),
    {**directories("per-count", 1), "files": 10**7}, {**directories("per-count", 1), "files": 0},
    {"data": "text"}, {"duration_s": -1.0}, {"duration_s": "long"}, {"kind": "fio"}, {"kind": "mix", "weights": []},
    {"weights": [["fio", 1]]}, {"weights": [["read", 0]]}, {"weights": ["read"]},
]  # fmt: skip


def is_refused(line: str) -> bool:
    try:
        job_from_line(line)
    except Mismatch:
        return True
    return False


def test_a_job_that_lacks_a_key_or_cannot_be_is_refused() -> None:
    whole = json.loads(encode(JOB))
    load = whole["workload"]
    assert not is_refused(json.dumps(whole))
    wrong = [
        *({key: whole[key] for key in whole if key != missing} for missing in Job.__struct_fields__),
        *(
            {**whole, "workload": {key: load[key] for key in load if key != missing}}
            for missing in Workload.__struct_fields__
        ),
        *({**whole, **change} for change in WRONG_JOBS),
        *({**whole, "workload": {**load, **change}} for change in WRONG_WORKLOADS),
    ]
    assert [document for document in wrong if not is_refused(json.dumps(document))] == []
    assert [line for line in ("", "\n", "[]", "{", "null") if not is_refused(line)] == []


LIMIT_S = 60.0
HOST = (sys.executable, "-I", "-m", "fsconsole.workloads.host")
THREADS = 4
A_CREATE = Workload("load", WorkloadKind.CREATE, THREADS, 8, 100_000, 65536)


class Host:
    """A host process with its counter page, and the tree that it works in."""

    def __init__(self, tree: Path, page: CounterPage, running: RunningCommand) -> None:
        self.tree, self.page, self.running = tree, page, running
        self.job = Job(str(tree), tree.stat().st_dev, "load", 2, page.fd, A_CREATE)

    def send(self, job: Job | str) -> dict[str, object]:
        self.running.send(job if isinstance(job, str) else encode(job))
        return self.event()

    def event(self) -> dict[str, object]:
        document = json.loads(self.running.receive(LIMIT_S))
        assert isinstance(document, dict)
        return document

    def finish(self) -> dict[str, object]:
        self.running.send("go")
        return self.event()

    def workers(self) -> list[int]:
        pid = self.running.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def files(self) -> list[Path]:
        return sorted(path for path in self.tree.rglob("*") if path.is_file())


@contextmanager
def started(tree: Path, regions: int = 2) -> Iterator[Host]:
    with (
        CounterPage.create(THREADS, regions) as page,
        spawn(Command(HOST, inherit_fds=(page.fd,))) as running,
    ):
        yield Host(tree, page, running)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with started(tmp_path) as made:
        yield made


@pytest.fixture
def ready(host: Host) -> Host:
    """A host whose load waits for the word."""
    host.send(host.job)
    return host


def test_nothing_is_written_before_the_word_and_all_of_it_after(host: Host) -> None:
    assert host.send(host.job) == {"event": "ready", "directory": "load"}
    assert [thread.state for thread in host.page.read()] == [ThreadState.READY] * THREADS
    assert host.files() == []
    assert host.finish()["event"] == "done"
    assert host.running.wait(LIMIT_S).exit_code == 0
    assert [path.stat().st_size for path in host.files()] == [100_000] * 8
    threads = host.page.read()
    whole = (ThreadState.DONE, 200_000, 2)
    assert [(t.state, t.bytes_done, t.files_done) for t in threads] == [whole] * THREADS
    assert all(0 < t.started_ns < t.ended_ns for t in threads)


def test_files_lie_in_the_directories_asked_for_below_one_of_the_loads_own(tmp_path: Path) -> None:
    layouts = {
        Layout.ONE: {"load"},
        Layout.PER_THREAD: {"t0000", "t0001", "t0002", "t0003"},
        Layout.PER_COUNT: {"d000000", "d000001", "d000002"},
    }
    for layout, names in layouts.items():
        tree = tmp_path / layout.value
        tree.mkdir()
        with started(tree) as host:
            host.send(replace(host.job, workload=replace(A_CREATE, directories=Directories(layout, 3))))
            host.finish()
            assert (len(host.files()), {path.parent.name for path in host.files()}) == (8, names)
    with started(tmp_path / Layout.ONE.value) as host:
        assert host.send(host.job)["directory"] == "load-2"
        host.finish()
        assert len(list((host.tree / "load-2").iterdir())) == 8


def test_a_job_that_cannot_be_done_is_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    changes: tuple[tuple[dict[str, object], str], ...] = (
        ({"tree_device": 1}, "not on the filesystem"),
        ({"workload": asdict(replace(A_CREATE, threads=3))}, "the counter page is for 4 threads"),
        (
            {"workload": asdict(replace(A_CREATE, kind=WorkloadKind.READ))},
            "the counter page is for 4 threads",
        ),
        ({"workers": 99}, "workers: must be from 1 to 4, is 99"),
        ({"tree": "/proc/nonexistent"}, "No such file"),
        ({"tree": str(tmp_path / "link")}, "link"),
    )
    for change, why in changes:
        with started(tmp_path / "tree") as host:
            refused = host.send(json.dumps(json.loads(encode(host.job)) | change))
            assert refused["event"] == "refused"
            assert why in str(refused["why"])
            result = host.running.wait(LIMIT_S)
            assert (result.exit_code, result.stderr) == (1, b"")
            assert list(host.tree.iterdir()) == []


def test_files_that_were_begun_and_not_finished_are_worked_on_too(tmp_path: Path) -> None:
    (tmp_path / "load").mkdir()
    read = Workload("back", WorkloadKind.READ, THREADS, 0, 0, 4096)
    nothing = SourceFiles("load", Directories(), (0, 0, 0, 0))
    with started(tmp_path, regions=1) as host:
        refused = host.send(replace(host.job, workload=read, source=nothing))
        assert refused == {"event": "refused", "why": "there are no files to work on"}
    for number in (0, 1, 2, 4):
        (tmp_path / "load" / f"f{number:08d}").write_bytes(bytes(1000))
    with started(tmp_path, regions=1) as host:
        # Thread 0 finished two files, and its third is not there; thread 1 was cut in its first.
        source = replace(nothing, counts=(2, 0, 1, 0))
        assert host.send(replace(host.job, workload=read, source=source)) == {"event": "ready"}
        assert host.finish()["event"] == "done"
        assert sum(thread.files_done for thread in host.page.read()) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"load"}


def test_without_the_word_no_worker_lives_on_and_nothing_is_written(ready: Host) -> None:
    workers = ready.workers()
    assert len(workers) == 2
    result = ready.running.wait(LIMIT_S)
    assert result.exit_code == 1
    assert b"did not give the word" in result.stdout
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert ready.files() == []


def test_workers_whose_host_was_killed_write_nothing(ready: Host) -> None:
    workers = [os.pidfd_open(pid) for pid in ready.workers()]
    os.kill(ready.running.pid, signal.SIGKILL)
    ready.running.wait(LIMIT_S)
    for worker in workers:
        assert select.select([worker], [], [], LIMIT_S)[0], "a worker outlived its host"
        os.close(worker)
    assert ready.files() == []
    assert {thread.state for thread in ready.page.read()} == {ThreadState.READY}


def test_a_worker_that_was_killed_is_told_of(ready: Host) -> None:
    os.kill(ready.workers()[0], signal.SIGKILL)
    assert ready.finish()["event"] == "done"
    states = [thread.state for thread in ready.page.read()]
    assert states == [ThreadState.READY, ThreadState.DONE, ThreadState.READY, ThreadState.DONE]


def test_what_writers_used_before_the_word_is_not_in_their_cpu_time(host: Host) -> None:
    # Each fills a pool of 66 MiB beforehand, and writes 400 bytes.
    load = replace(A_CREATE, files=THREADS, file_size_bytes=100, block_size_bytes=64 * 2**20)
    host.send(replace(host.job, workers=THREADS, workload=load))
    before_s = sum(time.clock_gettime(~pid << 3 | 2) for pid in host.workers())
    done = host.finish()
    assert (done["event"], len(host.files())) == ("done", THREADS)
    assert float(str(done["user_s"])) + float(str(done["system_s"])) < before_s / 2


def test_the_cpu_time_of_the_busiest_writer_is_told_by_itself(host: Host) -> None:
    # One file, of which each byte is a call: one of the writers makes it.
    host.send(replace(host.job, workload=replace(A_CREATE, files=1, file_size_bytes=100_000, block_size_bytes=1)))
    host.workers()
    done = host.finish()
    assert float(str(done["busiest_s"])) == pytest.approx(
        float(str(done["user_s"])) + float(str(done["system_s"])), rel=0.5
    )
    assert float(str(done["busiest_s"])) > 0.01


def test_a_stop_ends_all_threads_in_good_order(ready: Host) -> None:
    ready.page.request_stop()
    assert ready.finish()["event"] == "done"
    assert {thread.state for thread in ready.page.read()} == {ThreadState.STOPPED}
    assert ready.files() == []


def test_the_host_loads_nothing_that_it_does_not_need() -> None:
    # It is started for every load: what it loads stands before each.
    code = "import sys, fsconsole.workloads.host; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    names = set(loaded.stdout.split())
    heavy = {"rich", "typer", "textual", "sqlite3", "psutil", "pyudev", "asyncio", "subprocess", "pydantic"}
    heavy |= {"tomllib"}
    assert not heavy & {name.split(".")[0] for name in names}
    assert not {"fsconsole.errors", "fsconsole.units", "fsconsole.catalog"} & names
