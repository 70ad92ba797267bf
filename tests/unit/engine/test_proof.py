"""What is proved before a wipe, how long that holds, and what has to be on a target since the last mkfs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fsconsole.devices.fingerprint import NOT_COUNTED
from fsconsole.engine import proof
from fsconsole.engine.proof import Prover
from fsconsole.engine.target_state import Agreed, TargetState
from fsconsole.errors.targets import ConsentOutdated, DeviceChanged, DeviceOpen
from fsconsole.model.device import Fingerprint, Identity
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from tests.fakes import FakeExecutor
from tests.unit.gate.made import proved_state
from tests.unit.results import build

FINGERPRINT = Fingerprint(Identity("loop7", "boot", 7, 2**30), (), (), "now", ("8", "0"))

CELL = build.cell(0)


@pytest.fixture
def prover() -> Prover:
    return Prover(FakeExecutor({}), build.run([CELL], []), "/srv/runs/one")


def test_a_proof_holds_for_one_second(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, proved = [100.0], []
    monkeypatch.setattr(proof, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(proof, "held_exclusively", lambda *_: nullcontext())
    monkeypatch.setattr(Prover, "require_as_proved", lambda *_: None)
    monkeypatch.setattr(Prover, "is_written", lambda *_: False)
    monkeypatch.setattr(Prover, "absence", lambda *_: "")

    def prove(self: Prover, _cell: Cell, path: str) -> None:
        proved.append(now_s[0])
        self._states[path] = proved_state(time_s=now_s[0])

    monkeypatch.setattr(Prover, "prove_place", prove)
    for now_s[0] in (100.0, 100.9, 102.0):
        with prover.proved(CELL, (CELL.target,), is_held=False):
            pass
    assert proved == [100.0, 102.0]


def test_what_is_written_between_the_proof_and_the_hold_is_seen(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = ["8"]

    @contextmanager
    def hold(_path: str) -> Iterator[None]:
        counted[0] = "16"
        yield

    monkeypatch.setattr(proof, "held_exclusively", hold)
    monkeypatch.setattr(proof, "sectors_written", lambda _: tuple(counted))
    monkeypatch.setattr(Prover, "absence", lambda *_: "")
    monkeypatch.setattr(Prover, "changed", lambda *_: {})
    prover._targets[CELL.target] = Target(CELL.target, FINGERPRINT, (), "CODE")
    prover._states[CELL.target] = proved_state(time_s=time.monotonic() + 60)
    with (
        pytest.raises(DeviceChanged, match="between its proof and the command"),
        prover.proved(CELL, (CELL.target,), is_held=True),
    ):
        pytest.fail("it was wiped")


def test_what_is_compared_is_what_was_agreed_upon_until_a_write_and_then_what_a_cell_left(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed, left = (replace(FINGERPRINT, content=content) for content in ("agreed", "left"))
    for name, made in (
        ("held_exclusively", lambda *_: nullcontext()),
        ("discover", tuple),
        ("find_device", lambda *_: None),
    ):
        monkeypatch.setattr(proof, name, made)
    monkeypatch.setattr(proof, "sectors_written", lambda _: ("8", "0"))
    monkeypatch.setattr(Prover, "absence", lambda *_: "")
    report = SimpleNamespace(device=None, fingerprint=FINGERPRINT, identity=FINGERPRINT.identity)
    wanted: list[str] = []
    monkeypatch.setattr(proof, "inspect_device", lambda *_: report)
    monkeypatch.setattr(proof, "require_same", lambda _report, _target, known: wanted.append(known.content))
    monkeypatch.setattr(proof, "take_fingerprint", lambda *_: left)
    target = Target(CELL.target, agreed, (), "CODE")
    prover._targets[CELL.target] = target
    prover._states[CELL.target] = TargetState(Agreed(agreed))
    prover.prove_target(target)
    assert prover.note_left(CELL.target) is None
    prover.note_writing((CELL.target,))
    prover.prove_target(target)
    assert prover.note_left(CELL.target) == left
    prover.prove_target(target)
    prover.doubt(CELL.target)
    with pytest.raises(ConsentOutdated):
        prover.prove_target(target)
    # While a cell writes, its content is not compared.
    assert wanted[:3] == ["agreed", FINGERPRINT.content, "left"]


def test_a_device_that_could_not_be_read_when_a_cell_ended_is_known_again_while_nobody_writes_to_it(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, report = (
        ["8", "0"],
        SimpleNamespace(device=None, fingerprint=FINGERPRINT, identity=FINGERPRINT.identity),
    )

    def unreadable(*_: object) -> Fingerprint:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(proof, "find_device", lambda *_: None)
    monkeypatch.setattr(proof, "held_exclusively", lambda *_: nullcontext())
    monkeypatch.setattr(proof, "sectors_written", lambda _: tuple(counted))
    monkeypatch.setattr(proof, "take_fingerprint", unreadable)
    monkeypatch.setattr(proof, "inspect_device", lambda *_: report)
    monkeypatch.setattr(proof, "require_same", lambda *_: None)
    target = Target(CELL.target, FINGERPRINT, (), "CODE")
    prover._targets[CELL.target] = target

    def ends_unread() -> None:
        prover.note_writing((CELL.target,))
        with pytest.raises(OSError, match="Input/output error"):
            prover.note_left(CELL.target)

    ends_unread()
    prover.prove_target(target)
    for counted[:] in (["16", "0"], [NOT_COUNTED]):
        ends_unread()
        report.fingerprint = replace(FINGERPRINT, written=(NOT_COUNTED,))
        with pytest.raises(ConsentOutdated):
            prover.prove_target(target)


def test_who_has_a_device_open_is_waited_for_once_a_cell_has_ended(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, looks = [100.0], []

    def prove(_prover: Prover, _target: Target) -> None:
        looks.append(now_s[0])
        if now_s[0] < 130:
            raise DeviceOpen(CELL.target, "is open in process 7 (smartctl)", "")

    clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=lambda s: now_s.__setitem__(0, now_s[0] + s))
    monkeypatch.setattr(proof, "time", clock)
    monkeypatch.setattr(Prover, "_prove_once", prove)
    target = Target(CELL.target, FINGERPRINT, (), "CODE")
    with pytest.raises(DeviceOpen):
        prover.prove_target(target)
    assert "smartctl" in prover.blocked_by
    prover.is_patient = True
    prover.prove_target(target)
    assert (prover.blocked_by, now_s[0]) == ("", 130.0)
    now_s[0], prover.is_interrupted = 0.0, lambda: True
    with pytest.raises(DeviceOpen):
        prover.prove_target(target)
    assert now_s[0] == 0.0
