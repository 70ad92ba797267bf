from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.system.processes import holders_of, own_pid_in_host_proc, parse_stat


def test_outside_of_a_namespace_the_own_pid_is_the_visible_one() -> None:
    assert own_pid_in_host_proc() == int(os.readlink("/proc/self"))


@given(
    name=st.text(st.characters(exclude_categories=["Cs"])),
    state=st.sampled_from("RSDZTtI"),
    parent=st.integers(0),
)
def test_a_process_may_be_called_anything(name: str, state: str, parent: int) -> None:
    line = f"42 ({name}) {state} {parent} 42 42 0 -1 4194560 100 0 0 0 1 2\n"
    assert parse_stat(line) == (name, state, parent)


@pytest.mark.parametrize("text", ["", "42 cat S 1", "42 (cat)", ")42(", "42 (cat) S"])
def test_another_text_is_no_stat_line(text: str) -> None:
    with pytest.raises(ValueError, match="stat line"):
        parse_stat(text)


def test_no_process_holds_a_device_that_does_not_exist() -> None:
    assert holders_of(os.makedev(4095, 77), frozenset()) == ()
