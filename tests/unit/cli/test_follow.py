from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.cli.viewer import json_lines, run_view
from fsconsole.client import follow as module
from fsconsole.client.follow import follow
from fsconsole.errors.runs import EngineDied
from fsconsole.journal import last_word
from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import is_alive
from fsconsole.model.events import FeatureSeen, Outcome, RunFinished, RunStarted
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.system.locks import FileLock
from fsconsole.text import MIB
from tests.unit.cli.recorded import CELL_DONE, IN_MKFS, STARTED, WHOLE, make_run, write
from tests.unit.results import build


class Script:
    """A view that does one thing after each state it is shown, as an engine would at that moment."""

    def __init__(self, *acts: Callable[[], None]) -> None:
        self.acts = list(acts)
        self.states: list[RunState] = []
        self.batches: list[Batch] = []

    def show(self, state: RunState, batch: Batch) -> None:
        self.states.append(state)
        self.batches.append(batch)
        if self.acts:
            self.acts.pop(0)()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose engine has started."""
    made = make_run(tmp_path)
    write(made, (STARTED,))
    return made


def test_a_run_that_is_over_is_shown_once(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, WHOLE)
    script = Script()
    state = follow(folder, script)
    assert state.status is RunStatus.FINISHED
    assert len(script.states) == 1


def test_a_living_run_is_followed_to_its_end_and_each_observation_handed_on_once(folder: RunFolder) -> None:
    ending = RunFinished(Outcome.STOPPED)
    with FileLock.acquire(folder.lock):
        script = Script(lambda: write(folder, CELL_DONE), lambda: write(folder, (ending,)))
        state = follow(folder, script)
    assert [seen.cells[0].status for seen in script.states[:2]] == [CellStatus.PENDING, CellStatus.DONE]
    assert state.outcome is Outcome.STOPPED
    seen = [observation for batch in script.batches for observation in batch.observations]
    assert seen == [STARTED, *CELL_DONE, ending]


def test_an_engine_that_falls_silent_has_died_and_what_it_wrote_last_is_shown(folder: RunFolder) -> None:
    lock = FileLock.acquire(folder.lock)

    def die() -> None:
        write(folder, CELL_DONE, finished=False)
        lock.release()

    script = Script(die)
    with pytest.raises(EngineDied, match="20261121-081000-k7qf died"):
        follow(folder, script)
    assert script.states[-1].cells[0].status is CellStatus.DONE


def test_a_word_left_beside_the_journal_is_shown_as_its_last(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED, *IN_MKFS), finished=False)
    word = RunFinished(Outcome.FAILED, "its disk is full", "Free some room.", 42)
    last_word.leave(folder, word)
    script = Script()
    state = follow(folder, script)
    assert (state.outcome, state.exit_code) == (Outcome.FAILED, 42)
    assert script.batches[-1].observations == (word,)


def test_an_engine_that_ends_while_its_lock_is_looked_at_has_not_died(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileLock.acquire(folder.lock)

    def ends_just_now(asked: RunFolder) -> bool:
        write(folder, (*CELL_DONE, RunFinished(Outcome.DONE)))
        lock.release()
        return is_alive(asked)

    monkeypatch.setattr(module, "is_alive", ends_just_now)
    assert follow(folder, Script()).outcome is Outcome.DONE


def test_the_last_word_of_an_earlier_engine_does_not_end_a_resumed_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED, RunFinished(Outcome.STOPPED)))
    resumed = RunStarted(2, "0.1.0", "boot", "6.18.0", "box")
    with FileLock.acquire(folder.lock):
        script = Script(
            lambda: write(folder, (resumed, *CELL_DONE)), lambda: write(folder, (RunFinished(Outcome.DONE),))
        )
        state = follow(folder, script)
    assert state.outcome is Outcome.DONE
    assert len(state.started) == 2


def test_following_ends_when_the_caller_wants_it(folder: RunFolder) -> None:
    write(folder, IN_MKFS)
    with FileLock.acquire(folder.lock):
        state = follow(folder, Script(), until=lambda seen: seen.current_cell == 1)
    assert state.status is RunStatus.RUNNING


def test_every_observation_is_one_line_of_json() -> None:
    entries = tuple(JournalEntry(i, build.CREATED_NS + i * 10**6, i, seen) for i, seen in enumerate(WHOLE))
    lines = [json.loads(line) for line in json_lines(Batch(Cursor(), entries, (build.sample(),)))]
    events = ["run_started", "cell_started", "step_started", "step_finished"]
    assert [line["event"] for line in lines][:4] == events
    assert lines[-1]["event"] == "sample"
    assert lines[1]["time"] == "2026-11-21T08:10:00.001Z"
    assert lines[3] == {
        "schema": 4,
        "event": "step_finished",
        "time": "2026-11-21T08:10:00.003Z",
        "cell": 1,
        "attempt": 1,
        "step": 2,
        "outcome": "done",
        "elapsed_s": 3.1,
        "reason": "",
        "verdict": "",
        "measurements": [{"metric": "write", "value": 812e6}],
    }
    assert lines[-1]["writeback"]["dirty_bytes"] == 300 * MIB
    # Every field by its name, also where a journal leaves it out or has a list.
    fields = [set(seen.__struct_fields__) | {"schema", "event", "time"} for seen in WHOLE]
    assert [set(line) for line in lines[:-1]] == fields
    feature = Batch(Cursor(), (JournalEntry(1, 1, 1, FeatureSeen(0, 1, "mkfs", "extent", "on")),))
    assert [json.loads(line)["name"] for line in json_lines(feature)] == ["extent"]


def test_lines_are_flushed_one_by_one() -> None:
    flushed: list[str] = []

    class Stream(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    entries = tuple(JournalEntry(i, 0, 0, seen) for i, seen in enumerate(WHOLE[:3]))
    with run_view(Stream(), as_json=True) as view:
        view.show(build.demo(), Batch(Cursor(), entries))
    assert [text.count("\n") for text in flushed] == [1, 2, 3]
