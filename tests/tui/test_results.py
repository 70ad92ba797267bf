"""The Results screen, over recorded runs, by the keys that an operator presses."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import tomli
from rich.style import Style
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive
from fsconsole.model.metrics import Metric
from fsconsole.model.run import Target
from fsconsole.model.wire import to_plain
from fsconsole.plan.publications import find_publication
from fsconsole.show.results import EXPORTS, RUN_FILE, Choice, changed, export_words, packing_words
from fsconsole.show.terminal import Colours
from fsconsole.system.locks import FileLock
from fsconsole.tui import planfiles
from fsconsole.tui.screens import results as results_module
from fsconsole.tui.screens.results import ResultsScreen
from fsconsole.tui.widgets.lists import Table
from tests.tui.harness import ONE_OF_SIZES, Scripted, console, drive, picture, strips
from tests.tui.offers import document, target
from tests.tui.recorded import NAMES, imported, recorded
from tests.tui.waiting import flat, shows, until
from tests.unit.cli.recorded import run_command
from tests.unit.results.test_curves import over_threads


def table(pilot: Pilot[None]) -> Table:
    return pilot.app.screen.query_one(Table)


def names(pilot: Pilot[None]) -> list[str]:
    return [row.name for row in table(pilot).value.rows]


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_the_grid_of_every_recorded_run_opens(size: tuple[int, int], tmp_path: Path) -> None:
    async with drive(console(runs_dir=tmp_path), size=size) as pilot:
        for name in (*NAMES, "bull"):
            folder = pilot.app.session.folder = recorded(name, tmp_path)
            title = JournalReader(folder.journal).request().plan.title
            await pilot.press("1", "4")
            shown = await shows(pilot, title[: size[0] // 2], "variant", "No verdicts: ")
            assert all(len(line) <= size[0] for line in shown.splitlines())
            assert names(pilot)


async def test_s_sorts_by_the_column_at_the_cursor_which_scrolls_into_sight(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("bull", tmp_path)), "4") as pilot:
        await shows(pilot, "durable", "spread", "warn", "1/25", "No verdicts: ")
        await pilot.press("right", "right", "s")
        await until(pilot, lambda: table(pilot).value.mark == "▲", "sorted by CPU, lowest first")
        before = [row.key for row in table(pilot).value.rows]
        await pilot.press("s")
        await until(pilot, lambda: table(pilot).value.mark == "▼", "sorted by CPU, highest first")
        assert [row.key for row in table(pilot).value.rows] != before
        await pilot.press(*["right"] * 20, "s")
        await shows(pilot, "This column has no order")
        pilot.app.screen.action_sort_by()
        await shows(pilot, "Sort large files by", "variant", "extents/file")
        await pilot.press("enter")
        await until(pilot, lambda: names(pilot) == sorted(names(pilot)), "sorted by name")
        await pilot.press("home", *["down"] * 9)
        at = table(pilot).key
        for size in ((40, 10), (20, 5), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert table(pilot).key == at
        await shows(pilot, "10/25")


async def test_verdicts_blocks_baseline_and_pairs_stand_in_80_columns(tmp_path: Path) -> None:
    async with drive(console(folder=imported("mail", tmp_path)), "4") as pilot:
        shown = await shows(
            pilot, "vs baseline, 95 %", "verdict", "undecided", "slower", "[==", "against ext4 data=ordered"
        )
        assert "mail  video  filesystem" in shown
        await pilot.press("]", "]")
        await shows(pilot, "check against ext4 data=ordered")
        await pilot.press("[", "b")
        await shows(pilot, "Compare the rows of video with", "as the plan says", "all pairs")
        await pilot.press("enter")
        await shows(pilot, "Baseline chosen after the run", "vs xfs, 95 %")
        await pilot.press("b", "enter")
        await shows(pilot, "durable against ext4 data=ordered")
        await pilot.press("b", "end", "enter")
        await shows(pilot, "against", "all 6 pairs")
        assert len(names(pilot)) == 6
        await pilot.press("down", "enter")
        await shows(pilot, "no cells of its own", "btrfs against ext4 data=writeback")
        pilot.app.screen.action_all_pairs()
        await until(pilot, lambda: len(names(pilot)) == 4, "the rows")
        # A wide terminal has the other columns to the right.
        assert "CPU" not in picture(pilot).splitlines()[5]
        await pilot.resize_terminal(150, 40)
        await until(pilot, lambda: "CPU" in picture(pilot).splitlines()[5], "CPU")


def colour_of(style: Style) -> object:
    """Return the colour of a text; None for the terminal's own, by whichever name."""
    return None if style.color is None or style.color.is_default else style.color


@pytest.mark.parametrize("colours", [Colours.SIXTEEN, Colours.MANY], ids=["16", "many"])
async def test_better_worse_and_undecided_rows_differ_by_colour_and_bar(tmp_path: Path, colours: Colours) -> None:
    app = console(folder=imported("demo", tmp_path), runs_dir=tmp_path, colours=colours, is_root=False)
    async with drive(app, "4") as pilot:
        await shows(pilot, "direct streams", "verdict", "slower", "undecided")

        def drawn(name: str) -> tuple[object, str]:
            """Return the colour of a row's text, and what its bar is made of."""
            segment = next(one for strip in strips(pilot) for one in strip if one.text.startswith(f"{name}  "))
            assert segment.style is not None
            return colour_of(segment.style), "".join(dict.fromkeys(re.findall("[█▒░]", segment.text)))

        worse, undecided = drawn("ext3"), drawn("xfs")
        # The row at the cursor has a style of its own: the baseline.
        await pilot.press("down", "down", "down", "b", "enter")
        await shows(pilot, "vs ext3, 95 %", "faster")
        better = drawn("ext4")
        # A row that is the same has the colour of a text.
        drawings = [better, worse, undecided, (colour_of(table(pilot).rich_style), "")]
    assert [bar for _, bar in drawings] == ["█", "▒", "░", ""]
    assert len({colour for colour, _ in drawings}) == 4


async def test_rows_are_found_by_words_and_escape_shows_all_again(tmp_path: Path) -> None:
    async with drive(console(folder=imported("mail", tmp_path)), "4") as pilot:
        await shows(pilot, "slower", "undecided")
        every = names(pilot)
        await pilot.press("slash", *"EXT4 back")
        await until(pilot, lambda: names(pilot) == ["ext4 data=writeback"], "one row")
        await shows(pilot, "1 of 4 rows with 'EXT4 back' (escape shows all) ─", "esc All")
        assert "/ Find" not in picture(pilot)
        await pilot.press("enter", "s")
        await shows(pilot, "1 of 4 rows", "ext4 data=writeback: ")
        assert names(pilot) == ["ext4 data=writeback"]
        await pilot.press("escape")
        await until(pilot, lambda: sorted(names(pilot)) == sorted(every), "all rows")
        assert "shows all" not in picture(pilot)


async def test_a_click_on_a_block_s_name_shows_it_and_where_one_name_has_room_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(folder=imported("mail", tmp_path)), "4") as pilot:
        line = (await shows(pilot, "mail  video  filesystem")).splitlines()
        at = next(line.index("filesystem") for line in line if "mail  video  filesystem" in line)
        await pilot.click("#blocks", offset=(at + 2, 0))
        await shows(pilot, "check against ext4 data=ordered")
        await pilot.click("#blocks", offset=(2, 0))
        await shows(pilot, "against ext4 data=ordered", "durable")
        assert pilot.app.screen._view.at == 0
        monkeypatch.setattr(results_module.view, "block_names", lambda _view, _width: ((" 1 of 3: mail ", True),))
        pilot.app.screen._place()
        await pilot.click("#blocks", offset=(2, 0))
        await until(pilot, lambda: pilot.app.screen._view.at == 1, "the next block")


async def test_columns_are_chosen_and_ordered(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("grid", tmp_path)), "4") as pilot:
        await shows(pilot, "No verdicts: ")

        def columns() -> list[str]:
            return [column.name for column in table(pilot).value.columns]

        await pilot.press("c")
        await shows(pilot, "Columns of files", "[x] write")
        await pilot.press("space", "enter")  # write is the first in the list.
        await until(pilot, lambda: isinstance(pilot.app.screen, ResultsScreen) and "write" not in columns(), "no write")
        await pilot.press("c")
        await shows(pilot, "[ ] write")
        await pilot.press("space", *["<"] * 9, "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ResultsScreen) and columns()[0] == "write", "write")
        await pilot.press("c", "tab", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ResultsScreen) and "durable" in columns(), "the usual")


async def test_published_figures_stand_beside_and_say_so(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("bull", tmp_path)), "4", size=(120, 40)) as pilot:
        await shows(pilot, "No verdicts: ")
        await pilot.press("equals_sign")
        await shows(pilot, "Compare this run with", "FFSB")
        await pilot.press("enter")
        await until(pilot, lambda: any("published" in name for name in names(pilot)), "published rows")
        assert "published" not in names(pilot)[0]
        await pilot.press("down")
        await shows(pilot, "not of this run")
        await pilot.press("y")
        await shows(pilot, "Go to a row of this run")
        # Columns that no metric means stand in a table of their own.
        await pilot.press("equals_sign")
        await shows(pilot, "without published figures again")
        await pilot.press("end", "enter")
        await shows(pilot, "-0.14", "cp, 64 bit logical", "not ranked, no verdicts")


async def test_an_export_is_written_by_the_command_says_why_it_fails_and_asks_before_it_replaces(
    tmp_path: Path,
) -> None:
    folder, target = recorded("grid", tmp_path), tmp_path / "my.csv"
    refused = Done((), 40, "", "fsconsole: There is no run 'grid'.\nhint: Look again.\n")
    children = Scripted()
    async with drive(console(children, runs_dir=tmp_path, folder=folder), "4") as pilot:
        await shows(pilot, "No verdicts: ")
        for answer, is_there in ((refused, False), ("a,b\r\n", False), ("a,b\r\n", True)):
            children.answers = {"results grid": answer}
            await pilot.press("e")
            await shows(pilot, "Export run grid")
            path = pilot.app.screen.query_one("#path")
            await pilot.press("down")  # From text to CSV.
            path.value = str(target)
            path.focus()
            await until(pilot, lambda: getattr(pilot.app.screen.focused, "id", "") == "path", "the focus")
            await pilot.press("enter")
            if answer is refused:
                await shows(pilot, "There is no run 'grid'.", "Look again.")
                await pilot.press("escape")
                continue
            if is_there:
                await shows(pilot, "exists already")
                target.write_text("old")
                await pilot.press("enter")
            await until(pilot, lambda: target.exists() and target.read_text() == "a,b\n", "the file")
            await shows(pilot, "Written:")
    assert target.read_bytes() == b"a,b\r\n"
    asked = next(words for words in children.asked if words[0] == "results")
    assert asked[:6] == ("results", "grid", "--runs", str(tmp_path), "--format", "csv")


async def test_the_export_says_in_which_folder_its_file_will_be_whatever_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    folder = recorded("grid", tmp_path)
    async with drive(console(runs_dir=tmp_path, folder=folder), "4", size=(160, 40)) as pilot:
        await shows(pilot, "No verdicts: ")
        await pilot.press("e")

        def told() -> str:
            """Return the screen without the breaks and borders between which a long path stands."""
            return "".join(picture(pilot).replace("│", "").split())

        await until(pilot, lambda: f"Itwillbein{here}." in told())
        await pilot.press("tab", "ctrl+u", *"../x.csv")
        await until(pilot, lambda: f"Itwillbein{tmp_path}." in told())


@pytest.mark.parametrize(
    ("name", "row", "enters", "words"),
    [("out.csv", 2, 1, ["--format", "csv", "--summary"]), ("x.csv", 3, 2, ["--format", "json"])],
)
async def test_the_chosen_format_is_written_whatever_the_path_ends_in(
    name: str, row: int, enters: int, words: list[str], *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder, children = recorded("grid", tmp_path), Scripted({"results grid": "{}"})
    async with drive(console(children, runs_dir=tmp_path, folder=folder), "4") as pilot:
        await shows(pilot, "No verdicts: ")
        await pilot.press("e")
        await shows(pilot, "Export run grid")
        await pilot.press(*["down"] * row, "enter", *name, "enter")
        if enters > 1:
            await shows(pilot, "Its ending says CSV; JSON is what is chosen. Enter again writes it so.")
            await pilot.press("enter")
        await shows(pilot, "Written:")
    asked = next(asked for asked in children.asked if asked[0] == "results")
    assert list(asked)[4:] == words


def test_the_words_of_an_export_are_understood_by_the_command(tmp_path: Path) -> None:
    recorded("grid", tmp_path)
    plain = Choice(publication=find_publication("bull-2008"))
    choice = changed(plain, sort_by="CPU", is_reversed=True, baseline="xfs", columns=(Metric.CPU, Metric.OF_RAW_1))
    for export in EXPORTS:
        if export.format == RUN_FILE:
            words = packing_words("grid", str(tmp_path), str(tmp_path / "packed.fsrun"), overwrite=False)
            assert run_command(*words).returncode == 0
            assert (tmp_path / "packed.fsrun").exists()
            continue
        words = export_words("grid", str(tmp_path), export, choice)
        done = run_command(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
        if export.ending == ".json":
            assert json.loads(done.stdout)


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_without_any_run_there_is_a_sentence(size: tuple[int, int], tmp_path: Path) -> None:
    async with drive(console(runs_dir=tmp_path / "none"), "4", size=size) as pilot:
        await shows(pilot, "There are no runs in", "fsconsole demo")
        await pilot.press("s", "b", "c", "e", "enter", "left")
        assert "There are no runs in" in picture(pilot)


async def test_damaged_newer_and_missing_runs_are_told_in_words(tmp_path: Path) -> None:
    damaged, newer = recorded("grid", tmp_path), recorded("raw", tmp_path)
    Path(damaged.journal).write_bytes(b"not a database" * 100)
    with closing(sqlite3.connect(newer.journal)) as connection:
        connection.execute("PRAGMA user_version = 99")
    gone = RunFolder(str(tmp_path / "gone"))
    async with drive(console()) as pilot:
        for folder, words in (
            (damaged, "can't be used"),
            (newer, "newer fsconsole"),
            (gone, "does not exist"),
        ):
            pilot.app.session.folder = folder
            await pilot.press("1", "4")
            await shows(pilot, words)


async def test_a_run_that_goes_on_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_module, "_REFRESH_S", 0.1)
    folder = recorded("killed", tmp_path)
    (tmp_path / "other").mkdir()
    later = recorded("grid", tmp_path / "other")
    with FileLock.acquire(folder.lock):
        assert is_alive(folder)
        async with drive(console(folder=folder), "4") as pilot:
            await shows(pilot, "running")
            for suffix in ("-wal", "-shm"):
                Path(folder.journal + suffix).unlink(missing_ok=True)
            os.replace(later.journal, folder.journal)
            await shows(pilot, "finished")


async def test_t_draws_curves_of_a_block_with_three_numbers_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(folder=recorded("bull", tmp_path)), "4") as pilot:
        await shows(pilot, "1/25")
        await pilot.press("t")
        await shows(pilot, "No axis of this block has three or more numbers")
        seen = results_module.look(recorded("grid", tmp_path))
        monkeypatch.setattr(results_module, "look", lambda _: replace(seen, state=over_threads()))
        await pilot.press("f5")
        await shows(pilot, "threads")
        await pilot.press("t")
        shown = await shows(pilot, "durable, MB/s, over threads", "a ext4 data=ordered", "95 % interval")
        assert all(len(line) <= 80 for line in shown.splitlines())
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, ResultsScreen), "sorted by")


async def test_y_shows_and_copies_the_lines_of_the_row_and_advice_is_shown(tmp_path: Path) -> None:
    folder = imported("demo", tmp_path)
    app = console(folder=folder, runs_dir=tmp_path, is_root=False)
    app.session.terminal = replace(app.session.terminal, copies=True)
    async with drive(app, "4") as pilot:
        await shows(pilot, "direct streams", "verdict")
        await pilot.press("y")
        await shows(pilot, "ext4: mkfs and /etc/fstab", "mkfs.ext4", "/dev/DEVICE", "UUID=", "clipboard (OSC 52)")
        assert app.clipboard.startswith("mkfs.ext4 ")
        assert "/dev/loop" not in app.clipboard
        await pilot.press("escape")
        app.session.terminal = replace(app.session.terminal, copies=False)
        app._clipboard = ""
        await pilot.press("y")
        await shows(pilot, "ext4: mkfs and /etc/fstab", "mkfs.ext4", "UUID=", "Copy them from here.")
        assert app.clipboard == ""
        await pilot.press("escape", "A")
        await shows(pilot, "Undecided which is best: ext4, xfs, ext4 nodelalloc.")
        await pilot.press("end")
        await shows(pilot, "Next: take ext4, which scores highest", "fsconsole apply-kit demo ext4")


async def test_what_disturbed_a_run_and_what_advice_says_are_told_in_plain_words(tmp_path: Path) -> None:
    async with drive(console(folder=imported("mail", tmp_path), runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "mail", "verdict", "Disturbed: 20 of 20 cells. A says by what")
        await pilot.press("A")
        told = "Disturbed: other CPU use in 20, another fsconsole run in 19, other disk I/O in 18 of 20 cells."
        await until(pilot, lambda: told in flat(pilot), "the advice")
        await pilot.press("escape", "?")
        await pilot.resize_terminal(80, 100)
        await shows(pilot, "Advice: say which rows may be the best, why, and what disturbed them")


async def test_another_run_is_compared_with_this_one_what_differs_first(tmp_path: Path) -> None:
    folder = imported("mail", tmp_path)
    imported("mail-later", tmp_path)
    async with drive(console(folder=folder, runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "mail", "verdict")
        await pilot.press("equals_sign")
        await shows(pilot, "Compare this run with", "(mail-later)")
        await pilot.press("enter")
        # What differs asks for no agreement: the same machine, a minute apart.
        shown = await shows(pilot, "What differs", "B 2026-11-23 03:20 UTC", "vs A, 95 %", "39.57 +48")
        assert all(len(line) <= 80 for line in shown.splitlines())
        await pilot.press("escape")
        await shows(pilot, "verdict", "] Block")


@dataclass
class Anew(Scripted):
    """Children that find the device of a run as that left it, and look into the plan that they are given."""

    wiped: Target = field(kw_only=True)
    repeats: int = 0

    async def run(self, *words: str) -> Done:
        if words[0] != "plan":
            return await super().run(*words)
        self.asked.append(words)
        text = await asyncio.to_thread(Path(words[1]).read_text)
        self.repeats = tomli.loads(text)["repeats"]
        found = target(self.wiped.path, scratch=True, loss="nothing") | {"identity": to_plain(self.wiped.identity)}
        return Done(words, 0, json.dumps(document(found) | {"source_sha256": planfiles.digest_of_text(text)}), "")


async def test_more_rounds_are_a_new_run_of_the_plan_through_the_confirm_dialog(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    children = Anew(wiped=read_state(folder).request.targets[0])
    async with drive(console(children, folder=folder, runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "No verdicts: ")
        await pilot.press("+")
        await shows(pilot, "Rounds of a new run of this plan", "5 rounds: est. ", "are wiped")
        await pilot.press("backspace", "1")
        await shows(pilot, "Give a number from 3 to 100")
        await pilot.press("backspace", "7")
        await shows(pilot, "7 rounds: est. ")
        await pilot.press("enter")
        await until(pilot, lambda: any(words[0] == "plan" for words in children.asked), "the devices are looked at")
        await shows(pilot, "Only scratch devices are wiped")
        words = next(words for words in children.asked if words[0] == "plan")
        assert words[2:4] == ("--device", children.wiped.path)
        assert children.repeats == 7
        assert not any(words[0] == "run" for words in children.asked)
        await pilot.press("f10")
        await until(pilot, lambda: any(words[0] == "run" for words in children.asked), "it starts")
        begun = next(words for words in children.asked if words[0] == "run")
        assert begun[begun.index("--device") + 1] == children.wiped.path


async def test_an_imported_run_is_not_run_again_on_devices_of_another_machine(tmp_path: Path) -> None:
    async with drive(console(folder=imported("demo", tmp_path), runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "direct streams", "verdict")
        await pilot.press("+")
        await shows(pilot, "This run was imported")


async def test_a_large_terminal_has_curves_and_bars_of_check_and_delete_too(tmp_path: Path) -> None:
    async with drive(console(folder=imported("demo", tmp_path), runs_dir=tmp_path), "4", size=(200, 60)) as pilot:
        shown = await shows(pilot, "direct streams over time", "check, s", "durable delete, s", "0.726 s: 920 MB/s")
        assert all(len(line) <= 200 for line in shown.splitlines())
        await pilot.press("]")
        await shows(pilot, "small files over time")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "over time" not in picture(pilot), "the small form")


async def test_o_opens_the_plan_of_the_run_that_is_shown_also_where_it_is_only_the_newest(tmp_path: Path) -> None:
    recorded("grid", tmp_path)
    async with drive(console(runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "No verdicts: ")
        await pilot.press("o")
        await shows(pilot, "Plan of run grid")
