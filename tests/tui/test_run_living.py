"""The Run screen over a run that grows while it is looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fsconsole.model.events import CellFinished, Outcome, RunFinished
from fsconsole.tui.widgets.lists import RowList
from tests.conftest import wait_until
from tests.tui.harness import Scripted, console
from tests.tui.living import DRAINING, NEXT, living_run
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until


def test_a_living_run_is_watched_to_its_end(tmp_path: Path) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(
                    pilot,
                    "cell 1 of 2",
                    "workload: large files, 1.0 GiB of 1.0 GiB, 3 files, 13 threads",
                    "left",
                )
                run.record(DRAINING)
                run.sample("drain")
                await shows(pilot, "drain: application done, 3.1 GiB still dirty")
                run.record(NEXT)
                await shows(
                    pilot, "cell 2 of 2", "mkfs: make the filesystem", "> 2 xfs running step 2 of 7: mkfs"
                )
                run.record((RunFinished(Outcome.DONE),))
                run.lock.release()
                await shows(pilot, "two filesystems: finished", "enter shows its results")
                await pilot.press("enter")
                await pilot.pause()
                assert pilot.app.current_mode == "results"

    asyncio.run(watch())


def test_old_gauges_do_not_pass_for_new_ones(tmp_path: Path) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                run.sample(age_s=50.0)
                await shows(pilot, "(gauges 50.")

    asyncio.run(watch())


def test_a_console_that_is_started_while_a_run_lives_attaches_to_it(tmp_path: Path) -> None:
    async def attach() -> None:
        with living_run(tmp_path) as run:
            async with console(runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "cell 1 of 2")
                assert pilot.app.session.folder == run.folder

    asyncio.run(attach())


def test_a_cursor_that_was_moved_stays_and_escape_follows_again(tmp_path: Path) -> None:
    async def move() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "> 1 ext4")
                await pilot.press("tab") if not isinstance(pilot.app.focused, RowList) else None
                await pilot.press("down")
                await shows(pilot, "> 2 xfs")
                await pilot.press("escape")
                await shows(pilot, "> 1 ext4")
                run.record(NEXT)
                await shows(pilot, "> 2 xfs")

    asyncio.run(move())


def test_an_engine_that_dies_is_told_and_cleaned_up_after(tmp_path: Path) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            children = Scripted({"cleanup": f"{run.folder.name}: marked as interrupted\n"})
            app = console(children, folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                run.die()
                await shows(pilot, "engine died", "c cleans up", "1 ext4 data=ordered interrupted")
                await pilot.press("c")
                await shows(pilot, "marked as interrupted")
            assert children.acted == [("cleanup", run.folder.name, "--runs", str(tmp_path))]

    asyncio.run(watch())


def test_the_scratch_device_of_a_demo_goes_when_its_end_was_seen(tmp_path: Path) -> None:
    async def watch() -> None:
        with living_run(tmp_path, owned_scratch="/var/lib/fsconsole/scratch-1.img") as run:
            children = Scripted({"cleanup": f"{run.folder.name}: removed its scratch device\n"})
            app = console(children, folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                run.record((*NEXT, CellFinished(1, 1, Outcome.DONE), RunFinished(Outcome.DONE)))
                run.die()
                await shows(pilot, "two filesystems: finished", "removed its scratch device")
            assert children.acted == [("cleanup", run.folder.name, "--runs", str(tmp_path))]

    asyncio.run(watch())


def test_the_bridge_ends_when_another_screen_is_shown_and_when_the_console_ends(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "finished")
            first = pilot.app.screen._bridge
            await pilot.press("1")
            await until(pilot, lambda: first.ended, "the bridge's end")
            await pilot.press("3")
            await shows(pilot, "finished")
            last = pilot.app.screen._bridge
        await asyncio.to_thread(wait_until, lambda: last.ended, "the bridge's end")

    asyncio.run(look())
