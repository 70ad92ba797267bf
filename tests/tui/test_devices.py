"""Devices: what the list, the pane and the line about them show."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.show.terminal import ASCII, SAFE, Glyphs
from fsconsole.text import GIB
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.scratch_form import Room
from tests.tui.at_devices import drive, go_to, targets
from tests.tui.device_lists import FREE, LABELLED, STORAGE_BOX, listed, many
from tests.tui.harness import SIZES, Scripted, picture
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import flat, shows


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("glyphs", [SAFE, ASCII])
def test_the_tree_shows_every_device_with_its_state(size: tuple[int, int], glyphs: Glyphs) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices, no target ticked", f"{glyphs.branch}sda1", "ext4 mounted on /")
        await shows(pilot, f"{glyphs.last_branch}md0", "resync 41 %", "member of md0", "swap")
        await pilot.press("end")
        await shows(pilot, "loop0", "dm-2 (vg-scratch)", "free")
        assert all(len(line) <= size[0] for line in picture(pilot).splitlines())
        if glyphs == ASCII:
            assert picture(pilot).isascii()

    drive(listed(*STORAGE_BOX), steps, size=size, glyphs=glyphs)


@pytest.mark.parametrize("size", SIZES)
def test_the_screen_looks_as_kept(size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices, no target ticked")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await go_to(pilot, LABELLED.path)
        await shows(pilot, "1 target ticked", "/dev/sdf ST3000NM0033-9ZM178")
        assert_looks_as_kept(pilot, f"devices-{size[0]}x{size[1]}")

    drive(listed(*STORAGE_BOX), steps, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_the_form_looks_as_kept(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_form, "read_room", lambda _: Room("/var/lib", 70 * GIB, 12 * GIB))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices, no target ticked")
        await pilot.press("n")
        await shows(pilot, "It fits: 70.0 GiB free")
        assert_looks_as_kept(pilot, f"scratch-form-{size[0]}x{size[1]}")

    drive(listed(*STORAGE_BOX), steps, size=size)


def test_a_hostile_label_is_shown_as_text_in_list_pane_and_line() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device")
        await pilot.press("space")
        await shows(pilot, "[x]", r"[/x]\x1b[31m\u202e", "to be lost", "before you type its name")
        assert "\x1b" not in picture(pilot)

    drive(listed(LABELLED), steps, size=(120, 40))


def test_tab_goes_to_the_pane_whose_text_then_moves() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        assert "read-ahead" not in flat(pilot)
        await pilot.press("tab", "end")
        await shows(pilot, "settings read-ahead 128KiB")
        await pilot.press("home")
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")

    drive(listed(*STORAGE_BOX), steps)


def test_help_tells_the_keys_of_the_screen_first() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await pilot.press("question_mark")
        await shows(pilot, "Tick: Make the device a target", "Remove: Remove a scratch device")

    drive(listed(*STORAGE_BOX), steps)


def test_a_list_that_can_not_be_had_or_read_becomes_a_sentence() -> None:
    children = Scripted({"devices": Done(("devices",), 1, "", "fsconsole: No sysfs.\nhint: Mount it.\n")})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "No sysfs. Mount it.", "The devices could not be read; f5 tries again")
        children.answers = {"devices": '[{"name": 1}]'}
        await pilot.press("f5")
        await shows(pilot, "can't be read")
        children.answers = {"devices": listed(FREE)}
        await pilot.press("f5")
        await shows(pilot, "1 device,", "sdg")

    drive(children, steps)


def test_a_machine_without_devices_is_shown_as_such() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "0 devices, no target ticked")
        await pilot.press("space", "down", "r", "x", "end")
        await shows(pilot, "0 devices")

    drive("[]", steps)


def test_a_look_that_fails_leaves_the_old_list_and_tells_its_age() -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.answers = {}
        await pilot.press("f5")
        await shows(pilot, "sdg", "the last reading failed,", "no answer for devices")

    drive(children, steps)


def test_without_root_the_list_is_shown_and_what_needs_root_says_so() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no use seen")
        await pilot.press("space")
        await shows(pilot, "Only root can check whether /dev/sdg is free", "sudo fsconsole")
        acts = {
            "n": "Making a scratch device",
            "r": "Reading a disk",
            "x": "Removing a scratch device",
            "d": "Starting the demo",
        }
        for key, act in acts.items():
            await pilot.press(key)
            await shows(pilot, f"{act} needs root", "sudo fsconsole")
        assert targets(pilot) == []

    drive(listed(FREE, is_root=False), steps, is_root=False)


def test_five_hundred_devices_are_shown_and_their_last_is_reached() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "500 devices")
        await pilot.press("end", "space")
        await shows(pilot, "1 target ticked")
        assert targets(pilot) == ["/dev/sdatf"]

    drive(listed(*many(500)), steps)
