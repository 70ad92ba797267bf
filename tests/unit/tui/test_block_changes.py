from __future__ import annotations

from pathlib import Path

from fsconsole.model.device import Device
from fsconsole.tui.watch import BlockChanges, read_changes
from tests.unit.devices.system_tree import SystemTree


def found(tree: SystemTree, *listed: Device) -> BlockChanges:
    return read_changes(listed, str(tree.sys))


def test_what_is_new_and_what_is_gone_is_told(tmp_path: Path) -> None:
    tree = SystemTree(tmp_path)
    tree.sata("sda", "8:0", {"diskseq": "1"})
    (sda,) = found(tree).new
    assert (sda.name, sda.diskseq) == ("sda", 1)
    assert found(tree, sda) == BlockChanges()
    (tree.sys / "class/block/sda").unlink()
    assert found(tree, sda) == BlockChanges(frozenset({"sda"}))


def test_another_disk_under_the_same_name_is_gone_and_new(tmp_path: Path) -> None:
    tree = SystemTree(tmp_path)
    disk = tree.sata("sda", "8:0", {"diskseq": "1"})
    (first,) = found(tree).new
    (disk / "diskseq").write_text("2")
    changes = found(tree, first)
    assert changes.gone == {"sda"}
    assert [device.diskseq for device in changes.new] == [2]


def test_a_loop_device_without_its_file_is_gone(tmp_path: Path) -> None:
    tree = SystemTree(tmp_path)
    disk = tree.sata("loop0", "7:0", {"diskseq": "1"})
    (loop,) = found(tree).new
    (disk / "size").write_text("0")
    assert found(tree, loop) == BlockChanges(frozenset({"loop0"}))
    assert found(tree) == BlockChanges()
