"""Tabs, keys, footer, palette, and messages of the console."""

from __future__ import annotations

import asyncio
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input, OptionList
from textual.widgets._footer import FooterKey

from fsconsole.errors.runs import JournalUnusable
from fsconsole.tui import screens, widgets
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.base import ConsoleScreen, declared, offered
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.screens.dialogs import PromptScreen
from fsconsole.tui.widgets.chrome import Keys as Footer
from fsconsole.tui.widgets.chrome import Sentence
from tests.tui.at_devices import drive
from tests.tui.at_plan import Hand, at_plan
from tests.tui.device_lists import FREE, SCRATCH, STORAGE_BOX, listed
from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

READY = {1: "0 devices", 2: "New plan", 3: "last gauges", 4: "sorted by", 5: "1 run"}
MODES = ("devices", "plan", "run", "results", "runs")


@pytest.mark.parametrize("size", SIZES)
def test_every_screen_is_reached_by_its_number(size: tuple[int, int]) -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=size) as pilot:
            for number, mode in enumerate(MODES, start=1):
                await pilot.press(str(number))
                await pilot.pause()
                assert app.current_mode == mode
                assert "1 Devices" in picture(pilot)

    asyncio.run(look())


def test_a_terminal_that_is_too_small_gets_a_sentence() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(20, 5)) as pilot:
            await pilot.pause()
            assert "too small" in " ".join(picture(pilot).split())
            await pilot.resize_terminal(80, 24)
            await pilot.pause()
            assert "1 Devices" in picture(pilot)

    asyncio.run(look())


@pytest.mark.parametrize("mode", range(1, 6))
def test_keys_go_where_they_went_before_the_terminal_was_too_small(mode: int, tmp_path: Path) -> None:
    async def look() -> None:
        children = Scripted({"devices": "[]"})
        app = console(children, runs_dir=tmp_path, folder=recorded("grid", tmp_path))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press(str(mode))
            await shows(pilot, READY[mode])
            before = app.screen.focused
            assert before is not None
            await pilot.resize_terminal(20, 5)
            await pilot.pause()
            await pilot.resize_terminal(80, 24)
            await until(pilot, lambda: app.screen.focused is before, "the focus where it was")

    asyncio.run(look())


def test_help_names_the_keys_of_the_screen() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 60)) as pilot:
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Quit" in picture(pilot)
            await pilot.press("escape")

    asyncio.run(look())


def test_a_text_that_is_longer_than_its_field_is_seen_at_its_end() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("n")
            await pilot.pause()
            app.screen.query(Input).last().value = "/long" * 30 + "/the-end"
            app.screen.query(Input).last().focus()
            await pilot.press("end")
            await pilot.pause()
            assert "/long/the-end" in picture(pilot)

    asyncio.run(look())


def keys(pilot: Pilot[None]) -> dict[str, tuple[int, bool]]:
    """Return what stands in the line, each with the identity of its widget, and whether it can be pressed."""
    return {
        key.description: (id(key), not key.has_class("-disabled"))
        for key in pilot.app.screen.query(FooterKey)
    }


def test_the_line_of_keys_stays_while_its_keys_do_the_same() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices", "New scratch")
        before = keys(pilot)
        await pilot.press("down", "up", "tab", "space")  # Space ticks in the details too.
        pilot.app.screen.refresh_bindings()
        await shows(pilot, "1 target ticked")
        assert before
        assert {name: keys(pilot)[name] for name in before if name in keys(pilot)} == before

    drive(listed(FREE, SCRATCH), steps)


def test_the_line_of_keys_shows_what_can_not_be_pressed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices", "New scratch")
        name = next(iter(keys(pilot)))
        assert keys(pilot)[name][1]
        monkeypatch.setattr(DevicesScreen, "check_action", lambda *_: None)
        pilot.app.screen.refresh_bindings()
        await until(pilot, lambda: not keys(pilot)[name][1], f"{name} as what can't be pressed")

    drive(listed(FREE, SCRATCH), steps)


def test_a_line_of_keys_whose_screen_has_gone_is_not_made_anew() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await pilot.press("n")
        await shows(pilot, "New scratch device")
        line = pilot.app.screen.query_one(Footer)
        await pilot.press("escape")
        await shows(pilot, "2 devices")
        await line.recompose()

    drive(listed(FREE, SCRATCH), steps)


def keys_of(hand: Hand) -> str:
    return picture(hand.pilot).splitlines()[-1]


SECTIONS = ("filesystems", "options 0", "words", "workloads", "settings", "run")


@pytest.mark.parametrize("size", [(60, 20), (70, 24), (80, 24), (120, 40)])
def test_no_key_is_clipped_and_where_some_are_left_out_help_says_that_there_are_more(
    size: tuple[int, int],
) -> None:
    async def work(hand: Hand) -> None:
        for section in SECTIONS:
            await hand.go_to(section)
            # While its keys are made anew the line is empty.
            await until(hand.pilot, lambda: "q Quit" in keys_of(hand), "the line of keys")
            line = keys_of(hand)
            assert "space Tick" in line
            assert "g Go" in line
            assert len(line) <= size[0]
            whole = {"c Commands", "s Save", "p Try", "o Open"}
            assert ("? Help" in line) == all(key in line for key in whole)
            assert ("? More" in line) != ("? Help" in line)
            assert ("a Add" in line) == (section in ("words", "workloads"))

    at_plan(work, size=size)


def test_keys_come_back_when_the_terminal_grows() -> None:
    async def work(hand: Hand) -> None:
        assert "? More" in keys_of(hand)
        await hand.pilot.resize_terminal(120, 40)
        await hand.sees("p Try", "? Help", "c Commands")

    at_plan(work, size=(60, 20))


def node_classes() -> Iterator[type[DOMNode]]:
    yield ConsoleApp
    for package in (screens, widgets):
        for module in pkgutil.iter_modules(package.__path__):
            found = import_module(f"{package.__name__}.{module.name}")
            for _, value in inspect.getmembers(found, inspect.isclass):
                if issubclass(value, DOMNode) and value.__module__ == found.__name__:
                    yield value


def test_every_binding_of_every_screen_and_widget_has_a_name_an_id_and_a_tooltip() -> None:
    own = [
        (cls.__name__, binding)
        for cls in node_classes()
        for binding in Binding.make_bindings(vars(cls).get("BINDINGS", ()))
    ]
    assert len(own) > 40
    assert [
        (name, binding.key)
        for name, binding in own
        if not (binding.id and binding.tooltip and binding.description)
    ] == []


def test_an_id_means_the_same_everywhere() -> None:
    names: dict[str, set[str]] = {}
    for cls in node_classes():
        for binding in Binding.make_bindings(vars(cls).get("BINDINGS", ())):
            names.setdefault(binding.id or "", set()).add(binding.description)
    assert {name: found for name, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize("mode", MODES)
def test_every_binding_of_a_screen_is_offered_unless_it_is_refused_at_present(
    mode: str, tmp_path: Path
) -> None:
    async def look() -> None:
        children = Scripted({"devices": listed(*STORAGE_BOX)})
        app = console(children, runs_dir=tmp_path, folder=recorded("grid", tmp_path))
        async with app.run_test(size=(80, 24)) as pilot:
            await app.switch_mode(mode)
            await pilot.pause()
            ids = {one.binding.id for one in offered(app.screen)}
            for binding in (*declared(type(app.screen)), *declared(ConsoleApp)):
                action = binding.action.partition("(")[0]
                if binding.id and app.screen.check_action(action, ()):
                    assert binding.id in ids
            assert {"go.devices", "go.runs", "help", "quit"} <= ids

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_the_list_names_what_can_be_done_and_does_it(size: tuple[int, int]) -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=size) as pilot:
            await pilot.press("ctrl+p")
            await pilot.pause()
            await pilot.press(*"results")
            await shows(pilot, "Show the figures of a run (4; go.results)")
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == "results")

    asyncio.run(look())


def test_textuals_own_commands_are_left_out() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            names = {command.title for command in app.get_system_commands(app.screen)}
            assert not names & {"Theme", "Screenshot", "Maximize", "Keys"}
            assert "Quit" in names

    asyncio.run(look())


def test_the_list_scrolls_and_shows_its_cursor_without_colours_too() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("ctrl+p")
            await pilot.pause()
            found = app.screen.query_one(OptionList)
            await until(pilot, lambda: found.option_count)
            await pilot.press("down")
            await pilot.pause()
            assert found.highlighted == 1

    asyncio.run(look())


def test_keys_are_called_by_words() -> None:
    app = console()
    assert app.get_key_display(Binding("enter", "x", "x")) == "enter"
    assert app.get_key_display(Binding("up", "x", "x")) == "up"


LONG = "/srv/" + "a-directory-with-a-rather-long-name/" * 9 + "journal.sqlite"
MANY = "/srv/" + "a-directory-with-a-rather-long-name/" * 40 + "journal.sqlite"


def screen(pilot: Pilot[None]) -> ConsoleScreen:
    shown = pilot.app.screen
    assert isinstance(shown, ConsoleScreen)
    return shown


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
@pytest.mark.parametrize("key", "12345")
def test_an_error_with_a_long_path_is_shown_whole_on_every_screen(key: str, size: tuple[int, int]) -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            await pilot.press(key)
            await pilot.pause()
            screen(pilot).complain(error)
            shown = await shows(pilot, f"{error}{error.hint}")
            assert "q Quit" in shown or size[0] < 80
            assert "5 Runs" in shown

    asyncio.run(go())


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_one_that_fits_no_screen_leaves_room_and_scrolls(size: tuple[int, int]) -> None:
    error = JournalUnusable(path=MANY, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(error)
            shown = await shows(pilot, "The journal /srv/", "there is more: the tab key leads here")
            assert "There are no runs in" in shown
            await tab_to_the_sentence(pilot)
            await pilot.press("end")
            await shows(pilot, error.hint)
            screen(pilot).say("Short again.")
            await until(
                pilot, lambda: not isinstance(pilot.app.focused, Sentence), "the keys go elsewhere again"
            )
            assert "there is more" not in picture(pilot)

    asyncio.run(go())


async def tab_to_the_sentence(pilot: Pilot[None]) -> None:
    for _ in range(5):
        await pilot.press("tab")
        if isinstance(pilot.app.focused, Sentence):
            return
    raise AssertionError(f"the tab key does not lead to the sentence:\n{picture(pilot)}")


def test_a_short_sentence_takes_one_line_and_is_no_stop_for_tab() -> None:
    async def go() -> None:
        async with console().run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(JournalUnusable(path=LONG, why="malformed"))
            await shows(pilot, "malformed")
            screen(pilot).say("Done.")
            await shows(pilot, "Done.")
            said = screen(pilot).query_one(Sentence)
            await until(pilot, lambda: said.size.height == 1, "one line")
            assert not said.can_focus
            assert said not in screen(pilot).focus_chain

    asyncio.run(go())


def test_a_sentence_is_broken_anew_when_the_terminal_is_resized() -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=(120, 40)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(error)
            for size in ((60, 16), (20, 5), (80, 24), (200, 60)):
                await pilot.resize_terminal(*size)
                if size[0] >= 60:
                    await shows(pilot, f"{error}{error.hint}")

    asyncio.run(go())


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_what_is_wrong_in_a_dialog_is_shown_whole(size: tuple[int, int]) -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            words = f"{error} {error.hint}"
            await pilot.app.push_screen(
                PromptScreen("A path", "", hint="Where. " * 99, check=lambda _: words)
            )
            await pilot.press("x")
            await shows(pilot, f"{error}{error.hint}")

    asyncio.run(go())
