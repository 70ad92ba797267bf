"""A plan file that somebody else writes while it is being saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.errors.targets import PlanChanged
from fsconsole.tui import planfiles


def test_what_somebody_else_wrote_right_before_the_new_file_takes_its_place_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, synced = tmp_path / "plan.toml", os.fsync

    def overtaken(descriptor: int) -> None:
        synced(descriptor)
        path.write_text("theirs")

    monkeypatch.setattr(os, "fsync", overtaken)
    for was in ("", "as it was opened"):
        path.unlink(missing_ok=True)
        if was:
            path.write_text(was)
        with pytest.raises(PlanChanged):
            planfiles.save(str(path), "mine", planfiles.digest_of(str(path)))
        assert path.read_text() == "theirs"
        assert os.listdir(tmp_path) == ["plan.toml"]


def test_a_plan_for_a_run_lies_where_nobody_else_can_put_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(theirs))
    monkeypatch.setattr(planfiles.tempfile, "tempdir", str(theirs))
    with planfiles.kept_for_run("text") as path:
        assert os.path.dirname(path) == "/tmp"
    theirs.chmod(0o700)
    with planfiles.kept_for_run("text") as path:
        assert os.path.dirname(path) == str(theirs)
    assert not os.path.exists(path)
