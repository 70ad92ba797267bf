"""Lists of choices, rows and ticks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.client.children import Done
from fsconsole.devices.identity import listed_identity
from fsconsole.show.lines import Line, Mark
from fsconsole.text import GIB
from fsconsole.tui import watch
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.scratch_form import Room
from fsconsole.tui.watch import BlockTables
from fsconsole.tui.widgets.lists import Choices, List
from fsconsole.tui.widgets.rows import Numbered, Texts
from tests.tui.at_devices import Held
from tests.tui.device_lists import FREE, SCRATCH, listed
from tests.tui.harness import Scripted, Steps, console
from tests.tui.waiting import shows, until

LINES = (
    Line("one", "first", is_heading=True),
    Line("a", "a", Mark.OFF),
    Line("b", "b with a name that takes [/x] more than one row", Mark.ON, wraps=True),
    Line("two", "second", is_heading=True),
    Line("c", "c", Mark.BARRED, is_faint=True),
)


class Listed(App[None]):
    """An app with a list alone, which notes what it is told."""

    def __init__(self, shown: Sequence[Line]) -> None:
        super().__init__()
        self.told: list[str] = []
        self._first = shown

    def compose(self) -> ComposeResult:
        yield Choices(id="list")

    def on_mount(self) -> None:
        self.choices.show_lines(self._first)
        self.choices.focus()

    @property
    def choices(self) -> Choices:
        return self.query_one(Choices)

    def on_list_ticked(self, event: Choices.Ticked) -> None:
        self.told.append(f"ticked {event.key}")

    def on_list_opened(self, event: Choices.Opened) -> None:
        self.told.append(f"opened {event.key}")

    def on_list_left(self, _event: Choices.Left) -> None:
        self.told.append("left")


def text_of(app: Listed) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def drive(
    act: Callable[[Listed, Pilot[None]], Awaitable[None]],
    shown: Sequence[Line] = LINES,
    size: tuple[int, int] = (40, 10),
) -> None:
    async def run() -> None:
        app = Listed(shown)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())


def test_a_name_stands_whole_and_what_is_clicked_in_any_of_its_rows_is_opened() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        assert text_of(app)[:6] == [
            "first",
            "[ ] a",
            "[x] b with a name that takes [/x] more",
            "      than one row",
            "second",
            "[-] c",
        ]
        await pilot.click(Choices, offset=(6, 3))
        await pilot.click(Choices, offset=(6, 4))
        await pilot.click(Choices, offset=(6, 9))
        assert app.told == ["opened b"]

    drive(act)


def test_headings_are_passed_over_and_ends_are_ends() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        seen = []
        for key in ("home", "up", "down", "down", "down", "up", "end", "pageup", "pagedown"):
            await pilot.press(key)
            line = app.choices.looked_at
            seen.append(line.key if line else "")
        assert seen == ["a", "a", "b", "c", "c", "b", "c", "a", "c"]
        await pilot.press("space", "enter", "right", "left")
        assert app.told == ["ticked c", "opened c", "opened c", "left"]

    drive(act)


def test_the_highlight_follows_its_line_and_an_empty_list_has_none() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        app.choices.show_lines(LINES[1:])
        assert app.choices.looked_at == LINES[4]
        app.choices.show_lines(())
        await pilot.press("down", "up", "end", "pageup", "space", "enter")
        assert app.choices.looked_at is None
        assert app.told == []
        app.choices.show_lines(LINES)
        assert app.choices.looked_at == LINES[1]

    drive(act)


def test_of_ten_thousand_lines_those_in_sight_are_made_whatever_is_done() -> None:
    many = tuple(Line(f"k{number}", f"{number} " + "long " * 20, wraps=True) for number in range(10_000))

    async def act(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("end", "home", "pagedown", "up", "end")
        await pilot.pause()
        assert text_of(app)[-1].startswith("9999 ")
        assert app.choices.rows.rows.made < 100
        app.choices.show_lines((*many[:-1], Line("k9999", "another")))
        await pilot.pause()
        assert text_of(app)[-1].split()[0] == "another"
        assert app.choices.rows.rows.made < 100

    drive(act, many)


@dataclass(frozen=True)
class Made:
    text: str
    tone: str = ""


class Shown(App[None]):
    """An app with rows alone, which counts those that were made."""

    def __init__(self, *, has_cursor: bool = True) -> None:
        super().__init__()
        self.made: list[int] = []
        self.chosen: list[int] = []
        self._has_cursor = has_cursor

    def compose(self) -> ComposeResult:
        yield List()

    @property
    def rows(self) -> List:
        return self.query_one(List)

    def show(self, count: int, *, at: str = "") -> None:
        if self._has_cursor:
            self.rows.show(lambda width: Numbered(count, self.row, width), at=at)
        else:
            self.rows.show(lambda width: Texts([self.row(number, width) for number in range(count)]))

    def row(self, number: int, _width: int) -> Made:
        self.made.append(number)
        return Made(f"row {number} [/x]\x1b")

    def on_list_opened(self, event: List.Opened) -> None:
        self.chosen.append(int(event.key))


def lines(app: App[None]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def drive_rows(act: Callable[[Shown, Pilot[None]], Awaitable[None]], *, has_cursor: bool = True) -> None:
    async def run() -> None:
        app = Shown(has_cursor=has_cursor)
        async with app.run_test(size=(40, 10)) as pilot:
            app.rows.focus()
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())


def test_of_ten_thousand_rows_only_those_in_sight_are_made() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(10_000)
        await pilot.pause()
        assert set(app.made) == set(range(10))
        app.made.clear()
        await pilot.press("end")
        await pilot.pause()
        assert min(app.made) > 9_900
        assert lines(app)[-1].startswith("> row 9999") or any(
            line.startswith("> row 9999") for line in lines(app)
        )

    drive_rows(act)


def test_what_is_in_a_row_is_neither_markup_nor_an_escape() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(3)
        await pilot.pause()
        assert lines(app)[1].startswith(r"  row 1 [/x]\x1b")

    drive_rows(act)


def test_the_cursor_follows_until_it_is_moved() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(100, at="" if app.rows.was_moved else "50")
        await pilot.pause()
        assert any(line.startswith("> row 50") for line in lines(app))
        app.show(100, at="" if app.rows.was_moved else "70")
        await pilot.pause()
        assert any(line.startswith("> row 70") for line in lines(app))
        await pilot.press("up")
        app.show(100, at="" if app.rows.was_moved else "90")
        await pilot.pause()
        assert app.rows.cursor == 69
        app.show(100, at="90")
        await pilot.pause()
        assert any(line.startswith("> row 90") for line in lines(app))

    drive_rows(act)


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("down", "down"), 2),
        (("up",), 0),
        (("end",), 99),
        (("end", "home"), 0),
        (("pagedown",), 9),
        (("end", "down"), 99),
    ],
)
def test_keys_move_the_cursor_within_the_rows(keys: tuple[str, ...], cursor: int) -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(100)
        await pilot.press(*keys)
        assert app.rows.cursor == cursor
        await pilot.press("enter")
        await pilot.pause()
        assert app.chosen == [cursor]

    drive_rows(act)


def test_a_click_moves_the_cursor() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(100)
        await pilot.pause()
        await pilot.click(List, offset=(5, 3))
        assert app.rows.cursor == 3

    drive_rows(act)


def test_rows_that_become_fewer_keep_the_cursor_among_them() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(100)
        await pilot.press("end")
        app.show(3)
        await pilot.pause()
        assert app.rows.cursor == 2
        app.show(0)
        await pilot.press("down", "up", "enter")
        assert lines(app)[0] == ""

    drive_rows(act)


def test_a_text_has_no_cursor_and_is_scrolled_line_by_line() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.show(100)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert lines(app)[0].startswith("row 2")
        assert app.chosen == []
        await pilot.press("end")
        await pilot.pause()
        assert lines(app)[9].startswith("row 99")
        await pilot.press("up")
        await pilot.pause()
        assert lines(app)[9].startswith("row 98")
        await pilot.press("home")
        await pilot.pause()
        assert lines(app)[0].startswith("row 0")

    drive_rows(act, has_cursor=False)


MADE = json.dumps({"device": SCRATCH.path, "path": "/x.img", "size_bytes": 1, "scratch_id": "0a1b2c3d"})


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "read_tables", lambda: BlockTables((), ()))
    monkeypatch.setattr(watch, "read_arrays", tuple)
    monkeypatch.setattr(scratch_form, "read_room", lambda _directory: Room("/", 99 * GIB, GIB))


class Ended(Scripted):
    """Children of which those that can be ended wait for that, and then say this."""

    last: Done = Done(("scratch",), 130, "", "")

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        await end.wait()
        return self.last


def drive_ticks(children: Scripted, steps: Steps, runs_dir: Path | str = "/nonexistent") -> None:
    async def look() -> None:
        async with console(children, runs_dir=runs_dir).run_test(size=(80, 24)) as pilot:
            await steps(pilot)

    asyncio.run(look())


def app_of(pilot: Pilot[None]) -> ConsoleApp:
    assert isinstance(pilot.app, ConsoleApp)
    return pilot.app


OTHERS = (
    replace(FREE, diskseq=99),
    replace(FREE, serial="OTHER"),
    replace(FREE, size_bytes=FREE.size_bytes + 512),
)


@pytest.mark.parametrize("other", OTHERS)
def test_a_tick_does_not_pass_to_another_device_of_that_name(other: object) -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        assert app_of(pilot).session.ticks == {FREE.path: listed_identity(FREE)}
        children.answers = {"devices": listed(other)}  # type: ignore[arg-type]
        await pilot.press("f5")
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now", "no target ticked")
        assert app_of(pilot).session.targets == ()

    drive_ticks(children, steps)


def test_a_ticked_device_that_another_has_replaced_is_unticked_when_the_plan_is_shown() -> None:
    children = Scripted({"devices": listed(FREE), "catalog": "[]"})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers = {**children.answers, "devices": listed(OTHERS[0])}
        await pilot.press("2")
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now")
        assert app_of(pilot).session.targets == ()

    drive_ticks(children, steps)


def test_the_demo_asks_and_says_what_it_makes_where(tmp_path: Path) -> None:
    begun = json.dumps({"run": "20261121-100000-demo", "folder": "/x"})
    children = Scripted({"devices": listed(SCRATCH), "demo": begun})

    def demos() -> int:
        return sum(words[0] == "demo" for words in children.asked)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        for refusing in ("n", "escape", "enter"):
            await pilot.press("d")
            await shows(pilot, "Start the demo?", "a scratch device of 2 GiB in /var/lib/fsconsole/scratch,")
            await shows(pilot, "about a minute", "No disk is wiped.")
            await pilot.press(refusing)
            await shows(pilot, "1 device,")
        assert demos() == 0
        await pilot.press("d")
        await shows(pilot, "Start the demo?")
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.current_mode == "run", "the Run screen")
        assert demos() == 1

    drive_ticks(children, steps, tmp_path)


def test_a_demo_that_is_ended_says_what_became_of_it(tmp_path: Path) -> None:
    children = Ended({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "d: a first comparison")
        await pilot.press("d")
        await shows(pilot, "starting the demo; escape stops it")
        await pilot.press("escape")
        await shows(pilot, "Stopped: no run was started, and the scratch device is removed.")

    drive_ticks(children, steps, tmp_path)


LEFT = {
    "nothing": (Done(("scratch",), 130, "", ""), (), "Cancelled: no device and no file is left."),
    "a file": (
        Done(("scratch",), -9, "", ""),
        ("/srv/scratch-1.img",),
        "Cancelled, but /srv/scratch-1.img was not there before",
    ),
    "a device": (Done(("scratch",), 0, MADE, ""), (), "Cancelled: no device and no file is left."),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_left_of_a_making_that_was_ended_is_looked_for_before_it_is_told(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    last, left, told = LEFT[what]
    found = iter([frozenset[str](), frozenset(left)])
    monkeypatch.setattr(scratch_form, "scratch_files", lambda _directory: next(found))
    children = Ended({"devices": listed(FREE), "scratch remove": ""})
    children.last = last

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "It fits")
        pilot.app.screen.query_one("#directory", Input).value = "/srv"
        await pilot.press("enter")
        await shows(pilot, "Creating and allocating")
        await pilot.press("escape")
        await shows(pilot, told)
        removed = [words for words in children.asked if words[:2] == ("scratch", "remove")]
        assert removed == ([("scratch", "remove", "0a1b2c3d")] if what == "a device" else [])
        await pilot.press("escape")
        await until(pilot, lambda: bool(pilot.app.screen.query(List)), "the list of devices")

    drive_ticks(children, steps)


def test_a_tick_that_is_lost_behind_another_screen_is_told_on_that_one() -> None:
    children = Held({"devices": listed(FREE), "catalog": "[]"})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers = {"devices": listed(OTHERS[0])}
        children.held = ("devices",)
        await pilot.press("f5")
        await until(pilot, lambda: children.running)
        await pilot.press("5")
        await shows(pilot, "There are no runs")
        children.release.set()
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now")
        assert pilot.app.current_mode == "runs"

    drive_ticks(children, steps)
