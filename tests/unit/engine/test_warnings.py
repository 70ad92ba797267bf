from __future__ import annotations

from pathlib import Path

from fsconsole.devices.md import parse_mdstat
from fsconsole.engine.warnings import degraded_words

RECORDED = Path(__file__).parents[2] / "data" / "mdstat"


def test_the_warning_of_a_degraded_array_counts_what_is_missing() -> None:
    (array,) = parse_mdstat((RECORDED / "6.1.192-raid5-failed-member.txt").read_text())
    assert array.degraded
    assert degraded_words(array) == "the array /dev/md0 lacks 1 of its 3 members"
