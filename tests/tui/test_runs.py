"""The list of runs, its questions and its directory."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from fsconsole.client.children import Done
from fsconsole.client.runs import ListedRun, state_of
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import list_runs
from fsconsole.results.table import lay_out
from fsconsole.show import going
from fsconsole.show.resume import resume_sentences
from fsconsole.show.runs import Digest, RunEntry, digest_of, run_lines, runs_table
from fsconsole.system.locks import FileLock
from fsconsole.text import cells_of
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import runs
from fsconsole.tui.screens.confirm import ResumeScreen
from fsconsole.tui.widgets.lists import Table
from tests.tui.at_devices import Held
from tests.tui.device_lists import NO_DEVICES
from tests.tui.harness import ONE_OF_SIZES, Scripted, console, drive, picture
from tests.tui.offers import resumed, target
from tests.tui.recorded import NAMES, all_recorded, imported, recorded
from tests.tui.waiting import shows, until


@pytest.fixture(autouse=True)
def _scratch_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded runs can be resumed as if their scratch files were there."""
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())


@asynccontextmanager
async def in_the_list(app: ConsoleApp, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """Show the list of runs, all of which are read."""
    async with drive(app, "5", size=size) as pilot:
        await until(pilot, lambda: is_counted(pilot) and "..." not in standings(pilot), "all runs are read")
        yield pilot


def is_counted(pilot: Pilot[None]) -> bool:
    """Return whether the list says how many runs there are: before it has been read it has no rows, as without any run."""
    counts = pilot.app.screen.query("#count")
    return bool(counts) and str(counts.first(Static).content) != ""


def standings(pilot: Pilot[None]) -> list[str]:
    tables = pilot.app.screen.query("#list")
    return [row.cells[1] for row in tables.first(Table).value.rows] if tables else ["..."]


async def point_at(pilot: Pilot[None], run: str) -> None:
    pilot.app.screen.query_one("#list", Table).go_to(run)
    await pilot.pause()


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_every_run_says_where_it_stands(size: tuple[int, int], tmp_path: Path) -> None:
    all_recorded(tmp_path)
    Path(tmp_path / "grid" / "journal.sqlite").write_bytes(b"damaged" * 99)
    async with in_the_list(console(runs_dir=tmp_path), size) as pilot:
        shown = await shows(pilot, "stopped after 5 of 6 cells", "engine died in workload", "damaged")
        assert f"{len(NAMES)} runs" in shown
        assert all(len(line) <= size[0] for line in shown.splitlines())


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_the_rule_below_the_list_says_what_the_heads_of_figures_mean_once_there_are_some(
    size: tuple[int, int], tmp_path: Path
) -> None:
    told = "─ MB/s: cells in order, 8 marks at most, . slow to # fast; best: the winner ─"
    async with in_the_list(console(runs_dir=tmp_path), size) as pilot:
        await shows(pilot, "There are no runs")
        assert told not in picture(pilot)
        all_recorded(tmp_path)
        await pilot.press("f5")
        (rule,) = (line for line in (await shows(pilot, told)).splitlines() if told in line)
        assert len(rule) == size[0]


async def test_the_footer_offers_resume_and_clean_up_only_where_there_is_something_to_do(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    recorded("grid", tmp_path / "one")
    async with in_the_list(console(runs_dir=tmp_path / "one")) as pilot:
        assert "enter Open = Compare o Plan space Mark e Export / Find i Import ?" in await shows(pilot, "finished")
        # Pressed all the same, it says why not.
        await pilot.press("r")
        await shows(pilot, "Run grid can't be resumed: finished.")
    (tmp_path / "all").mkdir()
    all_recorded(tmp_path / "all")
    async with in_the_list(console(runs_dir=tmp_path / "all")) as pilot:
        for run, begin in (("stopped", "enter Open r Resume.. C Clean up ="), ("grid", "enter Open C Clean up =")):
            await point_at(pilot, run)
            await shows(pilot, begin)


async def test_enter_opens_the_grid_of_a_run_that_has_ended_and_says_so_of_a_damaged_one(
    tmp_path: Path,
) -> None:
    all_recorded(tmp_path)
    Path(tmp_path / "grid" / "journal.sqlite").write_bytes(b"damaged" * 99)
    app = console(runs_dir=tmp_path)
    async with in_the_list(app) as pilot:
        await point_at(pilot, "grid")
        await pilot.press("enter")
        await shows(pilot, "can't be opened")
        assert app.current_mode == "runs"
        await point_at(pilot, "raw")
        await pilot.press("enter")
        await shows(pilot, "read-ahead, beside", "No verdicts")
        assert app.current_mode == "results"
        assert app.session.folder is not None
        assert app.session.folder.name == "raw"


async def test_a_living_run_is_attached_to_and_never_deleted(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    children = Scripted()
    app = console(children, runs_dir=tmp_path)
    with FileLock.acquire(folder.lock):
        async with in_the_list(app) as pilot:
            await shows(pilot, "running")
            await pilot.press("x")
            await shows(pilot, "can't be deleted")
            await pilot.press("r")
            await shows(pilot, "Enter follows it")
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == "run", "the Run screen")
    assert children.acted == []
    assert app.session.folder == folder


WHY = "fsconsole: Run raw can't be brought back once it is gone: it can be resumed.\nhint: Add --yes if nobody needs it.\n"
REFUSED = Done(("runs", "delete"), ExitCode.CONSENT_MISSING, "", WHY)


async def test_renaming_and_deleting_which_asks_once_in_the_commands_words_are_done_by_commands(
    tmp_path: Path,
) -> None:
    recorded("raw", tmp_path)
    children = Scripted({"runs delete": REFUSED, "runs delete --yes": "", "runs rename": ""})
    async with in_the_list(console(children, runs_dir=tmp_path)) as pilot:
        await pilot.press("m")
        await shows(pilot, "Another title for run raw")
        await pilot.press("end", *"!", "enter")
        await shows(pilot, "is called")
        for answer, words in (("enter", "1 run"), ("y", "Run raw is deleted.")):
            await pilot.press("x")
            await shows(pilot, "Delete run raw?", "it can be resumed")
            await pilot.press(answer)
            await shows(pilot, words)
    places = ("--runs", str(tmp_path), "--", "raw")
    assert children.acted == [
        ("runs", "rename", *places, "read-ahead, beside the raw device!"),
        ("runs", "delete", *places),
        ("runs", "delete", *places),
        ("runs", "delete", "--yes", *places),
    ]


async def test_a_resume_asks_about_devices_that_must_be_agreed_to_anew_and_goes_on_in_the_run_screen(
    tmp_path: Path,
) -> None:
    recorded("stopped", tmp_path)
    story = "Interrupted: cell 6 of 6, in its mkfs: the engine died."
    children = Scripted({"resume stopped --exact --show": resumed(story, target("/dev/sdb"))})
    app = console(children, runs_dir=tmp_path)
    places = ("--runs", str(tmp_path))
    look = ("resume", "stopped", "--exact", "--show", *places, "--json")
    async with in_the_list(app) as pilot:
        # One question has it all: what was interrupted, what is lost, which name to type.
        await pilot.press("r")
        await shows(pilot, "Resume run stopped?", story, "would be LOST: ext4", "type sdb")
        assert isinstance(pilot.app.screen, ResumeScreen)
        assert children.acted == [look]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen.said == "", "nothing is to be said")
        refused = Done((), 27, "", "fsconsole: Nobody has consented.\nhint: Look.\n")
        children.answers = {"resume stopped --exact --show": resumed("Kept: 5 of 6 cells."), "resume stopped": refused}
        await pilot.press("r")
        await shows(pilot, "Resume run stopped?", "Kept: 5 of 6 cells.")
        # Somebody writes to a device between the question and its answer.
        children.answers["resume stopped --exact --show"] = resumed(story, target("/dev/sdb"))
        await pilot.press("y")
        await shows(pilot, "would be LOST: ext4", "type sdb")
        await pilot.press("escape")
        children.answers = {"resume stopped --exact --show": resumed("Kept: 5 of 6 cells."), "resume stopped": ""}
        await pilot.press("r")
        await shows(pilot, "Resume run stopped?")
        await pilot.press("y")
        await until(pilot, lambda: app.current_mode == "run", "the Run screen")
    assert children.acted[-1] == ("resume", "stopped", "--exact", "--detach", *places)


async def test_typing_filters_escape_shows_all_again_and_without_root_acting_says_how(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    children = Scripted()
    async with in_the_list(console(children, runs_dir=tmp_path, is_root=False)) as pilot:
        await shows(pilot, "5 runs", "status", "r resumes it")
        for key in "rmx":
            await pilot.press(key)
            await shows(pilot, "needs root", "sudo fsconsole")
        await pilot.press("slash", *"inodes")
        await until(pilot, lambda: len(standings(pilot)) == 1, "one run")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(standings(pilot)) == len(NAMES), "all runs")
    assert children.acted == []


async def test_no_runs_at_all_is_a_sentence(tmp_path: Path) -> None:
    async with in_the_list(console(runs_dir=tmp_path / "none")) as pilot:
        # What needs a run is left out, and leaves room for what brings one.
        await shows(pilot, "There are no runs in", "/ Find i Import ? Keys q Quit")
        assert "Open" not in picture(pilot).splitlines()[-1]
        await pilot.press("enter", "r", "m", "x", "=")
        assert "There are no runs in" in picture(pilot)


async def test_a_run_whose_scratch_file_went_after_the_list_was_read_is_not_offered_to_be_resumed_and_r_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scratch-0a1b2c3d.img"
    file.write_text("")
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: (str(file),))
    recorded("killed", tmp_path / "runs")
    children = Scripted()
    async with in_the_list(console(children, runs_dir=tmp_path / "runs"), (120, 40)) as pilot:
        await shows(pilot, "C cleans up, r resumes it", "r Resume..")
        file.unlink()
        # Before it is read again.
        await pilot.press("r")
        await shows(pilot, f"Its scratch file {file} is gone, so it can't go on.")
        assert "Resume run" not in picture(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: "r Resume.." not in picture(pilot), "no offer")
        await shows(pilot, f"it can't be resumed, its scratch file {file} is gone")
        await pilot.press("r")
        await shows(pilot, f"Run killed can't be resumed: its scratch file {file} is gone.")
    assert children.acted == []


@pytest.fixture
def may_read(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading a run's targets takes until this is set."""
    event = threading.Event()

    def late(folder: RunFolder) -> tuple[str, ...]:
        event.wait(60)
        return state_of(folder)

    monkeypatch.setattr(runs, "state_of", late)
    return event


async def test_a_key_pressed_twice_asks_once_and_an_answer_meant_for_delete_resumes_nothing(
    tmp_path: Path, may_read: threading.Event
) -> None:
    recorded("stopped", tmp_path)
    answers = {"runs delete": REFUSED, "runs delete --yes": "", "resume stopped --exact --show": resumed("Kept: 5.")}
    children = Scripted(answers)
    async with drive(console(children, runs_dir=tmp_path), "5") as pilot:
        await shows(pilot, "1 run")
        await pilot.press("r", "r")
        may_read.set()
        await shows(pilot, "Resume run stopped?")
        await pilot.press("n")
        await pilot.pause()
        assert len(pilot.app.screen_stack) == 1
        may_read.clear()
        await pilot.press("r", "x")
        await shows(pilot, "Delete run stopped?")
        may_read.set()
        await until(pilot, lambda: not pilot.app.screen_stack[0].is_busy("resume"), "its giving up")
        assert "Delete run stopped?" in picture(pilot)
        await pilot.press("y")
        await until(pilot, lambda: children.acted[-1][:3] == ("runs", "delete", "--yes"), "the deleting")
    acted = [words for words in children.acted if "--show" not in words]
    assert [words[:2] for words in acted] == [("runs", "delete")] * 2


@pytest.mark.parametrize("exit_code", [0, 27], ids=["goes on", "must be agreed to"])
async def test_a_resume_that_ends_below_a_question_leaves_that_alone(tmp_path: Path, exit_code: int) -> None:
    recorded("stopped", tmp_path)
    answer = Done((), exit_code, "", "fsconsole: Nobody has consented.\n" if exit_code else "")
    answers = {"devices": NO_DEVICES, "resume stopped": answer, "runs delete": REFUSED}
    answers["resume stopped --exact --show"] = resumed("Kept: 5 of 6 cells.")
    children = Held(answers, held=("resume stopped --exact --detach",))
    async with drive(console(children, runs_dir=tmp_path), "5") as pilot:
        await shows(pilot, "1 run")
        await pilot.press("r")
        await shows(pilot, "Resume run stopped?")
        await pilot.press("y")
        await until(pilot, lambda: children.running, "the resume")
        await pilot.press("x")
        await shows(pilot, "Delete run stopped?")
        children.release.set()
        await until(pilot, lambda: not pilot.app.screen_stack[0].is_busy("resume"), "its end")
        assert "Delete run stopped?" in picture(pilot)
        await pilot.press("n")
        await shows(pilot, "another screen or dialog is open" if exit_code else "goes on: the list of runs")
    assert sorted(words[0] for words in children.acted) == ["resume", "resume", "runs"]


@pytest.mark.parametrize("size", [*ONE_OF_SIZES, pytest.param((60, 20), marks=pytest.mark.soak)])
async def test_a_file_in_place_of_the_directory_is_told_with_a_hint(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "runs").write_text("")
    app = console(runs_dir=tmp_path / "runs")
    async with drive(app, size=size) as pilot:
        for key, mode in (("3", "run"), ("4", "results"), ("5", "runs")):
            await pilot.press(key)
            await until(pilot, lambda: app.current_mode == mode, mode)  # noqa: B023
            words = f"Runs can't be kept in {tmp_path}/runs: Not a directory."
            assert "no runs" not in await shows(pilot, words, "--runs DIR")


async def test_a_directory_that_may_be_read_again_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(runs_dir: str) -> None:
        raise NotRoot(what=f"Reading {runs_dir}")

    recorded("grid", tmp_path)
    async with drive(console(runs_dir=tmp_path), "5") as pilot:
        await shows(pilot, "1 run", "finished")
        with monkeypatch.context() as patched:
            for module in (runs, going):
                patched.setattr(module, "list_runs", refuse)
            await pilot.press("f5")
            shown = await shows(pilot, f"Reading {tmp_path} needs root.", "can't be listed")
            assert "finished" not in shown
        await pilot.press("f5")
        await shows(pilot, "1 run", "finished")
        await until(pilot, lambda: "needs root" not in picture(pilot), "the complaint is gone")


async def test_a_run_is_compared_with_another_after_what_differs_was_agreed_to_or_with_a_published_table(
    tmp_path: Path,
) -> None:
    recorded("grid", tmp_path)
    with closing(sqlite3.connect(recorded("stopped", tmp_path).journal, isolation_level=None)) as journal:
        journal.execute("UPDATE event SET body = replace(body, '6.18', '6.19') WHERE kind = 'run_started'")
    async with in_the_list(console(runs_dir=tmp_path)) as pilot:
        await point_at(pilot, "grid")
        await pilot.press("=")
        await shows(pilot, "Compare 'ext4 and xfs: a hundred files' with", "(stopped)", "published: lowe-2009")
        await pilot.press("enter")
        await shows(pilot, "Compare them all the same?", "kernel (A 6.18")
        await pilot.press("y")
        await shows(pilot, "What differs", "varied: kernel", "side")
        await pilot.press("escape", "=", "end", "enter")
        await shows(pilot, "not ranked, no verdicts")


async def test_two_marked_runs_are_compared_and_a_third_mark_takes_the_first_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[list[str]] = []

    async def show(_screen: object, folders: Sequence[RunFolder], *_published: object) -> None:
        compared.append([folder.name for folder in folders])

    monkeypatch.setattr(runs, "show_comparison", show)
    for name in ("grid", "raw", "stopped"):
        recorded(name, tmp_path)
    async with in_the_list(console(runs_dir=tmp_path)) as pilot:
        for name in ("raw", "grid", "stopped"):
            await point_at(pilot, name)
            await pilot.press("space")
        await shows(pilot, "= compares the two marked runs.", "* ext4 and xfs")
        await pilot.press("=")
        await until(pilot, lambda: compared, "a comparison")
        await point_at(pilot, "grid")
        await pilot.press("space", "=")
        await until(pilot, lambda: len(compared) == 2, "the marked one and that at the cursor")
    assert [sorted(pair) for pair in compared] == [["grid", "stopped"], ["grid", "stopped"]]


async def test_runs_are_imported_and_exported_by_commands(tmp_path: Path) -> None:
    recorded("raw", tmp_path)
    children = Scripted({"import": "20261121-081000-k7qf\n", "export": ""})
    async with in_the_list(console(children, runs_dir=tmp_path)) as pilot:
        await pilot.press("i")
        await shows(pilot, "Import a run from")
        await pilot.press(*"/x.fsrun", "enter")
        await until(pilot, lambda: children.acted, "the import")
        await pilot.press("e")
        await shows(pilot, "Export run raw")
        await pilot.press("end", "tab", "ctrl+u", *str(tmp_path / "o.fsrun"), "enter")
        await shows(pilot, "Written: ")
    assert children.acted[0] == ("import", "--runs", str(tmp_path), "--", "/x.fsrun")
    assert children.acted[1][:3] == ("export", "raw", str(tmp_path / "o.fsrun"))


@pytest.mark.parametrize("size", [(160, 30), (80, 24)])
async def test_a_row_has_the_curve_of_its_cells_and_the_best_variant_only_where_that_is_decided(
    size: tuple[int, int], tmp_path: Path
) -> None:
    decided, undecided, without_rounds = (
        imported("decided", tmp_path),
        imported("demo", tmp_path),
        recorded("grid", tmp_path),
    )
    assert digest_of(without_rounds).why_best == ""
    async with in_the_list(console(runs_dir=tmp_path), size) as pilot:
        for folder, best, why in (
            (decided, "ext4", "ext4 sync is decidedly behind by score"),
            (undecided, "", "3 of 5 variants may be the best"),
        ):
            await point_at(pilot, folder.name)
            shown = await shows(pilot, f"best: {best or 'not decided'}; {why}; Enter, then A says why")
            curve = digest_of(folder).curve
            assert len(curve.strip()) > 3
            row = next(line for line in shown.splitlines() if f" {curve} " in line)
            assert re.search(rf" imported, finished +{re.escape(curve)} +{best}( |$)", row), row
        assert digest_of(without_rounds).curve in shown


async def test_a_run_that_is_too_old_for_a_curve_and_a_best_row_says_why_they_are_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_DIGESTS", 1)
    for name in ("grid", "raw"):
        recorded(name, tmp_path)
    newest, oldest = list_runs(str(tmp_path))
    note = "MB/s by cell and best are worked out for the newest 50 runs only."
    async with in_the_list(console(runs_dir=tmp_path)) as pilot:
        await point_at(pilot, oldest.name)
        await shows(pilot, note)
        await point_at(pilot, newest.name)
        assert note not in await shows(pilot, digest_of(newest).curve)


def test_of_a_long_best_variant_the_row_has_the_ends_in_80_columns_and_the_pane_the_whole() -> None:
    best = "ext4 data=writeback,nodelalloc flex_bg=off"
    listed = ListedRun(
        "r1", "a title of two lines at least, and of a third", 1_795_248_600 * 10**9, 4, 4, "finished", "finished"
    )
    run = RunEntry("r1", listed, 3 << 20, Digest("+*#=+*#=", best))
    first = lay_out(runs_table([run]), 80).row_line(0, 0)
    assert cells_of(first) <= 80
    assert re.search(r"^a title of.* finished \+\*#=\+\*#= ext4 data=\S*\.\.\..*flex_bg=off$", first)
    assert any(best in line.text for line in run_lines(run, "/runs", 80))


def test_resume_sentences_name_interrupted_cell_and_kept_ones(tmp_path: Path) -> None:
    state = state_of(recorded("killed", tmp_path))
    assert state is not None
    assert resume_sentences(state, ("/dev/sdb",)) == (
        "Interrupted: cell 6 of 6, ext4 data=ordered, round 2, in its workload: the engine died.",
        "Lost: what it measured; the cell starts again. Kept: 5 of 6 cells. To go: 1.",
        "/dev/sdb holds only what the run left: it is wiped again for each cell that is left.",
    )
