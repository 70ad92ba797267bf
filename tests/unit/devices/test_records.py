"""Records of scratch files: replaced whole, believed only if root wrote them, gone with their files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from fsconsole.devices import records
from fsconsole.devices.marker import UNMARKED, Marker
from fsconsole.devices.records import (
    NO_RECORD,
    Record,
    is_written,
    read_record,
    remove_record,
    remove_stale,
    write_record,
)

MARKER = Marker("0a1b2c3d", "demo", 12, 7, 9, "ab")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "records"
    monkeypatch.setattr(records, "RECORDS_DIR", str(path))
    return path


def record_of(path: Path, scratch_id: str = "0a1b2c3d") -> Record:
    path.touch()
    file = path.stat()
    return Record(scratch_id, str(path), os.statvfs(path).f_fsid, file.st_ino, 7, file.st_ctime_ns, "d0")


def test_record_is_read_as_written_in_directory_of_root(folder: Path, tmp_path: Path) -> None:
    record = record_of(tmp_path / "scratch")
    assert read_record("0a1b2c3d") == NO_RECORD
    write_record(record)
    write_record(replace(record, left="d1"))
    assert read_record("0a1b2c3d").left == "d1"
    assert (folder.stat().st_mode & 0o7777, os.listdir(folder)) == (0o700, ["0a1b2c3d.json"])
    remove_record("0a1b2c3d")
    remove_record("0a1b2c3d")
    assert read_record("0a1b2c3d") == NO_RECORD


def test_file_with_restored_mtime_is_written(tmp_path: Path) -> None:
    path = tmp_path / "scratch"
    record = record_of(path)
    marker = Marker("0a1b2c3d", "demo", record.inode, 7, 9, "ab")
    assert not is_written(str(path), marker, record)
    before = path.stat()
    time.sleep(0.02)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert is_written(str(path), marker, record)
    now = replace(record, ctime_ns=path.stat().st_ctime_ns)
    assert not is_written(str(path), marker, now)
    for changes in ({"inode": 1}, {"generation": 8}, {"ctime_ns": 5}):
        assert is_written(str(path), marker, replace(now, **changes))
    path.unlink()
    assert is_written(str(path), marker, now)


def test_record_that_others_could_write_is_none(folder: Path, tmp_path: Path) -> None:
    record = record_of(tmp_path / "scratch")
    write_record(record)
    file = folder / "0a1b2c3d.json"

    def is_believed() -> bool:
        return read_record("0a1b2c3d") != NO_RECORD

    for path in (folder, file):
        for mode, owner in ((0o720, 0), (0o702, 0), (0o700, 65534)):
            path.chmod(mode)
            os.chown(path, owner, 0)
            assert not is_believed()
        os.chown(path, 0, 0)
        assert is_believed()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="records: others than root may write"):
        write_record(record)
    folder.chmod(0o700)
    file.rename(tmp_path / "moved")
    file.symlink_to(tmp_path / "moved")
    assert not is_believed()
    file.unlink()
    os.mkfifo(file)
    assert not is_believed()
    file.unlink()
    for text in (
        "",
        "{}",
        "[",
        '{"scratch_id": "0a1b2c3d"}',
        (tmp_path / "moved").read_text().replace("0a1b2c3d", "0a1b2c3e"),
    ):
        file.write_text(text)
        assert not is_believed(), text


def test_stale_records_go_and_those_of_unmounted_filesystems_stay(folder: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("kept", "gone", "elsewhere", "sub/gone")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        record = record_of(tmp_path / name, f"0a1b2c3{number}")
        write_record(replace(record, filesystem=1) if name == "elsewhere" else record)
    for name in ("gone", "elsewhere", "sub/gone"):
        (tmp_path / name).unlink()
    (tmp_path / "sub").rmdir()
    for name in (".0a1b2c3d.json.0", ".0a1b2c3d.json.1"):
        (folder / name).touch()
    os.utime(folder / ".0a1b2c3d.json.0", (time.time(), time.time() - 7200))
    (folder / "no record").write_text("")
    remove_stale()
    assert sorted(os.listdir(folder)) == [".0a1b2c3d.json.1", "0a1b2c30.json", "0a1b2c32.json", "no record"]


_WRITER = """
import sys
from msgspec.structs import replace
from fsconsole.devices import records
records.RECORDS_DIR = sys.argv[1]
record = records.Record("0a1b2c3d", "/x" * 1000, 1, 2, 3, 4)
for number in range(100):
    records.write_record(replace(record, left=f"{sys.argv[2]}-{number}"))
"""


def test_record_is_whole_while_two_processes_replace_it(folder: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(folder), name]) for name in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(read_record("0a1b2c3d"))
    assert [writer.wait() for writer in writers] == [0, 0]
    # Before the first there is none; from then on never less than a whole one.
    assert {len(record.path) for record in seen - {NO_RECORD}} <= {2000}
    assert read_record("0a1b2c3d").left.endswith("-99")
    assert os.listdir(folder) == ["0a1b2c3d.json"]


def test_unmarked_file_has_no_record(folder: Path) -> None:
    assert read_record(UNMARKED.scratch_id) == NO_RECORD
