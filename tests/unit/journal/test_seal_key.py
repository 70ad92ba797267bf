"""The key of the machine's seals: made whole, whatever an earlier attempt left."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fsconsole.journal import seal
from fsconsole.journal.seal import machine_key

pytestmark = pytest.mark.root


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(seal, "KEY_PATH", str(tmp_path / "var" / "seal.key"))
    return tmp_path / "var" / "seal.key"


def test_key_is_made_again_after_full_disk(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        assert machine_key(make=True) == b""
    assert list(key.parent.iterdir()) == []
    made = machine_key(make=True)
    assert (len(made), machine_key(make=False)) == (32, made)
    assert (key.stat().st_mode & 0o7777, key.stat().st_nlink) == (0o600, 1)


def test_empty_key_is_replaced_and_pipe_is_none(key: Path) -> None:
    key.parent.mkdir()
    key.touch(mode=0o600)
    assert machine_key(make=False) == b""
    assert machine_key(make=True) == machine_key(make=True) != b""
    key.unlink()
    os.mkfifo(key, 0o600)
    assert machine_key(make=True) == b""
