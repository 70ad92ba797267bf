"""Directories as targets: what is refused, and who one is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from fsconsole.devices.place import differs, find_place, find_places
from fsconsole.errors.targets import DirectoryRefused
from fsconsole.model.place import allowed_bytes
from fsconsole.text import GIB


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/proc", "is on proc, which holds no files"),
        ("/sys/kernel", "holds no files"),
        ("/dev", "/dev is on"),
        ("/nowhere/at/all", "can't be used: No such file"),
        ("/etc/passwd", "is no directory"),
        ("", "is no path"),
    ],
)
def test_what_holds_no_files_of_users_is_refused(path: str, why: str) -> None:
    with pytest.raises(DirectoryRefused, match=why):
        find_places([path], "/nowhere/runs")


def test_a_symbolic_link_is_refused_and_the_hint_names_where_it_leads(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(DirectoryRefused, match="is a symbolic link") as caught:
        find_place(str(link))
    assert str(tmp_path) in caught.value.hint


def test_memory_is_refused_unless_it_is_called_that() -> None:
    if not os.path.ismount("/dev/shm"):
        pytest.skip("there is no tmpfs at /dev/shm")
    with pytest.raises(DirectoryRefused, match="which is memory"):
        find_places(["ram=/dev/shm"], "/nowhere/runs")
    ((label, path, place),) = find_places(["memory=/dev/shm"], "/nowhere/runs")
    assert (label, path, place.filesystem, place.device) == ("memory", "/dev/shm", "tmpfs", "")


def test_a_directory_is_named_once_under_one_label_and_lies_apart_from_the_runs(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert [label for label, _, _ in find_places([a, f"other={b}"], "/nowhere/runs")] == [a, "other"]
    for words, why in (([a, f"again={a}"], "is a row already"), ([f"x={a}", f"x={b}"], "has the label 'x'")):
        with pytest.raises(DirectoryRefused, match=why):
            find_places(words, "/nowhere/runs")
    with pytest.raises(DirectoryRefused, match="where runs are kept"):
        find_places([a], str(tmp_path))


def test_a_directory_differs_by_its_inode_and_within_a_boot_by_its_device_number(tmp_path: Path) -> None:
    known = find_place(str(tmp_path))
    assert differs(known, known) == ""
    assert differs(known, replace(known, inode=known.inode + 1)) == "another directory has its name now"
    assert differs(known, replace(known, device_number=1)) == "another directory has its name now"
    assert differs(known, replace(known, device_number=1, boot_id="another")) == ""
    assert differs(replace(known, filesystem="zfs", source="tank"), known).endswith("before on zfs on tank")


@pytest.mark.parametrize(
    ("size", "free", "allowed"),
    [(100 * GIB, 100 * GIB, 60 * GIB), (100 * GIB, 10 * GIB, 5 * GIB), (100 * GIB, 5 * GIB, 0), (100 * GIB, GIB, 0)],
)
def test_60_percent_of_the_free_space_may_be_filled_and_5_percent_of_all_stay_free(
    size: int, free: int, allowed: int
) -> None:
    assert allowed_bytes(size, free) == allowed
