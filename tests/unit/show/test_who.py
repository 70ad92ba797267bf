from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fsconsole.devices.identity import listed_identity
from fsconsole.model.device import Device, Identity
from fsconsole.show.devices import _WORDS, lost_ticks, others, parse_listing, within_boot
from tests.tui.device_lists import FREE, SCRATCH, listed

COMPARED = {field.name for field in fields(Identity)} - {"name", "boot_id", "dm_table"}
"""All but what a list of devices doesn't tell, and the name under which something else may stand."""


@pytest.mark.parametrize("device", [FREE, SCRATCH, replace(FREE, major=259, minor=1_000_003)])
def test_a_device_is_the_same_in_the_list_and_in_the_plan(device: Device) -> None:
    planned = replace(listed_identity(device), boot_id="boot", dm_table="0 1 linear")
    assert within_boot(planned) == listed_identity(device)


def test_a_difference_of_each_kind_has_words() -> None:
    assert set(_WORDS) == COMPARED


@pytest.mark.parametrize("field", sorted(COMPARED))
def test_every_difference_is_told_and_loses_the_tick(field: str) -> None:
    known = listed_identity(FREE)
    value = getattr(known, field)
    other = replace(known, **{field: value + 4096 if isinstance(value, int) else f"{value}9"})
    assert others(known, other)
    assert others(known, known) == ""
    lost = lost_ticks({FREE.path: other}, parse_listing(listed(FREE)))
    assert "another device has its name now" in lost[FREE.path]
