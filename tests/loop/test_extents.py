"""Extents on real filesystems, file by file against filefrag."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.errors.runs import ExtentsUnreadable, KernelLacks
from fsconsole.inspect.extents import layout_measurements, layout_of, survey_tree
from fsconsole.model.metrics import Metric
from fsconsole.system.block import extents

pytestmark = pytest.mark.root

MIB = 2**20
SIZES = {"ext2": 64 * MIB, "ext3": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 160 * MIB}
COUNTED = re.compile(r"^(.*): (\d+) extents? found$", re.MULTILINE)


@pytest.fixture(params=SIZES)
def filesystem(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def tree(filesystem: str, loop_device, mounted) -> Path:
    return mounted_new(filesystem, loop_device, mounted)


def mounted_new(filesystem: str, loop_device, mounted, options: str = "nosuid,nodev") -> Path:
    device = loop_device(SIZES[filesystem])
    subprocess.run([f"mkfs.{filesystem}", "-q", device], check=True, capture_output=True)
    return mounted(device, options=options)


def write_interleaved(tree: Path, files: int, rounds: int) -> None:
    """Several files that grow in turn, each piece flushed: none can be laid out in one piece."""
    descriptors = [os.open(tree / f"grown{n}", os.O_CREAT | os.O_WRONLY) for n in range(files)]
    for turn in range(rounds):
        for number, fd in enumerate(descriptors):
            os.write(fd, os.urandom(4096 * (1 + (turn + number) % 3)))
            os.fsync(fd)
    for fd in descriptors:
        os.close(fd)


def write_oddities(tree: Path) -> None:
    (tree / "empty").write_bytes(b"")
    (tree / "tiny").write_bytes(b"x")
    (tree / "whole").write_bytes(os.urandom(3 * MIB))
    below = tree / "a" / "b"
    below.mkdir(parents=True)
    with (below / "holes").open("wb") as file:
        for place in (1, 5, 6, 40):
            file.seek(place * 65536)
            file.write(os.urandom(8192))
    with (below / "reserved").open("wb") as file:
        # ext2 and ext3 have no unwritten extents: there the file stays as it is.
        try:
            os.posix_fallocate(file.fileno(), 0, MIB)
        except OSError:
            file.truncate(MIB)
    (tree / "link").symlink_to("whole")
    os.mkfifo(tree / "pipe")


def filefrag(tree: Path) -> dict[str, int]:
    files = sorted(str(path) for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    said = subprocess.run(["filefrag", *files], check=True, capture_output=True, text=True).stdout
    return {path: int(count) for path, count in COUNTED.findall(said)}


def ours(path: str) -> int:
    with open(path, "rb") as file:
        return len(layout_of(extents(file.fileno())).runs)


@pytest.fixture
def tree_fd(tree: Path) -> Iterator[int]:
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def figures(tree_fd: int) -> dict[Metric, float]:
    return {figure.metric: figure.value for figure in layout_measurements(survey_tree(tree_fd))}


def test_every_file_has_as_many_extents_as_filefrag_counts(tree: Path, tree_fd: int) -> None:
    write_interleaved(tree, files=5, rounds=25)
    write_oddities(tree)
    os.sync()
    theirs = filefrag(tree)
    assert {path: ours(path) for path in theirs} == theirs
    assert max(theirs.values()) > 5
    found = figures(tree_fd)
    assert found[Metric.FILES_MAPPED] == len(theirs)
    assert found[Metric.EXTENTS_MAX] == max(theirs.values())
    assert found[Metric.EXTENTS_MEAN] == pytest.approx(sum(theirs.values()) / len(theirs))


def test_a_tree_can_be_surveyed_twice_by_the_same_descriptor(tree: Path, tree_fd: int) -> None:
    (tree / "a").write_bytes(bytes(8192))
    os.sync()
    assert figures(tree_fd) == figures(tree_fd)
    before = set(os.listdir("/proc/self/fd"))
    figures(tree_fd)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"], indirect=True)
def test_a_file_that_was_not_flushed_is_no_figure(tree: Path, tree_fd: int) -> None:
    with (tree / "late").open("wb") as file:
        file.write(bytes(MIB))
        file.flush()
        with pytest.raises(ExtentsUnreadable, match=r"late.*not flushed"):
            survey_tree(tree_fd)
    os.sync()
    assert figures(tree_fd)[Metric.FILES_MAPPED] == 1


def test_compressed_files_are_told_apart(loop_device, mounted) -> None:
    tree = mounted_new("btrfs", loop_device, mounted, "nosuid,nodev,compress=zstd")
    (tree / "zeros").write_bytes(b"fsconsole" * 200_000)
    (tree / "random").write_bytes(os.urandom(MIB))
    os.sync()
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    found = figures(fd)
    os.close(fd)
    assert (found[Metric.FILES_MAPPED], found[Metric.FILES_COMPRESSED]) == (2, 1)
    assert found[Metric.EXTENTS_MAX] == 1


@pytest.mark.parametrize("filesystem", ["ext4"], indirect=True)
def test_another_filesystem_in_the_tree_is_not_entered(tree: Path, tree_fd: int) -> None:
    inner = tree / "inner"
    inner.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(inner)], check=True)
    try:
        with pytest.raises(ExtentsUnreadable, match=r"inner.*another filesystem"):
            survey_tree(tree_fd)
    finally:
        subprocess.run(["umount", str(inner)], check=True)


def test_a_filesystem_without_extent_maps_is_told_as_such(mounted) -> None:
    tree = mounted("tmpfs", filesystem="tmpfs", options="size=1m")
    (tree / "file").write_bytes(b"x")
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    with pytest.raises(KernelLacks, match="extent maps"):
        survey_tree(fd)
    os.close(fd)


@pytest.mark.parametrize("filesystem", ["ext4"], indirect=True)
def test_a_name_that_is_not_text_is_data(tree: Path, tree_fd: int) -> None:
    odd = os.fsencode(tree) + b"/\xff\x1b[2J[b]\n"
    with open(odd, "wb") as file:
        file.write(bytes(MIB))
        file.flush()
        with pytest.raises(ExtentsUnreadable) as caught:
            survey_tree(tree_fd)
        assert str(caught.value).isprintable()
    os.sync()
    assert figures(tree_fd)[Metric.FILES_MAPPED] == 1
