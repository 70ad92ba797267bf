"""Taking a run's arrays apart while udev, or somebody else, does something with the same members."""

from __future__ import annotations

import pytest

from fsconsole.engine import arrays
from fsconsole.engine.arrays import dismantle
from fsconsole.errors.runs import ToolFailed
from tests.unit.engine.test_dismantle import FOREIGN, OURS, VDA, VDB, VDC, Md, own


@pytest.fixture
def md(monkeypatch: pytest.MonkeyPatch) -> Md:
    return Md(monkeypatch)


def test_an_array_that_udev_puts_together_again_is_stopped_again_and_not_forgotten(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    act, stops = md.act, []

    def with_udev(argv: tuple[str, ...]) -> None:
        act(argv)
        if "--stop" in argv and not stops:
            md.arrays["md127"] = frozenset({"vda", "vdb"})
        stops.extend(argv[-1:] if "--stop" in argv else ())

    assert dismantle(own(), with_udev) == ()
    assert stops == ["/dev/md400", "/dev/md127"]
    assert (md.arrays, md.uuids[VDA], md.uuids[VDB]) == ({}, "", "")


def test_one_that_is_put_together_again_right_before_its_members_are_cleared_is_stopped_again(md: Md) -> None:
    act, tries = md.act, []

    def with_udev(argv: tuple[str, ...]) -> None:
        tries.append(argv)
        if len(tries) == 1:
            md.arrays["md127"] = frozenset({"vda", "vdb"})
            raise ToolFailed(" ".join(argv), 2, "Couldn't open /dev/vda for write - not zeroing")
        act(argv)

    assert dismantle(own(), with_udev) == ()
    assert ("mdadm", "--stop", "/dev/md127") in tries
    assert (md.arrays, md.uuids[VDA], md.uuids[VDB]) == ({}, "", "")


def test_one_that_udev_puts_together_again_and_again_is_told(md: Md) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    act = md.act

    def with_udev(argv: tuple[str, ...]) -> None:
        act(argv)
        md.arrays["md127"] = frozenset({"vda", "vdb"})

    left = dismantle(own(), with_udev)
    assert left == tuple(f"{path} has the run's superblock again" for path in (VDA, VDB))


def test_another_array_that_got_the_name_while_udev_was_waited_for_is_left_alone(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})

    def somebody_comes(_path: str) -> bool:
        md.arrays["md400"] = frozenset({"vdc"})
        md.uuids |= {VDA: "", VDB: "", VDC: FOREIGN}
        return False

    monkeypatch.setattr(arrays, "_is_busy", somebody_comes)
    (left,) = dismantle(own(), md.act)
    assert "has the member vdc, which is not the run's" in left
    assert md.commands == []


@pytest.mark.parametrize("metadata", ["none", "0.90", "1.0", "external:imsm", ""])
def test_an_array_that_is_marked_elsewhere_is_not_the_runs_though_an_old_superblock_lies_on_its_members(
    md: Md, metadata: str
) -> None:
    md.uuids = {VDA: OURS, VDB: OURS}
    md.arrays["md5"] = frozenset({"vda", "vdb"})
    md.metadata = metadata
    (left,) = dismantle(own(), md.act)
    assert "was not created by the run" in left
    assert md.commands == []


def test_an_array_against_which_there_is_an_objection_is_left_with_its_members(md: Md) -> None:
    md.arrays["md127"] = frozenset({"vda", "vdb"})
    assert dismantle(own(), md.act, lambda array: f"{array.path} holds letters") == (
        "/dev/md127 holds letters",
    )
    assert md.commands == []
