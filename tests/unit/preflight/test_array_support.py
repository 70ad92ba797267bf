"""Which arrays a machine makes: of mdadm, of the kernel, and what doctor says of it."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.preflight import machine as preflight_machine
from fsconsole.preflight.doctor import Status
from fsconsole.preflight.machine import Tool, array_levels, array_support
from tests.unit.preflight.test_doctor import GOOD, finding

MDSTAT = "Personalities : [raid6] [raid5] [raid4] \nunused devices: <none>\n"
ALIASES = "alias md-raid1 raid1\nalias md-level-1 raid1\nalias md-personality-3 raid1\nalias fs-xfs xfs\n"


def test_levels_are_those_loaded_and_those_that_a_module_brings():
    assert array_levels(MDSTAT, ALIASES) == ("raid1", "raid4", "raid5", "raid6")
    assert array_levels("", "alias fs-xfs xfs\n") == ()


def test_a_level_that_the_kernel_lost_and_a_missing_mdadm_stand_against_arrays(monkeypatch):
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "find_program", lambda _: "/usr/sbin/mdadm")
    lacking = array_support()
    assert set(lacking) == {"linear", "raid1", "raid4", "raid6", "raid10"}
    assert "no module md-linear" in lacking["linear"]
    monkeypatch.undo()
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "MDADM", "mdadm-that-is-not-there")
    assert array_support()["raid5"].startswith("mdadm is not installed (Debian's package mdadm")


def test_doctor_says_what_arrays_lack_and_that_no_other_run_needs_it():
    found = finding(GOOD, "arrays")
    assert (found.status, found.found) == (Status.OK, "mdadm 4.2; raid0, raid5")
    for lack, words in (
        ({"array_levels": ()}, "no md arrays"),
        ({"array_tool": Tool("mdadm", "mdadm")}, "not installed: mdadm"),
    ):
        found = finding(replace(GOOD, **lack), "arrays")
        assert (found.status, found.prevents_runs) == (Status.LIMITED, False)
        assert words in found.found
        assert "[[array]]" in found.remedy
