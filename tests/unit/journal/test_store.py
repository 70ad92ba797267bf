from __future__ import annotations

import os
import re
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fsconsole.errors.runs import (
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
    below = (folder.path, folder.raw, folder.journal, folder.journal + "-wal")
    assert {os.stat(path).st_gid for path in (os.path.dirname(folder.path), *below)} == {4242}
    writer.close(finished=True)


def test_a_new_run_holds_its_request_and_nothing_else_and_is_never_replaced(tmp_path, make_request) -> None:
    request = make_request()
    folder = create_run(str(tmp_path), request)
    with pytest.raises(RunsReadOnly, match="exists"):
        create_run(str(tmp_path), request)
    assert sorted(os.listdir(tmp_path)) == [request.run_id]
    assert sorted(os.listdir(folder.path)) == ["arrived", "journal.sqlite", "last-word", "raw"]
    assert JournalReader(folder.journal).request() == request
    assert JournalReader(folder.journal).read_since(Cursor()).entries == ()


@pytest.mark.parametrize("run_id", ["../evil", "", ".hidden", "a/b", "x" * 101, "a\n"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, make_request, run_id: str) -> None:
    with pytest.raises(RunsReadOnly, match="not a name"):
        create_run(str(tmp_path), make_request(run_id=run_id))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("runs_dir", "why"), [("link", "symbolic"), ("link/runs", "symbolic"), ("file/runs", "Not a directory")]
)
def test_a_link_or_a_file_on_the_way_is_refused(tmp_path, make_request, runs_dir: str, why: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunsReadOnly, match=why):
        create_run(str(tmp_path / runs_dir), make_request())
    assert os.listdir(tmp_path / "real") == []


@pytest.mark.parametrize("runs_dir", ["/dev/no-such", "/proc/no-such", "/sys/no/such", "/run/fsconsole/no-such"])
def test_a_place_that_no_run_can_be_kept_in_is_refused_with_the_reason(make_request, runs_dir: str) -> None:
    with pytest.raises(RunsReadOnly, match=f"can't be kept in {runs_dir}: .*{runs_dir.partition('/no')[0]}"):
        create_run(runs_dir, make_request())
    assert not os.path.lexists(runs_dir)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm that can be written")
def test_runs_may_be_kept_in_memory_and_locked_there(make_request) -> None:
    with TemporaryDirectory(dir="/dev/shm") as place:
        folder = create_run(os.path.join(place, "deep", "runs"), make_request())
        with FileLock.acquire(folder.lock):
            assert is_alive(folder)


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


def test_runs_are_listed_newest_first_with_damaged_ones_and_nothing_else(runs) -> None:
    Path(runs, "index.sqlite").write_text("")
    Path(runs, ".20280101-000000-aaaa.new").mkdir()
    Path(runs, "20280101-000000-bbbb").symlink_to("/etc")
    assert [run.name for run in list_runs(runs)] == [
        "20270101-000000-zzzz", "20261121-104500-abbb", "20261121-104500-aaaa",
    ]  # fmt: skip
    for name in ("20280101-000000-cccc", "zzzz"):
        Path(runs, name).mkdir()
    assert [run.name for run in list_runs(runs)][2:] == ["20261121-104500-aaaa", "zzzz", "20280101-000000-cccc"]
    assert list_runs(runs + "/none") == ()


def test_a_run_is_found_by_any_beginning_that_is_its_own(runs) -> None:
    wanted = ("latest", "20261121-104500-aaaa", "2027")
    found = [open_run(runs, words).name for words in wanted]
    assert found == ["20270101-000000-zzzz", "20261121-104500-aaaa", "20270101-000000-zzzz"]
    for several in ("20261121-104500-a", "2026"):
        with pytest.raises(RunAmbiguous) as caught:
            open_run(runs, several)
        assert "20261121-104500-abbb" in caught.value.hint


@pytest.mark.parametrize("wanted", ["2028", "", "../runs", "/etc", "20261121-104500-aaaaa"])
def test_a_run_that_is_not_there_is_missing(runs, wanted: str) -> None:
    for place in (runs, runs + "/none"):
        with pytest.raises(RunMissing):
            open_run(place, wanted)


def test_a_run_lives_as_long_as_its_lock_is_held(folder) -> None:
    assert not is_alive(folder)
    with FileLock.acquire(folder.lock):
        assert is_alive(folder)
    assert not is_alive(folder)


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


def test_a_run_goes_whole_with_its_links_and_what_they_lead_to_stays(two_runs: Path, tmp_path: Path) -> None:
    (two_runs / "one" / "raw" / "directory").symlink_to(tmp_path / "outside")
    (two_runs / "one" / "file").symlink_to(tmp_path / "outside" / "kept")
    (two_runs / "one" / "dangling").symlink_to("/nonexistent")
    # Neither a lock nor a journal need be there.
    (two_runs / "one" / "lock").unlink()
    (two_runs / "one" / "journal.sqlite").unlink()
    delete_run(RunFolder(str(two_runs / "one")))
    assert os.listdir(two_runs) == ["two"]
    assert (two_runs / "two" / "raw" / "000-01-mkfs").read_text() == "figures"
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_link_in_place_of_a_run_a_living_run_and_none_are_refused(two_runs: Path, tmp_path: Path) -> None:
    (two_runs / "linked").symlink_to(tmp_path / "outside")
    for name in ("linked", "three"):
        with pytest.raises(RunMissing):
            delete_run(RunFolder(str(two_runs / name)))
    assert (tmp_path / "outside" / "kept").exists()
    assert (two_runs / "linked").is_symlink()
    folder = RunFolder(str(two_runs / "one"))
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        delete_run(folder)
    assert (two_runs / "one" / "journal.sqlite").exists()


@pytest.mark.parametrize("name", NAMES)
def test_only_the_title_changes(name: str, tmp_path: Path) -> None:
    folder = recorded(name, tmp_path)
    before = read_state(folder)
    rename_run(folder, "über [/x]")
    after = read_state(folder)
    assert after.request.plan.title == "über [/x]"
    plan = replace(after.request.plan, title=before.request.plan.title)
    assert replace(after, request=replace(after.request, plan=plan)) == before


def test_the_latest_title_holds_and_the_first_request_stays(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    rename_run(folder, "first")
    rename_run(folder, "second")
    assert read_state(folder).request.plan.title == "second"
    assert JournalReader(folder.journal).request().plan.title == "ext4 and xfs: a hundred files"


def test_neither_a_living_run_nor_one_that_others_can_write_is_renamed(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    with FileLock.acquire(folder.lock), pytest.raises(RunLives):
        rename_run(folder, "x")
    Path(folder.path).chmod(0o777)
    with pytest.raises(JournalUnusable):
        rename_run(folder, "x")
