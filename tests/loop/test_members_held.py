"""Between the proof of the first member of an array and that of the last nobody comes onto any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.devices.claims import is_busy, needs_hold
from fsconsole.engine.proof import Prover
from fsconsole.journal.past import read_state
from fsconsole.model.plan import Cell
from fsconsole.system.run import RealExecutor
from tests.conftest import MakeLoopDevice
from tests.loop.gate_cases import MIB
from tests.loop.runs import TINY_PLAN, new_run

pytestmark = pytest.mark.root

CREATE = ("mdadm", "--create", "/dev/md400")


def test_a_member_is_held_from_its_own_proof_until_all_are_proved_and_free_for_the_tool_then(
    loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = tuple(loop_device(64 * MIB) for _ in range(3))
    folder = new_run(TINY_PLAN, members[0], str(tmp_path / "runs"))
    state = read_state(folder)
    seen: list[tuple[bool, ...]] = []

    def prove(_prover: Prover, _cell: Cell, _path: str) -> None:
        seen.append(tuple(is_busy(member) for member in members))

    monkeypatch.setattr(Prover, "_prove", prove)
    prover = Prover(RealExecutor(), state, folder.path)
    assert not needs_hold(CREATE)
    with prover.wiping(state.request.plan.cells[0], CREATE, members):
        seen.append(tuple(is_busy(member) for member in members))
    free, first, both = (False,) * 3, (True, False, False), (True, True, False)
    assert seen == [free, first, both, free]
