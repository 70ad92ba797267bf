"""What the cell view says of steps and of the machine."""

from __future__ import annotations

from fsconsole.results.content import fact_words
from fsconsole.show.cell import steps_in_words
from tests.unit.results import build


def test_steps_that_find_no_room_go_whole_the_shortest_first() -> None:
    cell = build.done(0)
    all_of_them = steps_in_words(cell, 1000)
    fewer = steps_in_words(cell, 60)
    assert "..." not in fewer
    assert 0 < len(fewer) <= 60 < len(all_of_them)
    assert set(fewer.split(", ")) < set(all_of_them.split(", "))


def test_facts_of_the_machine_are_told_with_units() -> None:
    assert fact_words("memory_bytes", "25276502016") == ("memory", "23.5 GiB")
    assert fact_words("read_ahead_bytes /dev/loop1", "2621440") == ("read ahead /dev/loop1", "2.5 MiB")
    assert fact_words("dirty_background_limit", "10 %") == ("dirty background limit", "10 %")
    assert fact_words("odd_bytes", "many") == ("odd", "many")
