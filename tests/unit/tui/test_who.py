from __future__ import annotations

import os
from dataclasses import asdict, fields, replace

import pytest

from fsconsole.errors import ChildFailed
from fsconsole.model.device import Device, Identity
from fsconsole.tui.views.device_ticks import lost_ticks
from fsconsole.tui.views.devices import parse_listing
from fsconsole.tui.views.who import _WORDS, Who, others, who, who_told
from tests.tui.device_lists import FREE, SCRATCH, listed

LEFT_OUT = {"name", "boot_id", "dm_table"}
"""Of an identity: what a list of devices doesn't tell, or can't change while a console runs."""


def identity_of(device: Device) -> Identity:
    loop = device.loop
    return Identity(
        device.name, "boot", os.makedev(device.major, device.minor), device.size_bytes, device.diskseq, device.wwn,
        device.serial, device.partition_start_bytes, device.partition_uuid, device.dm_uuid, "",
        loop.file_device if loop else 0, loop.inode if loop else 0, loop.scratch_id if loop else "",
    )  # fmt: skip


@pytest.mark.parametrize("device", [FREE, SCRATCH, replace(FREE, major=259, minor=1_000_003)])
def test_a_device_is_the_same_in_the_list_and_in_the_plan(device: Device) -> None:
    assert who_told(asdict(identity_of(device))) == who(device)


def test_nothing_of_an_identity_is_left_out_of_the_comparison() -> None:
    told = {field.name for field in fields(Who)} - {"number"} | {"device_number"}
    assert told == {field.name for field in fields(Identity)} - LEFT_OUT


def test_a_difference_of_each_kind_has_words() -> None:
    assert set(_WORDS) == {field.name for field in fields(Who)}


@pytest.mark.parametrize("field", [field.name for field in fields(Who)])
def test_every_difference_is_told_and_loses_the_tick(field: str) -> None:
    known = who(FREE)
    value = getattr(known, field)
    other = replace(known, **{field: value + 4096 if isinstance(value, int) else f"{value}9"})
    assert others(known, other)
    assert others(known, known) == ""
    lost = lost_ticks({FREE.path: other}, parse_listing(listed(FREE)))
    assert "another device stands there now" in lost[FREE.path]


@pytest.mark.parametrize("change", [{"serial": None}, {"device_number": "8:16"}, {"size_bytes": []}])
def test_an_identity_that_is_none_is_an_error(change: dict[str, object]) -> None:
    told = asdict(identity_of(FREE))
    with pytest.raises(ChildFailed):
        who_told({**told, **change})
    for name in change:
        del told[name]
    with pytest.raises(ChildFailed):
        who_told(told)
