"""The table of keys: one meaning each, no clash, nothing that ends or wipes without a question, all told in help and docs."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from fsconsole.client.children import Done
from fsconsole.errors import ExitCode
from fsconsole.model.events import ControlRequested, Verb
from fsconsole.show.going import still_running
from fsconsole.tui import app as tui_app
from fsconsole.tui import keys, screens, widgets
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.widgets.lists import List
from tests.tui.at_plan import catalog_answer
from tests.tui.device_lists import FREE, NO_DEVICES, SCRATCH, listed
from tests.tui.harness import Scripted, classes_in, console, drive, picture
from tests.tui.keys_page import PAGE, page
from tests.tui.living import living_run
from tests.tui.recorded import all_recorded, recorded
from tests.tui.waiting import shows, until

CLASSES = (ConsoleApp, *classes_in(screens, DOMNode), *classes_in(widgets, DOMNode))


def test_a_key_has_one_meaning_and_a_place_has_it_once() -> None:
    names = Counter(name for key in keys.KEYS for name in key.keys)
    assert [name for name, count in names.items() if count > 1] == []
    for key in keys.KEYS:
        places = Counter(use.place for use in key.uses)
        assert [place for place, count in places.items() if count > 1] == [], key.keys


def test_o_shows_the_plan_of_a_run_wherever_it_is_bound_and_nothing_else() -> None:
    uses = [use for key in keys.KEYS if "o" in key.keys for use in key.uses]
    assert {use.action for use in uses} == {"open_run_plan"}
    assert {use.place for use in uses} == {"run", "results", "runs"}


def test_every_binding_of_the_console_comes_from_the_table_and_every_use_is_bound() -> None:
    table = {use.id for key in (*keys.KEYS, *keys.ANSWERS) for use in key.uses}
    bound = {
        binding.id for cls in CLASSES for binding in Binding.make_bindings(vars(cls).get("BINDINGS", ())) if binding.id
    }
    own = [cls for cls in CLASSES for binding in vars(cls).get("BINDINGS", ()) if binding.id not in table]
    assert own == []
    assert bound == table


def test_what_ends_wipes_or_deletes_is_no_plain_letter_or_asks_and_no_key_is_flow_control() -> None:
    for key in keys.KEYS:
        harms = [use for use in key.uses if use.asks]
        is_plain = any(len(name) == 1 and name.islower() for name in key.keys)
        assert not harms or not is_plain or "asks" in key.means, key.keys
        # XOFF and XON of serial lines, suspend, quit.
        assert not {"ctrl+s", "ctrl+q", "ctrl+z", "ctrl+backslash"} & set(key.keys)
    assert {"ctrl+s", "ctrl+q"}.isdisjoint(console()._bindings.key_to_bindings)


LETTERS = "abcdefghijklmnprstuvwxyz"
"""All but o and q, which leave the screen: o shows the plan of the run."""


async def test_no_plain_letter_asks_more_of_a_living_run_than_to_pause_or_to_stop_after_its_cell(
    tmp_path: Path,
) -> None:
    children = Scripted()
    with living_run(tmp_path) as run:
        async with drive(console(children, folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            for letter in LETTERS.replace("d", ""):
                await pilot.press(letter, "escape")
                await pilot.pause()
        assert set(run.asked) <= {Verb.PAUSE, Verb.CONTINUE, Verb.STOP_AFTER}
    assert children.acted == []


@pytest.mark.parametrize("mode", ["1", "2"])
async def test_no_plain_letter_of_devices_or_plan_runs_a_command_that_wipes_or_deletes(
    tmp_path: Path, mode: str
) -> None:
    children = Scripted({"devices": listed(FREE, SCRATCH)})
    async with drive(console(children, runs_dir=tmp_path), mode) as pilot:
        await shows(pilot, "2 devices" if mode == "1" else "Run..")
        for at in ("home", "end"):
            for letter in LETTERS:
                await pilot.press(at, letter, "escape")
                await pilot.pause()
    assert [words for words in children.acted if words[0] not in LOOKS] == []


LOOKS = {"catalog", "plan", "plans", "runs"}
"""Commands that only look."""


@pytest.mark.parametrize("mode", ["5", "4"])
async def test_no_plain_letter_changes_a_kept_run(tmp_path: Path, mode: str) -> None:
    recorded("stopped", tmp_path)
    unasked = Done((), ExitCode.CONSENT_MISSING, "", "fsconsole: its figures are gone then\n")
    children = Scripted({"devices": Done((), 0, NO_DEVICES, ""), "runs delete": unasked})
    async with drive(console(children, runs_dir=tmp_path), mode) as pilot:
        for letter in LETTERS:
            await pilot.press(letter, "escape")
            await pilot.pause()
    # The command itself refuses to delete what it wasn't told to.
    assert [words[:2] for words in children.acted] == [("runs", "delete")] * (mode == "5")
    assert not any("--yes" in words for words in children.acted)


@pytest.mark.parametrize(
    ("mode", "place"), [("1", "devices"), ("2", "plan"), ("3", "run"), ("4", "results"), ("5", "runs")]
)
async def test_help_lists_all_keys_of_the_screen_and_its_commands(tmp_path: Path, mode: str, place: str) -> None:
    async with drive(console(folder=recorded("grid", tmp_path), runs_dir=tmp_path), mode, size=(200, 120)) as pilot:
        label_of = pilot.app.screen.label_of
        if place == "run":
            # What enter does there is known once the run has been read.
            await until(pilot, lambda: label_of("cell"), "the run is read")
        await pilot.press("?")
        shown = " ".join((await shows(pilot, "Keys")).replace("│", " ").split())
        own = {key for key, _ in keys.keys_of(place)}
        for wanted in (place, "app", "list"):
            for key, use in keys.keys_of(wanted):
                # Of a key that the screen has itself only that use is told; a table has its own word for a row.
                if wanted == place or (key not in own and key != "enter"):
                    assert f"{label_of(use.action) or use.label}: {use.does}" in shown
        for use in keys.COMMANDS:
            assert (f"{use.label}: {use.does}" in shown) == (use.place == place)


async def test_help_scrolls_by_the_keys_of_every_list_and_keeps_what_a_key_does_beside_it(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("grid", tmp_path), runs_dir=tmp_path), "4") as pilot:
        await pilot.press("?")
        await shows(pilot, "raw rows.")
        assert re.search(r"│ b +Baseline: .*\n *│ {12}\S", picture(pilot))
        await pilot.press("G")
        assert "raw rows." not in await shows(pilot, "Replaced rounds: show figures")
        await pilot.press("g")
        await shows(pilot, "raw rows.")


@pytest.mark.parametrize("mode", ["1", "2", "3", "4", "5"])
async def test_j_and_k_move_by_one_line_and_g_and_shift_g_go_to_the_ends_on_every_screen(
    tmp_path: Path, mode: str
) -> None:
    all_recorded(tmp_path)
    children = Scripted({"catalog": catalog_answer(), "devices": listed(FREE, SCRATCH)})
    folder = recorded("grid", tmp_path / "other")
    async with drive(console(children, folder=folder, runs_dir=tmp_path), mode) as pilot:

        def items() -> list[List]:
            return [one for one in pilot.app.screen.query(List) if one is pilot.app.focused and one.rows.count > 1]

        await until(pilot, items, "a list with lines to move between")
        at = items()[0]
        await pilot.press("g")
        first = at.cursor
        for key, other, ended in (("j", "down", False), ("G", "end", True)):
            await pilot.press("g", other)
            expected = at.cursor
            assert expected > first
            await pilot.press("g", key)
            assert at.cursor == expected, (mode, key)
            await pilot.press("g" if ended else "k")
            assert at.cursor == first, (mode, key)


async def test_help_of_devices_has_one_sentence_for_each_key_and_no_values(tmp_path: Path) -> None:
    async with drive(console(runs_dir=tmp_path), "1", size=(200, 120)) as pilot:
        await pilot.press("?")
        shown = await shows(pilot, "Keys", "N and n make a file in /var/lib/fsconsole/scratch")
    named = re.findall(r"│ (\S.{9}) \w[^:]*: [^│]*", shown)
    assert len(named) == len(set(named)) > 20
    assert "Nothing is written" not in shown
    assert not re.search(r"All values|the value|this line|all rows", shown)


async def test_the_palette_lists_commands_and_no_movements() -> None:
    app = console()
    found: dict[str, set[str]] = {}
    async with drive(app) as pilot:
        for mode in "12345":
            await pilot.press(mode)
            await pilot.pause()
            found[mode] = {command.title for command in app.get_system_commands(app.screen)}
    assert {"Quit", "Run..", "Save", "Try"} <= found["2"]
    # A command may have a movement's name: "Commands" does.
    acts = {use.label for key in keys.KEYS if not key.moves for use in key.uses}
    moves = {use.label for key in keys.KEYS if key.moves for use in key.uses} - acts
    assert {"Up", "Down", "First", "Last", "Page up", "Page down"} <= moves
    for mode, titles in found.items():
        assert "Quit" in titles, mode
        assert titles.isdisjoint(moves), mode


def test_the_page_of_keys_is_made_from_the_table() -> None:
    assert PAGE.read_text() == page(), "python -m tests.tui.keys_page"


async def test_quitting_asks_where_the_plan_is_not_saved_and_a_second_q_does_not_answer(tmp_path: Path) -> None:
    for way in ("q", "ctrl+c"):
        app = console(runs_dir=tmp_path)
        async with drive(app, "5") as pilot:
            await shows(pilot, "There are no runs")
            app.session.unsaved = "The plan has unsaved changes."
            await pilot.press(way)
            await shows(pilot, "Quit all the same?", "unsaved changes")
            await until(pilot, lambda a=app: a.focused is not None and a.focused.id == "no")
            # ctrl+c closes the question, as it closes every dialog.
            await pilot.press(way, *(["enter"] if way == "q" else []))
            await until(pilot, lambda p=pilot: "Quit all the same?" not in picture(p))
            assert not app._exit
            await pilot.press(way, "y")
            await pilot.pause()
            assert app._exit


@pytest.mark.parametrize(
    ("screen", "words"), [("2", "Run.."), ("3", "WORKLOAD"), ("4", "No verdicts"), ("5", "2 runs")]
)
async def test_whoever_leaves_beside_a_living_run_is_told_how_to_come_back_whatever_is_shown(
    screen: str, words: str, tmp_path: Path
) -> None:
    other = recorded("grid", tmp_path)
    with living_run(tmp_path) as run:
        app = console(folder=run.folder if screen == "3" else other, runs_dir=tmp_path)
        said: list[str] = []
        app.exit = lambda *_, message=None, **__: said.append(str(message))  # type: ignore[method-assign]
        async with drive(app, screen) as pilot:
            await shows(pilot, words)
            await pilot.press("ctrl+c")
            await until(pilot, lambda: said, "it is left")
        assert run.asked == []
    again = f"`fsconsole` or `fsconsole attach {run.folder.name} --runs {tmp_path}` shows it again."
    assert said == [f"Run {run.folder.name} is still running; {again}"]


def test_whoever_leaves_is_told_that_a_run_stops_where_it_was_asked_to(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        for verb, words in (
            (Verb.CONTINUE, "is still running"),
            (Verb.STOP_AFTER, "stops after this cell"),
            (Verb.STOP_NOW, "stops now"),
        ):
            run.record((ControlRequested(verb),))
            (said,) = still_running(str(tmp_path))
            assert said.startswith(f"Run {run.folder.name} {words}; `fsconsole` or `fsconsole attach ")


async def test_a_disk_that_does_not_answer_keeps_nobody_from_leaving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(tui_app, "still_running", lambda _runs_dir: hangs.wait())
    monkeypatch.setattr(tui_app, "_FAREWELL_S", 0.01)
    app = console(runs_dir=tmp_path)
    async with drive(app, "5") as pilot:
        await shows(pilot, "There are no runs")
        await pilot.press("q")
        await until(pilot, lambda: app._exit, "it is left")
    hangs.set()


async def test_ctrl_c_closes_a_dialog_the_help_and_the_palette_and_leaves_only_from_a_screen(tmp_path: Path) -> None:
    app = console(runs_dir=tmp_path)
    async with drive(app, "5") as pilot:
        await shows(pilot, "There are no runs")
        here = app.screen
        for key, words in (("i", "Import a run from"), ("?", "Keys"), ("ctrl+p", "Search actions")):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not here, words)
            await shows(pilot, words)
            await pilot.press("ctrl+c")
            await until(pilot, lambda: app.screen is here, f"the end of {words}")
            assert not app._exit
        await pilot.press("ctrl+p")
        await shows(pilot, "Search actions")
        await pilot.press(*"quit", "down", "enter")
        await until(pilot, lambda: app._exit, "it is left by the palette")
