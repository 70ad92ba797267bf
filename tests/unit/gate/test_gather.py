from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.devices.gate import strange_node
from tests.unit.gate.made import SDB, device

NULL = device("sdnull", 1, 3, path="/dev/null")
"""Any node with a known number will do."""


def test_a_node_of_the_right_name_and_number_is_no_stranger() -> None:
    assert strange_node("/dev/null", NULL) == ""
    assert strange_node("/dev/mapper/vg-srv", replace(NULL, dm_name="vg-srv")) == ""


@pytest.mark.parametrize("real", ["/tmp/null", "/dev/mapper/x", "/dev/sdb"])
def test_a_node_of_another_name_is_strange(real: str) -> None:
    assert "another device's name" in strange_node(real, NULL)


def test_a_node_that_leads_to_another_number_is_strange() -> None:
    assert strange_node("/dev/null", replace(NULL, minor=5)) == "has a node that leads to device 1:3 instead"


def test_a_device_without_a_node_is_strange() -> None:
    missing = replace(SDB, path="/dev/not-there")
    assert strange_node("/dev/not-there", missing).startswith("has no usable node")
