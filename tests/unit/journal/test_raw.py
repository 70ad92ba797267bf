from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalFull, JournalUnusable
from fsconsole.journal.folder import RawOutputs


def test_an_output_is_kept_byte_for_byte(folder) -> None:
    data = bytes(range(256))
    path = RawOutputs(folder).write(3, 5, "mkfs.ext4", data)
    assert path == "raw/003-05-mkfs.ext4"
    kept = Path(folder.path, path)
    assert kept.read_bytes() == data
    assert stat.S_IMODE(kept.stat().st_mode) & 0o137 == 0


def test_a_cell_done_again_replaces_nothing(folder) -> None:
    outputs = RawOutputs(folder)
    paths = [outputs.write(0, 1, "mkfs", bytes([number])) for number in range(3)]
    assert len(set(paths)) == 3
    assert [Path(folder.path, path).read_bytes() for path in paths] == [b"\0", b"\1", b"\2"]


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
