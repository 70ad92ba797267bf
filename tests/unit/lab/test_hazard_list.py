"""The list of hazards: as long and as varied as was promised, each name once."""

from __future__ import annotations

from fsconsole.devices.hazards import HINTS
from tests.lab.hazards import BATTERY, SOAK_ALONE, Answer

ELSEWHERE = {"undetermined", "hidden-process", "hidden-init", "scratch-kept", "hidden-system"}
"""Tried on loop devices or with made evidence: they are no state of a disk."""


def test_the_battery_holds_enough_ways_and_enough_of_them_without_a_signature() -> None:
    assert len(BATTERY) >= 45
    assert sum(not case.signed for case in BATTERY) >= 15
    assert len({case.name for case in BATTERY}) == len(BATTERY)


def test_every_check_of_the_gate_is_tried_on_a_real_device() -> None:
    tried = {case.check for case in BATTERY if case.answer is not Answer.CHANGED}
    assert tried == HINTS.keys() - ELSEWHERE


def test_the_test_command_tries_each_check_and_leaves_the_rest_to_a_soak_by_names_that_there_are() -> None:
    kept = [case for case in BATTERY if case.name not in SOAK_ALONE]
    assert {case.check for case in kept} >= HINTS.keys() - ELSEWHERE
    assert {case.name for case in BATTERY} >= SOAK_ALONE
    assert {(case.answer, case.signed, case.between_cells) for case in kept} == {
        (case.answer, case.signed, case.between_cells) for case in BATTERY
    }
