"""Devices: what its keys have done: read tests, scratch devices, the demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.widgets.table import SheetTable
from tests.tui.at_devices import Held, devices_of, drive, go_to, targets
from tests.tui.device_lists import FREE, SCRATCH, listed
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
        await shows(pilot, "Ended: no device and no file of it is left.")
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
