"""The line of keys in the main states of each screen at 80x24: which keys it shows, and that each is bound to an action."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.actions import parse
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from fsconsole.model.events import CellFinished, ControlRequested, Outcome, Verb
from tests.tui.at_devices import at_devices, go_to
from tests.tui.at_plan import at_plan
from tests.tui.device_lists import FREE, LABELLED, NO_DEVICES, SCRATCH, SYSTEM, listed
from tests.tui.harness import console, drive, picture
from tests.tui.living import living_run
from tests.tui.recorded import all_recorded, imported, recorded
from tests.tui.test_runs import in_the_list, point_at
from tests.tui.waiting import shows, until

LAST = " ? Keys q Quit"


async def offers(pilot: Pilot[None], keys: str, last: str = LAST) -> None:
    """Wait until the line of keys is this one, and see that each of its keys has an action that can be carried out."""
    await until(pilot, lambda: _line(pilot) == keys + last, keys + last)
    bound = pilot.app.screen.active_bindings
    shown = list(pilot.app.screen.query(FooterKey))
    assert shown
    for key in shown:
        active = bound[key.key]
        assert (active.binding.action, active.enabled) == (key.action, True), key.key
        namespace, name, _ = parse(key.action)
        owner = pilot.app if namespace == "app" else active.node
        assert any(hasattr(owner, f"{begin}action_{name}") for begin in ("", "_")), key.action


def _line(pilot: Pilot[None]) -> str:
    return picture(pilot).splitlines()[-1]


async def test_devices_offer_what_can_be_done_with_the_device_at_the_cursor() -> None:
    async with at_devices(listed(*SYSTEM, LABELLED, FREE, SCRATCH)) as pilot:
        await shows(pilot, "7 devices")
        for path in (FREE.path, LABELLED.path, SYSTEM[0].path):
            await go_to(pilot, path)
            await offers(pilot, "enter Plan space Tick n New scratch R Read test / Find")
        await go_to(pilot, SCRATCH.path)
        await offers(pilot, "enter Plan space Tick n New scratch R Read test x Remove.. / Find")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        await offers(pilot, "enter Plan space Tick n New scratch R Read test x Remove.. / Find")
        await pilot.press("slash")
        await offers(pilot, "esc All", last="")


async def test_devices_without_any_offer_neither_a_tick_nor_a_read_test() -> None:
    async with at_devices(NO_DEVICES) as pilot:
        await shows(pilot, "0 devices")
        await offers(pilot, "enter Plan n New scratch / Find")


async def test_a_plan_offers_commands_only_where_it_has_cells_and_options_their_way_back() -> None:
    async with at_plan(targets=("/dev/loop7",)) as hand:
        await offers(hand.pilot, "f10 Run.. enter Options space Tick f Recipes w Save l Commands")
        await hand.keys("right")
        await offers(hand.pilot, "f10 Run.. space Tick esc Filesystems / Find f Recipes w Save")
        for name in hand.screen.draft.filesystems:
            await hand.filesystem(name)
        # Without a cell there are no commands.
        await hand.sees("No variant is ticked", "0 cells")
        await offers(hand.pilot, "f10 Run.. enter Options space Tick f Recipes w Save O Only xfs")
        await hand.go_to("workloads")
        await offers(hand.pilot, "f10 Run.. enter Edit esc Filesystems / Find f Recipes w Save")


async def test_a_run_offers_to_be_steered_while_it_goes_or_waits_and_its_results_once_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(runs_dir=tmp_path / "none"), "3") as pilot:
        await shows(pilot, "No run is shown")
        await offers(pilot, LAST.strip(), last="")
    going = "p Pause S Skip.. a Stop after X Stop.. enter Cell d Detach l Log"
    with living_run(tmp_path / "living") as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path / "living"), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            await offers(pilot, going)
            run.record((ControlRequested(Verb.PAUSE), CellFinished(0, 1, Outcome.DONE)))
            await shows(pilot, "PAUSED")
            await offers(pilot, going.replace("Pause", "Continue").removesuffix(" l Log"))
    ended = {"grid": "enter Results l Log t Chart", "stopped": "r Resume.. enter Results l Log t Chart",
             "killed": "r Resume.. C Clean up enter Cell l Log t Chart"}  # fmt: skip
    for is_there in (False, True):
        if is_there:
            monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())
        for name, keys in ended.items():
            folder = recorded(name, tmp_path / str(is_there))
            async with drive(console(folder=folder, runs_dir=tmp_path), "3") as pilot:
                # Without its scratch file a run can't be resumed.
                await offers(pilot, keys if is_there else keys.removeprefix("r Resume.. "))


@pytest.mark.parametrize("name", ["raw", "mail"])
async def test_results_offer_the_same_keys_with_and_without_verdicts(name: str, tmp_path: Path) -> None:
    folder = imported(name, tmp_path) if name == "mail" else recorded(name, tmp_path)
    async with drive(console(folder=folder, runs_dir=tmp_path), "4") as pilot:
        await offers(pilot, "enter Cell ] Block A Advice s Sort b Baseline v Replay e Export")
        await pilot.press("slash")
        await offers(pilot, "esc All", last="")
        await pilot.press("m", "enter")
        await offers(pilot, "enter Cell ] Block A Advice s Sort b Baseline v Replay e Export")


async def test_runs_offer_what_fits_the_one_at_the_cursor_whether_none_one_or_two_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The recorded runs can be resumed as if their scratch files were there.
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())
    async with in_the_list(console(runs_dir=tmp_path / "none")) as pilot:
        await offers(pilot, "/ Find i Import")
    all_recorded(tmp_path / "all")
    async with in_the_list(console(runs_dir=tmp_path / "all")) as pilot:
        grid = "enter Open C Clean up = Compare o Plan space Mark e Export / Find"
        for run, keys in (
            ("grid", grid),
            ("stopped", "enter Open r Resume.. C Clean up = Compare o Plan space Mark"),
        ):
            await point_at(pilot, run)
            await offers(pilot, keys)
        for run, told in (("grid", "a marked run with the one at the cursor"), ("raw", "the two marked runs")):
            await point_at(pilot, run)
            await pilot.press("space")
            await shows(pilot, f"= compares {told}.")
            await offers(pilot, grid)
    shutil.rmtree(tmp_path / "all" / "killed")
    async with in_the_list(console(runs_dir=tmp_path / "all")) as pilot:
        await point_at(pilot, "grid")
        await offers(pilot, "enter Open = Compare o Plan space Mark e Export / Find i Import")
