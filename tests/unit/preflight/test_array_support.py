"""Which arrays a machine makes: of mdadm, of the kernel, and what doctor says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.preflight import machine as preflight_machine
from fsconsole.preflight.doctor import Status, diagnose
from fsconsole.preflight.machine import Tool, array_levels
from tests.unit.preflight.test_doctor import GOOD

MDSTAT = "Personalities : [raid6] [raid5] [raid4] \nunused devices: <none>\n"
ALIASES = "alias md-raid1 raid1\nalias md-level-1 raid1\nalias md-personality-3 raid1\nalias fs-xfs xfs\n"


def test_levels_are_those_loaded_and_those_that_a_module_brings():
    assert array_levels(MDSTAT, ALIASES) == ("raid1", "raid4", "raid5", "raid6")


def test_a_kernel_without_md_makes_none():
    assert array_levels("", "alias fs-xfs xfs\n") == ()


def test_a_level_that_the_kernel_lost_is_said_to_be_lacking(monkeypatch):
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "find_program", lambda _: "/usr/sbin/mdadm")
    lacking = dict(preflight_machine.array_support().lacking)
    assert set(lacking) == {"linear", "raid1", "raid4", "raid6", "raid10"}
    assert "no module md-linear" in lacking["linear"]


def test_a_missing_mdadm_stands_against_every_level_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(preflight_machine, "levels_here", lambda: ("raid0", "raid5"))
    monkeypatch.setattr(preflight_machine, "MDADM", "mdadm-that-is-not-there")
    lacking = preflight_machine.array_support().lacking
    whys = [why for level, why in lacking if level == "raid5"]
    assert len(whys) == 1
    assert whys[0].startswith("mdadm is not installed (Debian's package mdadm")


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (replace(GOOD, array_levels=()), "no md arrays"),
        (replace(GOOD, array_tool=Tool("mdadm", "mdadm")), "not installed: mdadm"),
    ],
)
def test_doctor_says_what_arrays_lack_and_that_no_other_run_needs_it(machine, words):
    (found,) = [finding for finding in diagnose(machine) if finding.check == "arrays"]
    assert (found.status, found.prevents_runs) == (Status.LIMITED, False)
    assert words in found.found
    assert "[[array]]" in found.remedy


def test_doctor_names_mdadm_and_the_levels():
    (found,) = [finding for finding in diagnose(GOOD) if finding.check == "arrays"]
    assert (found.status, found.found) == (Status.OK, "mdadm 4.2; raid0, raid5")
