"""Devices: what the list, the pane and the line about them show."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from fsconsole.client.children import Done
from fsconsole.show.devices import Listing
from fsconsole.show.terminal import ASCII
from fsconsole.text import GIB
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.scratch_form import FreeSpace
from fsconsole.tui.widgets.lists import List
from tests.tui.at_devices import at_devices, devices_of, go_to, targets
from tests.tui.device_lists import FREE, LABELLED, NO_DEVICES, STORAGE_BOX, SYSTEM, listed, many
from tests.tui.harness import SIZES, Scripted, picture
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import flat, shows, until


@pytest.mark.parametrize("size", SIZES)
async def test_every_device_is_shown_with_its_state_and_screen_pane_and_form_look_as_kept(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_form, "read_free_space", lambda _: FreeSpace("/var/lib", 70 * GIB, 12 * GIB))
    async with at_devices(listed(*STORAGE_BOX), size=size) as pilot:
        await shows(
            pilot, "17 devices, no target ticked", "Free (3)", "Holds data: asked about (1)", "In use: never wip"
        )
        await go_to(pilot, "/dev/md0")
        await shows(pilot, "resync 41 %", "member of md0")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await go_to(pilot, LABELLED.path)
        await shows(pilot, "1 target ticked", "/dev/sdf ST3000NM0033-9ZM178")
        assert_looks_as_kept(pilot, f"devices-{size[0]}x{size[1]}")
        await pilot.press("n")
        await shows(pilot, "It fits: 70.0 GiB free", "enter Create tab Next esc Cancel")
        pilot.app.screen.query_one("#size", Input).cursor_blink = False
        await pilot.pause()
        assert_looks_as_kept(pilot, f"scratch-form-{size[0]}x{size[1]}")
        await pilot.press("escape", "home")
        await shows(pilot, "loop0", "dm-2 (vg-scratch)", "free")
        assert all(len(line) <= size[0] for line in picture(pilot).splitlines())


async def test_devices_are_found_by_words_enter_keeps_them_and_plans_nothing_and_escape_shows_all_again() -> None:
    async with at_devices(listed(*STORAGE_BOX)) as pilot:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        await pilot.press("space", "slash", *"MD0 sdc")
        await shows(pilot, "1 with 'MD0 sdc' of 17 devices, 1 target ticked (escape shows all)", "sdc", "member of md0")
        assert "sdb" not in picture(pilot)
        await pilot.press("enter")
        assert pilot.app.current_mode == "devices"
        await shows(pilot, "In use: never wiped (1)", "/dev/sdc ST3000NM0033-9ZM178")
        await pilot.press("escape")
        await shows(pilot, "17 devices, 1 target ticked", "sdb")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.current_mode == "plan", "the plan")


async def test_in_ascii_the_tree_has_branches_and_tab_goes_to_the_pane_whose_text_then_moves() -> None:
    async with at_devices(listed(*STORAGE_BOX), glyphs=ASCII) as pilot:
        await shows(pilot, "17 devices", f"{ASCII.branch}sda1")
        assert picture(pilot).isascii()
        await go_to(pilot, FREE.path)
        assert "read-ahead" not in flat(pilot)
        await pilot.press("tab", "end")
        await shows(pilot, "settings read-ahead 128KiB")
        await pilot.press("home")
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")
        await pilot.press("tab", "question_mark")
        await shows(pilot, "Tick: make the device a target", "Remove..: remove a scratch device; asks")


async def test_a_hostile_label_is_shown_as_text_in_list_pane_and_line() -> None:
    async with at_devices(listed(LABELLED), size=(120, 40)) as pilot:
        await shows(pilot, "1 device")
        await pilot.press("space")
        await shows(pilot, "[x]", r"[/x]\x1b[31m\u202e", "to be lost", "before you type its name")
        assert "\x1b" not in picture(pilot)


async def test_a_list_that_can_not_be_had_is_a_sentence_and_leaves_the_old_one_with_its_age() -> None:
    children = Scripted({"devices": Done(("devices",), 1, "", "fsconsole: No sysfs.\nhint: Mount it.\n")})
    async with at_devices(children) as pilot:
        await shows(pilot, "No sysfs. Mount it.", "The devices could not be read; f5 tries again")
        for answer, words in (
            ('[{"name": 1}]', ("can't be read",)),
            (listed(FREE), ("1 device,", "sdg")),
            (Done((), 1, "", "fsconsole: gone\n"), ("sdg", "the last reading failed,", "gone")),
            (NO_DEVICES, ("0 devices, no target ticked",)),
        ):
            children.answers = {"devices": answer}
            await pilot.press("f5")
            await shows(pilot, *words)
        await pilot.press("space", "down", "R", "x", "end")
        await shows(pilot, "0 devices")


async def test_without_root_the_list_is_shown_and_what_needs_root_says_so() -> None:
    async with at_devices(listed(FREE, is_root=False), is_root=False) as pilot:
        await shows(pilot, "no use seen")
        await pilot.press("space")
        await shows(pilot, "Only root can check whether /dev/sdg is free", "sudo fsconsole")
        acts = {
            "n": "Making a scratch device",
            "R": "Reading a disk",
            "x": "Removing a scratch device",
        }
        # Also where the device at the cursor has just gone and its row not yet.
        for listing in (devices_of(pilot)._watch.listing, Listing()):
            devices_of(pilot)._watch.listing = listing
            for key, act in acts.items():
                devices_of(pilot).say("")
                await pilot.press(key)
                await shows(pilot, f"{act} needs root", "sudo fsconsole")
        assert targets(pilot) == []


async def test_five_hundred_devices_are_shown_and_their_last_is_reached() -> None:
    async with at_devices(listed(*many(500))) as pilot:
        await shows(pilot, "500 devices")
        await pilot.press("end", "space")
        await shows(pilot, "1 target ticked")
        assert targets(pilot) == ["/dev/sdx499"]


async def test_a_click_on_a_head_says_that_devices_are_not_sorted() -> None:
    async with at_devices(listed(*STORAGE_BOX)) as pilot:
        await shows(pilot, "17 devices")
        await pilot.click("#table", offset=(10, 0))
        await shows(pilot, "are not sorted by columns")


async def test_the_cursor_stays_on_its_device_and_one_that_vanished_under_it_leaves_no_tick_on_another() -> None:
    first, second, third, fourth = many(4)
    children = Scripted({"devices": listed(first, second, third, fourth)})
    async with at_devices(children) as pilot:
        await go_to(pilot, third.path)
        children.answers = {"devices": listed(second, third, fourth)}
        await pilot.press("f5")
        await shows(pilot, "3 devices")
        assert devices_of(pilot).query_one("#table", List).key == third.path
        children.answers = {"devices": listed(second, fourth)}
        await pilot.press("f5")
        await shows(pilot, f"{third.path} is gone.")
        await pilot.press("space")
        await shows(pilot, f"{third.path} is gone: nothing was ticked. Space again is for {fourth.path}.")
        assert targets(pilot) == []
        await pilot.press("space")
        await until(pilot, lambda: targets(pilot) == [fourth.path])


async def test_f10_says_where_a_run_is_started() -> None:
    async with at_devices(listed(FREE)) as pilot:
        await shows(pilot, "1 device")
        await pilot.press("f10")
        await shows(pilot, "2 is the plan, and F10 there confirms and runs it.")


async def test_a_tool_that_failed_takes_one_line_below_what_the_device_is_and_its_message_is_at_the_end() -> None:
    said = "wipefs: error: /dev/sda: probing initialization failed: Input/output error"
    command = "wipefs --no-act --json --output DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH /dev/sda"
    note = f"note: /dev/sda could not be looked at: `{command}` failed with exit code 1: {said}\n"
    children = Scripted({"devices": Done(("devices",), 0, listed(*SYSTEM), note)})
    async with at_devices(children) as pilot:
        await go_to(pilot, SYSTEM[0].path)
        lines = (await shows(pilot, "/dev/sda INTEL", "signatures not read")).splitlines()
        places = [next(number for number, line in enumerate(lines) if line.startswith(begin)) for begin in (
            "/dev/sda  INTEL SSDSC2KB480G8", "serial      PHYF001300HS480BGN", "attached    ata", "size        480000000000",
            "note        signatures not read: wipefs failed",
        )]  # fmt: skip
        assert places == sorted(places)
        await pilot.press("tab", "end")
        (last,) = (line for line in (await shows(pilot, "tool error")).splitlines() if line.startswith("tool error"))
        assert last.startswith("tool error  wipefs: error: /dev/sda: probing")
        assert "Input/output error" in last
        assert "exit code" not in flat(pilot)
