"""The Run screen over recorded and living runs, and its keys."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.client.children import Done
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import CellFinished, ControlRequested, Outcome, RunFinished, Verb
from fsconsole.show.terminal import ASCII
from fsconsole.tui.widgets.lists import List
from tests.conftest import wait_until
from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.living import DRAINING, NEXT, living_run
from tests.tui.recorded import all_recorded, recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows, until

STANDING = {
    "grid": "finished",
    "raw": "finished",
    "failed": "finished: 1 of 2 cells failed",
    "stopped": "stopped after 5 of 6 cells",
    "killed": "engine died in workload of cell 6",
}


SENTENCES = {
    "gone": "does not exist, or is still being made. Copy the folder",
    "damaged": "can't be used: file is not a database. Copy the folder",
    "newer": "made by a newer fsconsole. Open it with that version.",
}


@pytest.mark.parametrize("size", SIZES)
def test_every_recorded_run_says_where_it_stands(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        folders = all_recorded(tmp_path)
        async with console(folder=folders[0], runs_dir=tmp_path).run_test(size=size) as pilot:
            for folder in folders:
                pilot.app.session.folder = folder
                await pilot.press("1", "3")
                screen = pilot.app.screen
                await until(pilot, lambda f=folder, s=screen: s.snapshot and s.snapshot.folder == f)
                await shows(pilot, STANDING[folder.name], "write [", "dirty [", "CPU [", "last gauges")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["raw", "killed"])
def test_the_screen_looks_as_kept(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    async def look() -> None:
        folder = recorded(name, tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, STANDING[name], "write, cell")
            assert_looks_as_kept(pilot, f"run-{name}-{size[0]}x{size[1]}")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_the_log_looks_as_kept(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        folder = recorded("failed", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, "more files than inodes")
            await pilot.press("l")
            await shows(pilot, "Cell 3 of 3", "$ mkfs.ext4")
            assert_looks_as_kept(pilot, f"log-{size[0]}x{size[1]}")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_without_any_run_it_says_where_runs_come_from(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        async with console(runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, "No run is shown")
            await pilot.press("p", "l", "t", "w", "v", "d", "ctrl+x", "escape")
            await shows(pilot, "No run is shown")

    asyncio.run(look())


def test_the_log_shows_commands_with_exit_codes_and_what_they_printed(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        output = next(Path(folder.raw).glob("005-02-mkfs*"))
        output.write_bytes(b"\x1b[31mhostile [/x] \xff text\n" + output.read_bytes())
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "finished")
            await pilot.press("l")
            await shows(
                pilot, "Cell 6 of 6: ext4 data=ordered", "$ mkfs.ext4", "exit 0", r"\x1b[31mhostile [/x] \xff"
            )
            await pilot.press("left")
            await shows(pilot, "Cell 5 of 6: xfs", "mkfs.xfs")
            await pilot.press("escape")
            await shows(pilot, "write [")

    asyncio.run(look())


def test_keys_choose_what_is_plotted(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "cell 6, 10.0 s", "write, cell 5")
            await pilot.press("t")
            await shows(pilot, "dirty + writeback")
            await pilot.press("t")
            await shows(pilot, "CPU busy", "100 %")
            await pilot.press("w")
            await shows(pilot, "the last minute")
            await pilot.press("v")
            await shows(pilot, "latency [")
            assert "CPU busy" not in picture(pilot)

    asyncio.run(look())


def test_a_slow_link_has_no_plot_unless_it_is_asked_for(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        app = console(folder=folder, runs_dir=tmp_path, slow=True, glyphs=ASCII)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            shown = await shows(pilot, "write [", "latency [")
            assert "10.0 s" not in shown
            assert shown.isascii()
            await pilot.press("t")
            await shows(pilot, "Plot: dirty memory.", "dirty + writeback")

    asyncio.run(look())


@pytest.mark.parametrize("damage", ["gone", "damaged", "newer"])
def test_a_journal_that_can_not_be_read_is_a_sentence(tmp_path: Path, damage: str) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        if damage == "gone":
            folder = RunFolder(str(tmp_path / "none"))
        elif damage == "damaged":
            Path(folder.journal).write_bytes(b"nonsense" * 4096)
        else:
            with closing(sqlite3.connect(folder.journal)) as connection:
                connection.execute("PRAGMA user_version = 999")
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "journal.sqlite", "can't be read", SENTENCES[damage])

    asyncio.run(look())


def test_another_run_is_followed_once_the_session_names_it(tmp_path: Path) -> None:
    async def look() -> None:
        one, other = recorded("grid", tmp_path), recorded("failed", tmp_path)
        async with console(folder=one, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "a hundred files")
            await pilot.press("1")
            pilot.app.session.folder = other
            await pilot.press("3")
            await shows(pilot, "more files than inodes", "> 3 ext4, 64 inodes failed")

    asyncio.run(look())


def test_the_screen_survives_any_size(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("raw", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "finished")
            for size in ((20, 5), (60, 16), (200, 60), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
            await shows(pilot, "finished", "write [")

    asyncio.run(look())


@pytest.mark.parametrize(
    ("key", "verb", "words"),
    [
        ("p", Verb.PAUSE, "Pausing before the next cell"),
        ("k", Verb.SKIP, "Skipping the current cell"),
        ("a", Verb.STOP_AFTER, "Stopping after the current cell"),
    ],
)
def test_a_key_asks_the_engine_and_its_answer_is_said(
    tmp_path: Path, key: str, verb: Verb, words: str
) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press(key)
                await shows(pilot, words, "(a test)")
                assert run.asked == [verb]

    asyncio.run(ask())


def test_a_paused_run_goes_on_by_the_same_key(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            run.record((ControlRequested(Verb.PAUSE),))
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "paused, cell 1 of 2")
                await pilot.press("p")
                await shows(pilot, "Continuing")
                assert run.asked == [Verb.CONTINUE]

    asyncio.run(ask())


def test_stopping_now_asks_first_and_enter_alone_goes_on(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press("ctrl+x")
                await shows(pilot, "Stop the run now?")
                await pilot.press("enter")
                await pilot.pause()
                assert run.asked == []
                await pilot.press("ctrl+x")
                await shows(pilot, "Stop the run now?")
                await pilot.press("y")
                await shows(pilot, "Stopping now")
                assert run.asked == [Verb.STOP_NOW]

    asyncio.run(ask())


def test_an_engine_that_does_not_answer_is_told_in_words(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                Path(run.folder.control).rename(run.folder.control + ".away")
                await pilot.press("p")
                await shows(pilot, "takes no requests now", "ask again")
                Path(run.folder.control + ".away").rename(run.folder.control)

    asyncio.run(ask())


def test_detaching_leaves_the_console_and_nothing_is_asked_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    async def leave() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            monkeypatch.setattr(app, "exit", lambda message: said.append(str(message)))
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press("d")
                await pilot.pause()
            assert run.asked == []
        assert f"fsconsole attach {run.folder.name} --runs {tmp_path}" in said[0]

    asyncio.run(leave())


def test_a_dead_run_is_resumed_by_a_child(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        children = Scripted({"resume": f"{folder.name}\n"})
        async with console(children, folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "Resume run killed?", "is wiped again")
            assert children.acted == []
            await pilot.press("y")
            await shows(pilot, "Run killed goes on.")
        assert children.acted == [("resume", "killed", "--exact", "--detach", "--runs", str(tmp_path))]

    asyncio.run(resume())


def test_what_needs_root_says_so(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        children = Scripted()
        app = console(children, folder=folder, runs_dir=tmp_path, is_root=False)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "root")
        assert children.acted == []

    asyncio.run(resume())


def test_a_resume_that_fails_is_told_with_its_hint(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        said = Done((), 20, "", "fsconsole: There is no /dev/loop0.\nhint: Look with devices.\n")
        app = console(Scripted({"resume": said}), folder=folder, runs_dir=tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "Resume run killed?")
            await pilot.press("y")
            await shows(pilot, "There is no /dev/loop0. Look with devices.")

    asyncio.run(resume())


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
                await pilot.press("tab") if not isinstance(pilot.app.focused, List) else None
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
