"""The reading of a load's sources: what it journals, and what it tells or refuses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine.steps import sources
from fsconsole.engine.work import CellWork, Interrupted, LoadWindow, StepFailed
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.files import opened
from fsconsole.text import GIB
from fsconsole.workloads.manifest import Manifest
from fsconsole.workloads.protocol import LoadResult

WARM = Step(StepKind.WARM, "read", workload=0)


@dataclass
class Work:
    """A cell's work as far as the reading of sources looks at it."""

    load: Workload
    manifests: dict[object, Manifest] = field(default_factory=dict)
    before: dict[int, str] = field(default_factory=dict)
    is_interrupted: bool = False
    folder: str = "/nowhere/runs/1"
    tree: str = "/run/fsconsole/mnt/tree"
    told: list[tuple[WarningKind, str]] = field(default_factory=list)

    def as_cell(self) -> CellWork:
        run = SimpleNamespace(
            manifests=self.manifests, manifests_before=self.before, folder_path=self.folder,
            requests=SimpleNamespace(interrupting=self.is_interrupted),
        )  # fmt: skip
        cell = SimpleNamespace(workloads=(self.load,), target="/dev/x")
        mount = SimpleNamespace(own=None, mount_point="/", mounted_device=os.stat("/").st_dev)
        return cast("CellWork", SimpleNamespace(run=run, cell=cell, warn=self.warn, tree=self.tree, **vars(mount)))

    def warm(self) -> tuple[str, dict[Metric, float]]:
        result = sources.warm(self.as_cell(), WARM)
        return result.verdict, {one.metric: one.value for one in result.measurements}

    def warn(self, kind: WarningKind, reason: str, _hint: str) -> None:
        self.told.append((kind, reason))


def a_copy(*paths: Path | str, kind: WorkloadKind = WorkloadKind.COPY) -> Workload:
    return Workload("cp", kind, 1, 0, 0, 65536, sources=tuple(map(str, paths)), argv=("true",))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "below").mkdir(parents=True)
    (made / "one").write_bytes(b"1" * 10)
    (made / "below" / "two").write_bytes(b"2" * 20)
    return made


def test_sources_are_read_and_hashed_once_and_a_change_is_told_with_its_directories(tree: Path) -> None:
    work = Work(a_copy(tree))
    first, figures = work.warm()
    assert figures == {Metric.SOURCE_FILES: 2, Metric.SOURCE_BYTES: 30}
    assert first.startswith("manifest ")
    (known,) = work.manifests.values()
    assert work.warm()[0] == first
    assert next(iter(work.manifests.values())) is known
    assert work.told == []
    (tree / "below" / "two").write_bytes(b"3" * 20)
    assert work.warm()[0] != first
    told = f"sources of 'cp' changed since an earlier cell: in {tree}/below"
    assert work.told == [(WarningKind.SOURCES, told)]
    # What was told once is not told of the next cells, which have the new manifest.
    work.warm()
    assert len(work.told) == 1


def test_a_resumed_run_is_told_of_sources_that_are_not_those_of_its_earlier_attempt(tree: Path) -> None:
    same = Work(a_copy(tree)).warm()[0]
    assert (work := Work(a_copy(tree), before={0: same})).warm()
    assert work.told == []
    other = Work(a_copy(tree), before={0: "manifest 0123456789abcdef"})
    other.warm()
    assert other.told == [(WarningKind.SOURCES, "sources of 'cp' changed since an earlier cell")]


def test_sources_that_memory_can_not_hold_are_told_as_not_warm(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "available_bytes", lambda: 29)
    work = Work(a_copy(tree))
    work.warm()
    ((kind, reason),) = work.told
    assert (kind, reason) == (WarningKind.SOURCES, "sources not warm: 'cp' has 30 B, and 29 B of memory were free")


@contextmanager
def without(path: Path) -> Iterator[None]:
    path.rename(path.with_name("elsewhere"))
    yield
    path.with_name("elsewhere").rename(path)


def test_what_is_gone_foreign_or_a_way_out_ends_the_cell(tree: Path) -> None:
    with without(tree), pytest.raises(StepFailed, match=r"sources: .*tree: No such file"):
        Work(a_copy(tree)).warm()
    for path, why in (("/proc/1", "nothing below /proc"), ("/srv/../etc", "write it as"), ("etc", "absolute")):
        with pytest.raises(StepFailed, match=why):
            Work(a_copy(path)).warm()
    with pytest.raises(StepFailed, match="holds the directory that is the target"):
        Work(a_copy(tree), tree=str(tree / "below" / "run")).warm()
    os.mkfifo(tree / "pipe")
    with pytest.raises(StepFailed, match="named pipe"):
        Work(a_copy(tree, kind=WorkloadKind.COMMAND)).warm()
    assert Work(a_copy(tree)).warm()
    with pytest.raises(Interrupted):
        Work(a_copy(tree), is_interrupted=True).warm()


def test_sources_have_grown_only_where_they_are_larger_than_when_the_plan_was_made() -> None:
    for planned, words in (
        (0, "have 2.0 GiB"),
        (2 * GIB, "have 2.0 GiB"),
        (GIB, "have grown to 2.0 GiB since the plan was made"),
    ):
        load = Workload("cp", WorkloadKind.COPY, 1, 0, 0, 65536, sources=("/usr",), sources_bytes=planned)
        assert sources.too_much_words(load, 2 * GIB) == f"sources of 'cp' {words}"


def test_files_in_the_page_cache_are_what_a_load_finds(tree: Path) -> None:
    (tree / "large").write_bytes(os.urandom(2**20))
    fd = os.open(tree / "large", os.O_RDONLY)
    try:
        os.fsync(fd)
        work = Work(a_copy(tree))
        for _ in range(2):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            work.warm()
            cached = subprocess.run(
                ["fincore", "--bytes", "--noheadings", "--output", "RES", str(tree / "large")],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            assert int(cached.stdout) == 2**20
    finally:
        os.close(fd)


@contextmanager
def in_a_tree(base: Path, run: object) -> Iterator[CellWork]:
    with opened(str(base), os.O_RDONLY | os.O_DIRECTORY) as fd:
        own = SimpleNamespace(fd=fd, path=str(base), tree=str(base / "tree"))
        yield cast("CellWork", SimpleNamespace(own=own, run=run, tree=own.tree, made={}))


RUN = SimpleNamespace(requests=SimpleNamespace(interrupting=False), manifests={}, folder_path="/nowhere/runs/1")


def test_a_load_whose_directory_is_gone_or_a_link_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "tree" / "load").mkdir(parents=True)
    (tmp_path / "tree" / "load" / "file").write_bytes(b"12")
    (tmp_path / "tree" / "link").symlink_to("/etc")
    with in_a_tree(tmp_path, RUN) as work:
        assert sources._count(work, "load").size_bytes == 2
        for name in ("gone", "link"):
            with pytest.raises(StepFailed, match=f"tree/{name}: its directory is gone"):
                sources._count(work, name)


def test_a_copy_that_is_not_what_was_to_be_copied_ends_its_cell_and_a_whole_one_has_its_rates(
    tree: Path, tmp_path: Path
) -> None:
    work = Work(a_copy(tree))
    work.warm()
    run = SimpleNamespace(requests=RUN.requests, manifests=work.manifests, folder_path=RUN.folder_path)
    copy = tmp_path / "mount" / "tree" / "copy"
    copy.parent.mkdir(parents=True)
    subprocess.run(["cp", "-r", str(tree), str(copy)], check=True)
    result = LoadResult((), 0, 0, 10**9, 3 * 10**9, 3 * 10**9, 0.0, 0.0, is_whole=True, directory="copy")

    def counted() -> dict[Metric, float]:
        handle = SimpleNamespace(workload=work.load)
        window = SimpleNamespace(handle=handle, result=result)
        with in_a_tree(tmp_path / "mount", run) as as_cell:
            as_cell.warn = work.warn  # type: ignore[method-assign]
            as_window = cast("LoadWindow", window)
            rates = sources.expect_copied(as_cell, as_window)
            return {one.metric: one.value for one in (*rates, *sources.count_made(as_cell, as_window))}

    found = counted()
    assert (found[Metric.WRITTEN], found[Metric.WRITE], found[Metric.FILES_MADE]) == (30, 15, 2)
    (copy / "below" / "two").write_bytes(b"2" * 19)
    with pytest.raises(StepFailed, match="copied 2 of 2 files, 29 B of 30 B"):
        counted()
    (copy / "below" / "two").unlink()
    with pytest.raises(StepFailed, match="copied 1 of 2 files"):
        counted()
    assert work.told == []
    # Of a source that somebody writes meanwhile nobody knows what should be there.
    (tree / "below" / "two").write_bytes(b"3" * 21)
    found = counted()
    assert (found[Metric.WRITTEN], found[Metric.FILES_MADE]) == (10, 1), "what was copied, not what was to be"
    ((kind, reason),) = work.told
    assert kind is WarningKind.SOURCES
    assert reason == (
        "sources of 'cp' changed after they were read; its figures are of what was copied: 1 of 2 files, 10 B of 30 B"
    )


def test_the_run_folder_and_fsconsoles_own_files_are_empty_in_every_source(tree: Path) -> None:
    (tree / "runs" / "1").mkdir(parents=True)
    (tree / "runs" / "1" / "journal").write_bytes(b"grows")
    work = Work(a_copy(tree), folder=str(tree / "runs" / "1"))
    first, figures = work.warm()
    assert figures[Metric.SOURCE_FILES] == 2
    (tree / "runs" / "1" / "journal").write_bytes(b"grows and grows")
    assert work.warm()[0] == first
    assert sources.hidden_from_loads(work.as_cell())[0] == str(tree / "runs")
