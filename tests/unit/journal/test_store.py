from __future__ import annotations

import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.errors.runs import (
    ExportFailed,
    JournalUnusable,
    NoSpace,
    RunAmbiguous,
    RunMissing,
    RunsReadOnly,
)
from fsconsole.journal import store as runs_dir_module
from fsconsole.journal.events import Cursor
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import create_run, export_journal, is_alive, list_runs, make_run_id, open_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted
from fsconsole.system.locks import FileLock


@pytest.fixture
def runs(tmp_path, make_request) -> str:
    runs_dir = str(tmp_path / "runs")
    for run_id in ("20261121-104500-aaaa", "20261121-104500-abbb", "20270101-000000-zzzz"):
        create_run(runs_dir, make_request(run_id=run_id))
    return runs_dir


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_an_id_has_its_time_and_four_letters() -> None:
    assert re.fullmatch(r"20\d{6}-\d{6}-[a-z2-7]{4}", make_run_id())
    assert len({make_run_id() for _ in range(20)}) > 10


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_a_new_run_is_for_root_and_its_group_alone(tmp_path, make_request, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = create_run(str(tmp_path / "deep" / "runs"), make_request())
    finally:
        os.umask(before)
    for path in (str(tmp_path / "deep"), str(tmp_path / "deep" / "runs"), folder.path, folder.raw):
        assert mode(path) & ~stat.S_ISGID == 0o750
    assert mode(folder.journal) == 0o640


@pytest.mark.root
def test_where_the_group_exists_all_belongs_to_it(tmp_path, make_request, monkeypatch) -> None:
    monkeypatch.setattr(runs_dir_module, "group_id", lambda: 4242)
    folder = create_run(str(tmp_path / "runs"), make_request())
    writer = JournalWriter(folder)
    writer.record(CellStarted(0, 1))
    for path in (
        os.path.dirname(folder.path),
        folder.path,
        folder.raw,
        folder.journal,
        folder.journal + "-wal",
    ):
        assert os.stat(path).st_gid == 4242
    writer.close(finished=True)


def test_a_new_run_holds_its_request_and_nothing_else(tmp_path, make_request) -> None:
    request = make_request()
    folder = create_run(str(tmp_path), request)
    assert sorted(os.listdir(tmp_path)) == [request.run_id]
    assert sorted(os.listdir(folder.path)) == ["journal.sqlite", "last-word", "raw"]
    assert JournalReader(folder.journal).request() == request
    assert JournalReader(folder.journal).read_since(Cursor()).entries == ()


@pytest.mark.parametrize("run_id", ["../evil", "", ".hidden", "a/b", "x" * 101, "a\n"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, make_request, run_id: str) -> None:
    with pytest.raises(RunsReadOnly, match="not a name"):
        create_run(str(tmp_path), make_request(run_id=run_id))
    assert os.listdir(tmp_path) == []


def test_a_run_is_never_replaced(tmp_path, make_request) -> None:
    request = make_request()
    create_run(str(tmp_path), request)
    with pytest.raises(RunsReadOnly, match="exists"):
        create_run(str(tmp_path), request)
    assert os.listdir(tmp_path) == [request.run_id]


@pytest.mark.parametrize("runs_dir", ["link", "link/runs"])
def test_a_symbolic_link_on_the_way_is_refused(tmp_path, make_request, runs_dir: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(RunsReadOnly, match="symbolic link"):
        create_run(str(tmp_path / runs_dir), make_request())
    assert os.listdir(tmp_path / "real") == []


def test_a_file_on_the_way_is_refused(tmp_path, make_request) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunsReadOnly, match="Not a directory"):
        create_run(str(tmp_path / "file" / "runs"), make_request())


def test_a_run_that_can_not_be_made_whole_leaves_nothing(tmp_path, make_request, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(runs_dir_module, "create_tables", fail)
    with pytest.raises(NoSpace):
        create_run(str(tmp_path), make_request())
    assert os.listdir(tmp_path) == []


@pytest.mark.root
def test_a_read_only_place_is_told_as_such(tmp_path, make_request, mounted) -> None:
    point = mounted("tmpfs", filesystem="tmpfs", options="ro,size=1m")
    for runs_dir in (point, point / "runs"):
        with pytest.raises(RunsReadOnly, match="Read-only file system"):
            create_run(str(runs_dir), make_request())


@pytest.mark.root
def test_a_full_place_is_told_with_what_is_free(make_request, mounted) -> None:
    point = mounted("tmpfs", filesystem="tmpfs", options="size=64k")
    with pytest.raises(NoSpace) as caught:
        create_run(str(point / "runs"), make_request(cells=200))
    assert caught.value.free.endswith("B")
    assert os.listdir(point / "runs") == []


def test_runs_are_listed_newest_first(runs) -> None:
    assert [run.name for run in list_runs(runs)] == [
        "20270101-000000-zzzz",
        "20261121-104500-abbb",
        "20261121-104500-aaaa",
    ]


def test_what_is_no_run_is_not_listed_and_what_is_damaged_is(runs) -> None:
    Path(runs, "index.sqlite").write_text("")
    Path(runs, ".20280101-000000-aaaa.new").mkdir()
    Path(runs, "20280101-000000-bbbb").symlink_to("/etc")
    Path(runs, "20280101-000000-cccc").mkdir()
    assert [run.name for run in list_runs(runs)][:2] == ["20280101-000000-cccc", "20270101-000000-zzzz"]
    with pytest.raises(JournalUnusable):
        JournalReader(open_run(runs).journal).request()


def test_where_no_run_ever_was_there_is_none(tmp_path) -> None:
    assert list_runs(str(tmp_path / "none")) == ()
    with pytest.raises(RunMissing):
        open_run(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("latest", "20270101-000000-zzzz"),
        ("20261121-104500-aaaa", "20261121-104500-aaaa"),
        ("20261121-104500-a", ""),
        ("2027", "20270101-000000-zzzz"),
        ("2026", ""),
    ],
)
def test_a_run_is_found_by_any_beginning_that_is_its_own(runs, wanted: str, found: str) -> None:
    if found:
        assert open_run(runs, wanted).name == found
        return
    with pytest.raises(RunAmbiguous) as caught:
        open_run(runs, wanted)
    assert "20261121-104500-abbb" in caught.value.hint


@pytest.mark.parametrize("wanted", ["2028", "", "../runs", "/etc", "20261121-104500-aaaaa"])
def test_a_run_that_is_not_there_is_missing(runs, wanted: str) -> None:
    with pytest.raises(RunMissing):
        open_run(runs, wanted)


def test_a_run_lives_as_long_as_its_lock_is_held(folder) -> None:
    assert not is_alive(folder)
    with FileLock.acquire(folder.lock):
        assert is_alive(folder)
    assert not is_alive(folder)


def test_a_copy_is_whole_while_the_run_goes_on(folder, tmp_path) -> None:
    writer = JournalWriter(folder)
    writer.record(CellStarted(0, 1))
    copy = str(tmp_path / "copy.sqlite")
    export_journal(folder, copy)
    writer.record(CellStarted(1, 1))
    assert os.listdir(tmp_path) == ["copy.sqlite"]
    assert mode(copy) == 0o640
    assert JournalReader(copy).read_since(Cursor()).observations == (CellStarted(0, 1),)
    assert JournalReader(copy).request() == JournalReader(folder.journal).request()
    writer.close(finished=True)


def test_a_copy_replaces_nothing(folder, tmp_path) -> None:
    existing = tmp_path / "copy.sqlite"
    existing.write_text("precious")
    with pytest.raises(ExportFailed, match="exists"):
        export_journal(folder, str(existing))
    assert existing.read_text() == "precious"


def test_a_copy_that_fails_leaves_no_half(folder, tmp_path) -> None:
    with closing(sqlite3.connect(folder.journal, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(Exception, match="newer"):
        export_journal(folder, str(tmp_path / "copy.sqlite"))
    assert os.listdir(tmp_path) == []


@pytest.mark.root
def test_a_copy_to_a_full_disk_leaves_no_half(folder, mounted) -> None:
    point = mounted("tmpfs", filesystem="tmpfs", options="size=16k")
    with pytest.raises(ExportFailed, match="full"):
        export_journal(folder, str(point / "copy.sqlite"))
    assert os.listdir(point) == []
