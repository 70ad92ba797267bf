"""Another title for a run: seen by every reader, kept by every copy, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalUnusable, RunLives
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import export_journal, rename_run
from fsconsole.system.locks import FileLock
from tests.tui.recorded import NAMES, recorded


@pytest.mark.parametrize("name", NAMES)
def test_only_the_title_changes(name: str, tmp_path: Path) -> None:
    folder = recorded(name, tmp_path)
    before = read_state(folder)
    rename_run(folder, "über [/x]")
    after = read_state(folder)
    assert after.request.plan.title == "über [/x]"
    plan = replace(after.request.plan, title=before.request.plan.title)
    assert replace(after, request=replace(after.request, plan=plan)) == before


def test_a_copy_of_the_journal_has_the_title_too(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    rename_run(folder, "first")
    rename_run(folder, "second")
    copy = RunFolder(str(tmp_path / "copy"))
    Path(copy.path).mkdir()
    export_journal(folder, copy.journal)
    assert read_state(copy).request.plan.title == "second"
    assert JournalReader(copy.journal).request().plan.title == "ext4 and xfs: a hundred files"


def test_a_living_run_is_refused(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        rename_run(folder, "x")


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    Path(folder.path).chmod(0o777)
    with pytest.raises(JournalUnusable):
        rename_run(folder, "x")
