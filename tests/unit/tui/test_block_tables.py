from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.tui import watch
from fsconsole.tui.watch import read_arrays, read_tables

RESYNC = Path(__file__).parents[2] / "data/mdstat/5.10-debian-raid5-resync.txt"


@pytest.fixture
def mdstat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mdstat"
    path.write_text(RESYNC.read_text())
    monkeypatch.setattr(watch, "_MDSTAT", str(path))
    monkeypatch.setattr(watch, "_TABLES", (str(tmp_path / "mounts"),))
    monkeypatch.setattr(watch, "_SYS_BLOCK", str(tmp_path))
    return path


def test_the_progress_of_an_array_is_no_change_and_its_end_is_one(mdstat: Path) -> None:
    before = read_tables()
    mdstat.write_text(RESYNC.read_text().replace("41.3%", "57.9%").replace("161.8min", "90.1min"))
    assert read_tables() == before
    assert read_arrays()[0].progress_percent == 57.9
    lines = [line for line in RESYNC.read_text().splitlines(keepends=True) if "resync" not in line]
    mdstat.write_text("".join(lines))
    assert read_tables() != before


def test_a_mount_a_new_device_and_another_disk_of_the_same_name_are_changes(mdstat: Path) -> None:
    seen = [read_tables()]
    disk = mdstat.parent / "sdb"
    for path, text in (
        (mdstat.parent / "mounts", "/dev/sda / ext4 rw 0 0\n"),
        *((disk / file, text) for file in ("diskseq", "loop/backing_file") for text in ("9\n", "10\n")),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        seen.append(read_tables())
        assert seen[-1] != seen[-2], (path, text)


def test_an_mdstat_that_is_not_understood_or_missing_shows_no_arrays(mdstat: Path) -> None:
    mdstat.write_text("md0 : strange\n")
    assert read_arrays() == ()
    mdstat.unlink()
    assert read_arrays() == ()
