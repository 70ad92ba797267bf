"""The run's own directory: made once, found by its marker, removed with nothing else."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from fsconsole.workloads import run_directory
from fsconsole.workloads.run_directory import MARKER, NotOwn, RunDirectory
from fsconsole.workloads.tree import DIRECTORY_FLAGS, RemovalStopped

RUN = "20261123-000000-abcd"


def made(place: Path) -> RunDirectory:
    return run_directory.make(str(place), os.open(place, DIRECTORY_FLAGS), RUN)


def left(place: Path) -> RunDirectory | None:
    return run_directory.find_left(str(place), os.open(place, DIRECTORY_FLAGS), RUN)


def test_it_is_made_for_its_owner_alone_and_never_twice(tmp_path: Path) -> None:
    tmp_path.chmod(0o2777)
    own = made(tmp_path)
    assert stat.S_IMODE(os.stat(own.path).st_mode) == 0o700
    assert sorted(os.listdir(own.path)) == [MARKER, "tree"]
    with pytest.raises(FileExistsError):
        made(tmp_path)
    run_directory.remove(own)
    own.close()
    assert os.listdir(tmp_path) == []


def test_nothing_is_left_of_one_that_could_not_be_made_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="quota"):
            made(tmp_path)
    assert os.listdir(tmp_path) == []


def test_all_below_is_removed_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "file").write_text("kept")
    own = made(tmp_path)
    for number in range(3):
        os.makedirs(f"{own.tree}/d{number}/inner")
        Path(f"{own.tree}/d{number}/inner/file").write_text("x")
    os.symlink(tmp_path / "others", f"{own.tree}/link")
    os.symlink(tmp_path / "others" / "file", f"{own.tree}/d0/link")
    os.link(tmp_path / "others" / "file", f"{own.tree}/d0/hard")
    run_directory.sync_files(own)
    run_directory.drop_cached(own)
    with pytest.raises(RemovalStopped):
        run_directory.remove(own, lambda: True)
    run_directory.remove(own)
    own.close()
    assert os.listdir(tmp_path) == ["others"]
    assert (tmp_path / "others" / "file").read_text() == "kept"


def test_one_that_was_moved_is_emptied_and_what_has_its_name_is_left(tmp_path: Path) -> None:
    own = made(tmp_path)
    Path(own.tree, "file").write_text("x")
    os.rename(own.path, tmp_path / "moved")
    os.mkdir(own.path)
    with pytest.raises(NotOwn, match="moved"):
        run_directory.remove(own)
    own.close()
    assert os.listdir(tmp_path / "moved") == []
    assert sorted(os.listdir(tmp_path)) == sorted([own.name, "moved"])


def test_what_a_killed_run_left_is_found_by_name_and_marker(tmp_path: Path) -> None:
    assert left(tmp_path) is None
    made(tmp_path).close()
    found = left(tmp_path)
    assert found is not None
    run_directory.remove(found)
    found.close()
    # Killed right after mkdir.
    name = tmp_path / found.name
    name.mkdir()
    bare = left(tmp_path)
    assert bare is not None
    run_directory.remove(bare)
    bare.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("marker", "more", "why"),
    [
        (None, "tree", "its marker is not this run's"),
        ('{"run": "20261123-000000-efgh"}', "tree", "its marker is not this run's"),
        ("[1]", "tree", "its marker is not this run's"),
        ("\xff", "tree", "its marker is not this run's"),
        (f'{{"run": "{RUN}"}}', "somebody's", "it holds somebody's"),
    ],
)
def test_what_is_not_proved_to_be_the_run_s_is_left(tmp_path: Path, marker: str | None, more: str, why: str) -> None:
    name = tmp_path / f"fsconsole-{RUN}"
    (name / more).mkdir(parents=True)
    if marker is not None:
        (name / MARKER).write_text(marker)
    with pytest.raises(NotOwn, match=why):
        left(tmp_path)
    assert (name / more).is_dir()


def test_a_link_or_a_file_of_its_name_is_left(tmp_path: Path) -> None:
    name = tmp_path / f"fsconsole-{RUN}"
    name.symlink_to("/etc")
    with pytest.raises(NotOwn, match="symbolic link"):
        left(tmp_path)
    name.unlink()
    name.write_text("a file")
    with pytest.raises(NotOwn, match="a file"):
        left(tmp_path)
