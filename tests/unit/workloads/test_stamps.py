"""Blocks of a crash's load: what tells them from others, and what is found of files whose writers were struck."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import ThreadCounters, ThreadState
from fsconsole.plan.steps import crash_load
from fsconsole.text import MIB
from fsconsole.workloads.stamps import (
    BLOCK_BYTES,
    Found,
    Struck,
    Wrong,
    acts_of,
    find,
    generation_of,
    stamped,
    syncs_of,
)
from fsconsole.workloads.tree import namer, subdirectories

ORIGIN, OTHER = b"o" * 16, b"p" * 16
places = st.tuples(
    st.integers(0, 2**64 - 1), st.integers(0, 2**50).map(lambda n: n * BLOCK_BYTES), st.integers(1, 2**32 - 1)
)


@given(places)
def test_a_block_is_known_by_its_file_offset_and_generation(place: tuple[int, int, int]) -> None:
    number, offset, generation = place
    block = stamped(ORIGIN, number, offset, generation)
    assert len(block) == BLOCK_BYTES
    assert generation_of(block, ORIGIN, number, offset) == generation


@given(places, st.integers(0, BLOCK_BYTES - 1), st.integers(1, 255))
def test_no_byte_of_a_block_can_change_unseen(place: tuple[int, int, int], at: int, flip: int) -> None:
    number, offset, generation = place
    block = bytearray(stamped(ORIGIN, number, offset, generation))
    block[at] ^= flip
    assert generation_of(bytes(block), ORIGIN, number, offset) in (Wrong.TORN, Wrong.FOREIGN)


@given(places, places, st.integers(1, 7))
def test_a_block_of_elsewhere_and_one_of_two_halves_are_told(
    one: tuple[int, int, int], other: tuple[int, int, int], sectors: int
) -> None:
    block, another = stamped(ORIGIN, *one), stamped(ORIGIN, *other)
    assert generation_of(block, OTHER, *one[:2]) is Wrong.FOREIGN
    if one[:2] != other[:2]:
        assert generation_of(another, ORIGIN, *one[:2]) is Wrong.FOREIGN
    if one != other:
        torn = block[: 512 * sectors] + another[512 * sectors :]
        assert generation_of(torn, ORIGIN, *one[:2]) is Wrong.TORN
    assert generation_of(bytes(BLOCK_BYTES), ORIGIN, *one[:2]) is Wrong.ZEROS
    assert generation_of(block[:100], ORIGIN, *one[:2]) is Wrong.CUT


LOAD = crash_load(64 * MIB)
FILE = LOAD.file_size_bytes


def test_the_load_of_a_crash_takes_a_sixteenth_of_the_device_at_most_and_half_of_its_files_are_synced() -> None:
    assert LOAD.total_bytes == 4 * MIB
    assert crash_load(0) == crash_load(2**40)
    acts = [act for thread in range(LOAD.threads) for act in acts_of(LOAD, thread)]
    new = [act for act in acts if act.generation == 1]
    assert sorted(act.number for act in new) == list(range(LOAD.files))
    assert sum(act.is_synced for act in new) == LOAD.files // 2
    rewritten = {act.number for act in acts if act.generation == 2}
    assert rewritten <= {act.number for act in new if act.is_synced}
    assert len(rewritten) == LOAD.files // 8
    assert syncs_of(LOAD) == LOAD.files // 2 + LOAD.files // 8


def counters(files_done: int, syncs: int) -> ThreadCounters:
    return ThreadCounters(ThreadState.FAILED, 0, syncs, files_done, 1, 2, 5)


def struck(tree: Path, done: int) -> Struck:
    """Return a load of which each writer has done so many acts, as a filesystem that loses nothing holds it."""
    for name in subdirectories(LOAD.directories, threads=LOAD.threads, files=LOAD.files):
        (tree / "strike" / name).mkdir(parents=True)
    ends = []
    for thread in range(LOAD.threads):
        acts = list(acts_of(LOAD, thread))[:done]
        for act in acts:
            blocks = [stamped(ORIGIN, act.number, offset, act.generation) for offset in range(0, FILE, BLOCK_BYTES)]
            path(tree, act.number).write_bytes(b"".join(blocks))
        ends.append(counters(len(acts), sum(act.is_synced for act in acts)))
    return Struck(ORIGIN, "strike", LOAD, tuple(ends), tuple(ends))


def path(tree: Path, number: int) -> Path:
    return tree / "strike" / namer(LOAD.directories, threads=LOAD.threads)(number)


def found_in(load: Struck, tree: Path) -> Found:
    fd = os.open(tree, os.O_RDONLY)
    try:
        return find(load, fd, lambda: False)
    finally:
        os.close(fd)


def test_what_lost_nothing_is_whole_and_files_that_were_only_about_to_begin_are_not_there(tmp_path: Path) -> None:
    found = found_in(struck(tmp_path, 9), tmp_path)
    # Eight files and a rewrite each; the ninth file, which is next, is not there.
    assert found == Found(synced=4 * 4, unsynced=4 * 4, whole=4 * 4)
    assert found.words == "of 16 synced files none lost; of 16 unsynced files 16 survived"


BLOCK_2 = slice(BLOCK_BYTES, 2 * BLOCK_BYTES)


@pytest.mark.parametrize(
    ("number", "change", "wrong"),
    [
        (8, lambda data: b"", Wrong.CUT),
        (8, lambda data: data[:-1], Wrong.CUT),
        (8, lambda data: data[: BLOCK_2.start], Wrong.CUT),
        (8, lambda data: data + b"x", Wrong.CUT),
        (8, lambda data: data[: BLOCK_2.start] + bytes(BLOCK_BYTES) + data[BLOCK_2.stop :], Wrong.ZEROS),
        (8, lambda data: data[:-1] + b"\0", Wrong.TORN),
        (8, lambda data: data[BLOCK_2] * 4, Wrong.FOREIGN),
        (8, lambda data: stamped(ORIGIN, 8, 0, 3) + data[BLOCK_BYTES:], Wrong.FOREIGN),
        # It was overwritten and synced again.
        (0, lambda data: data[:BLOCK_BYTES] + stamped(ORIGIN, 0, BLOCK_BYTES, 1) + data[BLOCK_2.stop :], Wrong.OLD),
        (8, None, Wrong.MISSING),
    ],
)
def test_a_synced_file_with_any_other_content_is_lost(tmp_path, number, change, wrong) -> None:  # type: ignore[no-untyped-def]
    load = struck(tmp_path, 9)
    file = path(tmp_path, number)
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    found = found_in(load, tmp_path)
    ((name, why),) = found.lost
    assert (name, why) == (f"strike/{file.parent.name}/{file.name}", wrong)
    assert f"1 lost (1 {wrong.value}, the first: {name})" in found.words


def test_of_an_overwrite_that_was_not_synced_old_new_and_half_a_block_are_no_loss(tmp_path: Path) -> None:
    load = struck(tmp_path, 8)
    old, new = path(tmp_path, 0).read_bytes(), stamped(ORIGIN, 0, 0, 2)
    for first in (old[:BLOCK_BYTES], new, new[:512] + old[512:BLOCK_BYTES]):
        path(tmp_path, 0).write_bytes(first + old[BLOCK_BYTES:])
        assert found_in(load, tmp_path).lost == ()
    path(tmp_path, 0).write_bytes(bytes(BLOCK_BYTES) + old[BLOCK_BYTES:])
    assert found_in(load, tmp_path).lost == (("strike/t0000/f00000000", Wrong.ZEROS),)


def test_unsynced_files_are_counted_whole_in_part_and_gone(tmp_path: Path) -> None:
    load = struck(tmp_path, 8)
    for number, content in ((4, b""), (12, b"x" * FILE)):
        path(tmp_path, number).write_bytes(content)
    path(tmp_path, 20).unlink()
    found = found_in(load, tmp_path)
    assert (found.unsynced, found.whole, found.part, found.lost) == (16, 13, 2, ())
    assert found.words.endswith("of 16 unsynced files 13 survived, 2 in part")


def test_only_what_was_counted_before_the_strike_is_a_loss_or_an_unsynced_file(tmp_path: Path) -> None:
    load = struck(tmp_path, 9)
    earlier = tuple(replace(end, operations=end.operations - 1, files_done=6) for end in load.ends)
    for thread in range(LOAD.threads):
        # The first generation of each writer's first file.
        path(tmp_path, thread).write_bytes(b"".join(stamped(ORIGIN, thread, o, 1) for o in range(0, FILE, BLOCK_BYTES)))
    path(tmp_path, 4 * 7).unlink()
    assert len(found_in(load, tmp_path).lost) == LOAD.threads
    assert found_in(load, tmp_path).whole == 15
    assert found_in(replace(load, before=earlier), tmp_path) == Found(synced=16, unsynced=12, whole=12)


def test_a_sync_that_was_counted_after_the_last_whole_file_counts(tmp_path: Path) -> None:
    load = struck(tmp_path, 3)
    fewer = tuple(counters(2, one.operations) for one in load.before)
    assert found_in(replace(load, before=fewer, ends=fewer), tmp_path) == Found(synced=8, unsynced=4, whole=4)
