"""Runs as files: exported whole, imported after every check, never to be changed or resumed here."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fsconsole.cli.results import Format, report
from fsconsole.engine.cleanup import clean_folder, require_resumable, resumable_on
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import ArchiveNewer, ArchiveRefused, ExportThere, NoSpace, RunExists, RunImported
from fsconsole.journal.archive import MAX_BYTES, MAX_FILES, ArchivedFile, Manifest, export_run
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.importing import MAX_MANIFEST_BYTES, import_run
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs, rename_run
from tests.fuzz.cage import assert_harmless, caged, say
from tests.fuzz.packing import END, Member, files_of, manifest_of, member, members_of, pack
from tests.tui.recorded import NAMES, recorded


def exported(name: str, directory: Path) -> tuple[RunFolder, str]:
    folder, path = recorded(name, directory / "runs"), str(directory / "run.fsrun")
    export_run(folder, path)
    return folder, path


def below_the_heading(folder: RunFolder) -> str:
    text = report(folder)
    return text[text.index("\nDevice") :]


@pytest.mark.parametrize("name", NAMES)
def test_an_imported_run_has_the_grid_the_figures_and_the_outputs_of_the_exported_one(
    tmp_path: Path, name: str
) -> None:
    folder, path = exported(name, tmp_path)
    imported = import_run(path, str(tmp_path / "other"))
    assert below_the_heading(imported) == below_the_heading(folder)
    for output in (Format.CSV, Format.JSON):
        texts = [report(one, output) for one in (folder, imported)]
        if output is Format.JSON:
            first, second = map(json.loads, texts)
            assert first.keys() == second.keys()
            texts = [first["cells"], second["cells"]]
        assert texts[0] == texts[1], output
    assert files_of(imported).keys() == files_of(folder).keys()
    assert all(files_of(imported)[name] == data for name, data in files_of(folder).items() if name[0] == "r")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(imported.journal).st_mode) == 0o640
    again = str(tmp_path / "again.fsrun")
    export_run(imported, again)
    assert below_the_heading(import_run(again, str(tmp_path / "third"))) == below_the_heading(folder)


def test_a_file_that_is_there_is_replaced_only_by_force_and_nothing_else_is_left_beside_it(tmp_path: Path) -> None:
    folder, path = exported("stopped", tmp_path)
    Path(path).write_text("mine")
    with pytest.raises(ExportThere) as caught:
        export_run(folder, path)
    assert "--force" in caught.value.hint
    assert Path(path).read_text() == "mine"
    export_run(folder, path, overwrite=True)
    assert import_run(path, str(tmp_path / "other")).name == "stopped"
    assert sorted(os.listdir(tmp_path)) == ["other", "run.fsrun", "runs"]


def test_a_run_is_imported_once_and_the_first_one_stays(tmp_path: Path) -> None:
    folder, path = exported("failed", tmp_path)
    before = report(folder)
    with pytest.raises(RunExists) as caught:
        import_run(path, str(tmp_path / "runs"))
    assert "--runs DIR" in caught.value.hint
    assert report(folder) == before
    assert os.listdir(tmp_path / "runs") == ["failed"]


def test_commands_name_an_imported_run_as_such_and_refuse_to_change_or_resume_it(tmp_path: Path) -> None:
    runs = str(tmp_path / "other")
    for name in ("stopped", "killed"):
        path = exported(name, tmp_path)[1]
        said = say("import", path, "--runs", runs)
        assert (said.code, said.out) == (0, "")
        assert f"fsconsole results {name} --runs" in said.err
        os.unlink(path)
    listed = say("runs", "--runs", runs).out
    assert "imported, stopped after 5 of 6 cells\n" in listed
    assert "imported, exported after " in listed
    assert "resume" not in listed
    for folder in list_runs(runs):
        before = files_of(folder)
        for refused in (require_resumable, lambda folder: rename_run(folder, "x")):
            with pytest.raises(RunImported) as caught:
                refused(folder)
            assert caught.value.exit_code is ExitCode.RUN_IMPORTED
        assert clean_folder(folder) == ()
        for target in read_state(folder).request.targets:
            assert folder.name not in resumable_on(target.identity.scratch_id, runs)
        assert files_of(folder) == before


@pytest.mark.root
def test_an_imported_run_that_could_be_resumed_elsewhere_is_deleted_as_a_finished_one(tmp_path: Path) -> None:
    folder = import_run(exported("stopped", tmp_path)[1], str(tmp_path / "other"))
    said = say("runs", "delete", folder.name, "--yes", "--runs", str(tmp_path / "other"))
    assert (said.code, said.err) == (0, f"deleted {folder.path}\n")
    assert os.listdir(tmp_path / "other") == []


def test_an_archive_that_is_cut_short_anywhere_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = exported("stopped", tmp_path)[1]
    whole, runs = Path(path).read_bytes(), tmp_path / "other"
    for length in (*range(0, len(whole), len(whole) // 30), *range(len(whole) - 9, len(whole))):
        Path(path).write_bytes(whole[:length])
        with pytest.raises(ArchiveRefused) as caught:
            import_run(path, str(runs))
        assert "cut short" in str(caught.value), length
        assert not runs.exists() or os.listdir(runs) == []


def test_a_flipped_bit_is_seen_before_anything_is_visible(tmp_path: Path) -> None:
    folder, path = exported("stopped", tmp_path)
    whole = Path(path).read_bytes()
    for number, place in enumerate(range(0, len(whole), len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << number % 8
        Path(path).write_bytes(damaged)
        runs = tmp_path / str(number)
        try:
            imported = import_run(path, str(runs))
        except ArchiveRefused:
            assert not runs.exists() or os.listdir(runs) == []
        else:
            # Bytes of gzip's header that say when and where a file was packed.
            assert place < 10
            assert below_the_heading(imported) == below_the_heading(folder)


def changed(change: Callable[[sqlite3.Connection], object], directory: Path) -> dict[str, bytes]:
    """Return the files of a recorded run whose journal was changed."""
    folder = recorded("grid", directory / "runs")
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        change(journal)
    return files_of(folder)


def test_what_a_newer_version_made_is_told_with_that_version(tmp_path: Path) -> None:
    files = changed(lambda journal: journal.execute("PRAGMA user_version = 99"), tmp_path)
    newer = (members_of(files, version="3.1"), members_of(files, version="3.1", format=2, more=[]))
    for members in newer:
        with pytest.raises(ArchiveNewer, match=r"newer fsconsole, 3\.1"):
            import_run(str(pack(tmp_path / "x", members)), str(tmp_path / "other"))
    assert os.listdir(tmp_path / "other") == []


SMALL = {"journal.sqlite": b"no journal", "raw/000-01-mkfs": b"said"}


def listing(**changes: Any) -> list[Member]:
    """Return SMALL with a manifest whose last file is changed."""
    manifest = manifest_of(SMALL)
    manifest["files"][-1].update(changes)
    return [member("manifest.json", json.dumps(manifest).encode()), *members_of(SMALL)[1:]]


def instead(*last: Member) -> list[Member]:
    """Return SMALL with other members in the place of its last one."""
    return [*members_of(SMALL)[:-1], *last]


RAW = "raw/000-01-mkfs"
HOSTILE: dict[str, tuple[list[Member], str]] = {
    "symbolic link": (instead(member(RAW, type=tarfile.SYMTYPE, linkname="/etc/passwd")), "no plain file"),
    "hard link": (instead(member(RAW, type=tarfile.LNKTYPE, linkname="journal.sqlite")), "no plain file"),
    "device": (instead(member(RAW, type=tarfile.BLKTYPE, devmajor=8)), "no plain file"),
    "pipe": (instead(member(RAW, type=tarfile.FIFOTYPE)), "no plain file"),
    "directory": (instead(member("raw", type=tarfile.DIRTYPE)), "no plain file"),
    "long name's header": (instead(member(RAW, b"x" * 99, type=tarfile.GNUTYPE_LONGNAME)), "no plain file"),
    "pax header": (instead(member(RAW, b"22 path=/etc/crontab\n", type=tarfile.XHDTYPE)), "no plain file"),
    "sparse file": (instead(member(RAW, b"said", type=tarfile.GNUTYPE_SPARSE)), "no plain file"),
    "above": (instead(member("raw/../../../x", b"said")), "stands where"),
    "absolute": (instead(member("/etc/x", b"said")), "stands where"),
    "twice": (instead(member("journal.sqlite", b"said")), "stands where"),
    "one more": ([*members_of(SMALL), member("raw/000-02-x", b"said")], "something follows"),
    "one less": (members_of(SMALL)[:-1], "damaged"),
    "huge": (instead(member(RAW, b"said", size=2**40)), "size in its manifest"),
    "below 0": (instead(member(RAW, b"said", size=-1)), "size below 0"),
    "other bytes": (instead(member(RAW, b"sold")), "sha256"),
    "no manifest": (members_of(SMALL)[1:], "stands where"),
    "huge manifest": ([member("manifest.json", b"{}", size=MAX_MANIFEST_BYTES + 1)], "its manifest has"),
    "manifest of another kind": ([member("manifest.json", b'{"format": 1, "version": "1"}')], "does not fit"),
    "deep manifest": ([member("manifest.json", b"[" * 100_000)], "does not fit"),
    "above, listed": (listing(name="raw/../../x"), "no file of a run"),
    "absolute, listed": (listing(name="/etc/passwd"), "no file of a run"),
    "parent, listed": (listing(name="raw/.."), "no file of a run"),
    "mark, listed": (listing(name="imported"), "no file of a run"),
    "log of the journal, listed": (listing(name="journal.sqlite-wal"), "no file of a run"),
    "twice, listed": (listing(name="journal.sqlite"), "twice"),
    "huge, listed": (listing(size_bytes=MAX_BYTES + 1), "no file of a run"),
    "below 0, listed": (listing(size_bytes=-1), "no file of a run"),
    "too large together": (listing(size_bytes=MAX_BYTES), "at most"),
    "no sha256": (listing(sha256="x"), "no file of a run"),
    "named away": (members_of(SMALL, run="../../etc"), "not the name of a run"),
    "hidden": (members_of(SMALL, run=".x"), "not the name of a run"),
    "no format": (members_of(SMALL, format=0), "no format 0"),
    "no journal": (members_of({RAW: b"said"}), "no journal"),
    "journal of something else": (members_of(SMALL), "its journal can't be used"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_with_its_reason_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    members, why = HOSTILE[what]
    path, runs = pack(tmp_path / "x.fsrun", members), tmp_path / "runs"
    words = ("import", str(path), "--runs", str(runs))
    with caged(tmp_path):
        said = say(*words)
    assert_harmless(said, words)
    # The hint names sha256sum.
    assert (said.code, why in said.err.partition("hint: ")[0]) == (ExitCode.ARCHIVE_REFUSED, True), said.err
    assert not runs.exists() or os.listdir(runs) == []
    assert sorted(os.listdir(tmp_path)) in (["runs", "x.fsrun"], ["x.fsrun"])


def test_what_is_no_archive_at_all_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("none")
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(2**24)))
    (tmp_path / "tail").write_bytes(pack(tmp_path / "x", members_of(SMALL)).read_bytes() + b"more")
    for name, why in (
        ("pipe", "no plain file"), ("text", "is no run file of fsconsole"), ("bomb", "damaged"), ("gone", "No such file"), (".", "directory"),
        ("tail", "damaged"),
    ):  # fmt: skip
        with pytest.raises(ArchiveRefused, match=why):
            import_run(str(tmp_path / name), str(tmp_path / "runs"))
    with pytest.raises(ArchiveRefused, match="something follows"):
        import_run(str(pack(tmp_path / "x", members_of(SMALL), END + bytes(2**24))), str(tmp_path / "runs"))


def test_too_many_files_and_too_little_room_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tuple(ArchivedFile(f"raw/{number}", 0, "0" * 64) for number in range(MAX_FILES))
    journal = ArchivedFile("journal.sqlite", 0, "0" * 64)
    assert Manifest(1, "1", "x", 0, (journal, *files[1:])).objection() == ""
    assert "at most 200000 files" in Manifest(1, "1", "x", 0, (journal, *files)).objection()
    path = exported("stopped", tmp_path)[1]
    monkeypatch.setattr(os, "fstatvfs", lambda _fd: os.statvfs_result((4096, 4096, 9, 1, 1, 9, 9, 9, 0, 255)))
    with pytest.raises(NoSpace):
        import_run(path, str(tmp_path / "other"))
    assert os.listdir(tmp_path / "other") == []


@pytest.mark.parametrize("value", ["0", "-1.5", "1e999", "-1e999", "null", '"x"', "1e-320", "1e308", "[]", "NaN"])
def test_figures_that_are_zero_negative_infinite_or_missing_end_in_a_report_or_an_own_error(
    tmp_path: Path, value: str
) -> None:
    def change(journal: sqlite3.Connection) -> None:
        rows = journal.execute("SELECT id, body FROM event WHERE kind = 'step_finished'").fetchall()
        for number, body in rows[::2]:
            document = json.loads(body)
            for measurement in document.get("measurements", ()):
                measurement["value"] = "@"
            text = json.dumps(document).replace('"@"', value)
            journal.execute("UPDATE event SET body = ? WHERE id = ?", (text, number))

    path = pack(tmp_path / "x.fsrun", members_of(changed(change, tmp_path)))
    runs = ("--runs", str(tmp_path / "other"))
    with caged(tmp_path):
        for words in (
            ("import", str(path)), ("runs",), ("results",), ("results", "--format", "md"), ("results", "--format", "json"),
            ("results", "--format", "csv"), ("results", "--format", "csv", "--summary"),
        ):  # fmt: skip
            said = say(*words, *runs)
            assert_harmless(said, words)
            if words[0] == "import" and said.code:
                assert said.code == ExitCode.ARCHIVE_REFUSED
                assert "its journal can't be used" in said.err
                return


def test_every_error_of_an_archive_names_its_file() -> None:
    for error in (ArchiveRefused("a.fsrun", "why"), ArchiveNewer("a.fsrun", "2"), ExportThere("a.fsrun")):
        assert isinstance(error, FsconsoleError)
        assert "a.fsrun" in str(error)
