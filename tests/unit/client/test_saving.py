"""Files written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.client.runs import read_output, save
from fsconsole.errors.runs import ExportFailed, JournalUnusable
from fsconsole.journal.folder import RunFolder


def test_a_file_is_written_as_it_is_and_replaced_only_where_that_was_agreed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    save(str(path), "über\r\n1\r\n", overwrite=False)
    assert path.read_bytes() == "über\r\n1\r\n".encode()
    with pytest.raises(ExportFailed):
        save(str(path), "new", overwrite=False)
    assert path.read_bytes() == "über\r\n1\r\n".encode()
    save(str(path), "new", overwrite=True)
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.csv"]
    with pytest.raises(ExportFailed, match="No such file"):
        save(str(tmp_path / "no" / "a.csv"), "x", overwrite=False)


def test_outputs_are_read_from_the_runs_own_folder_alone(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / "run"))
    (tmp_path / "run" / "raw").mkdir(parents=True)
    (tmp_path / "run" / "raw" / "000-01-mkfs").write_bytes(b"\xff said\n")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run" / "raw" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "run" / "raw" / "pipe")
    assert read_output(folder, "raw/000-01-mkfs") == ("\\xff said\n", 0)
    for name in ("../../secret", "raw/link", "pipe", "", "/etc/passwd"):
        with pytest.raises(JournalUnusable):
            read_output(folder, name)
