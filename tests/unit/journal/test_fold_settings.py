"""A run holds what it took and has not given back; what was set twice comes off in reverse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.journal.fold import note_setting
from fsconsole.model.events import SettingReturned, SettingSeen, SettingTaken
from fsconsole.model.state import HeldSetting

PATH, OTHER = "/sys/block/sdx/queue/read_ahead_kb", "/proc/sys/vm/dirty_bytes"
Seen = SettingTaken | SettingSeen | SettingReturned


def taken(
    path: str = PATH, *, new: str = "2048", step: int = 1, cell: int = 0, attempt: int = 1
) -> SettingTaken:
    return SettingTaken(cell, attempt, step, "read_ahead", path, new, path, "128")


def held(*observations: Seen) -> tuple[HeldSetting, ...]:
    found: tuple[HeldSetting, ...] = ()
    for observation in observations:
        found = note_setting(found, observation)
    return found


def test_what_was_taken_is_held_until_it_is_returned_whatever_was_done_with_it() -> None:
    assert held(taken()) == (HeldSetting(taken()),)
    assert held(taken(), SettingReturned(0, 1, 1, PATH)) == ()
    assert held(taken(), SettingReturned(0, 1, 1, PATH, "somebody changed it")) == ()


def test_what_was_taken_last_is_returned_first() -> None:
    inner = taken(new="4096", step=6)
    assert held(taken(), inner, SettingReturned(0, 1, 6, PATH)) == (HeldSetting(taken()),)
    assert held(taken(), taken(OTHER), SettingReturned(0, 1, 1, PATH)) == (HeldSetting(taken(OTHER)),)


def test_only_what_was_seen_right_after_the_write_is_what_the_run_made_of_it() -> None:
    early, late = SettingSeen(0, 1, 1, PATH, "1984"), SettingSeen(0, 1, 5, PATH, "512")
    assert held(taken(), early, late) == (HeldSetting(taken(), "1984"),)
    assert held(taken(), late) == (HeldSetting(taken()),)


def test_another_cell_attempt_or_path_changes_nothing() -> None:
    strangers = (
        SettingReturned(1, 1, 1, PATH),
        SettingReturned(0, 2, 1, PATH),
        SettingReturned(0, 1, 1, OTHER),
        SettingSeen(1, 1, 1, PATH, "1"),
    )
    assert held(taken(), *strangers) == (HeldSetting(taken()),)
    assert held(*strangers) == ()


@given(st.lists(st.sampled_from((PATH, OTHER)), max_size=8))
def test_all_that_was_taken_and_returned_leaves_nothing(paths: list[str]) -> None:
    back = [SettingReturned(0, 1, 1, path) for path in reversed(paths)]
    assert held(*(taken(path) for path in paths), *back) == ()
