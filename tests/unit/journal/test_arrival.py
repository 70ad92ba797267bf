"""Which run is the latest: by its arrival on this machine, whatever its name and its clock say."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import ArchiveRefused, NoRuns, NoRunsMadeHere
from fsconsole.journal import arrival, seal
from fsconsole.journal.archive import export_run
from fsconsole.journal.arrival import arrival_numbers
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.importing import import_run
from fsconsole.journal.store import create_run, delete_run, list_runs, list_runs_made_here, open_run
from tests.fuzz.cage import say
from tests.fuzz.packing import files_of, members_of, pack
from tests.unit.results import build

PAST, NOW, FUTURE = "19990101-000000-aaaa", "20261121-000000-bbbb", "20990101-000000-cccc"


@pytest.fixture(autouse=True)
def _own_counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "COUNTER_PATH", str(tmp_path / "arrivals"))
    monkeypatch.setattr(seal, "KEY_PATH", str(tmp_path / "seal.key"))


def make(runs_dir: Path, name: str) -> RunFolder:
    """Make a run whose clock says what its name says."""
    request = build.request([build.cell(0)])
    return create_run(str(runs_dir), replace(request, run_id=name, created_wall_ns=int(name[:4]) * 10**15))


def imported(directory: Path, name: str, runs_dir: Path) -> RunFolder:
    """Import a run that another machine made."""
    folder = make(directory / f"elsewhere-{name}", name)
    path = str(directory / f"{name}.fsrun")
    export_run(folder, path)
    return import_run(path, str(runs_dir))


def on_another_machine(
    monkeypatch: pytest.MonkeyPatch, directory: Path, make_run: Callable[[], RunFolder]
) -> RunFolder:
    with monkeypatch.context() as other:
        other.setattr(arrival, "_machine", lambda: "another")
        other.setattr(seal, "KEY_PATH", str(directory / "other.key"))
        other.setattr(arrival, "COUNTER_PATH", str(directory / "other-arrivals"))
        return make_run()


def test_latest_is_last_arrived_with_clock_set_back(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in (FUTURE, NOW, PAST):
        make(runs, name)
        assert open_run(str(runs)).name == name
    assert [folder.name for folder in list_runs(str(runs))] == [PAST, NOW, FUTURE]


def test_imported_run_of_the_future_is_not_latest(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make(runs, NOW)
    imported(tmp_path, FUTURE, runs)
    assert open_run(str(runs)).name == NOW
    assert [folder.name for folder in list_runs_made_here(str(runs))] == [NOW]
    assert [folder.name for folder in list_runs(str(runs))] == [NOW, FUTURE]
    assert say("results", "--format", "json", "--runs", str(runs)).out.count(NOW)


def test_latest_among_imported_runs_alone_is_refused(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(NoRuns):
        open_run(str(runs))
    for name in (PAST, FUTURE):
        imported(tmp_path, name, runs)
    with pytest.raises(NoRunsMadeHere) as caught:
        open_run(str(runs))
    assert f"{FUTURE}, {PAST}" in caught.value.hint
    for words in (
        ("results",), ("results", "latest"), ("advise",), ("export", "latest", str(tmp_path / "x")), ("show", "latest"),
        ("compare", "latest", "bull-2008"), ("attach",), ("resume",), ("runs", "delete", "latest", "--yes"),
        ("runs", "rename", "latest", "title"),
        ("apply-kit", "latest", "xfs", "--for", "/dev/null", str(tmp_path / "kit")),
    ):  # fmt: skip
        said = say(*words, "--runs", str(runs))
        assert (said.code, FUTURE in said.err) == (ExitCode.RUN_MISSING, True), (words, said)
    assert len(list_runs(str(runs))) == 2


@pytest.mark.root
def test_folder_copied_from_another_machine_is_not_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "runs"
    other = on_another_machine(monkeypatch, tmp_path, lambda: make(tmp_path / "elsewhere", FUTURE))
    make(runs, NOW)
    shutil.copytree(other.path, runs / FUTURE)
    assert open_run(str(runs)).name == NOW
    shutil.rmtree(runs / NOW)
    with pytest.raises(NoRunsMadeHere):
        open_run(str(runs))


@pytest.mark.root
@pytest.mark.parametrize(
    "change", [{"number": 10**6}, {"seal": ""}, {"run": FUTURE}, {"number": 2**60}, {"number": -1}]
)
def test_forged_mark_does_not_count_for_root(tmp_path: Path, change: dict[str, object]) -> None:
    runs = tmp_path / "runs"
    first, _ = make(runs, PAST), make(runs, NOW)
    mark = json.loads(Path(first.arrived).read_text())
    Path(first.arrived).write_text(json.dumps(mark | change))
    assert open_run(str(runs)).name == NOW
    assert arrival_numbers([first])[first.path] == 0


@pytest.mark.parametrize(
    "put", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path), lambda path: Path(path).touch()]
)
def test_mark_that_is_no_mark_does_not_count(tmp_path: Path, put: Callable[[str], object]) -> None:
    runs = tmp_path / "runs"
    first, last = make(runs, PAST), make(runs, NOW)
    os.unlink(last.arrived)
    put(last.arrived)
    assert open_run(str(runs)) == first


def test_copy_on_same_machine_is_not_new(tmp_path: Path) -> None:
    runs, others = tmp_path / "runs", tmp_path / "others"
    first, _ = make(runs, PAST), make(runs, NOW)
    shutil.copytree(first.path, runs / FUTURE)
    assert open_run(str(runs)).name == NOW
    # Into another directory: the run that was made there later stays the latest.
    make(others, FUTURE)
    shutil.copytree(first.path, others / PAST)
    assert open_run(str(others)).name == FUTURE


def test_restored_run_keeps_its_place(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make(runs, PAST)
    removed = make(runs, FUTURE)
    shutil.copytree(removed.path, tmp_path / "backup")
    delete_run(removed)
    assert open_run(str(runs)).name == PAST
    make(runs, NOW)
    shutil.copytree(tmp_path / "backup", runs / FUTURE)
    assert open_run(str(runs)).name == NOW


@pytest.mark.parametrize(
    "damage", [os.unlink, lambda path: Path(path).write_text("x"), lambda path: Path(path).write_text("9" * 20)]
)
def test_order_survives_loss_of_counter(tmp_path: Path, damage: Callable[[str], object]) -> None:
    runs = tmp_path / "runs"
    for name in (FUTURE, NOW):
        make(runs, name)
    if os.path.exists(arrival.COUNTER_PATH):
        damage(arrival.COUNTER_PATH)
    make(runs, PAST)
    assert open_run(str(runs)).name == PAST


def test_without_counter_each_directory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user who is not root."""
    monkeypatch.setattr(arrival, "COUNTER_PATH", str(tmp_path / "missing" / "arrivals"))
    monkeypatch.setattr(seal, "KEY_PATH", "/dev/null/seal.key")
    for name in (FUTURE, NOW, PAST):
        make(tmp_path / "runs", name)
    assert open_run(str(tmp_path / "runs")).name == PAST


@pytest.mark.root
def test_reader_without_key_sees_same_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "runs"
    for name in (FUTURE, NOW):
        make(runs, name)
    imported(tmp_path, PAST, runs)
    monkeypatch.setattr(seal, "KEY_PATH", str(tmp_path / "unreadable"))
    assert open_run(str(runs)).name == NOW


def test_runs_made_at_once_have_numbers_of_their_own(tmp_path: Path) -> None:
    runs = [tmp_path / f"runs{number}" for number in (1, 2)]
    threads = [
        threading.Thread(target=make, args=(runs[number % 2], f"20261121-0000{number:02d}-aaaa"))
        for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folders = [folder for directory in runs for folder in list_runs(str(directory))]
    numbers = [json.loads(Path(folder.arrived).read_text())["number"] for folder in folders]
    assert len(set(numbers)) == 12 if os.path.exists(arrival.COUNTER_PATH) else len(numbers)


def test_run_called_latest_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path / "elsewhere", FUTURE)
    path = pack(tmp_path / "x.fsrun", members_of(files_of(folder), run="latest"))
    with pytest.raises(ArchiveRefused, match="not the name of a run"):
        import_run(str(path), str(tmp_path / "runs"))


def test_export_leaves_the_mark_out(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert not os.path.exists(imported(tmp_path, FUTURE, runs).arrived)
