"""The last word of an engine whose journal took it no more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.engine.cleanup import clean_folder
from fsconsole.journal import last_word
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_journal, read_state
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import Observation, Outcome, RunFinished, RunStarted
from fsconsole.model.state import RunStatus

STARTED = RunStarted(1, "0.1.0", "boot", "6.18.0", "box")
WORD = RunFinished(Outcome.FAILED, "The disk \x1b[/x] is full.", "Free some room.", 42)
DONE = RunFinished(Outcome.DONE)


def write(folder: RunFolder, *observations: Observation) -> None:
    journal = JournalWriter(folder)
    for observation in observations:
        journal.record(observation)
    journal.close(finished=True)


def test_a_new_run_has_room_for_a_word_and_none_in_it(folder: RunFolder) -> None:
    assert os.stat(folder.last_word).st_blocks * 512 >= last_word.ROOM_BYTES
    assert last_word.read(folder) == ()


def test_a_word_is_read_as_it_was_left_until_it_is_forgotten(folder: RunFolder) -> None:
    last_word.leave(folder, RunFinished(Outcome.FAILED, "x" * 9000))
    last_word.leave(folder, WORD)
    assert [word.finished for word in last_word.read(folder)] == [WORD]
    assert os.stat(folder.last_word).st_size == last_word.ROOM_BYTES
    last_word.forget(folder)
    assert last_word.read(folder) == ()


@pytest.mark.parametrize("text", [b"{", b"{}", b"\xff\xfe", b"x" * 20000])
def test_what_is_no_whole_word_is_none(folder: RunFolder, text: bytes) -> None:
    Path(folder.last_word).write_bytes(text)
    assert last_word.read(folder) == ()


def test_a_folder_without_the_file_has_no_word(folder: RunFolder) -> None:
    os.unlink(folder.last_word)
    assert last_word.read(folder) == ()


def test_the_word_counts_as_the_journals_last(folder: RunFolder) -> None:
    write(folder, STARTED)
    last_word.leave(folder, WORD)
    state = read_state(folder)
    assert (state.status, state.reason, state.exit_code) == (RunStatus.FINISHED, WORD.reason, 42)
    assert read_journal(folder).status is RunStatus.RUNNING


def test_a_journal_that_has_its_own_last_word_goes_before_it(folder: RunFolder) -> None:
    write(folder, STARTED, DONE)
    last_word.leave(folder, WORD)
    assert read_state(folder).outcome is Outcome.DONE


def test_cleanup_moves_the_word_into_the_journal(folder: RunFolder) -> None:
    write(folder, STARTED)
    last_word.leave(folder, WORD)
    (cleaned,) = clean_folder(folder)
    assert (cleaned.did, cleaned.resumable) == (WORD.reason.rstrip("."), True)
    assert last_word.read(folder) == ()
    assert read_journal(folder).reason == WORD.reason
    assert clean_folder(folder) == ()
