"""Devices: what can be ticked, what can't, and what unticks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from tests.tui.at_devices import drive, go_to, targets
from tests.tui.device_lists import FREE, LABELLED, SCRATCH, STORAGE_BOX, listed
from tests.tui.harness import Scripted
from tests.tui.waiting import flat, shows, until


def test_several_are_ticked_and_unticked_in_the_order_of_ticking() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        for device in (SCRATCH, FREE):
            await go_to(pilot, device.path)
            await pilot.press("space")
        await shows(pilot, "2 targets ticked: the plan runs on each in turn")
        assert targets(pilot) == [SCRATCH.path, FREE.path]
        await go_to(pilot, SCRATCH.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked", "is no target any more")
        assert targets(pilot) == [FREE.path]
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "plan")

    drive(listed(*STORAGE_BOX), steps)


WHY = {
    "/dev/sda": ("in use (in use: sda1, sda2, sda3)", "Part of it is in use"),
    "/dev/sda2": ("ext4 mounted on /", "This machine runs from it"),
    "/dev/sda3": ("swapoff /dev/sda3",),
    "/dev/sdb": ("member of md0", "mdadm --stop /dev/md0"),
    "/dev/md0": ("/dev/md0 is being resynced: it can't be ticked", "Wait until it is done"),
    "/dev/dm-1": ("umount /srv/home/of/everybody",),
    "/dev/sdh": ("Tick dm-0 (mpatha) itself",),
}
"""What may not be wiped, and what is said where it is ticked all the same."""


def test_what_may_not_be_wiped_is_not_ticked_and_says_why() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        for path, words in WHY.items():
            await go_to(pilot, path)
            await pilot.press("space")
            await shows(pilot, *words)
            assert targets(pilot) == []

    drive(listed(*STORAGE_BOX), steps, size=(120, 40))


def test_without_a_tick_enter_stays_and_says_what_to_do() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await pilot.press("enter")
        await shows(pilot, "space ticks a target")
        assert pilot.app.current_mode == "devices"

    drive(listed(*STORAGE_BOX), steps)


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ((LABELLED,), "/dev/sdg was unticked: it is gone."),
        ((LABELLED, replace(FREE, serial="OTHER", diskseq=99)), "another device has its name now"),
        ((LABELLED, replace(FREE, swap=True)), "it is in use now (swap)"),
    ],
)
def test_a_target_that_went_or_changed_is_unticked_with_a_sentence(then: tuple, why: str) -> None:
    children = Scripted({"devices": listed(LABELLED, FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers = {"devices": listed(*then)}
        await pilot.press("f5")
        await shows(pilot, "no target ticked", why)
        assert targets(pilot) == []

    drive(children, steps)


def test_a_device_that_was_not_proved_is_looked_at_closely_before_it_is_ticked() -> None:
    proved = listed(FREE)
    open_list = listed(FREE, SCRATCH, not_asked=frozenset({"sdg"}))
    children = Scripted({"devices": open_list, f"devices --json --runs /nonexistent {FREE.path}": proved})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no use seen", "not checked")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        await pilot.press("f5")
        await until(pilot, lambda: len(children.asked) == 3)
        await pilot.pause()
        assert targets(pilot) == [FREE.path]
        assert "no use seen" not in flat(pilot)

    drive(children, steps)


def test_a_click_on_the_mark_ticks() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await pilot.click("#table", offset=(1, 2))
        await shows(pilot, "1 target ticked")
        assert targets(pilot) == [SCRATCH.path]
        assert pilot.app.current_mode == "devices"

    drive(listed(FREE, SCRATCH), steps)
