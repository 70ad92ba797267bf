from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices.gather import strange_node
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.snapshot import MachineSnapshot, NotDetermined, below_mount, overlay_layers
from fsconsole.model.device import LoopBacking
from fsconsole.system.files import nearest_existing
from fsconsole.system.mounts import MountEntry, parse_mountinfo, read_mounts
from tests.unit.gate.made import SDA, SDA1, SDB, SDB1, device, number

LV = device("dm-0", 253, 0, lower=("sda1", "sdb1"))
LOOP1 = device("loop1", 7, 1, loop=LoopBacking("/srv/f", number(SDA1), 7, direct_io=False, autoclear=False))
DEVICES = (SDA, SDA1, SDB, SDB1, LV, LOOP1)


def below(line: str, btrfs: dict[str, frozenset[int]] | None = None) -> frozenset[int]:
    """Return what lies below / if PID 1's only mount were this one."""
    (mount,) = parse_mountinfo(line)
    graph = DeviceGraph(DEVICES)
    snapshot = MachineSnapshot(graph, read_mounts("self"), (mount,), btrfs or {}, (), {}, ())
    return below_mount(snapshot, mount, "/")


def test_a_root_is_followed_through_volumes_and_loops_to_whole_disks() -> None:
    for source, expected in (
        ("8:1", (SDA1, SDA)),
        ("253:0", (LV, SDA1, SDB1, SDA, SDB)),
        ("7:1", (LOOP1, SDA1, SDA)),
    ):
        assert below(f"27 1 {source} / / rw - ext4 /dev/root rw") == set(map(number, expected))


def test_a_root_in_memory_lies_on_no_disk_and_on_btrfs_on_all_where_its_source_says_nothing() -> None:
    assert below("27 1 0:30 / / rw - tmpfs tmpfs rw") == frozenset()
    members = {"u-1": frozenset({number(SDA1)}), "u-2": frozenset({number(SDB1)})}
    found = below("27 1 0:30 / / rw - btrfs /dev/root rw", members)
    assert found == {number(SDA1), number(SDA), number(SDB1), number(SDB)}


def test_a_root_whose_disks_cant_be_found_is_not_taken_for_one_without() -> None:
    for line in (
        "27 1 0:30 / / rw - zfs rpool/ROOT rw",
        "27 1 0:30 / / rw - btrfs /dev/root rw",
        "27 1 0:30 / / rw - overlay overlay rw,lowerdir=/not/there,upperdir=/nor/this",
        "27 1 99:1 / / rw - ext4 /dev/what rw",
    ):
        with pytest.raises(NotDetermined):
            below(line)


def test_the_layers_of_an_overlay_are_its_places(tmp_path: Path) -> None:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    lower.mkdir()
    upper.mkdir()
    options = (f"lowerdir={lower}", f"upperdir={upper}", "redirect_dir=on")
    mount = MountEntry(1, os.makedev(0, 30), "/", "/", (), "overlay", "overlay", options)
    assert overlay_layers(mount) == (str(lower), str(upper))
    # A run folder that is not yet there is found by its parent.
    assert nearest_existing(str(tmp_path / "not" / "yet")) == str(tmp_path)


NULL = device("sdnull", 1, 3, path="/dev/null")
"""Any node with a known number will do."""


def test_a_node_must_have_the_devices_own_name_and_number() -> None:
    mapped, missing = replace(NULL, dm_name="vg-srv"), replace(SDB, path="/dev/not-there")
    assert strange_node("/dev/null", NULL) == strange_node("/dev/mapper/vg-srv", mapped) == ""
    for real in ("/tmp/null", "/dev/mapper/x", "/dev/sdb"):
        assert "another device's name" in strange_node(real, NULL)
    assert strange_node("/dev/null", replace(NULL, minor=5)) == "has a node that leads to device 1:3 instead"
    assert strange_node("/dev/not-there", missing).startswith("has no usable node")
