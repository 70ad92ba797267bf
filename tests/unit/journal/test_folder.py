"""Raw outputs and the last word in a run's folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors.runs import JournalFull, JournalUnusable
from fsconsole.journal import last_word
from fsconsole.journal.folder import RawOutputs, RunFolder
from fsconsole.journal.past import read_journal, read_state
from fsconsole.model.events import Outcome, RunFinished, RunStarted
from fsconsole.model.state import RunStatus
from tests.unit.journal.journals import write


def test_outputs_are_kept_byte_for_byte_and_a_cell_done_again_replaces_none(folder) -> None:
    outputs = RawOutputs(folder)
    paths = [outputs.write(3, 5, "mkfs.ext4", bytes(range(number, 256))) for number in range(3)]
    assert paths[0] == "raw/003-05-mkfs.ext4"
    for number, path in enumerate(paths):
        kept = Path(folder.path, path)
        assert kept.read_bytes() == bytes(range(number, 256))
        assert stat.S_IMODE(kept.stat().st_mode) & 0o137 == 0


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\nb\x1b[2J", "x" * 500, "", "ü/"])
def test_no_name_leads_out_of_the_folder(folder, name: str) -> None:
    path = RawOutputs(folder).write(0, 1, name, b"")
    assert os.path.dirname(path) == "raw"
    assert os.listdir(folder.raw) == [os.path.basename(path)]
    assert path.isascii()
    assert path.isprintable()


def test_a_link_that_somebody_left_is_not_followed(folder, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.symlink(elsewhere, os.path.join(folder.raw, "000-01-mkfs"))
    assert RawOutputs(folder).write(0, 1, "mkfs", b"x") == "raw/000-01-mkfs.2"
    assert not elsewhere.exists()


def test_a_folder_that_is_gone_is_unusable(folder) -> None:
    os.rmdir(folder.raw)
    with pytest.raises(JournalUnusable, match="No such file"):
        RawOutputs(folder).write(0, 1, "mkfs", b"x")


@pytest.mark.root
def test_a_full_disk_is_told_as_such(folder, mounted) -> None:
    point = mounted("tmpfs", filesystem="tmpfs", options="size=64k")
    os.rmdir(folder.raw)
    os.mkdir(point / "raw")
    full = type(folder)(str(point))
    with pytest.raises(JournalFull):
        RawOutputs(full).write(0, 1, "mkfs", bytes(2**20))


STARTED = RunStarted(1, "0.1.0", "boot", "6.18.0", "box")
WORD = RunFinished(Outcome.FAILED, "The disk \x1b[/x] is full.", "Free some room.", 42)


def test_a_word_is_read_as_it_was_left_in_its_room_until_it_is_forgotten(folder: RunFolder) -> None:
    assert os.stat(folder.last_word).st_blocks * 512 >= last_word.ROOM_BYTES
    assert last_word.read(folder) == ()
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
    os.unlink(folder.last_word)
    assert last_word.read(folder) == ()


def test_the_word_counts_as_the_journals_last(folder: RunFolder) -> None:
    write(folder, STARTED)
    last_word.leave(folder, WORD)
    state = read_state(folder)
    assert (state.status, state.reason, state.exit_code) == (RunStatus.FINISHED, WORD.reason, 42)
    assert read_journal(folder).status is RunStatus.RUNNING
    # The journal's own goes before it.
    write(folder, RunFinished(Outcome.DONE))
    assert read_state(folder).outcome is Outcome.DONE


def test_cleanup_moves_the_word_into_the_journal(folder: RunFolder) -> None:
    write(folder, STARTED)
    last_word.leave(folder, WORD)
    (cleaned,) = clean_folder(folder)
    assert (cleaned.did, cleaned.resumable) == (WORD.reason.rstrip("."), True)
    assert last_word.read(folder) == ()
    assert read_journal(folder).reason == WORD.reason
    assert clean_folder(folder) == ()
