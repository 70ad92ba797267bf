"""Runs deleted: wholly, and nothing beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.errors.runs import RunLives, RunMissing
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import delete_run
from fsconsole.system.locks import FileLock


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs, and something outside that must stay."""
    for name in ("one", "two"):
        (tmp_path / "runs" / name / "raw").mkdir(parents=True)
        for file in ("journal.sqlite", "lock", "raw/000-01-mkfs"):
            (tmp_path / "runs" / name / file).write_text("figures")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    return tmp_path / "runs"


def test_a_run_goes_with_all_that_is_in_it_and_others_stay(runs: Path) -> None:
    delete_run(RunFolder(str(runs / "one")))
    assert os.listdir(runs) == ["two"]
    assert (runs / "two" / "raw" / "000-01-mkfs").read_text() == "figures"


def test_links_in_a_run_are_removed_and_never_followed(runs: Path, tmp_path: Path) -> None:
    (runs / "one" / "raw" / "directory").symlink_to(tmp_path / "outside")
    (runs / "one" / "file").symlink_to(tmp_path / "outside" / "kept")
    (runs / "one" / "dangling").symlink_to("/nonexistent")
    delete_run(RunFolder(str(runs / "one")))
    assert os.listdir(runs) == ["two"]
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_link_in_place_of_a_run_is_refused(runs: Path, tmp_path: Path) -> None:
    (runs / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(RunMissing):
        delete_run(RunFolder(str(runs / "linked")))
    assert (tmp_path / "outside" / "kept").exists()
    assert (runs / "linked").is_symlink()


def test_a_living_run_is_refused(runs: Path) -> None:
    folder = RunFolder(str(runs / "one"))
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        delete_run(folder)
    assert (runs / "one" / "journal.sqlite").exists()


def test_a_run_that_is_gone_is_said(runs: Path) -> None:
    with pytest.raises(RunMissing):
        delete_run(RunFolder(str(runs / "three")))


def test_a_run_without_a_lock_or_a_journal_is_deleted_too(runs: Path) -> None:
    (runs / "one" / "lock").unlink()
    (runs / "one" / "journal.sqlite").unlink()
    delete_run(RunFolder(str(runs / "one")))
    assert os.listdir(runs) == ["two"]
