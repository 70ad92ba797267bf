"""Manifests of source trees: what is walked, counted, hashed, and what a subset holds."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.system.files import opened
from fsconsole.workloads import manifest
from fsconsole.workloads.manifest import SourceUnusable, Stopped, changed_directories, count, read_manifest, survey

FILES = {"a": 10, "b/one": 20, "b/two": 30, "c/deep/er/three": 40, "d": 50, "z/four": 60}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return planted(tmp_path / "tree", FILES)


def planted(at: Path, files: dict[str, int]) -> Path:
    at.mkdir()
    for name, size in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(name[-1:].encode() * size)
    return at


def copied(roots: tuple[str, ...], to: Path) -> manifest.Counts:
    to.mkdir()
    subprocess.run(["cp", "-r", "-x", "--parents", "--", *roots, str(to)], check=True)
    return counted(to)


def counted(directory: Path, stop: Callable[[], bool] = lambda: False) -> manifest.Counts:
    with opened(str(directory)) as fd:
        return count(fd, stop=stop)


def test_files_links_directories_and_bytes_are_counted_and_links_never_followed(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    (tree / "out").symlink_to("/etc")
    os.link(tree / "a", tree / "b" / "hard")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "socket"))
    os.mkfifo(tree / "fifo")
    counts = read_manifest((str(tree),)).counts
    assert (counts.files, counts.links, counts.directories, counts.sockets, counts.pipes) == (7, 2, 6, 1, 1)
    assert (counts.size_bytes, counts.linked_bytes) == (220, 210)


def test_the_hash_follows_content_names_modes_and_link_targets_and_not_times(tree: Path, tmp_path: Path) -> None:
    link = tree / "link"
    link.symlink_to("a")
    seen = {read_manifest((str(tree),)).digest}
    os.utime(tree / "a", (1, 1))
    assert {read_manifest((str(tree),)).digest} == seen

    def relink() -> None:
        link.unlink()
        link.symlink_to("b")

    changes = (
        lambda: (tree / "a").write_bytes(b"A" * 10),
        lambda: (tree / "a").chmod(0o600),
        lambda: (tree / "a").rename(tree / "aa"),
        (tree / "empty").mkdir,
        lambda: (tree / "b").chmod(0o700),
        relink,
    )
    for number, change in enumerate(changes, start=2):
        change()
        seen.add(read_manifest((str(tree),)).digest)
        assert len(seen) == number


def test_a_change_that_keeps_size_and_mtime_is_seen_by_the_stamp_and_named_by_its_directory(tree: Path) -> None:
    before = read_manifest((str(tree),))
    at = (tree / "b" / "one").stat()
    (tree / "b" / "one").write_bytes(b"x" * 20)
    os.utime(tree / "b" / "one", ns=(at.st_atime_ns, at.st_mtime_ns))
    after = read_manifest((str(tree),))
    assert before.stamp != after.stamp
    assert changed_directories(before, after) == (str(tree / "b"),)


def test_a_source_that_changes_while_it_is_read_is_told(tree: Path) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        if asked == 8:
            (tree / "d").write_bytes(b"other")
        return False

    assert not read_manifest((str(tree),), stop=stop).is_steady
    assert read_manifest((str(tree),)).is_steady


def test_a_file_that_grows_all_the_time_is_read_up_to_the_size_that_it_had(tree: Path) -> None:
    grown = 0

    def stop() -> bool:
        nonlocal grown
        grown += 1
        assert grown < 200, "the reading never ends"
        with (tree / "z" / "four").open("ab") as file:
            file.truncate(file.tell() + 2 * 2**20)
        return False

    assert not read_manifest((str(tree),), stop=stop).is_steady


def test_what_takes_the_place_of_a_file_or_of_a_folder_on_the_way_is_not_read(tree: Path, tmp_path: Path) -> None:
    for entry in manifest._walk((str(tree),), (), lambda: False):
        if entry.name == "four":
            (tree / "z" / "four").unlink()
            os.mkfifo(tree / "z" / "four")
            with pytest.raises(OSError, match="replaced"):
                manifest._read(entry, None, lambda: False)
    (tmp_path / "way").symlink_to(tree)
    with pytest.raises(SourceUnusable, match="way/b/one: the way to it has a symbolic link in it"):
        survey((str(tmp_path / "way" / "b" / "one"),))


@settings(max_examples=40, deadline=None)
@given(at_most=st.integers(1, 300))
def test_a_subset_is_the_first_files_in_sorted_order_and_cp_makes_just_it_of_its_roots(
    at_most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.mktemp("subset")
    tree = planted(base / "tree", FILES)
    # Of a directory its files, then its directories.
    order = ["a", "d", "b/one", "b/two", "c/deep/er/three", "z/four"]
    expected, total = [], 0
    for name in order:
        if total + FILES[name] > at_most:
            break
        total += FILES[name]
        expected.append(name)
    if not expected:
        with pytest.raises(SourceUnusable, match="less than the first file"):
            survey((str(tree),), at_most=at_most)
        return
    found = survey((str(tree),), at_most=at_most)
    assert (found.counts.files, found.counts.size_bytes) == (len(expected), total)
    made = copied(found.roots, base / "copy")
    assert (made.files, made.size_bytes) == (len(expected), total)
    assert read_manifest((str(tree),), at_most=at_most).counts == found.counts


def test_a_subset_of_several_sources_takes_them_in_their_order(tree: Path, tmp_path: Path) -> None:
    other = planted(tmp_path / "other", {"x": 5, "y": 500})
    found = survey((str(tree), str(other)), at_most=300)
    assert found.roots == (str(tree), str(other / "x"))
    assert (found.counts.files, found.counts.size_bytes) == (7, 215)
    assert survey((str(other / "x"), str(tree)), at_most=10**6).roots == (str(other / "x"), str(tree))


def test_what_a_cage_hides_is_an_empty_directory(tree: Path) -> None:
    counts = survey((str(tree),), hidden=(str(tree / "b"), str(tree / "c" / "deep"))).counts
    assert (counts.files, counts.directories) == (3, 5)
    assert survey((str(tree),), hidden=(str(tree),)).counts.names == 0


@pytest.mark.root
def test_another_filesystem_below_a_source_is_not_entered_as_cp_x_does(tree: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(tree / "b")], check=True)
    try:
        (tree / "b" / "foreign").write_bytes(b"x")
        found = survey((str(tree),))
        assert found.counts.files == 4
        assert copied(found.roots, tmp_path / "whole").files == 4
        partly = survey((str(tree),), at_most=150)
        assert copied(partly.roots, tmp_path / "part").files == partly.counts.files == 3
    finally:
        subprocess.run(["umount", str(tree / "b")], check=True)


@pytest.mark.root
def test_a_device_node_makes_no_source(tree: Path) -> None:
    os.mknod(tree / "node", stat.S_IFBLK | 0o600, os.makedev(7, 0))
    with pytest.raises(SourceUnusable, match="node is a device node"):
        survey((str(tree),))


def test_what_is_missing_is_named_without_control_characters(tree: Path) -> None:
    with pytest.raises(SourceUnusable, match=r"/nowhere/\?\[31m: No such file"):
        survey(("/nowhere/\x1b[31m",))


def test_names_that_are_no_text_are_hashed_as_they_are(tree: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tree) + b"/\xff\n"))).write_bytes(b"x")
    assert read_manifest((str(tree),)).counts.files == 7


def test_a_walk_and_a_reading_end_at_once_when_they_are_asked_to(tree: Path) -> None:
    for act in (survey, read_manifest, manifest.warm):
        with pytest.raises(Stopped):
            act((str(tree),), stop=lambda: True)
    with pytest.raises(Stopped):
        counted(tree, lambda: True)


def test_a_tree_deeper_than_the_interpreter_is_refused_in_words(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    try:
        with pytest.raises(SourceUnusable, match=r"nested too deeply|Too many open files"):
            survey((str(tmp_path),))
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
