"""Devices: what the list shows, what can be ticked, and what its keys have done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.tui import device_watch
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.block_tables import BlockTables
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.terminal import ASCII, SAFE, Glyphs
from fsconsole.tui.views.scratch_form import Room
from fsconsole.tui.widgets.sheet_table import SheetTable
from fsconsole.units import GIB
from tests.tui.device_lists import ARRAY, FREE, LABELLED, RESYNC, SCRATCH, STORAGE_BOX, SYSTEM, listed, many
from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.snapshots import assert_looks_as_kept

Pressed = Callable[[Pilot[None]], Awaitable[None]]


@dataclass
class Held(Scripted):
    """Children of whom those with given words are not done before the test says so."""

    held: tuple[str, ...] = ()
    release: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0
    most_running: int = 0
    ended: list[tuple[str, ...]] = field(default_factory=list)

    async def run(self, *words: str) -> Done:
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            if words[0] in self.held:
                await self.release.wait()
            return await super().run(*words)
        except asyncio.CancelledError:
            self.ended.append(words)
            raise
        finally:
            self.running -= 1


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens on the machine below the tests."""
    monkeypatch.setattr(device_watch, "read_tables", lambda: BlockTables((), ()))
    monkeypatch.setattr(device_watch, "read_arrays", tuple)


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    for _ in range(1000):
        if holds():
            await pilot.pause()
            return
        await pilot.pause(0.01)
    raise AssertionError(f"it never held; on the screen:\n{picture(pilot)}")


async def shows(pilot: Pilot[None], *words: str) -> None:
    await until(pilot, lambda: all(word in flat(pilot) for word in words))


def flat(pilot: Pilot[None]) -> str:
    """Return what is on the screen with every run of spaces as one, and no frames, so that a broken line is found."""
    return " ".join(picture(pilot).replace("│", " ").split())


def devices_of(pilot: Pilot[None]) -> DevicesScreen:
    screen = pilot.app.screen
    assert isinstance(screen, DevicesScreen)
    return screen


def targets(pilot: Pilot[None]) -> list[str]:
    assert isinstance(pilot.app, ConsoleApp)
    return pilot.app.session.targets


async def go_to(pilot: Pilot[None], path: str) -> None:
    devices_of(pilot).query_one(SheetTable).go_to(path)
    await until(pilot, lambda: devices_of(pilot).query_one(SheetTable).key == path)


def drive(
    children: Scripted | str,
    steps: Callable[[Pilot[None]], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    is_root: bool = True,
    glyphs: Glyphs = SAFE,
    runs_dir: Path | str = "/nonexistent",
) -> None:
    """Show the console, wait for the first list, and do the steps."""
    scripted = Scripted({"devices": children}) if isinstance(children, str) else children

    async def look() -> None:
        app = console(scripted, is_root=is_root, glyphs=glyphs, runs_dir=runs_dir)
        async with app.run_test(size=size) as pilot:
            await steps(pilot)

    asyncio.run(look())


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


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/sda", ("in use (in use: sda1, sda2, sda3)", "Part of it is in use")),
        ("/dev/sda2", ("ext4 mounted on /", "This machine runs from it")),
        ("/dev/sda3", ("swapoff /dev/sda3",)),
        ("/dev/sdb", ("member of md0", "mdadm --stop /dev/md0")),
        ("/dev/md0", ("/dev/md0 is being resynced: it can't be ticked", "Wait until it is done")),
        ("/dev/dm-1", ("umount /srv/home/of/everybody",)),
        ("/dev/sdh", ("Tick dm-0 (mpatha) itself",)),
    ],
)
def test_what_may_not_be_wiped_is_not_ticked_and_says_why(path: str, words: tuple[str, ...]) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await go_to(pilot, path)
        await pilot.press("space")
        await shows(pilot, *words)
        assert targets(pilot) == []

    drive(listed(*STORAGE_BOX), steps, size=(120, 40))


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


def test_without_a_tick_enter_stays_and_says_what_to_do() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await pilot.press("enter")
        await shows(pilot, "space ticks a target")
        assert pilot.app.current_mode == "devices"

    drive(listed(*STORAGE_BOX), steps)


def test_the_cursor_stays_on_its_device_when_others_come_and_go() -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        children.answers = {"devices": listed(*[one for one in STORAGE_BOX if one not in SYSTEM])}
        await pilot.press("f5")
        await shows(pilot, "13 devices")
        assert devices_of(pilot).query_one(SheetTable).key == FREE.path
        children.answers = {"devices": listed(*STORAGE_BOX)}
        await pilot.press("f5")
        await shows(pilot, "17 devices")
        assert devices_of(pilot).query_one(SheetTable).key == FREE.path
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")

    drive(children, steps)


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ((LABELLED,), "/dev/sdg was unticked: it is gone."),
        ((LABELLED, replace(FREE, serial="OTHER", diskseq=99)), "another device stands there now"),
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


def test_while_it_looks_again_the_old_list_stays_with_its_age_and_no_second_child_is_started() -> None:
    children = Held({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.held = ("devices",)
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("f5", "f5", "f5")
        await shows(pilot, "looking again, this is", "old", "sdg")
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
        monkeypatch.setattr(device_watch, "read_tables", lambda: BlockTables(("loop0",), ()))
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
        monkeypatch.setattr(device_watch, "read_arrays", lambda: (later,))
        await devices_of(pilot).follow_progress()
        await shows(pilot, "resync 57 %", "resync 57.3 %, 90 min to go")
        assert len(children.asked) == asked

    drive(children, steps, size=(120, 40))


def test_a_list_that_can_not_be_had_or_read_becomes_a_sentence() -> None:
    children = Scripted({"devices": Done(("devices",), 1, "", "fsconsole: No sysfs.\nhint: Mount it.\n")})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "No sysfs. Mount it.", "The devices could not be looked at; f5 tries again")
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
        await shows(pilot, "sdg", "the last look failed, this is", "no answer for devices")

    drive(children, steps)


def test_without_root_the_list_is_shown_and_what_needs_root_says_so() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no use seen")
        await pilot.press("space")
        await shows(pilot, "Only root can see whether /dev/sdg is free", "sudo fsconsole")
        for key, word in (("n", "made"), ("r", "read"), ("x", "removed"), ("d", "started")):
            await pilot.press(key)
            await shows(pilot, f"{word} by root only", "sudo fsconsole")
        assert targets(pilot) == []

    drive(listed(FREE, is_root=False), steps, is_root=False)


def test_a_device_that_was_not_proved_is_looked_at_closely_before_it_is_ticked() -> None:
    proved = listed(FREE)
    open_list = listed(FREE, SCRATCH, not_asked=frozenset({"sdg"}))
    children = Scripted({"devices": open_list, f"devices --json --runs /nonexistent {FREE.path}": proved})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no use seen", "not proved")
        await go_to(pilot, FREE.path)
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        await pilot.press("f5")
        await until(pilot, lambda: len(children.asked) == 3)
        await pilot.pause()
        assert targets(pilot) == [FREE.path]
        assert "no use seen" not in flat(pilot)

    drive(children, steps)


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
        await shows(pilot, "Reading from /dev/sdg for 3 s; escape ends it")
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
        await shows(pilot, "still goes on: escape ends it")
        await pilot.press("escape")
        await shows(pilot, "Ended: Reading from /dev/sdg")
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
        await shows(pilot, "Making and allocating 64MiB", "Escape takes it back")
        children.release.set()
        await shows(pilot, "[x] loop0", "1 target ticked")
        assert targets(pilot) == [SCRATCH.path]
        made = next(words for words in children.asked if words[0] == "scratch")
        assert made[2:4] == ("--size", "64MiB")
        assert devices_of(pilot).query_one(SheetTable).key == SCRATCH.path

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
        await shows(pilot, "Making and allocating")
        await pilot.press("escape")
        await shows(pilot, "Ended: nothing is left of it")
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
    children = Scripted({"devices": listed(FREE), "demo": json.dumps({"run": "r", "folder": str(folder)})})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "d: a first comparison on a scratch device of 2 GiB, touches no disk")
        await pilot.press("d")
        await until(pilot, lambda: pilot.app.current_mode == "run")
        assert isinstance(pilot.app, ConsoleApp)
        assert pilot.app.session.folder is not None
        assert pilot.app.session.folder.path == str(folder)
        assert ("demo", "--detach", "--runs", str(tmp_path), "--json") in children.asked

    drive(children, steps, runs_dir=tmp_path)


def test_with_a_scratch_device_there_is_no_offer(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        assert "a first comparison" not in flat(pilot)

    drive(listed(SCRATCH), steps, runs_dir=tmp_path)


def test_a_click_on_the_mark_ticks() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await pilot.click("#table", offset=(1, 2))
        await shows(pilot, "1 target ticked")
        assert targets(pilot) == [SCRATCH.path]
        assert pilot.app.current_mode == "devices"

    drive(listed(FREE, SCRATCH), steps)


def test_five_hundred_devices_are_shown_and_their_last_is_reached() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "500 devices")
        await pilot.press("end", "space")
        await shows(pilot, "1 target ticked")
        assert targets(pilot) == ["/dev/sdatf"]

    drive(listed(*many(500)), steps)
