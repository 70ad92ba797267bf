from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.marker import (
    UNMARKED,
    Marker,
    marker_of,
    parse_marker,
    proven_marker,
    write_marker,
)
from fsconsole.devices.scratch import kept_free, need_room
from fsconsole.errors.runs import NoSpace
from fsconsole.text import GIB, TIB


def test_a_mark_is_read_as_it_was_written() -> None:
    raw = b'{"id": "0a1b2c3d", "purpose": "demo", "inode": 12, "generation": 7, "born_ns": 9, "place": "ab"}'
    assert parse_marker(raw) == Marker("0a1b2c3d", "demo", 12, 7, 9, "ab")
    # Older versions kept in it what is in a record now.
    assert parse_marker(raw[:-1] + b', "left": "d0", "written_ns": 5}') == parse_marker(raw)


def test_what_fsconsole_would_not_have_written_is_no_mark() -> None:
    for raw in (
        b"",
        b"1",
        b"[]",
        b"{}",
        b'{"id": 5}',
        b'{"id": ""}',
        b'{"id": "../../etc"}',
        b'{"id": "0a1b2c3d", "purpose": 1, "inode": 12, "generation": 7}',
        b'{"id": "0a1b2c3d", "purpose": "demo"}',
        b'{"id": "0a1b2c3d", "purpose": "demo", "inode": "12", "generation": null}',
        b"\xff",
        b"[" * 5000,
    ):
        assert parse_marker(raw) == UNMARKED


@given(
    st.binary() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_no_bytes_make_a_mark_fail(raw: bytes) -> None:
    assert parse_marker(raw).scratch_id == "" or b"id" in raw


def test_a_file_without_a_mark_or_no_file_at_all_has_none_and_a_pipe_is_never_opened(tmp_path: Path) -> None:
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    plain.touch()
    os.mkfifo(pipe)
    for path in (plain, pipe):
        assert proven_marker(str(path), path.stat().st_dev, path.stat().st_ino) == UNMARKED
    assert proven_marker(str(tmp_path / "missing"), 0, 0) == proven_marker("\0", 0, 0) == UNMARKED


def test_the_last_of_a_disk_a_gibibyte_or_a_twentieth_is_never_taken(tmp_path: Path) -> None:
    assert kept_free(10 * GIB) == GIB
    assert kept_free(20 * TIB) == TIB
    found = os.statvfs(tmp_path)
    with pytest.raises(NoSpace):
        need_room(str(tmp_path), found.f_bavail * found.f_frsize - 4096)


def test_a_long_purpose_is_cut_to_what_an_attribute_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(os, "setxattr", lambda _fd, _name, value: written.append(value))
    with (tmp_path / "scratch").open("wb") as file:
        write_marker(file.fileno(), "0a1b2c3d", "x" * 5000, 1.5e9)
    assert parse_marker(written[0]).purpose == "x" * 200
    assert parse_marker(written[0]).bytes_per_s == 1.5e9


def test_a_mark_that_cant_be_read_is_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_fd: int, _name: str) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "getxattr", broken)
    with (tmp_path / "scratch").open("wb") as file, pytest.raises(OSError, match="Input/output error"):
        marker_of(file.fileno())
