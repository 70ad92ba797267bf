"""Ticks on the Devices screen: which devices get one, and which lose it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from fsconsole.devices.identity import listed_identity
from fsconsole.tui import watch
from fsconsole.tui.watch import BlockChanges
from tests.tui.at_devices import Held, at_devices, devices_of, go_to, targets
from tests.tui.device_lists import FREE, LABELLED, NO_DEVICES, NO_FILESYSTEMS, SCRATCH, STORAGE_BOX, listed
from tests.tui.harness import Scripted
from tests.tui.waiting import flat, shows, until


async def listed_anew(pilot: Pilot[None], children: Scripted, answer: str) -> None:
    """Have the list read again, and wait until it is there; there was none of it before."""
    for each, words in ((NO_DEVICES, "0 devices"), (answer, f"{len(json.loads(answer)['devices'])} device")):
        children.answers = {**children.answers, "devices": each}
        await pilot.press("f5")
        await shows(pilot, words)


async def test_several_are_ticked_and_unticked_in_the_order_of_ticking() -> None:
    async with at_devices(listed(*STORAGE_BOX)) as pilot:
        await shows(pilot, "17 devices")
        for device in (SCRATCH, FREE):
            await go_to(pilot, device.path)
            await pilot.press("space")
        await shows(pilot, "2 targets ticked: the plan runs on each in turn")
        assert targets(pilot) == [SCRATCH.path, FREE.path]
        await go_to(pilot, SCRATCH.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked", "is unticked")
        assert targets(pilot) == [FREE.path]
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "plan")


async def test_enter_leads_to_the_plan_as_2_does_and_ticks_nothing() -> None:
    async with at_devices(listed(*STORAGE_BOX)) as pilot:
        await shows(pilot, "17 devices", "enter Plan")
        await go_to(pilot, FREE.path)
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "plan")
        assert targets(pilot) == []


WHY = {
    "/dev/sda": ("in use (in use: sda1, sda2, sda3)", "Part of it is in use"),
    "/dev/sda2": ("ext4 mounted on /", "It holds the running system; never wiped. Make a scratch device"),
    "/dev/sda3": ("swapoff /dev/sda3",),
    "/dev/sdb": ("member of md0", "mdadm --stop /dev/md0"),
    "/dev/md0": ("/dev/md0 is being resynced: it can't be ticked", "Wait until it is done"),
    "/dev/dm-1": ("umount /srv/home/of/everybody",),
    "/dev/sdh": ("Tick dm-0 (mpatha) itself",),
}
"""What may not be wiped, and what is said where it is ticked all the same."""


async def test_what_may_not_be_wiped_is_not_ticked_and_says_why() -> None:
    async with at_devices(listed(*STORAGE_BOX), size=(120, 40)) as pilot:
        await shows(pilot, "17 devices")
        for path, words in WHY.items():
            await go_to(pilot, path)
            await pilot.press("space")
            await shows(pilot, *words)
            assert targets(pilot) == []


GONE, ANOTHER = "/dev/sdg was unticked: it is gone.", "/dev/sdg was unticked: another device has its name now"
UNTICKED = (
    ((), GONE),
    ((replace(FREE, diskseq=99),), ANOTHER),
    ((replace(FREE, serial="OTHER"),), ANOTHER),
    ((replace(FREE, size_bytes=FREE.size_bytes + 512),), ANOTHER),
    ((replace(FREE, swap=True),), "it is in use now (swap)"),
)


async def test_a_target_that_went_or_changed_is_unticked_with_a_sentence() -> None:
    before = listed(LABELLED, FREE)
    children = Scripted({"devices": before, "catalog": NO_FILESYSTEMS})
    async with at_devices(children) as pilot:
        for key, (then, why) in (*(("f5", case) for case in UNTICKED), ("2", UNTICKED[1])):
            await listed_anew(pilot, children, before)
            await go_to(pilot, FREE.path)
            await pilot.press("space")
            if "nothing was ticked" in flat(pilot):
                # The device at the cursor was another one just now.
                await pilot.press("space")
            await shows(pilot, "1 target ticked")
            assert pilot.app.session.ticks == {FREE.path: listed_identity(FREE)}
            children.answers = {**children.answers, "devices": listed(LABELLED, *then)}
            await pilot.press(key)
            await shows(pilot, why)
            assert targets(pilot) == [], why


async def test_a_tick_that_is_lost_behind_another_screen_is_told_on_that_one() -> None:
    children = Held({"devices": listed(FREE), "catalog": NO_FILESYSTEMS})
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers, children.held = {"devices": listed(replace(FREE, diskseq=99))}, ("devices",)
        await pilot.press("f5")
        await until(pilot, lambda: children.running)
        await pilot.press("5")
        await shows(pilot, "There are no runs")
        children.release.set()
        await shows(pilot, ANOTHER)
        assert pilot.app.current_mode == "runs"


async def test_a_device_that_is_in_use_behind_another_screen_as_by_a_run_that_was_just_started_is_told_on_the_return() -> (
    None
):
    children = Held({"devices": listed(FREE), "catalog": NO_FILESYSTEMS})
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers, children.held = {"devices": listed(replace(FREE, swap=True))}, ("devices",)
        await pilot.press("f5")
        await until(pilot, lambda: children.running)
        screen = devices_of(pilot)
        await pilot.press("5")
        await shows(pilot, "There are no runs")
        children.release.set()
        await until(pilot, lambda: not screen.is_busy("look"))
        assert targets(pilot) == [FREE.path]
        await pilot.press("1")
        await shows(pilot, f"{FREE.path} was unticked: it is in use now (swap).")
        assert targets(pilot) == []


async def test_a_glimpse_that_ends_after_a_look_brings_back_nothing_of_the_list_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def late(_listed: object) -> BlockChanges:
        begun.set()
        may_end.wait()
        return BlockChanges(frozenset(), (replace(SCRATCH, loop=None),))

    children = Scripted({"devices": listed(FREE)})
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        screen = devices_of(pilot)
        monkeypatch.setattr(watch, "read_changes", late)
        screen.post_message(screen.News())
        try:
            await until(pilot, begun.is_set)
            monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
            children.answers = {"devices": listed(FREE, SCRATCH)}
            await pilot.press("f5")
            await shows(pilot, "2 devices")
            await go_to(pilot, SCRATCH.path)
            await pilot.press("space")
            await shows(pilot, "1 target ticked")
        finally:
            may_end.set()
        await until(pilot, lambda: not screen.is_busy("glimpse"))
        assert screen._watch.listing.scratch("0a1b2c3d") is not None
        assert targets(pilot) == [SCRATCH.path]


async def test_a_device_that_was_not_proved_is_looked_at_closely_before_it_is_ticked() -> None:
    proved = listed(FREE)
    open_list = listed(FREE, SCRATCH, not_asked=frozenset({"sdg"}))
    children = Scripted({"devices": open_list, f"devices --json --runs /nonexistent {FREE.path}": proved})
    async with at_devices(children) as pilot:
        await shows(pilot, "no use seen")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        await pilot.press("f5")
        await until(pilot, lambda: len(children.asked) == 3)
        await pilot.pause()
        assert targets(pilot) == [FREE.path]
        assert "no use seen" not in flat(pilot)
