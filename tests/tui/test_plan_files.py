"""Plans opened, saved and kept: what the screen can't edit stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from fsconsole.catalog.loader import load_catalog
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.plan.draft import opened
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.lists import Choices
from tests.tui.at_plan import LOAD, Hand, at_plan, catalog_answer
from tests.tui.harness import Scripted, console, drive, picture
from tests.tui.recorded import recorded
from tests.unit.plan.examples import DESIGN


async def test_shipped_plans_are_opened_from_a_menu_with_a_line_on_each() -> None:
    async with at_plan() as hand:
        await hand.keys("f")
        await hand.sees("Recipes", "write-ahead log: appends")
        await hand.keys("end")
        await hand.sees("whatif-arrays", "raid5 against raid10")
        await hand.keys("d", "e", "m", "o")
        await hand.keys("enter")
        await hand.sees("5 variants, 25 cells")
        # Its variants are ticks by now; while nothing is changed the plan is the file's, word for word.
        assert hand.screen.draft.text == next(p for p in list_configs() if p.stem == "demo").read_text()
        assert not hand.screen.edited.is_changed
        await hand.sees("[x] ext4       2", "delalloc       [default]  on  [off]")


BAD = {
    "schema = 1\n[[variant]\n": "is not TOML",
    "schema = 1\nraw = true\n" + LOAD + "color = 1\n": "unknown key workload[0].color",
    "schema = 1\nraw = true\n": "there is no workload",
    'schema = 1\n[[variant]]\ntype = "ext5"\n' + LOAD: "there is no filesystem 'ext5'",
}


async def test_recipes_are_offered_by_n_too() -> None:
    async with at_plan() as hand:
        await hand.keys("n")
        await hand.sees("Recipe or shipped plan..")
        await hand.keys("end", "enter")
        await hand.sees("Open a recipe", "Or a file")


async def test_a_bad_file_is_told_in_the_reader_s_words_and_the_draft_stays(tmp_path: Path) -> None:
    async with at_plan(size=(120, 40)) as hand:
        for text, words in BAD.items():
            (tmp_path / "bad.toml").write_text(text)
            await hand.open(tmp_path / "bad.toml")
            await hand.sees(words, "Open a recipe")
            await hand.keys("escape")
            await hand.sees("New plan")


async def test_a_file_that_can_not_be_read_leaves_the_form_open_with_the_error_in_it_until_another_is_typed(
    tmp_path: Path,
) -> None:
    good = tmp_path / "good.toml"
    good.write_text(f'schema = 1\n[[variant]]\ntype = "ext4"\n{LOAD}')
    async with at_plan() as hand:
        await hand.open(tmp_path / "good.tom")
        await hand.sees("Open a recipe", f"{tmp_path}/good.tom")
        await hand.until(lambda: hand.pilot.app.screen.query_one("#dialog-wrong").display)
        await hand.type(str(good))
        await hand.until(lambda: not hand.pilot.app.screen.query_one("#dialog-wrong").display)
        await hand.keys("enter")
        await hand.until(lambda: hand.screen.draft.plan.path == str(good))


async def test_j_and_k_move_in_the_list_of_plans_while_it_has_the_focus_and_are_letters_in_the_field() -> None:
    async with at_plan() as hand:
        await hand.keys("f")
        await hand.sees("Recipes")
        choices, path = (hand.pilot.app.screen.query_one(f"#{name}") for name in ("options", "path"))
        assert isinstance(choices, Choices)
        assert isinstance(path, Input)
        first = choices.key
        await hand.keys("j")
        assert choices.key != first
        await hand.keys("k")
        assert (choices.key, path.value, choices.has_focus) == (first, "", True)
        await hand.keys("/", "j", "k")
        assert path.value == "/jk"


async def test_saving_says_which_file_it_will_be_whatever_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with at_plan() as hand:
        await hand.keys("w")
        await hand.sees("Save the plan as", "The file will be")
        await hand.type("mine.toml")
        await hand.sees(f"The file will be {tmp_path}/mine.toml.")


async def test_a_plan_is_saved_and_asks_before_it_replaces_what_it_did_not_show(tmp_path: Path) -> None:
    async with at_plan() as hand:
        path = tmp_path / "mine.toml"
        await hand.keys("w")
        await hand.sees("Save the plan as")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.until(path.exists)
        await hand.until(lambda: not hand.screen.edited.is_changed and hand.screen.draft.plan.path == str(path))
        assert [checklist.filesystem for checklist in read_plan(path).checklists] == ["ext4", "xfs"]

        edited = "# edited elsewhere\n" + path.read_text()
        path.write_text(edited)
        await hand.filesystem("btrfs")
        await hand.keys("w")
        await hand.sees("Save the plan as")
        await hand.keys("enter")
        await hand.sees("It was edited since it was opened here.")
        await hand.keys("enter")
        assert path.read_text() == edited
        await hand.keys("w", "enter")
        await hand.sees("It was edited since")
        await hand.keys("y")
        await hand.until(lambda: "btrfs" in path.read_text())


async def test_a_plan_that_was_changed_is_not_left_without_a_question() -> None:
    async with at_plan() as hand:
        await hand.go_to("filesystems")
        await hand.keys("space")
        await hand.sees("not saved")
        await hand.keys("f")
        await hand.sees("Open a recipe")
        # What there is can be looked at before anything is left.
        await hand.keys("enter")
        await hand.sees("Leave this plan?")
        await hand.keys("n")
        assert hand.screen.edited.is_changed
        await hand.keys("n")
        await hand.sees("Custom variant", "New plan")
        await hand.keys("end", "up", "enter")
        await hand.sees("Leave this plan?")
        await hand.keys("y")
        await hand.until(lambda: not hand.screen.edited.is_changed)


async def test_hostile_text_of_a_plan_is_shown_as_it_stands_and_too_many_cells_are_told_in_words(
    tmp_path: Path,
) -> None:
    hostile, many = tmp_path / "x.toml", tmp_path / "many.toml"
    label = 'label = "[/x] \\u001b[31m \\u4f60"'
    hostile.write_text(f'schema = 1\ntitle = "[/t]\\u001b"\n[[variant]]\ntype = "ext4"\n{label}\n{LOAD}name = "[/w]"\n')
    many.write_text(f"schema = 1\nrepeats = 20\nraw = true\n{LOAD}threads = {list(range(1, 1001))}\n")
    async with at_plan() as hand:
        await hand.open(hostile)
        await hand.settled()
        await hand.sees("[/t]\\x1b", "[x] [/x] \\x1b[31m")
        await hand.go_to("workloads")
        await hand.sees("1. [/w]")
        await hand.keys("l", "escape", "enter")
        await hand.sees("Workload 1")
        assert plain("[/x]").plain == "[/x]"
        await hand.keys("escape")
        await hand.open(many)
        await hand.sees("too many cells", "at most 10000 cells")


async def open_file(hand: Hand, path: Path) -> None:
    await hand.open(path)
    await hand.until(lambda: hand.screen.draft.plan.path == str(path))


async def save_as(hand: Hand, path: Path) -> None:
    await hand.keys("w")
    await hand.sees("Save the plan as")
    await hand.type(str(path))
    await hand.keys("enter")
    await hand.until(lambda: path.exists() and hand.screen.draft.plan.path == str(path))


async def test_a_shipped_plan_is_saved_as_it_was_and_what_the_screen_can_t_edit_is_kept_where_it_is_changed(
    tmp_path: Path,
) -> None:
    design, again, changed = (tmp_path / name for name in ("design.toml", "again.toml", "changed.toml"))
    design.write_text(DESIGN)
    async with at_plan() as hand:
        for path in (list_configs()[0], design):
            plan = read_plan(path)
            await open_file(hand, path)
            await save_as(hand, again)
            assert path == design or again.read_text() == path.read_text()
            await hand.go_to("run")
            await hand.tick("raw", "no" if plan.raw else "yes")
            await hand.until(lambda plan=plan: hand.screen.draft.plan.raw != plan.raw)
            await save_as(hand, changed)
            ticked = opened(plan, load_catalog()).plan
            assert read_plan(changed) == replace(ticked, raw=not plan.raw), path
            again.unlink()
            changed.unlink()


@pytest.mark.parametrize("mode", ["3", "4"])
async def test_o_on_run_and_on_results_opens_the_plan_of_the_run_as_it_was(mode: str, tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    answers = {"catalog": catalog_answer(), "devices": "[]"}
    async with drive(console(Scripted(answers), folder=folder, runs_dir=tmp_path), mode) as pilot:
        hand = Hand(pilot)
        await hand.sees("ext4 and xfs: a hundred files")
        await hand.keys("o")
        await hand.sees("Plan of run grid", "ext4 and xfs: a hundred files: ext4 data=ordered")
        await hand.sees("w saves it, 1 leads to the devices.")
        assert "F10 runs it" not in picture(pilot)
        source = JournalReader(folder.journal).request().plan.source
        assert hand.screen.draft.text == source
        assert (hand.screen.draft.plan.path, hand.screen.edited.is_changed) == ("", False)
        # A changed draft is not left for it without a question.
        await hand.filesystem("btrfs")
        await hand.keys(mode, "o")
        await hand.sees("Leave this plan?")
        await hand.keys("n")
        assert "btrfs" in hand.screen.draft.filesystems


async def test_a_run_without_a_plan_that_can_be_read_says_so(tmp_path: Path) -> None:
    async with at_plan() as hand:
        await hand.screen.open_plan_of(None)
        await hand.sees("No run is shown whose plan could be opened.")
        hand.screen.session.plan_of = RunFolder(str(tmp_path / "none"))
        hand.screen.on_screen_resume()
        await hand.sees("none", "New plan")
        assert not hand.screen.edited.is_changed


async def test_the_question_where_to_save_names_the_folder_of_a_bare_name_and_enter_saves_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with at_plan() as hand:
        await hand.keys("w")
        shown = await hand.sees("Save the plan as", "The file will be ", "enter Save")
        assert str(tmp_path) in "".join(shown.replace("│", "").split())
        await hand.type("mine.toml")
        await hand.keys("enter")
        await hand.sees("Saved ")
        assert (tmp_path / "mine.toml").exists()
