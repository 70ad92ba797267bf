"""The survey of extents on a filesystem whose kernel driver has no extent maps."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.engine.steps import life
from fsconsole.errors.runs import KernelLacks
from fsconsole.model.events import Outcome, WarningKind


def test_a_filesystem_without_extent_maps_has_a_warning_and_the_cell_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / life.TREE_NAME).mkdir()
    warnings: list[tuple[WarningKind, str, str]] = []
    work = SimpleNamespace(warn=lambda *warning: warnings.append(warning))

    def survey_tree(fd: int) -> None:
        raise KernelLacks(what="extent maps of this filesystem", why="not supported", remedy="Use another.")

    monkeypatch.setattr(life, "open_mount", lambda _: os.open(tmp_path, os.O_RDONLY))
    monkeypatch.setattr(life, "survey_tree", survey_tree)
    result = life.survey(work, SimpleNamespace(workload=None))  # type: ignore[arg-type]
    assert (result.outcome, result.measurements) == (Outcome.DONE, ())
    ((kind, reason, hint),) = warnings
    assert kind is WarningKind.NOT_IN_EFFECT
    assert "extents were not counted: This kernel does not offer extent maps" in reason
    assert hint == "Use another."
