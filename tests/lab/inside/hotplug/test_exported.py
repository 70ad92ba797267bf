"""The hazards of the battery that need modules which only qemu's kernel has."""

from __future__ import annotations

import pytest

from tests.lab.hazards import BATTERY, Case
from tests.lab.inside.hazards.test_battery import try_out


@pytest.mark.parametrize("case", [case for case in BATTERY if case.in_qemu], ids=lambda case: case.name)
def test_a_device_is_not_free_that_is(case: Case) -> None:
    try_out(case)
