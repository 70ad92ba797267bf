from __future__ import annotations

import os
import re
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import (
    ExportFailed,
    JournalUnusable,
    NoSpace,
    RunAmbiguous,
    RunLives,
    RunMissing,
    RunsReadOnly,
)
from fsconsole.journal import store as runs_dir_module
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import (
    create_run,
    delete_run,
    export_journal,
    is_alive,
    list_runs,
    make_run_id,
    open_run,
    rename_run,
)
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted
from fsconsole.system.locks import FileLock
from tests.tui.recorded import NAMES, recorded


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


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """Two two_runs, and something outside that must stay."""
    for name in ("one", "two"):
        (tmp_path / "two_runs" / name / "raw").mkdir(parents=True)
        for file in ("journal.sqlite", "lock", "raw/000-01-mkfs"):
            (tmp_path / "two_runs" / name / file).write_text("figures")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    return tmp_path / "two_runs"


def test_a_run_goes_with_all_that_is_in_it_and_others_stay(two_runs: Path) -> None:
    delete_run(RunFolder(str(two_runs / "one")))
    assert os.listdir(two_runs) == ["two"]
    assert (two_runs / "two" / "raw" / "000-01-mkfs").read_text() == "figures"


def test_links_in_a_run_are_removed_and_never_followed(two_runs: Path, tmp_path: Path) -> None:
    (two_runs / "one" / "raw" / "directory").symlink_to(tmp_path / "outside")
    (two_runs / "one" / "file").symlink_to(tmp_path / "outside" / "kept")
    (two_runs / "one" / "dangling").symlink_to("/nonexistent")
    delete_run(RunFolder(str(two_runs / "one")))
    assert os.listdir(two_runs) == ["two"]
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_link_in_place_of_a_run_is_refused(two_runs: Path, tmp_path: Path) -> None:
    (two_runs / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(RunMissing):
        delete_run(RunFolder(str(two_runs / "linked")))
    assert (tmp_path / "outside" / "kept").exists()
    assert (two_runs / "linked").is_symlink()


def test_a_living_run_is_refused(two_runs: Path) -> None:
    folder = RunFolder(str(two_runs / "one"))
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        delete_run(folder)
    assert (two_runs / "one" / "journal.sqlite").exists()


def test_a_run_that_is_gone_is_said(two_runs: Path) -> None:
    with pytest.raises(RunMissing):
        delete_run(RunFolder(str(two_runs / "three")))


def test_a_run_without_a_lock_or_a_journal_is_deleted_too(two_runs: Path) -> None:
    (two_runs / "one" / "lock").unlink()
    (two_runs / "one" / "journal.sqlite").unlink()
    delete_run(RunFolder(str(two_runs / "one")))
    assert os.listdir(two_runs) == ["two"]


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


def test_a_living_run_is_not_renamed(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        rename_run(folder, "x")


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    Path(folder.path).chmod(0o777)
    with pytest.raises(JournalUnusable):
        rename_run(folder, "x")
