"""Steps of a cell's own array: the wait for its resync, the warning at its end, and its release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from itertools import chain, count, repeat
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.devices.md import SyncState
from fsconsole.engine import warnings
from fsconsole.engine.steps import arrays
from fsconsole.engine.steps.arrays import make, wait_until_in_step
from fsconsole.engine.steps.life import release
from fsconsole.engine.work import CellWork, Interrupted, StepFailed
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.model.plan import ArraySpec, Step, StepKind

LACKS = "the array /dev/md400 lacks 1 of its 3 members when the cell ended"
MEMBERS = ("vda", "vdb")
STEP = Step(StepKind.ARRAY, "make it", (("mdadm", "--create"),))
BEHIND = SyncState("recover", False, MEMBERS, (), 1.0, is_at_work=True)
IN_STEP = SyncState("idle", True, MEMBERS, (), 0.0, is_at_work=False)
FAULTY = SyncState("recover", False, MEMBERS, ("vdb",), 1.0, is_at_work=True)
DELAYED = SyncState("resync", False, MEMBERS, (), 0.0, is_at_work=False)
TAKEN_OUT = SyncState("idle", False, ("vda",), (), 0.0, is_at_work=False)
"""As udev leaves it when a disk is pulled (64-md-raid-assembly.rules: mdadm -If)."""


class Life:
    """A cell on an array of its own, in which all but md itself is real enough."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[str] = []
        self.releases: list[tuple[str, ...]] = []
        self.states: Iterator[SyncState] = repeat(IN_STEP)
        self.ended: Iterator[object] = repeat("the same")
        self.stack = ExitStack()
        clock = count(0, 100)
        monkeypatch.setattr(arrays, "require_free_array_name", lambda: None)
        monkeypatch.setattr(arrays, "is_left_empty", lambda _: False)
        monkeypatch.setattr(arrays, "require_own", lambda *_: None)
        monkeypatch.setattr(arrays, "probe_signatures", lambda *_: ())
        monkeypatch.setattr(arrays, "sync_state", lambda _: next(self.states))
        monkeypatch.setattr(arrays, "hang_timeout_s", lambda: 240.0)
        monkeypatch.setattr(arrays, "ended_io", lambda _names: next(self.ended))
        times = SimpleNamespace(sleep=lambda _s: None, monotonic=lambda: float(next(clock)))
        monkeypatch.setattr(arrays, "time", times)
        monkeypatch.setattr(arrays.warnings, "about_array", lambda _: None)
        monkeypatch.setattr(arrays, "_dismantle", lambda _: self.happened.append("taken apart"))
        monkeypatch.setattr(warnings, "about_end", lambda *_: self.happened.append("told"))

    def work(self, *, assume_clean: bool = False, interrupting: bool = False) -> CellWork:
        gauges = SimpleNamespace(devices=SimpleNamespace(watch=lambda _: None))
        run = SimpleNamespace(
            prover=SimpleNamespace(wiping=lambda *_: nullcontext()),
            sampler=SimpleNamespace(gauges=gauges, tell_progress=lambda _: None),
            requests=SimpleNamespace(
                cell_releases=lambda: self.releases.append(tuple(self.happened)), interrupting=interrupting
            ),
            request=SimpleNamespace(run_id="run"),
            known_of_all=frozenset(),
            executor=None,
        )
        spec = ArraySpec("raid5", assume_clean=assume_clean)
        cell = SimpleNamespace(target="/dev/null", index=0, members=("/dev/vda", "/dev/vdb"), array=spec)
        return cast("CellWork", SimpleNamespace(run=run, cell=cell, stack=self.stack, command=lambda _: None))

    def wait(self, *states: SyncState, ended: Iterable[object] = ()) -> None:
        self.states, self.ended = iter(states), chain(ended, repeat("the same"))
        wait_until_in_step(self.work(), STEP)


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    made = Life(monkeypatch)
    yield made
    made.stack.close()


def test_what_an_array_lacks_is_told_while_it_is_still_there(life: Life) -> None:
    work = life.work()
    make(work, STEP)
    wait_until_in_step(work, STEP)
    release(work, STEP)
    life.stack.close()
    assert life.happened == ["told", "taken apart"]
    # From before anything is given back: a stop ends none of the programs that do it.
    assert life.releases == [()]


@pytest.mark.parametrize("assume_clean", [False, True])
def test_a_cell_that_fails_has_the_same_warning_after_all_else_was_given_back(life, assume_clean):
    work = life.work(assume_clean=assume_clean)
    make(work, STEP)
    if not assume_clean:
        wait_until_in_step(work, STEP)
    work.stack.callback(life.happened.append, "unmounted")
    # A step fails: the engine leaves the cell's stack.
    life.stack.close()
    assert life.happened == ["unmounted", "told", "taken apart"]


def test_an_array_that_was_not_in_step_yet_lacks_nothing_that_is_worth_a_word(life: Life) -> None:
    life.states, work = repeat(BEHIND), life.work(interrupting=True)
    make(work, STEP)
    with pytest.raises(Interrupted):
        wait_until_in_step(work, STEP)
    life.stack.close()
    assert life.happened == ["taken apart"]


def test_an_mdstat_that_can_not_be_read_keeps_no_array(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise KernelUnreadable(path="/proc/mdstat", line="?")

    monkeypatch.setattr(warnings, "about_end", unreadable)
    make(life.work(assume_clean=True), STEP)
    with pytest.raises(KernelUnreadable):
        life.stack.close()
    assert life.happened == ["taken apart"]


def test_a_wait_ends_when_the_array_is_in_step_or_never_can_be(life: Life) -> None:
    life.wait(BEHIND, BEHIND, IN_STEP)
    ends = {
        "lost the member vdb": (BEHIND, FAULTY),
        "it has 1 of its 2 members": (BEHIND, TAKEN_OUT),
        # Nobody waits for its members, of which no I/O ends.
        "no I/O of its members has completed": (BEHIND,) * 9,
    }
    for why, states in ends.items():
        with pytest.raises(StepFailed, match=why):
            life.wait(*states)
    # It goes on while I/O ends and while another resync is waited for.
    life.wait(*(BEHIND,) * 9, IN_STEP, ended=range(9))
    life.wait(*(DELAYED,) * 9, IN_STEP)


def test_the_words_name_the_array_and_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = SimpleNamespace(name="md400", degraded=1, slots="UU_")
    monkeypatch.setattr(warnings, "degraded_below", lambda _: (lacking,))
    said: list[str] = []
    work = cast(
        "CellWork",
        SimpleNamespace(
            cell=SimpleNamespace(target="/dev/md400"), warn=lambda _kind, reason, _hint: said.append(reason)
        ),
    )
    warnings.about_end(work, frozenset())
    warnings.about_end(work, frozenset({warnings.degraded_words(lacking)}))  # type: ignore[arg-type]
    assert said == [LACKS]
