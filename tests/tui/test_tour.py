"""The tour: the console on the recorded run that is shipped, without root."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from fsconsole.cli.console import RECORDED
from fsconsole.client.runs import look
from fsconsole.journal.importing import import_run
from fsconsole.results.blocks import blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.show.replay import can_race
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import base
from fsconsole.tui.screens.replay import read_race
from fsconsole.tui.widgets.lists import Table
from tests.conftest import wait_until
from tests.loop.nobody import as_nobody
from tests.tui.device_lists import NO_FILESYSTEMS
from tests.tui.harness import ONE_OF_SIZES, WIDE, Scripted, console, drive
from tests.tui.on_a_pty import ESCAPES, read_until, terminal
from tests.tui.waiting import shows, until


def touring(runs_dir: Path, children: Scripted) -> ConsoleApp:
    app = console(children, runs_dir=runs_dir, folder=import_run(RECORDED, str(runs_dir)), is_root=False)
    app.session.is_tour = True
    return app


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_the_tour_begins_with_a_decided_row_and_its_why_names_the_machine_and_says_what_to_press_until_that_is_done(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MESSAGE_LASTS_S", 0.01)
    children = Scripted()
    app = touring(tmp_path, children)
    async with drive(app, size=size) as pilot:
        # The scale of the strip says of what it is, lest it seem to belong to n beside it.
        await shows(pilot, "tour: ext3, ext4, xfs and btrfs", "verdict", "of baseline", "btrfs", "v replays the race")
        await pilot.pause(0.1)
        said = "Tour, 4 of 5: recorded on vm (Linux 6.18.44-fc-v782) on 2026-11-27. v replays the race"
        shown = await shows(pilot, said, "Why: ")
        assert max(map(len, shown.splitlines())) <= size[0]
        assert app.screen.query_one(Table).cursor > 0
        await pilot.press("v")
        await shows(pilot, "p Pause")
        await pilot.press("escape")
        assert "replays the race" not in await shows(pilot, "] Block", "Why: ")
    assert children.acted == []


async def test_the_tour_explains_each_of_the_five_screens_when_it_is_come_to(tmp_path: Path) -> None:
    async with drive(touring(tmp_path, Scripted({"catalog": NO_FILESYSTEMS}))) as pilot:
        await shows(pilot, "4 of 5: ", "verdict")
        for key, words in (
            ("1", "Space ticks what may be wiped"),
            ("2", "several ticked values are compared"),
            ("3", "This one is over"),
            ("5", "all runs are kept here"),
            ("4", "v replays the race"),
            ("1", "Space ticks what may be wiped"),
        ):
            await pilot.press(key)
            shown = await shows(pilot, f"{key} of 5: ", words)
            assert shown.count(" of 5: ") == 1


_KEY = r"(?<![\w./'])(Space|[Ee]nter|up|down|[b-zA-Z0-9=?+])(?![\w./])"
_NAMES = {"=": "equals_sign", "?": "question_mark", "+": "plus"}


async def test_every_key_and_every_button_that_the_tour_names_is_there_on_its_screen(tmp_path: Path) -> None:
    named: list[tuple[str, str]] = []
    async with drive(touring(tmp_path, Scripted({"catalog": NO_FILESYSTEMS}))) as pilot:
        await shows(pilot, "4 of 5: ", "verdict")
        for mode in "12354":
            await pilot.press(mode)
            await shows(pilot, f"{mode} of 5: ")
            screen = pilot.app.screen
            assert isinstance(screen, base.ConsoleScreen)
            said = screen.guide.partition(" of 5: ")[2]
            keys = re.findall(_KEY, said)
            names = [_NAMES.get(key, key if len(key) == 1 else key.lower()) for key in keys]

            def are_bound(screen: base.ConsoleScreen = screen, names: list[str] = names) -> bool:
                bound = {key for key, active in screen.active_bindings.items() if active.enabled}
                return set(names) <= bound

            # A key works once what it acts on has been read.
            await until(pilot, are_bound, f"{mode}: the keys {names}")
            buttons = re.findall(r"\w+\.\.", said)
            shown = await shows(pilot, *buttons)
            assert all(shown.count(button) > said.count(button) for button in buttons), (mode, buttons)
            assert keys or buttons, said
            named += [(mode, one) for one in (*keys, *buttons)]
    # What no test of words may lose: the way through the screens.
    assert {("1", "Space"), ("2", "Run.."), ("3", "l"), ("4", "v"), ("4", "A"), ("5", "=")} <= set(named)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_the_command_shows_the_tour_to_who_is_not_root_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place, runs = tmp_path / "mounts", Path(tempfile.mkdtemp(prefix="tour-"))
    place.mkdir()
    runs.chmod(0o777)
    environ = ("TERM=linux", "LANG=C.UTF-8", f"TMPDIR={runs}", f"XDG_STATE_HOME={runs}/state")
    words = shlex.split(as_nobody(place, (sys.executable, "-m", "fsconsole", "tour"), environ))
    try:
        with terminal({"TERM": "linux"}, command=words) as fd:
            shown = read_until(fd, b"v replays")
            assert [one.name.rpartition("-")[0] for one in runs.glob("fsconsole-*")] == ["fsconsole-tour"]
            assert b"recorded on vm" in ESCAPES.sub(b"", shown)
            os.write(fd, b"q")
            wait_until(lambda: not [*runs.glob("fsconsole-*")], "the run is removed")
    finally:
        shutil.rmtree(runs)


def test_every_lane_of_the_tour_s_races_has_a_curve_of_its_samples_and_they_differ(tmp_path: Path) -> None:
    folder = import_run(RECORDED, str(tmp_path))
    state = look(folder).state
    races = [read_race(folder, state, block) for block in blocks_of(state, build_grid(state)) if can_race(block)]
    assert [len(race.lanes) for race in races] == [4, 4, 4]
    for lane in [lane for race in races for lane in race.lanes]:
        assert lane.is_sampled, lane.name
        rates = [piece.app_bytes_s for piece in lane.pieces if piece.until_s <= lane.load_s]
        # Neither a block nor a line: what the race is there to show is that a load's rate goes up and down.
        assert len(rates) >= 6, lane.name
        assert max(rates) > 1.1 * min(rates), lane.name


@pytest.mark.parametrize("size", [*ONE_OF_SIZES, WIDE])
async def test_the_race_of_the_tour_draws_curves(tmp_path: Path, size: tuple[int, int]) -> None:
    async with drive(touring(tmp_path, Scripted()), size=size) as pilot:
        await shows(pilot, "4 of 5: ", "verdict")
        if size == WIDE:
            # Here Results itself has them, below its rows.
            shown = await shows(pilot, "over time", ", load to ")
            assert "on average" not in shown
        await pilot.press("v")
        await shows(pilot, "p Pause", "curves: load to ")
        await pilot.press("p", "end")
        shown = await shows(pilot, "(end)")
        assert "on average" not in shown
        assert "mean rate" not in shown
        # Below each of the four bars stands its curve, which isn't as high at all times.
        rows = [line.partition("│")[2].rstrip() for line in shown.splitlines() if re.match(r" +│", line)]
        lanes = [rows[at : at + len(rows) // 4] for at in range(0, len(rows), len(rows) // 4)]
        assert len(lanes) == 4
        assert all(len(lane) >= 2 and lane[0] != lane[-1] != "" for lane in lanes), shown
        assert len({tuple(lane) for lane in lanes}) >= 3, shown
