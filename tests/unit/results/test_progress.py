"""How far a step is: told by samples of that very step, in the console, in the live view, and out of mdstat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.cli.viewer import _step_lines
from fsconsole.devices.md import SyncState, parse_mdstat
from fsconsole.engine.steps import arrays
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.model.device import MdArray
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Sample, StepProgress
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.show.progress import progress_words
from fsconsole.show.run import step_line
from fsconsole.text import cells_of
from tests.unit.results import build

NOW_NS = 10 * build.SECOND_NS
STEP = StepState(2, StepKind.ARRAY_SYNC, "wait until /dev/md400 is in step", build.SECOND_NS)
FAR, FAR_WORDS = StepProgress(41.7, 725.0), "42 %, about 12 min 05 s left"


def sample(progress: StepProgress | None = FAR, *, step: str = "array-sync", at_ns: int = NOW_NS) -> Sample:
    return replace(build.sample(at_ns, load=False), step=step, progress=progress)


def waiting(last: Sample | None, started_s: int = 1) -> RunState:
    step = replace(STEP, started_monotonic_ns=started_s * build.SECOND_NS)
    cell = CellState(0, CellStatus.RUNNING, 1, "", (step,))
    return replace(build.run((build.cell(0),), (cell,), status=RunStatus.RUNNING), last_sample=last)


def in_console(state: RunState, now_ns: int = NOW_NS) -> str:
    return step_line(build.snapshot(state, state.last_sample), now_ns)


def test_only_a_sample_of_the_step_tells_how_far_it_is() -> None:
    for last, words in (
        (sample(), FAR_WORDS),
        (sample(StepProgress(0.0)), "0 %"),
        (sample(None), ""),
        (None, ""),
        (sample(step="array"), ""),
        (sample(at_ns=build.SECOND_NS - 1), ""),
    ):
        assert progress_words(STEP, last) == words, (last, words)


def test_console_and_live_view_show_it_in_the_line_of_the_step_lines_and_days_in_two() -> None:
    line = in_console(waiting(sample()))
    assert line == f"array-sync: wait until /dev/md400 is in step, {FAR_WORDS}, 9.0 s"
    lines = _step_lines(waiting(sample()), NOW_NS, 80)
    assert " ".join(" ".join(lines).split()) == (f"step {line}")
    assert in_console(waiting(None)) == "array-sync: wait until /dev/md400 is in step, 9.0 s"
    days = 3 * 86400
    state = waiting(sample(StepProgress(99.9, days), at_ns=days * build.SECOND_NS))
    assert cells_of(in_console(state, days * build.SECOND_NS)) <= 160
    assert len(_step_lines(state, days * build.SECOND_NS, 80)) <= 2


MDSTAT = """Personalities : [raid6] [raid5] [raid4]
md400 : active raid5 vdc[3] vdb[1] vda[0]
      194560 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]
      [======>..............]  recovery = 33.4% (32516/97280) finish=2.5min speed=431K/sec

unused devices: <none>
"""
SLOW = SyncState("recover", False, ("vda", "vdb", "vdc"), (), 31.25, True)


def test_a_resync_is_told_as_mdstat_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "read_arrays", lambda: parse_mdstat(MDSTAT))
    assert arrays._progress(SLOW) == StepProgress(33.4, 150.0)


def _unreadable() -> tuple[MdArray, ...]:
    raise KernelUnreadable(path="/proc/mdstat", line="?")


def _gone() -> tuple[MdArray, ...]:
    return ()


def _waits() -> tuple[MdArray, ...]:
    return parse_mdstat(MDSTAT.replace("recovery = 33.4% (32516/97280) finish=2.5min", "resync=DELAYED"))


@pytest.mark.parametrize("read", [_unreadable, _gone, _waits], ids=lambda read: read.__name__)
def test_where_mdstat_has_no_word_sysfs_does(monkeypatch: pytest.MonkeyPatch, read: object) -> None:
    monkeypatch.setattr(arrays, "read_arrays", read)
    assert arrays._progress(SLOW) == StepProgress(31.25)
