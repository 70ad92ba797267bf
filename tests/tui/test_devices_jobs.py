"""Jobs, ticks and changes of devices on the Devices screen."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.tui import watch
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.watch import BlockChanges, BlockTables
from fsconsole.tui.widgets.lists import List
from tests.tui.at_devices import Held, devices_of, drive, go_to, targets
from tests.tui.device_lists import ARRAY, FREE, LABELLED, RESYNC, SCRATCH, STORAGE_BOX, SYSTEM, listed
from tests.tui.harness import SIZES, Scripted
from tests.tui.waiting import flat, shows, until

READ = json.dumps(
    {"device": FREE.path, "read_bytes": 3 * 10**9, "elapsed_s": 3.0, "bytes_per_s": 1e9, "passes": 1,
     "read_ahead_bytes": 131072, "scheduler": "mq-deadline"}
)  # fmt: skip


def test_a_read_tests_figure_is_told_and_kept_in_the_pane() -> None:
    children = Held({"devices": listed(FREE, SCRATCH), "readtest": READ}, held=("readtest",))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await go_to(pilot, FREE.path)
        await pilot.press("r")
        await shows(pilot, "Reading from /dev/sdg for 3 s; escape stops it")
        children.release.set()
        await shows(pilot, "read test 1000 MB/s through the page cache")
        await go_to(pilot, SCRATCH.path)
        await shows(pilot, "/dev/loop0")
        await go_to(pilot, FREE.path)
        await shows(pilot, "read test 1000 MB/s")
        assert ("readtest", FREE.path, "--json") in children.asked

    drive(children, steps)


def test_escape_ends_a_read_test() -> None:
    children = Held({"devices": listed(FREE)}, held=("readtest",))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("r")
        await until(pilot, lambda: children.running == 1)
        await pilot.press("r")
        await shows(pilot, "is still running: escape stops it")
        await pilot.press("escape")
        await shows(pilot, "Stopped: Reading from /dev/sdg")
        await until(pilot, lambda: children.ended)
        assert children.running == 0

    drive(children, steps)


MADE = json.dumps({"device": SCRATCH.path, "path": "/x.img", "size_bytes": 1, "scratch_id": "0a1b2c3d"})


@pytest.mark.parametrize("size", SIZES)
def test_a_scratch_device_is_made_in_a_form_and_ticked_at_once(size: tuple[int, int]) -> None:
    children = Held({"devices": listed(FREE), "scratch create": MADE})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "New scratch device", "Directory", "must stay")
        await pilot.press("ctrl+u")
        await pilot.press(*"12 bananas")
        await shows(pilot, "'12 bananas' is not a size")
        await pilot.press("ctrl+u")
        await pilot.press(*"64MiB")
        children.held, children.answers = ("scratch",), {**children.answers, "devices": listed(FREE, SCRATCH)}
        await pilot.press("enter")
        await shows(pilot, "Creating and allocating 64MiB", "Escape cancels")
        children.release.set()
        await shows(pilot, "[x] loop0", "1 target ticked")
        assert targets(pilot) == [SCRATCH.path]
        made = next(words for words in children.asked if words[0] == "scratch")
        assert made[2:4] == ("--size", "64MiB")
        assert devices_of(pilot).query_one("#table", List).key == SCRATCH.path

    drive(children, steps, size=size)


def test_a_scratch_device_that_can_not_be_made_says_why_in_the_form() -> None:
    said = "fsconsole: /x has no room.\nhint: Choose another directory.\n"
    children = Scripted({"devices": listed(FREE), "scratch create": Done((), 33, "", said)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "New scratch device", "It fits")
        await pilot.press("enter")
        await shows(pilot, "/x has no room. Choose another directory.")
        await pilot.press("escape")
        await shows(pilot, "1 device, no target ticked")

    drive(children, steps)


def test_escape_takes_a_scratch_device_back_that_is_being_made() -> None:
    children = Held({"devices": listed(FREE)}, held=("scratch",))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "It fits")
        await pilot.press("enter")
        await shows(pilot, "Creating and allocating")
        await pilot.press("escape")
        await shows(pilot, "Cancelled: no device and no file is left.")
        await until(pilot, lambda: children.ended)
        await pilot.press("escape")
        await shows(pilot, "1 device, no target ticked")

    drive(children, steps)


def test_a_scratch_device_is_removed_after_asking_and_nothing_else_is() -> None:
    children = Scripted({"devices": listed(FREE, SCRATCH), "scratch remove": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await go_to(pilot, FREE.path)
        await pilot.press("x")
        await shows(pilot, "is no scratch device")
        await go_to(pilot, SCRATCH.path)
        await pilot.press("space", "delete")
        await shows(pilot, "Remove /dev/loop0?", "scratch-0a1b2c3d.img")
        await pilot.press("escape")
        await shows(pilot, "2 devices")
        assert ("scratch", "remove", "0a1b2c3d") not in children.asked
        await pilot.press("x")
        await shows(pilot, "Remove /dev/loop0?")
        children.answers = {**children.answers, "devices": listed(FREE)}
        await pilot.press("y")
        await shows(pilot, "/dev/loop0 and its file are removed.", "1 device, no target ticked")
        assert ("scratch", "remove", "0a1b2c3d") in children.asked

    drive(children, steps)


def test_enter_alone_does_not_remove() -> None:
    children = Scripted({"devices": listed(SCRATCH)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("x")
        await shows(pilot, "Remove /dev/loop0?")
        await pilot.press("enter")
        await shows(pilot, "1 device,")
        assert all(words[0] == "devices" for words in children.asked)

    drive(children, steps)


def test_the_first_start_offers_the_demo_and_d_opens_its_run(tmp_path: Path) -> None:
    folder = tmp_path / "20261121-100000-demo"
    begun = json.dumps({"run": folder.name, "folder": str(folder)})
    children = Scripted({"devices": listed(FREE), "demo": begun})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "d: a first comparison on a scratch device of 2 GiB, touches no disk")
        await pilot.press("d")
        await until(pilot, lambda: pilot.app.current_mode == "run")
        assert isinstance(pilot.app, ConsoleApp)
        assert pilot.app.session.folder is not None
        assert pilot.app.session.folder.path == str(folder)
        (words,) = [words for words in children.asked if words[0] == "demo"]
        assert words[1:5] == ("--size", "2GiB", "--dir", "/var/lib/fsconsole/scratch")

    drive(children, steps, runs_dir=tmp_path)


def test_with_a_scratch_device_there_is_no_offer(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        assert "a first comparison" not in flat(pilot)

    drive(listed(SCRATCH), steps, runs_dir=tmp_path)


def test_the_cursor_stays_on_its_device_when_others_come_and_go() -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        children.answers = {"devices": listed(*[one for one in STORAGE_BOX if one not in SYSTEM])}
        await pilot.press("f5")
        await shows(pilot, "13 devices")
        assert devices_of(pilot).query_one("#table", List).key == FREE.path
        children.answers = {"devices": listed(*STORAGE_BOX)}
        await pilot.press("f5")
        await shows(pilot, "17 devices")
        assert devices_of(pilot).query_one("#table", List).key == FREE.path
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")

    drive(children, steps)


def test_while_it_looks_again_the_old_list_stays_with_its_age_and_no_second_child_is_started() -> None:
    children = Held({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.held = ("devices",)
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("f5", "f5", "f5")
        await shows(pilot, "reading again,", "old", "sdg")
        children.release.set()
        await shows(pilot, "2 devices")
        await until(pilot, lambda: children.running == 0 and "looking" not in flat(pilot))
        assert children.most_running == 1
        assert len([words for words in children.asked if words[0] == "devices"]) == 3

    drive(children, steps)


def test_a_change_in_the_kernels_tables_makes_it_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await devices_of(pilot).poll()
        assert len(children.asked) == 1
        children.answers = {"devices": listed(FREE, SCRATCH)}
        monkeypatch.setattr(watch, "read_tables", lambda: BlockTables(("loop0",), ()))
        await devices_of(pilot).poll()
        await shows(pilot, "2 devices")

    drive(children, steps)


def test_what_happens_behind_another_screen_is_looked_at_on_the_return() -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        screen = devices_of(pilot)
        await pilot.press("2")
        await until(pilot, lambda: pilot.app.current_mode == "plan")
        screen.action_look()
        await pilot.pause()
        assert len([words for words in children.asked if words[0] == "devices"]) == 1
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("1")
        await shows(pilot, "2 devices")

    drive(children, steps)


def test_udevs_news_are_looked_at_once_when_it_is_quiet() -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.answers = {"devices": listed(FREE, SCRATCH)}
        for _ in range(5):
            devices_of(pilot).post_message(DevicesScreen.News())
        await shows(pilot, "2 devices")
        assert len(children.asked) == 2

    drive(children, steps)


def test_the_progress_of_an_array_moves_without_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "resync 41 %")
        await go_to(pilot, ARRAY.path)
        asked = len(children.asked)
        later = replace(RESYNC, progress_percent=57.3, finish_min=90.0)
        monkeypatch.setattr(watch, "read_arrays", lambda: (later,))
        await devices_of(pilot).follow_progress()
        await shows(pilot, "resync 57 %", "resync 57.3 %, 90 min to go")
        assert len(children.asked) == asked

    drive(children, steps, size=(120, 40))


def test_what_came_and_went_is_shown_before_the_command_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Held({"devices": listed(FREE, SCRATCH)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        children.held = ("devices",)
        new = replace(FREE, name="sdz", path="/dev/sdz", diskseq=99)
        changes = BlockChanges(frozenset({FREE.name}), (new,))
        monkeypatch.setattr(watch, "read_changes", lambda _listed: changes)
        screen = devices_of(pilot)
        screen.post_message(screen.News())
        await shows(pilot, "sdz", "new; reading")
        assert "sdg" not in flat(pilot)
        monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
        children.answers = {"devices": listed(new, SCRATCH)}
        children.release.set()
        await until(pilot, lambda: "new; reading" not in flat(pilot))
        await shows(pilot, "sdz", "2 devices")

    drive(children, steps)


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
        await shows(pilot, "1 target ticked", "is unticked")
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


@pytest.mark.parametrize("answer", [listed(FREE), Done((), 1, "", "fsconsole: No sysfs.\n")])
def test_an_answer_that_comes_while_the_console_ends_is_left_alone(
    answer: str | Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = Held({"devices": answer}, held=("devices",))
    former = List._message_loop_exit

    async def answered_now(table: List) -> None:
        await former(table)
        children.release.set()
        await asyncio.sleep(0.05)

    monkeypatch.setattr(List, "_message_loop_exit", answered_now)

    async def steps(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: children.running, "the child's begin")

    drive(children, steps)
    assert children.release.is_set()
