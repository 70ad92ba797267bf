from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.fold import fold, note_setting, start
from fsconsole.model.device import Fingerprint, Identity
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    CommandFinished,
    ControlRequested,
    DeviceLeft,
    FeatureSeen,
    Observation,
    Outcome,
    PilotFinished,
    RequestRenewed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SettingReturned,
    SettingSeen,
    SettingTaken,
    Settled,
    StepFinished,
    StepStarted,
    TargetAccepted,
    Verb,
    WarningKind,
    WarningRaised,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import CpuShares, Sample, Writeback
from fsconsole.model.state import CellStatus, HeldSetting, RunStatus
from fsconsole.model.workload import SizedBy, Sizing

RUN_STARTED = RunStarted(1, "0.1.0", "b007", "6.18", "box")
IDENTITY = Identity("loop9", "b007", 1, 2**30)


def batch(*observations: Observation, samples: tuple[Sample, ...] = ()) -> Batch:
    entries = tuple(JournalEntry(n, n * 10, n * 100, seen) for n, seen in enumerate(observations, 1))
    return Batch(Cursor(len(entries), len(samples)), entries, samples)


def sample(number: int) -> Sample:
    return Sample(number, number, 0.5, None, "", CpuShares(1, 0, 1, 0, 0, 0, 98), (), Writeback(0, 0))


def mkfs_started(cell: int = 0, attempt: int = 1, step: int = 1) -> StepStarted:
    return StepStarted(cell, attempt, step, StepKind.MKFS, "mkfs.ext4")


def mkfs_command(cell: int = 0, attempt: int = 1, step: int = 1) -> CommandFinished:
    return CommandFinished(cell, attempt, step, ("mkfs.ext4",), 0, 0.1, 0.0, 0.1, 2**20, "raw/x")


def mkfs_finished(cell: int = 0, attempt: int = 1, step: int = 1, value: float = 0.1) -> StepFinished:
    figures = (Measurement(Metric.MKFS, value),)
    return StepFinished(cell, attempt, step, Outcome.DONE, value, measurements=figures)


CELLS = st.integers(-1, 4)
ATTEMPTS = st.integers(1, 3)
STEPS = st.integers(0, 3)
OUTCOMES = st.sampled_from(Outcome)
OBSERVATIONS = st.one_of(
    st.just(RUN_STARTED),
    st.builds(lambda n: TargetAccepted(f"/dev/loop{n}", IDENTITY, (), ""), st.integers(0, 2)),
    st.builds(CellStarted, CELLS, ATTEMPTS),
    st.builds(mkfs_started, CELLS, ATTEMPTS, STEPS),
    st.builds(mkfs_command, CELLS, ATTEMPTS, STEPS),
    st.builds(mkfs_finished, CELLS, ATTEMPTS, STEPS, st.floats(0, 9)),
    st.builds(FeatureSeen, CELLS, ATTEMPTS, st.just("mkfs"), st.text(max_size=3), st.just("on")),
    st.builds(
        WarningRaised,
        st.none() | CELLS,
        ATTEMPTS,
        st.sampled_from(WarningKind),
        st.text(max_size=2),
        st.just(""),
    ),
    st.builds(CellFinished, CELLS, ATTEMPTS, OUTCOMES),
    st.builds(ControlRequested, st.sampled_from(Verb)),
    st.builds(RunInterrupted, st.just("died")),
    st.builds(RunFinished, OUTCOMES),
)
SAMPLES = st.lists(st.builds(sample, st.integers(0, 9)), max_size=3).map(tuple)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seen=st.lists(OBSERVATIONS, max_size=40), cut=st.integers(0, 40), early=SAMPLES, late=SAMPLES)
def test_two_batches_in_any_order_fold_to_the_same_as_one(seen, cut, early, late, make_request) -> None:
    entries = batch(*seen).entries
    first, second = entries[:cut], entries[cut:]
    state = start(make_request())
    parts = fold(fold(state, Batch(Cursor(), first, early)), Batch(Cursor(), second, late))
    assert parts == fold(state, Batch(Cursor(), entries, early + late))
    assert [cell.index for cell in parts.cells] == [0, 1, 2]
    assert parts.current_cell in {None, 0, 1, 2}


@pytest.fixture
def new(make_request):
    return start(make_request())


def test_a_new_run_has_pending_cells_and_names_what_can_not_run(new) -> None:
    pending, unavailable = CellStatus.PENDING, CellStatus.UNAVAILABLE
    assert [cell.status for cell in new.cells] == [pending, pending, unavailable]
    assert new.cells[2].reason == "the kernel has no such filesystem"
    assert new.status is RunStatus.NEW


def test_a_cell_has_its_figures_and_what_began_and_did_not_end_is_the_current_step(new) -> None:
    began = fold(new, batch(RUN_STARTED, CellStarted(0, 1), mkfs_started()))
    assert began.current_cell == 0
    assert began.current_step == began.cells[0].steps[0]
    feature = FeatureSeen(0, 1, "mkfs", "has_journal", "on")
    ended = batch(mkfs_command(), mkfs_finished(value=0.25), feature, CellFinished(0, 1, Outcome.DONE))
    state = fold(began, ended)
    cell = state.cells[0]
    assert (cell.status, cell.value(Metric.MKFS), cell.features) == (CellStatus.DONE, 0.25, (feature,))
    assert (cell.steps[0].started_monotonic_ns, len(cell.steps[0].commands)) == (300, 1)
    assert state.current_cell is None
    other = replace(feature, name="flex_bg")
    assert fold(state, batch(other)).cells[0].features == (feature, other)


def test_a_cell_that_was_left_behind_becomes_unknown(new) -> None:
    for word in (RunInterrupted("killed"), RUN_STARTED, RunFinished(Outcome.FAILED)):
        state = fold(new, batch(RUN_STARTED, CellStarted(0, 1), mkfs_started(), word))
        assert (state.cells[0].status, state.current_cell) == (CellStatus.UNKNOWN, None), word


def test_a_cell_begun_again_starts_afresh(new) -> None:
    once = fold(new, batch(RUN_STARTED, CellStarted(0, 1), mkfs_started(), mkfs_finished(), RunInterrupted("")))
    again = fold(once, batch(replace(RUN_STARTED, attempt=2), CellStarted(0, 2)))
    assert (again.cells[0].attempt, again.cells[0].steps) == (2, ())
    assert again.cells[0].status is CellStatus.RUNNING
    assert again.status is RunStatus.RUNNING
    assert len(again.started) == 2


def test_what_is_of_no_cell_or_of_an_earlier_attempt_changes_nothing(new) -> None:
    state = fold(new, batch(RUN_STARTED, CellStarted(0, 2), mkfs_started(attempt=2)))
    late = batch(mkfs_finished(attempt=1), CellFinished(0, 1, Outcome.FAILED), CellStarted(0, 1))
    assert fold(state, late) == state
    for cell in (-1, 3):
        foreign = batch(CellStarted(cell, 1), mkfs_started(cell), CellFinished(cell, 1, Outcome.DONE))
        assert fold(new, foreign) is new


def test_an_end_without_a_beginning_is_taken(new) -> None:
    state = fold(new, batch(CellFinished(1, 1, Outcome.SKIPPED, "asked for"), mkfs_finished(cell=0)))
    assert (state.cells[1].status, state.cells[1].reason) == (CellStatus.SKIPPED, "asked for")
    assert state.cells[0] == new.cells[0]


def test_pause_and_continue_show(new) -> None:
    paused = fold(new, batch(RUN_STARTED, ControlRequested(Verb.PAUSE)))
    assert paused.status is RunStatus.PAUSED
    assert fold(paused, batch(ControlRequested(Verb.CONTINUE))).status is RunStatus.RUNNING
    stopping = fold(paused, batch(ControlRequested(Verb.STOP_AFTER), ControlRequested(Verb.SKIP)))
    assert stopping.stops_after
    assert not fold(stopping, batch(ControlRequested(Verb.CONTINUE))).stops_after
    assert not fold(stopping, batch(RUN_STARTED)).stops_after
    # To stop at once can't be taken back.
    at_once = fold(stopping, batch(ControlRequested(Verb.STOP_NOW), ControlRequested(Verb.CONTINUE)))
    assert (stopping.stops_now, at_once.stops_now) == (False, True)
    assert not fold(at_once, batch(RUN_STARTED)).stops_now


def test_the_last_word_is_kept_until_the_run_goes_on(new) -> None:
    over = fold(new, batch(RUN_STARTED, RunFinished(Outcome.STOPPED, "asked", "resume", 4)))
    assert (over.status, over.exit_code, over.hint) == (RunStatus.FINISHED, 4, "resume")
    on = fold(over, batch(RUN_STARTED))
    assert (on.status, on.exit_code, on.hint) == (RunStatus.RUNNING, None, "")


def test_a_target_accepted_again_keeps_its_place(new) -> None:
    first, second = (TargetAccepted(path, IDENTITY, (), "") for path in ("/dev/a", "/dev/b"))
    state = fold(new, batch(first, second, replace(first, consent="new")))
    assert [(target.path, target.consent) for target in state.targets] == [("/dev/a", "new"), ("/dev/b", "")]


def test_a_warning_of_the_whole_run_stands_once(new) -> None:
    warning = WarningRaised(None, 1, WarningKind.JOURNAL_SHARED_DISK, "same disk", "")
    state = fold(new, batch(warning, replace(warning, attempt=2)))
    assert state.warnings == (warning,)


def test_cells_that_did_not_change_are_the_same_objects(new) -> None:
    state = fold(new, batch(CellStarted(0, 1)))
    assert state.cells[1] is new.cells[1]
    assert fold(state, batch()) is state


def test_the_last_sample_of_a_batch_is_kept(new) -> None:
    state = fold(new, batch(samples=(sample(1), sample(2))))
    assert state.last_sample == sample(2)
    assert fold(state, batch(RUN_STARTED)).last_sample == sample(2)


PATH, OTHER = "/sys/block/sdx/queue/read_ahead_kb", "/proc/sys/vm/dirty_bytes"
Seen = SettingTaken | SettingSeen | SettingReturned


def taken(path: str = PATH, *, new: str = "2048", step: int = 1, cell: int = 0, attempt: int = 1) -> SettingTaken:
    return SettingTaken(cell, attempt, step, "read_ahead", path, new, path, "128")


def held(*observations: Seen) -> tuple[HeldSetting, ...]:
    found: tuple[HeldSetting, ...] = ()
    for observation in observations:
        found = note_setting(found, observation)
    return found


def test_what_was_taken_is_held_until_it_is_returned_the_last_first() -> None:
    assert held(taken()) == (HeldSetting(taken()),)
    for back in (SettingReturned(0, 1, 1, PATH), SettingReturned(0, 1, 1, PATH, "somebody changed it")):
        assert held(taken(), back) == ()
    inner = taken(new="4096", step=6)
    assert held(taken(), inner, SettingReturned(0, 1, 6, PATH)) == (HeldSetting(taken()),)
    assert held(taken(), taken(OTHER), SettingReturned(0, 1, 1, PATH)) == (HeldSetting(taken(OTHER)),)


def test_only_what_was_seen_right_after_the_write_is_what_the_run_made_of_it() -> None:
    early, late = SettingSeen(0, 1, 1, PATH, "1984"), SettingSeen(0, 1, 5, PATH, "512")
    assert held(taken(), early, late) == (HeldSetting(taken(), "1984"),)
    assert held(taken(), late) == (HeldSetting(taken()),)


def test_another_cell_attempt_or_path_changes_nothing() -> None:
    strangers = (
        SettingReturned(1, 1, 1, PATH),
        SettingReturned(0, 2, 1, PATH),
        SettingReturned(0, 1, 1, OTHER),
        SettingSeen(1, 1, 1, PATH, "1"),
    )
    assert held(taken(), *strangers) == (HeldSetting(taken()),)
    assert held(*strangers) == ()


@given(st.lists(st.sampled_from((PATH, OTHER)), max_size=8))
def test_all_that_was_taken_and_returned_leaves_nothing(paths: list[str]) -> None:
    back = [SettingReturned(0, 1, 1, path) for path in reversed(paths)]
    assert held(*(taken(path) for path in paths), *back) == ()


def test_each_member_is_known_by_what_the_present_attempt_left_on_it(new) -> None:
    first, second = (DeviceLeft(1, 1, n, Fingerprint(IDENTITY, (), (), "aa", ())) for n in range(2))
    once = fold(new, batch(CellStarted(1, 1), first, second, CellFinished(1, 1, Outcome.DONE)))
    assert once.cells[1].left == (first, second)
    again = fold(once, batch(CellStarted(1, 2), first))
    assert again.cells[1].left == ()


def test_what_a_pilot_has_chosen_is_in_all_cells_of_its_loads_also_after_a_renewal(new) -> None:
    request = new.request
    load = replace(request.plan.cells[0].workloads[0], sizing=Sizing(SizedBy.FILES, 10.0), files=900)
    cells = tuple(replace(cell, workloads=(load,)) for cell in request.plan.cells)
    state = start(replace(request, plan=replace(request.plan, cells=cells)))
    chosen = PilotFinished(0, 1, (Settled("files", 77, 0, "no room"), Settled("threads", 5, 0), Settled("files", 9, 3)))
    seen = [RUN_STARTED, CellStarted(0, 1), mkfs_started(), chosen, CellFinished(0, 1, Outcome.PENDING)]
    renewed = RequestRenewed(2, state.request)
    for more in ((), (RunInterrupted("killed"), renewed)):
        folded = fold(state, batch(*seen, *more))
        (found,) = {cell.workloads[0] for cell in folded.request.plan.cells}
        assert found == replace(load, files=77, sizing=Sizing(SizedBy.FILES, 10.0, is_settled=True, why="no room"))
        assert (folded.cells[0].status, len(folded.cells[0].steps)) == (CellStatus.PENDING, 1)


def test_a_pilot_in_an_edited_journal_gets_no_more_than_the_request_allows(new) -> None:
    request = new.request
    load = replace(request.plan.cells[0].workloads[0], sizing=Sizing(SizedBy.FILES, 10.0), files=900)
    cells = tuple(replace(cell, workloads=(load,)) for cell in request.plan.cells)
    state = start(replace(request, plan=replace(request.plan, cells=cells)))
    forged = (PilotFinished(0, 1, (Settled("files", 901, 0),)), PilotFinished(0, 1, (Settled("files", 10**15, 0),)))
    folded = fold(state, batch(RUN_STARTED, *forged))
    assert {cell.workloads[0].files for cell in folded.request.plan.cells} == {900}
