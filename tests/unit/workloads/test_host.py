from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from fsconsole.model.command import Command
from fsconsole.model.load import ThreadState
from fsconsole.model.wire import encode
from fsconsole.model.workload import Directories, Layout, Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.system.run import RunningCommand, spawn
from fsconsole.workloads.job import Job
from fsconsole.workloads.tree import SourceFiles

LIMIT_S = 60.0
HOST = (sys.executable, "-I", "-m", "fsconsole.workloads.host")
THREADS = 4
A_CREATE = Workload("load", WorkloadKind.CREATE, THREADS, 8, 100_000, 65536)


@pytest.fixture
def page() -> Iterator[CounterPage]:
    with CounterPage.create(THREADS, regions=2) as made:
        yield made


@pytest.fixture
def host(page: CounterPage) -> Iterator[RunningCommand]:
    with spawn(Command(HOST, inherit_fds=(page.fd,))) as running:
        yield running


def a_job(tree: Path, page: CounterPage) -> Job:
    return Job(str(tree), tree.stat().st_dev, "load", 2, page.fd, A_CREATE)


def event(host: RunningCommand) -> dict[str, object]:
    document = json.loads(host.receive(LIMIT_S))
    assert isinstance(document, dict)
    return document


@pytest.fixture
def ready(tmp_path: Path, page: CounterPage, host: RunningCommand) -> RunningCommand:
    """A host whose load waits for the word."""
    host.send(encode(a_job(tmp_path, page)))
    event(host)
    return host


def finish(host: RunningCommand) -> dict[str, object]:
    host.send("go")
    return event(host)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def files_below(tree: Path) -> list[Path]:
    return sorted(path for path in tree.rglob("*") if path.is_file())


def test_nothing_is_written_before_the_word_and_all_of_it_after(
    tmp_path: Path, page: CounterPage, host: RunningCommand
) -> None:
    host.send(encode(a_job(tmp_path, page)))
    assert event(host) == {"event": "ready", "directory": "load"}
    assert [thread.state for thread in page.read()] == [ThreadState.READY] * THREADS
    assert files_below(tmp_path) == []
    host.send("go")
    done = event(host)
    assert (done["event"], done["exit_codes"]) == ("done", [0, 0])
    assert host.wait(LIMIT_S).exit_code == 0
    assert [path.stat().st_size for path in files_below(tmp_path)] == [100_000] * 8
    threads = page.read()
    assert [(t.state, t.bytes_done, t.files_done) for t in threads] == [
        (ThreadState.DONE, 200_000, 2)
    ] * THREADS
    assert all(0 < t.started_ns < t.ended_ns for t in threads)


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        (Layout.ONE, {"load"}),
        (Layout.PER_THREAD, {"t0000", "t0001", "t0002", "t0003"}),
        (Layout.PER_COUNT, {"d000000", "d000001", "d000002"}),
    ],
)
def test_files_lie_in_the_directories_asked_for(
    tmp_path: Path, page: CounterPage, host: RunningCommand, layout: Layout, names: set[str]
) -> None:
    job = a_job(tmp_path, page)
    directories = Directories(layout, 3)
    host.send(encode(replace(job, workload=replace(job.workload, directories=directories))))
    event(host)
    finish(host)
    found = files_below(tmp_path)
    assert len(found) == 8
    assert {path.parent.name for path in found} == names


def test_a_second_load_of_that_name_gets_a_directory_of_its_own(
    tmp_path: Path, page: CounterPage, host: RunningCommand
) -> None:
    (tmp_path / "load").mkdir()
    host.send(encode(a_job(tmp_path, page)))
    assert event(host)["directory"] == "load-2"
    finish(host)
    assert len(files_below(tmp_path / "load-2")) == 8


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tree_device": 1}, "not on the filesystem"),
        ({"workload": asdict(replace(A_CREATE, threads=3))}, "the counter page is for 4 threads"),
        (
            {"workload": asdict(replace(A_CREATE, kind=WorkloadKind.READ))},
            "the counter page is for 4 threads",
        ),
        ({"workers": 99}, "workers: must be from 1 to 4, is 99"),
        ({"tree": "/proc/nonexistent"}, "No such file"),
    ],
)
def test_a_job_that_cannot_be_done_is_refused_with_a_reason(
    tmp_path: Path, page: CounterPage, host: RunningCommand, change: dict[str, object], why: str
) -> None:
    host.send(json.dumps(json.loads(encode(a_job(tmp_path, page))) | change))
    refused = event(host)
    assert refused["event"] == "refused"
    assert why in str(refused["why"])
    result = host.wait(LIMIT_S)
    assert (result.exit_code, result.stderr) == (1, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_tree_that_is_a_symbolic_link_is_refused(
    tmp_path: Path, page: CounterPage, host: RunningCommand
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    host.send(encode(a_job(link, page)))
    assert event(host)["event"] == "refused"
    assert list(real.iterdir()) == []


def a_read(tree: Path, page: CounterPage, counts: tuple[int, ...]) -> Job:
    read = Workload("back", WorkloadKind.READ, THREADS, 0, 0, 4096)
    return replace(a_job(tree, page), workload=read, source=SourceFiles("load", Directories(), counts))


@pytest.fixture
def page_of_a_read() -> Iterator[CounterPage]:
    with CounterPage.create(THREADS, regions=1) as made:
        yield made


def test_files_that_were_begun_and_not_finished_are_worked_on_too(
    tmp_path: Path, page_of_a_read: CounterPage
) -> None:
    (tmp_path / "load").mkdir()
    for number in (0, 1, 2, 4):
        (tmp_path / "load" / f"f{number:08d}").write_bytes(bytes(1000))
    with spawn(Command(HOST, inherit_fds=(page_of_a_read.fd,))) as host:
        # Thread 0 finished two files, and its third is not there; thread 1 was cut in its first.
        host.send(encode(a_read(tmp_path, page_of_a_read, (2, 0, 1, 0))))
        assert event(host) == {"event": "ready"}
        host.send("go")
        assert event(host)["exit_codes"] == [0, 0]
    assert sum(thread.files_done for thread in page_of_a_read.read()) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"load"}


def test_a_load_without_a_file_to_work_on_is_refused(tmp_path: Path, page_of_a_read: CounterPage) -> None:
    (tmp_path / "load").mkdir()
    with spawn(Command(HOST, inherit_fds=(page_of_a_read.fd,))) as host:
        host.send(encode(a_read(tmp_path, page_of_a_read, (0, 0, 0, 0))))
        assert event(host) == {"event": "refused", "why": "there are no files to work on"}


def test_without_the_word_no_worker_lives_on_and_nothing_is_written(
    tmp_path: Path, page: CounterPage, ready: RunningCommand
) -> None:
    workers = children_of(ready.pid)
    assert len(workers) == 2
    result = ready.wait(LIMIT_S)
    assert result.exit_code == 1
    assert b"did not give the word" in result.stdout
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert files_below(tmp_path) == []


def test_workers_whose_host_was_killed_write_nothing(
    tmp_path: Path, page: CounterPage, ready: RunningCommand
) -> None:
    workers = [os.pidfd_open(pid) for pid in children_of(ready.pid)]
    os.kill(ready.pid, signal.SIGKILL)
    ready.wait(LIMIT_S)
    for worker in workers:
        assert select.select([worker], [], [], LIMIT_S)[0], "a worker outlived its host"
        os.close(worker)
    assert files_below(tmp_path) == []
    assert {thread.state for thread in page.read()} == {ThreadState.READY}


def test_a_worker_that_was_killed_is_told_of(
    tmp_path: Path, page: CounterPage, ready: RunningCommand
) -> None:
    first, _ = children_of(ready.pid)
    os.kill(first, signal.SIGKILL)
    assert finish(ready)["exit_codes"] == [-signal.SIGKILL, 0]
    states = [thread.state for thread in page.read()]
    assert states == [ThreadState.READY, ThreadState.DONE, ThreadState.READY, ThreadState.DONE]


def test_a_stop_ends_all_threads_in_good_order(
    tmp_path: Path, page: CounterPage, ready: RunningCommand
) -> None:
    page.request_stop()
    assert finish(ready)["exit_codes"] == [0, 0]
    assert {thread.state for thread in page.read()} == {ThreadState.STOPPED}
    assert files_below(tmp_path) == []


def test_the_host_loads_nothing_that_it_does_not_need() -> None:
    # It is started for every load: what it loads stands before each.
    code = "import sys, fsconsole.workloads.host; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    names = set(loaded.stdout.split())
    heavy = {
        "rich",
        "typer",
        "textual",
        "sqlite3",
        "psutil",
        "pyudev",
        "asyncio",
        "subprocess",
        "pydantic",
        "tomllib",
    }
    assert not heavy & {name.split(".")[0] for name in names}
    assert not {"fsconsole.errors", "fsconsole.units", "fsconsole.catalog"} & names
