"""What fsconsole says of an array's stripes is what mkfs finds out by itself, for each level and chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.devices.snapshot import discover, find_device
from fsconsole.plan.arrays import geometry_of, stripes_of
from tests.lab.guest import create_array, loop_device, run, settle, stop_arrays
from tests.lab.soak import tried

LOOPS = tuple(f"/dev/loop{number}" for number in range(4))
GIB = 2**30
"""Of each member: mkfs.xfs takes no stripes on less than 1 GiB."""
EVERY = [(level, chunk) for level in ("raid0", "raid5", "raid6", "raid10") for chunk in (64, 256)]
STRIPED = tried(EVERY, [("raid0", 64), ("raid5", 256), ("raid6", 64), ("raid10", 256)])
BLOCK = 4096


@pytest.fixture(scope="module", autouse=True)
def _members() -> Iterator[None]:
    with ExitStack() as stack:
        for loop in LOOPS:
            stack.enter_context(loop_device(Path(loop).name, GIB // 2**20))
        yield


@pytest.fixture
def _stopped() -> Iterator[None]:
    yield
    stop_arrays(*LOOPS)


def made(level: str, chunk_kib: int) -> None:
    chunk = (f"--chunk={chunk_kib}",) if chunk_kib else ()
    create_array("md0", level, *LOOPS, words=("--assume-clean", *chunk))


def ext4_takes(*words: str) -> tuple[int, int]:
    """Return stride and stripe width in bytes as mkfs.ext4 chooses them, or as it is told; 0 for none."""
    said = run("mkfs.ext4", "-nvF", *words, "/dev/md0")
    found = re.search(r"Stride=(\d+) blocks, Stripe width=(\d+) blocks", said)
    assert found, said
    return int(found[1]) * BLOCK, int(found[2]) * BLOCK


def xfs_takes(*words: str) -> tuple[int, int]:
    """Return stripe unit and width in bytes as mkfs.xfs chooses them, or as it is told; 0 for none."""
    said = run("mkfs.xfs", "-fN", *words, "/dev/md0")
    found = re.search(r"sunit=(\d+) +swidth=(\d+) blks", said)
    assert found, said
    return int(found[1]) * BLOCK, int(found[2]) * BLOCK


@pytest.mark.usefixtures("_stopped")
@pytest.mark.parametrize(("level", "chunk_kib"), STRIPED)
def test_the_stripes_told_are_those_that_mkfs_takes_by_itself(level: str, chunk_kib: int) -> None:
    made(level, chunk_kib)
    devices = discover()
    array = find_device("/dev/md0", devices)
    assert array.md is not None
    shape = geometry_of(array.md)
    assert shape is not None
    assert (shape.chunk_bytes, shape.stripe_bytes) == ext4_takes() == xfs_takes()
    told = stripes_of(array, devices)
    assert told.words.endswith("mkfs sees that itself")
    assert told.cautions == ()
    # The words, given to mkfs, make the same.
    told_bytes = (shape.chunk_bytes, shape.stripe_bytes)
    assert ext4_takes(*shape.ext4_words.split()) == xfs_takes(*shape.xfs_words.split()) == told_bytes


@pytest.mark.usefixtures("_stopped")
@pytest.mark.parametrize(("level", "chunk_kib"), [("linear", 64), ("raid1", 0)])
def test_an_array_without_stripes_has_none_told_and_mkfs_takes_none(level: str, chunk_kib: int) -> None:
    made(level, chunk_kib)
    devices = discover()
    assert stripes_of(find_device("/dev/md0", devices), devices).sentences == ()
    assert ext4_takes() == xfs_takes() == (0, 0)


@pytest.mark.usefixtures("_stopped")
def test_a_partition_that_begins_inside_a_chunk_or_a_stripe_is_cautioned_about() -> None:
    made("raid5", 256)
    table = (
        "label: gpt\nstart=2049,size=16MiB\nstart=34MiB,size=16MiB\nstart=51MiB,size=16MiB\nstart=86020KiB,size=16MiB\n"
    )
    run("sfdisk", "--quiet", "/dev/md0", text=table)
    settle()
    devices = discover()
    told = [stripes_of(find_device(f"/dev/md0p{number}", devices), devices) for number in range(1, 5)]
    assert [[caution.partition(", ")[2].partition(":")[0] for caution in each.cautions] for each in told] == [
        ["no multiple of 4096"], ["inside a stripe of /dev/md0"], [], ["inside a chunk of /dev/md0"],
    ]  # fmt: skip
    # The kernel's own word for the same (Documentation/ABI/stable/sysfs-block).
    offsets = [int(Path(f"/sys/class/block/md0p{number}/alignment_offset").read_text()) for number in range(1, 5)]
    assert [offset != 0 for offset in offsets] == [True, False, False, True]
    run("wipefs", "--all", "--quiet", "/dev/md0")
