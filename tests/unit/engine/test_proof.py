"""What is proved before a wipe, how long that holds, and what has to be on a target since the last mkfs."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import proof
from fsconsole.engine.proof import Prover
from fsconsole.model.run import Target
from tests.fakes import FakeExecutor
from tests.unit.results import build

CELL = build.cell(0)
MKFS = ("mkfs.ext4", CELL.target)


@pytest.fixture
def prover() -> Prover:
    return Prover(FakeExecutor({}), build.run([CELL], []), "/srv/runs/one")


def test_a_proof_holds_for_one_second(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, proved = [100.0], []
    monkeypatch.setattr(proof, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(proof, "held_exclusively", nullcontext)
    monkeypatch.setattr(Prover, "prove_place", lambda *_: proved.append(now_s[0]))
    for now_s[0] in (100.0, 100.9, 102.0):
        with prover.wiping(CELL, MKFS):
            pass
    assert proved == [100.0, 102.0]


def test_a_filesystem_that_was_made_has_to_stay_until_the_next_wipe(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[str] = []
    report = SimpleNamespace(needs_consent=False, identity=None)
    monkeypatch.setattr(proof, "held_exclusively", nullcontext)
    monkeypatch.setattr(proof, "inspect_device", lambda *_: report)
    monkeypatch.setattr(proof, "re_prove", lambda _report, _target, _ours, made, _known: wanted.append(made))
    target = cast("Target", SimpleNamespace(path=CELL.target, identity=SimpleNamespace(scratch_id="")))
    prover.prove_target(target)
    prover.note_made(CELL)
    prover.prove_target(target)
    with prover.wiping(CELL, MKFS):
        prover.prove_target(target)
    assert wanted == ["", CELL.uuid, ""]
