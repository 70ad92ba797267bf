"""What a resume says that it will cost, on real devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from tests.conftest import MakeLoopDevice
from tests.loop.test_resume_asks import SIZE, killed, shown

pytestmark = pytest.mark.root


def test_it_is_the_cost_of_the_cells_that_are_left(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    folder = killed(loop_device(SIZE), tmp_path, StepKind.GATE)
    whole, left = read_state(folder).request.plan, shown(folder)
    assert (left["cell_count"], len(whole.cells)) == (1, 2)
    # The two cells are alike.
    assert left["bytes_to_write"] == whole.estimate.bytes_to_write // 2
    assert left["estimate_s"] == pytest.approx(whole.estimate.elapsed_s / 2)
