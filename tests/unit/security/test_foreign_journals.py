"""Journals that no version of fsconsole has written: each command says so."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from tests.fuzz.cage import assert_harmless, say
from tests.tui.recorded import recorded


@pytest.mark.parametrize("version", [0, -5, -(2**31)])
def test_a_version_before_the_first_one_is_refused(tmp_path: Path, version: int) -> None:
    folder = recorded("grid", tmp_path)
    with contextlib.closing(sqlite3.connect(folder.journal)) as journal:
        journal.execute(f"PRAGMA user_version = {version}")
    words = ("results", "--runs", str(tmp_path))
    said = say(*words)
    assert_harmless(said, words)
    assert said.code == ExitCode.JOURNAL_UNUSABLE
    assert f"no journal has the version {version}" in said.err
