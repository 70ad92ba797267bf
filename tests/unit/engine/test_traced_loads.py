"""What a traced load tells where the kernel gives it no tracefs or debugfs, or where events were lost."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import writeback
from fsconsole.engine.work import LoadWindow
from fsconsole.engine.writeback import finish_watch, prepare_watch
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.model.events import WarningKind
from fsconsole.system import mounts
from fsconsole.telemetry import writeback as watching
from fsconsole.telemetry.writeback import WritebackWatch
from tests.unit.engine.test_warnings import Work, a_load
from tests.unit.telemetry.test_writeback import MadeTrace

TRACED = a_load(trace=True)
NO_USAGE = ResourceUsage(0.0, 0.0, 0.0, 0)


class NoMount:
    """Executor whose mount fails, as in a kernel without the filesystem."""

    def run(self, command: Command) -> CommandResult:
        said = b"mount: unknown filesystem type 'tracefs'."
        return CommandResult(command.argv, 32, b"", said, NO_USAGE)


class TracedWork(Work):
    """A cell's work as far as a traced load looks at it, on a machine of which no mount is known."""

    def __init__(self, debug: str) -> None:
        super().__init__(TRACED)
        self.kept: list[bytes] = []
        self.pilot, self.mount_point, self.stack = None, "/mnt", ExitStack()
        self.cell.index = 0
        self.run.places = SimpleNamespace(debug=debug)
        self.run.executor = NoMount()
        self.run.request = SimpleNamespace(run_id="r")
        self.run.raw = SimpleNamespace(write=lambda cell, step, name, data: self.kept.append(data))

    def ended(self, watch: WritebackWatch | None) -> list[tuple[WarningKind, str]]:
        """Return what is told at the end of a load that was watched."""
        load = SimpleNamespace(workload=TRACED)
        result = SimpleNamespace(last_ended_ns=2**62, read_bytes=0, written_bytes=2**20)
        window = SimpleNamespace(watch=watch, result=result, handle=load, step=2, device_read_bytes=None)
        finish_watch(self.as_cell, cast("LoadWindow", window), 2**62)
        return self.told


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one disk and no mounts."""
    (tmp_path / "class/block/sdz").mkdir(parents=True)
    (tmp_path / "class/block/sdz/inflight").write_text("0 0\n")
    monkeypatch.setattr(watching, "SYS", str(tmp_path))
    monkeypatch.setattr(mounts, "read_mounts", lambda *_: ())
    monkeypatch.setattr(writeback, "PRIVATE_ROOT", str(tmp_path / "private"))
    monkeypatch.setattr(writeback, "traced_disks", lambda _: ())
    return tmp_path


def test_a_kernel_without_tracefs_and_debugfs_is_told_with_the_load_whose_figures_it_lacks(machine: Path) -> None:
    work = TracedWork(debug="")
    (told,) = work.ended(prepare_watch(work.as_cell, TRACED))
    assert told[0] is WarningKind.NOT_COUNTED
    assert told[1].startswith("writeback of 'load': bdi: debugfs has no stats file of this filesystem; trace: ")
    assert told[1].endswith("tracefs can't be mounted: mount: unknown filesystem type 'tracefs'.")
    assert "doctor" in work.hints[0]


def test_a_tracefs_that_can_not_be_used_is_told_with_the_reason(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writeback, "mounted_tracefs", lambda *_: str(machine))
    work = TracedWork(debug="")
    ((_, reason),) = work.ended(prepare_watch(work.as_cell, TRACED))
    assert re.search(r"; trace: .*No such file or directory", reason), reason
    assert "can't be mounted" not in reason


def test_debugfs_alone_that_lacks_the_filesystem_is_told_and_the_trace_counts(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writeback, "mounted_tracefs", lambda *_: str(machine))
    monkeypatch.setattr(writeback, "TraceInstance", lambda *_: MadeTrace(looks=1, lost_events=0))
    work = TracedWork(debug=str(machine))
    watch = prepare_watch(work.as_cell, TRACED)
    assert watch is not None
    watch.start()
    assert work.ended(watch) == [
        (WarningKind.NOT_COUNTED, "writeback of 'load': bdi: debugfs has no stats file of this filesystem")
    ]
    (histograms,) = work.kept
    assert histograms.endswith(b"lost events: 0\n")


def test_lost_events_are_told_with_their_number_and_that_of_all_and_none_are_not(machine: Path) -> None:
    for lost in (3, 0):
        work, watch = TracedWork(debug=""), WritebackWatch("sdz", None, MadeTrace(looks=1, lost_events=lost))  # type: ignore[arg-type]
        watch.start()
        # The recorded events are older than this watch.
        watch._began_ns = 0
        told = work.ended(watch)
        assert watch.sums is not None
        assert watch.sums.events > 0
        reason = f"3 of {watch.sums.events + 3} traced events of 'load' were lost"
        assert told == ([(WarningKind.NOT_COUNTED, reason)] if lost else [])
        assert work.hints == ([writeback._LOST_HINT] if lost else [])


def test_a_load_without_a_trace_and_a_pilot_have_no_watch_and_no_warning(machine: Path) -> None:
    work = TracedWork(debug="")
    assert prepare_watch(work.as_cell, a_load()) is None
    work.pilot = object()  # type: ignore[assignment]
    assert prepare_watch(work.as_cell, TRACED) is None
    assert work.ended(None) == []
