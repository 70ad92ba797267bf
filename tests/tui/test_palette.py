"""The list of everything that can be done: made from the bindings, and complete."""

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
from textual.widgets import OptionList

from fsconsole.tui import screens, widgets
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import declared, offered
from tests.tui.device_lists import STORAGE_BOX, listed
from tests.tui.harness import SIZES, Scripted, console
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

MODES = ("devices", "plan", "run", "results", "runs")


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
            await shows(pilot, "The grid of a run (4; go.results)")
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
