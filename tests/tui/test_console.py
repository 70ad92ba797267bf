"""Tabs, keys, footer, palette, and messages of the console."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input, OptionList
from textual.widgets._footer import FooterKey

from fsconsole.errors.runs import JournalUnusable
from fsconsole.tui import screens, widgets
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.keys import declared
from fsconsole.tui.screens.base import offered
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.screens.dialogs import PromptScreen
from fsconsole.tui.widgets.chrome import Keys as Footer
from fsconsole.tui.widgets.chrome import Sentence
from tests.lab.soak import tried
from tests.tui.at_devices import at_devices
from tests.tui.at_plan import Hand, at_plan
from tests.tui.conftest import PARSE_RULES
from tests.tui.device_lists import FREE, LABELLED, STORAGE_BOX, listed
from tests.tui.harness import ONE_OF_SIZES, Scripted, classes_in, console, drive, picture
from tests.tui.on_a_pty import read_until
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

READY = {
    "devices": "17 devices",
    "plan": "New plan",
    "run": "gauges as last read",
    "results": "No verdicts",
    "runs": "1 run",
}
NARROW = (60, 20)
LONG = "/srv/" + "a-directory-with-a-rather-long-name/" * 9 + "journal.sqlite"
MANY = "/srv/" + "a-directory-with-a-rather-long-name/" * 40 + "journal.sqlite"


@pytest.mark.parametrize("size", [*ONE_OF_SIZES, NARROW])
async def test_every_screen_is_reached_by_its_number_offers_its_keys_keeps_its_focus_and_shows_errors_whole(
    size: tuple[int, int], tmp_path: Path
) -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")
    children = Scripted({"devices": listed(*STORAGE_BOX)})
    app = console(children, runs_dir=tmp_path, folder=recorded("grid", tmp_path))
    async with drive(app, size=size) as pilot:
        for number, (mode, ready) in enumerate(READY.items(), start=1):
            await pilot.press(str(number))
            assert "1 Devices" in await shows(pilot, ready)
            assert app.current_mode == mode
            ids = {binding.id for _, binding in offered(app.screen)}
            for binding in (*declared(type(app.screen)), *declared(ConsoleApp)):
                action = binding.action.partition("(")[0]
                if binding.id and app.screen.check_action(action, ()):
                    assert binding.id in ids
            assert {"app switch_mode('devices')", "app switch_mode('runs')", "app show_help", "app quit"} <= ids
            before = app.screen.focused
            assert before is not None
            await pilot.resize_terminal(20, 5)
            await shows(pilot, "too small")
            await pilot.resize_terminal(*size)
            await until(pilot, lambda w=before: app.screen.focused is w, "the focus where it was")
            app.screen.complain(error)
            shown = await shows(pilot, f"{error}{error.hint}", "5 Runs")
            assert "q Quit" in shown or size[0] < 80


async def test_each_style_sheet_is_parsed_once_however_many_screens_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, parsed = stylesheet.parse, Counter[tuple[str, str, object]]()

    def noted(scope: str, css: str, *words: object, **options: object) -> Iterable[RuleSet]:
        # Its rank among the sheets of its classes is a part of its rules.
        parsed[scope, css, options["tie_breaker"]] += 1
        return parse(scope, css, *words, **options)

    monkeypatch.setattr(stylesheet, "parse", noted)
    monkeypatch.setattr(stylesheet.Stylesheet, "_parse_rules", PARSE_RULES)
    async with drive(console(runs_dir=tmp_path, folder=recorded("grid", tmp_path))) as pilot:
        for key, ready in zip("12345", READY.values(), strict=True):
            await pilot.press(key)
            await shows(pilot, ready.replace("17 devices", "1 Devices"))
        await pilot.press("question_mark")
        await shows(pilot, "Keys")
    assert len(parsed) > 20
    assert set(parsed.values()) == {1}


async def test_a_sentence_that_fits_no_screen_leaves_room_and_scrolls_and_is_broken_anew_in_another_size() -> None:
    error, long = (JournalUnusable(path=path, why="file is not a database") for path in (MANY, LONG))
    async with drive(console(), "5") as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        for size in ((80, 24), NARROW):
            await pilot.resize_terminal(*size)
            screen.complain(error)
            shown = await shows(pilot, "The journal /srv/", "there is more: the tab key leads here")
            assert "There are no runs in" in shown
            await tab_to_the_sentence(pilot)
            await pilot.press("end")
            await shows(pilot, error.hint)
            screen.say("Short again.")
            await until(pilot, lambda: not isinstance(pilot.app.focused, Sentence), "the keys go elsewhere")
            assert "there is more" not in picture(pilot)
            said = screen.query_one(Sentence)
            await until(pilot, lambda s=said: s.size.height == 1, "one line")
            assert not said.can_focus
            assert said not in screen.focus_chain
        screen.complain(long)
        for size in ((60, 16), (20, 5), (80, 24), (200, 60)):
            await pilot.resize_terminal(*size)
            if size[0] >= 60:
                await shows(pilot, f"{long}{long.hint}")


async def tab_to_the_sentence(pilot: Pilot[None]) -> None:
    for _ in range(5):
        await pilot.press("tab")
        if isinstance(pilot.app.focused, Sentence):
            return
    raise AssertionError(f"the tab key does not lead to the sentence:\n{picture(pilot)}")


async def test_what_is_wrong_in_a_dialog_is_shown_whole() -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")
    words = f"{error} {error.hint}"
    async with drive(console()) as pilot:
        await pilot.app.push_screen(PromptScreen("A path", "", hint="Where. " * 99, check=lambda _: words))
        await pilot.press("x")
        for size in ((80, 24), NARROW):
            await pilot.resize_terminal(*size)
            await shows(pilot, f"{error}{error.hint}")


async def test_a_terminal_that_is_too_small_gets_a_sentence_and_help_names_the_keys() -> None:
    async with drive(console(), size=(20, 5)) as pilot:
        await shows(pilot, "too small")
        await pilot.resize_terminal(80, 60)
        await shows(pilot, "1 Devices")
        await pilot.press("question_mark")
        await shows(pilot, "Quit: quit; a run goes on")


def keys(pilot: Pilot[None]) -> dict[str, tuple[int, bool]]:
    """Return what stands in the line, each with the identity of its widget, and whether it can be pressed."""
    return {key.description: (id(key), not key.has_class("-disabled")) for key in pilot.app.screen.query(FooterKey)}


async def test_the_line_of_keys_stays_while_its_keys_do_the_same_and_shows_what_can_not_be_pressed_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with at_devices(listed(FREE, LABELLED)) as pilot:
        await shows(pilot, "2 devices", "New scratch")
        before = keys(pilot)
        await pilot.press("down", "up", "tab", "space")  # Space ticks in the details too.
        pilot.app.screen.refresh_bindings()
        await shows(pilot, "1 target ticked")
        assert before
        assert {name: keys(pilot)[name] for name in before if name in keys(pilot)} == before
        await pilot.press("n")
        await shows(pilot, "New scratch device")
        # A text that is longer than its field is seen at its end.
        typed = pilot.app.screen.query(Input).last()
        typed.value = "/long" * 30 + "/the-end"
        typed.focus()
        await pilot.press("end")
        await pilot.pause()
        assert "/long/the-end" in picture(pilot)
        line = pilot.app.screen.query_one(Footer)
        await pilot.press("escape")
        await shows(pilot, "2 devices")
        # Of a screen that has gone: not made anew.
        await line.recompose()
        name = next(iter(keys(pilot)))
        assert keys(pilot)[name][1]
        monkeypatch.setattr(DevicesScreen, "check_action", lambda *_: None)
        pilot.app.screen.refresh_bindings()
        await until(pilot, lambda: not keys(pilot)[name][1], f"{name} as what can't be pressed")


def keys_of(hand: Hand) -> str:
    return picture(hand.pilot).splitlines()[-1]


async def test_no_key_is_clipped_and_start_help_and_quit_are_never_left_out() -> None:
    async with at_plan(size=(60, 20)) as hand:
        for size in tried(((60, 20), (70, 24), (80, 24), (120, 40)), ((60, 20), (80, 24))):
            await hand.pilot.resize_terminal(*size)
            for section in ("filesystems", "options 0", "words", "workloads", "settings", "run"):
                await hand.go_to(section)
                # While its keys are made anew the line is empty.
                await hand.until(lambda: "q Quit" in keys_of(hand))
                line = keys_of(hand)
                assert "space Tick" in line or "enter " in line
                assert "f10 Run.." in line
                assert "? Keys" in line
                assert len(line) <= size[0]


def test_every_binding_has_a_name_a_tooltip_and_an_id_that_means_the_same_everywhere() -> None:
    own = [
        (cls.__name__, binding)
        for cls in (ConsoleApp, *classes_in(screens, DOMNode), *classes_in(widgets, DOMNode))
        for binding in Binding.make_bindings(vars(cls).get("BINDINGS", ()))
    ]
    assert len(own) > 40
    names: dict[str, set[str]] = {}
    for name, binding in own:
        assert binding.id, (name, binding.key)
        assert binding.tooltip, (name, binding.key)
        assert binding.description, (name, binding.key)
        names.setdefault(binding.id, set()).add(binding.description)
    assert {name: found for name, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_the_list_names_what_can_be_done_and_does_it(size: tuple[int, int]) -> None:
    app = console()
    async with drive(app, size=size) as pilot:
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert not names & {"Theme", "Screenshot", "Maximize"}
        assert "Quit" in names
        # Keys are called by words.
        assert [app.get_key_display(Binding(key, "x", "x")) for key in ("enter", "up")] == ["enter", "up"]
        await pilot.press("ctrl+p")
        await pilot.pause()
        found = app.screen.query_one(OptionList)
        await until(pilot, lambda: found.option_count)
        await pilot.press("down")
        await pilot.pause()
        assert found.highlighted == 1
        await pilot.press(*"results")
        await shows(pilot, "show the figures of a run (4)")
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "results")


def test_a_console_whose_terminal_is_gone_without_a_signal_ends(tmp_path: Path) -> None:
    master, slave = os.openpty()
    environ = {**os.environ, "TERM": "linux", "XDG_STATE_HOME": str(tmp_path)}
    argv = (sys.executable, "-m", "fsconsole", "--runs", str(tmp_path / "runs"))
    # In a session of its own, of which the terminal is not: nothing is sent to it when that goes.
    with subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            read_until(master, b"Devices")
            os.close(master)
            assert process.wait(60) == 0
        finally:
            process.kill()
