"""Jobs and changes of devices on the Devices screen."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from fsconsole.client.children import Done
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import ScratchAnswer
from fsconsole.model.wire import encode
from fsconsole.text import GIB
from fsconsole.tui import watch
from fsconsole.tui.screens import devices, scratch_form
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.screens.scratch_form import FreeSpace
from fsconsole.tui.watch import BlockChanges
from fsconsole.tui.widgets.lists import List
from tests.tui.at_devices import Held, at_devices, devices_of, go_to, targets
from tests.tui.device_lists import (
    ARRAY,
    FREE,
    NO_FILESYSTEMS,
    RESYNC,
    SCRATCH,
    STORAGE_BOX,
    SYSTEM,
    listed,
)
from tests.tui.harness import ONE_OF_SIZES, Late, Scripted, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import flat, shows, until

READ = json.dumps(
    {"device": FREE.path, "read_bytes": 3 * 10**9, "elapsed_s": 3.0, "bytes_per_s": 1e9, "passes": 1,
     "read_ahead_bytes": 131072, "scheduler": "mq-deadline"}
)  # fmt: skip


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_form, "read_free_space", lambda _directory: FreeSpace("/", 99 * GIB, GIB))


async def test_a_read_test_is_ended_by_escape_and_its_figure_is_told_and_kept_in_the_pane() -> None:
    children = Held({"devices": listed(FREE, SCRATCH), "readtest": READ}, held=("readtest",))
    async with at_devices(children) as pilot:
        await shows(pilot, "2 devices")
        # A click on the mark ticks.
        await pilot.click("#table", offset=(1, 3))
        await shows(pilot, "1 target ticked")
        assert (targets(pilot), pilot.app.current_mode) == ([SCRATCH.path], "devices")
        await go_to(pilot, FREE.path)
        await pilot.press("R")
        await shows(pilot, "Reading from /dev/sdg for 3 s; escape stops it")
        await until(pilot, lambda: children.running == 1)
        await pilot.press("R")
        await shows(pilot, "is still running: escape stops it")
        await pilot.press("escape")
        await shows(pilot, "Stopped: Reading from /dev/sdg")
        await until(pilot, lambda: children.ended)
        assert children.running == 0
        children.release.set()
        await pilot.press("R")
        await shows(pilot, "read test 1000 MB/s through the page cache")
        await go_to(pilot, SCRATCH.path)
        await shows(pilot, "/dev/loop0")
        await go_to(pilot, FREE.path)
        await shows(pilot, "read test 1000 MB/s")
        assert ("readtest", FREE.path, "--json") in children.asked


MADE = encode(ScratchAnswer(SCRATCH.path, "/x.img", 1, "0a1b2c3d", identity=listed_identity(SCRATCH)))


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_a_scratch_device_is_made_in_a_form_that_says_why_it_can_not_be_and_ticked_at_once(
    size: tuple[int, int],
) -> None:
    said = "fsconsole: /x has no room.\nhint: Choose another directory.\n"
    children = Held({"devices": listed(FREE), "scratch create": Done((), 33, "", said)})
    async with at_devices(children, size=size) as pilot:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "New scratch device", "Directory", "must stay")
        # What a field begins with is replaced by what is typed.
        await pilot.press(*"12 bananas")
        await shows(pilot, "'12 bananas' is not a size")
        await pilot.press("ctrl+u", *"64MiB", "enter")
        await shows(pilot, "/x has no room. Choose another directory.")
        children.held = ("scratch",)
        children.answers = {"scratch create": MADE, "devices": listed(FREE, SCRATCH)}
        await pilot.press("enter")
        await shows(pilot, "Writing 64MiB: 0 B", "Escape cancels")
        children.release.set()
        await shows(pilot, "[x] loop0", "1 target ticked")
        assert targets(pilot) == [SCRATCH.path]
        made = next(words for words in children.asked if words[0] == "scratch")
        assert made[2:4] == ("--size", "64MiB")
        assert devices_of(pilot).query_one("#table", List).key == SCRATCH.path


async def test_a_scratch_device_that_was_made_has_cursor_and_tick_at_once_and_keeps_the_tick_when_it_has_been_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = Held({"devices": listed(FREE), "scratch create": MADE})
    seen = replace(SCRATCH, loop=None)
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "It fits")
        children.held, children.answers = ("devices",), {**children.answers, "devices": listed(FREE, SCRATCH)}
        monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges(frozenset(), (seen,)))
        await pilot.press("enter")
        await shows(pilot, "[x] loop0", "new; reading", "/dev/loop0 is ticked: a scratch device, wiped without a")
        table = devices_of(pilot).query_one("#table", List)
        await until(pilot, lambda: table.key == SCRATCH.path)
        assert table.has_focus
        assert targets(pilot) == [SCRATCH.path]
        # What it is isn't known yet: it is not called what it isn't.
        await pilot.press("x")
        await shows(pilot, "is still being read: x again")
        monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
        # Whoever goes on meanwhile stays where he is.
        await go_to(pilot, FREE.path)
        children.release.set()
        await until(pilot, lambda: "new; reading" not in flat(pilot))
        await shows(pilot, "[x] loop0")
        assert (targets(pilot), table.key) == ([SCRATCH.path], FREE.path)


async def test_a_device_at_the_cursor_is_the_same_one_when_it_has_been_read_and_another_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for read, is_other in ((SCRATCH, False), (replace(SCRATCH, diskseq=99), True)):
        children = Held({"devices": listed(FREE)})
        async with at_devices(children) as pilot:
            await shows(pilot, "1 device,")
            children.held, children.answers = ("devices",), {"devices": listed(FREE, read)}
            changes = BlockChanges(frozenset(), (replace(SCRATCH, loop=None),))
            monkeypatch.setattr(watch, "read_changes", lambda _listed, changes=changes: changes)
            devices_of(pilot).post_message(DevicesScreen.News())
            await shows(pilot, "new; reading")
            await go_to(pilot, SCRATCH.path)
            monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
            children.release.set()
            await shows(pilot, "2 devices")
            await until(pilot, lambda: "new; reading" not in flat(pilot))
            assert ("is another device now" in flat(pilot)) == is_other


async def test_up_and_down_lead_from_field_to_field_of_the_form_and_the_footer_names_tab() -> None:
    async with at_devices(Scripted({"devices": listed(FREE)})) as pilot:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "It fits", "enter Create", "tab Next")
        for key, field in (("down", "directory"), ("down", "make"), ("up", "directory"), ("up", "size")):
            await pilot.press(key)
            assert pilot.app.focused is not None
            assert pilot.app.focused.id == field


async def test_the_form_names_the_least_size_for_the_plan_offers_one_that_is_enough_and_takes_a_smaller_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scratch_form, "read_free_space", lambda directory: FreeSpace(directory, 100 * GIB, GIB))
    children = Scripted({"devices": listed(FREE), "scratch create": MADE})
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        for least, offered in ((0, ""), (1590 << 20, "4GiB"), (5 << 30, "5GiB")):
            pilot.app.session.least_bytes = lambda least=least: least
            await pilot.press("n")
            await shows(pilot, "New scratch device", "must stay", f"Size        {offered}")
            told = {0: "", 1590 << 20: "The plan needs at least 1.6 GiB.", 5 << 30: "The plan needs at least 5.0 GiB."}
            await shows(pilot, told[least])
            assert ("The plan needs" in picture(pilot)) == bool(least)
            await pilot.press("escape")
        await pilot.press("n")
        await shows(pilot, "Size        5GiB")
        await pilot.press(*"64MiB")
        await shows(pilot, "It fits", "The plan needs at least 5.0 GiB.")
        await pilot.press("enter")
        await until(pilot, lambda: ("scratch", "create", "--size", "64MiB") in [words[:4] for words in children.asked])


NO_TRACE = "Cancelled: no device and no file is left."


async def test_what_is_left_of_a_making_that_was_ended_is_looked_for_before_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = Late({"devices": listed(FREE), "scratch remove": ""}, waits=("end",))
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device,")
        for exit_code, out, left, told in (
            (130, "", (), NO_TRACE),
            (-9, "", ("/srv/scratch-1.img",), "Cancelled, but /srv/scratch-1.img was not there before"),
            (0, MADE, (), NO_TRACE),
        ):
            children.last, found = (
                Done(("scratch",), exit_code, out, ""),
                iter([frozenset(), frozenset(left)]),
            )
            monkeypatch.setattr(scratch_form, "scratch_files", lambda _, found=found: next(found))
            await pilot.press("n")
            await shows(pilot, "It fits")
            pilot.app.screen.query_one("#directory", Input).value = "/srv"
            await pilot.press("enter")
            await shows(pilot, "Writing 4GiB")
            await pilot.press("escape")
            await shows(pilot, told)
            removed = [words for words in children.asked if words[:2] == ("scratch", "remove")]
            assert removed == ([("scratch", "remove", "--yes", "0a1b2c3d")] if out else [])
            await pilot.press("escape")
            await shows(pilot, "1 device, no target ticked")


async def test_a_scratch_device_is_removed_after_asking_and_nothing_else_is() -> None:
    children = Scripted({"devices": listed(FREE, SCRATCH), "scratch remove": ""})
    async with at_devices(children) as pilot:
        await shows(pilot, "2 devices")
        await go_to(pilot, FREE.path)
        await pilot.press("x")
        await shows(pilot, "is no scratch device")
        await go_to(pilot, SCRATCH.path)
        await pilot.press("space", "delete")
        await shows(pilot, "Remove /dev/loop0?", "scratch-0a1b2c3d.img")
        for refusing in ("escape", "enter"):
            await pilot.press(refusing)
            await shows(pilot, "2 devices")
            assert children.acted == []
            await pilot.press("x")
            await shows(pilot, "Remove /dev/loop0?")
        children.answers = {**children.answers, "devices": listed(FREE)}
        await pilot.press("y")
        await shows(pilot, "Removed /dev/loop0 and its file.", "1 device, no target ticked")
        # Of those runs it is told which can still be resumed on it.
        runs = pilot.app.session.runs_dir
        assert children.acted == [("scratch", "remove", "0a1b2c3d", "--runs", runs)]


async def test_the_first_start_offers_the_demo_which_escape_ends_and_its_key_begins_again(tmp_path: Path) -> None:
    folder = tmp_path / "20261121-100000-demo"
    begun = json.dumps({"run_id": folder.name, "folder": str(folder)})
    children = Held({"devices": listed(FREE), "demo": begun}, held=("demo",))
    async with at_devices(children, runs_dir=tmp_path) as pilot:
        await shows(pilot, "N  Demo: 1 to 10 minutes, writes 2 GiB in /var/lib/fsconsole/scratch")
        await pilot.press("N")
        await shows(pilot, "starting the demo; escape stops it")
        await pilot.press("escape")
        await shows(pilot, "Stopped; no run was started, and the unfinished file was removed.")
        children.release.set()
        await pilot.press("N")
        await until(pilot, lambda: pilot.app.current_mode == "run", "the Run screen")
        assert pilot.app.session.folder.path == str(folder)
        assert children.acted[-1][:5] == ("demo", "--size", "2GiB", "--dir", "/var/lib/fsconsole/scratch")


async def test_the_demos_start_shows_how_much_of_its_file_is_written_and_then_that_its_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, runs = tmp_path / "scratch", tmp_path / "runs"
    for folder in (place, runs):
        folder.mkdir()
    monkeypatch.setattr(devices, "DEFAULT_SCRATCH_DIR", str(place))
    monkeypatch.setattr(devices, "_PROGRESS_S", 0.05)
    begun = json.dumps({"run_id": "20261121-100000-demo", "folder": "/x"})
    children = Held({"devices": listed(FREE), "demo": begun}, held=("demo",))
    async with at_devices(children, runs_dir=runs) as pilot:
        await shows(pilot, "N  Demo: 1 to 10 minutes")
        await pilot.press("N")
        await shows(pilot, "Demo: 0 B of 2.0 GiB written", "escape stops it")
        with (place / "scratch-1.img").open("wb") as file:
            file.truncate(GIB // 2)
            await shows(pilot, "Demo: 512.0 MiB of 2.0 GiB written", "escape stops it")
            file.truncate(2 * GIB)
            await shows(pilot, "Demo: file written, starting the run", "escape stops it")
        children.release.set()
        await until(pilot, lambda: pilot.app.current_mode == "run", "the Run screen")


async def test_the_offer_names_its_keys_and_stays_while_nothing_is_ticked_or_the_cursor_is_on_it(
    tmp_path: Path,
) -> None:
    children = Scripted({"devices": listed(FREE)})
    async with at_devices(children, runs_dir=tmp_path) as pilot:
        await shows(pilot, "1 device,", "N  Demo: 1 to 10", "n  New scratch device: safe to wipe")
        offer = devices_of(pilot).query_one("#offer")
        children.answers = {"devices": listed(FREE, SCRATCH)}
        recorded("grid", tmp_path)
        await pilot.press("f5")
        await shows(pilot, "2 devices")
        assert offer.display
        await pilot.press("tab", "tab")
        assert offer.has_focus
        devices_of(pilot)._tick(FREE.path)
        await shows(pilot, "1 target ticked")
        assert offer.display
        await pilot.press("tab", "f5")
        await until(pilot, lambda: not offer.display)


async def test_the_demo_is_offered_while_there_is_no_run_or_a_free_scratch_device_is_not_ticked(tmp_path: Path) -> None:
    async with at_devices(listed(SCRATCH), runs_dir=tmp_path) as pilot:
        offer = devices_of(pilot).query_one("#offer")
        await shows(pilot, "1 device,", "N  Demo: 1 to 10 minutes")
        await pilot.press("space")
        await shows(pilot, "1 target ticked", "N  Demo: 1 to 10 minutes")
        recorded("grid", tmp_path)
        await pilot.press("f5")
        await until(pilot, lambda: not offer.display)
        await pilot.press("space")
        await shows(pilot, "is unticked", "N  Demo: 1 to 10 minutes")


async def test_where_no_demo_is_offered_the_command_asks_and_says_what_it_makes_where(tmp_path: Path) -> None:
    begun = json.dumps({"run_id": "20261121-100000-demo", "folder": "/x"})
    children = Scripted({"devices": listed(FREE), "demo": begun})
    recorded("grid", tmp_path)
    async with at_devices(children, runs_dir=tmp_path) as pilot:
        await shows(pilot, "1 device,")
        assert "a first comparison" not in flat(pilot)
        for refusing in ("n", "escape", "enter"):
            pilot.app.screen.action_demo()
            await shows(pilot, "Start the demo?", "a scratch device of 2 GiB in /var/lib/fsconsole/scratch,")
            await shows(pilot, "one to ten minutes", "No disk is wiped.")
            await pilot.press(refusing)
            await shows(pilot, "1 device,")
        assert children.acted == []
        pilot.app.screen.action_demo()
        await shows(pilot, "Start the demo?")
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.current_mode == "run", "the Run screen")
        assert [words[0] for words in children.acted] == ["demo"]


async def test_the_cursor_stays_on_its_device_and_the_old_list_stays_with_its_age_while_it_is_read_again() -> None:
    children = Held({"devices": listed(*STORAGE_BOX)})
    fewer = listed(*[one for one in STORAGE_BOX if one not in SYSTEM])
    async with at_devices(children) as pilot:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        for answer, words in ((fewer, "13 devices"), (listed(*STORAGE_BOX), "17 devices")):
            children.answers = {"devices": answer}
            await pilot.press("f5")
            await shows(pilot, words)
            assert devices_of(pilot).query_one("#table", List).key == FREE.path
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")
        children.asked.clear()
        children.held, children.answers = ("devices",), {"devices": fewer}
        await pilot.press("f5", "f5", "f5")
        await shows(pilot, "reading again,", "old", "sdg")
        children.release.set()
        await shows(pilot, "13 devices")
        await until(pilot, lambda: children.running == 0 and "looking" not in flat(pilot))
        # No second child is started beside the first one.
        assert children.most_running == 1
        assert len(children.asked) == 2


async def test_news_of_the_kernel_or_of_udev_and_a_return_make_it_look_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = Scripted({"devices": listed(FREE), "catalog": NO_FILESYSTEMS})
    async with at_devices(children) as pilot:

        def looks() -> int:
            return sum(words[0] == "devices" for words in children.asked)

        await shows(pilot, "1 device,")
        screen = devices_of(pilot)
        await screen.poll()
        assert looks() == 1
        children.answers = {"devices": listed(FREE, SCRATCH)}
        monkeypatch.setattr(watch, "read_tables", lambda: ("loop0",))
        await screen.poll()
        await shows(pilot, "2 devices")
        assert looks() == 2
        children.answers = {"devices": listed(FREE)}
        for _ in range(5):
            screen.post_message(DevicesScreen.News())
        await shows(pilot, "1 device,")
        # Once, when it is quiet.
        assert looks() == 3
        await pilot.press("2")
        await until(pilot, lambda: pilot.app.current_mode == "plan")
        screen.action_look()
        await pilot.pause()
        assert looks() == 3
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("1")
        await shows(pilot, "2 devices")


async def test_the_progress_of_an_array_moves_without_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})
    async with at_devices(children, size=(120, 40)) as pilot:
        await shows(pilot, "resync 41 %")
        await go_to(pilot, ARRAY.path)
        asked = len(children.asked)
        later = replace(RESYNC, progress_percent=57.3, finish_min=90.0)
        monkeypatch.setattr(watch, "read_arrays", lambda: (later,))
        await devices_of(pilot).poll()
        await shows(pilot, "resync 57 %", "resync 57.3 %, 90 min to go")
        assert len(children.asked) == asked


async def test_what_came_and_went_is_shown_before_the_command_has_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = Held({"devices": listed(FREE, SCRATCH)})
    async with at_devices(children) as pilot:
        await shows(pilot, "2 devices")
        children.held = ("devices",)
        new = replace(FREE, name="sdz", path="/dev/sdz", diskseq=99)
        changes = BlockChanges(frozenset({FREE.name}), (new,))
        monkeypatch.setattr(watch, "read_changes", lambda _listed: changes)
        screen = devices_of(pilot)
        screen.post_message(screen.News())
        await shows(pilot, "sdz", "new; reading")
        assert devices_of(pilot).query_one("#table", List).rows.find(FREE.path) is None
        await shows(pilot, f"{FREE.path} is gone.")
        monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
        children.answers = {"devices": listed(new, SCRATCH)}
        children.release.set()
        await until(pilot, lambda: "new; reading" not in flat(pilot))
        await shows(pilot, "sdz", "2 devices")


@pytest.mark.parametrize("answer", [listed(FREE), Done((), 1, "", "fsconsole: No sysfs.\n")])
async def test_an_answer_that_comes_while_the_console_ends_is_left_alone(
    answer: str | Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = Held({"devices": answer}, held=("devices",))
    former = List._message_loop_exit

    async def answered_now(table: List) -> None:
        await former(table)
        children.release.set()
        await asyncio.sleep(0.05)

    monkeypatch.setattr(List, "_message_loop_exit", answered_now)
    async with at_devices(children) as pilot:
        await until(pilot, lambda: children.running, "the child's begin")
    assert children.release.is_set()


async def test_a_scratch_device_that_goes_while_it_is_removed_is_told_as_removed_and_not_as_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children = Held({"devices": listed(FREE, SCRATCH), "scratch remove": ""}, held=("scratch", "remove"))
    async with at_devices(children) as pilot:
        await shows(pilot, "2 devices")
        await go_to(pilot, SCRATCH.path)
        await pilot.press("space", "x")
        await shows(pilot, "Remove /dev/loop0?")
        await pilot.press("y")
        await shows(pilot, "Removing /dev/loop0; escape stops it.")
        screen = devices_of(pilot)
        monkeypatch.setattr(watch, "read_changes", lambda _: BlockChanges(frozenset({SCRATCH.name}), ()))
        screen.post_message(screen.News())
        await until(pilot, lambda: screen.query_one("#table", List).rows.find(SCRATCH.path) is None)
        assert "gone" not in picture(pilot)
        children.answers = {**children.answers, "devices": listed(FREE)}
        children.release.set()
        await shows(pilot, "Removed /dev/loop0 and its file.", "1 device, no target ticked")
        # A bystander that goes at the cursor doesn't replace that.
        children.answers = {**children.answers, "devices": listed(SCRATCH)}
        monkeypatch.setattr(watch, "read_changes", lambda _: BlockChanges(frozenset({FREE.name}), ()))
        screen.post_message(screen.News())
        await until(pilot, lambda: screen.query_one("#table", List).rows.find(FREE.path) is None)
        assert screen.said == "Removed /dev/loop0 and its file."
