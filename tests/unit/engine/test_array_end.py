"""The end of a cell's own array."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import degraded
from fsconsole.engine.steps.arrays import take_apart
from fsconsole.engine.work import CellWork
from fsconsole.model.step import Step, StepKind


def test_what_an_array_lacks_is_told_while_it_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = []

    def warn(_work: CellWork, _known: Iterable[str]) -> None:
        happened.append("told")

    monkeypatch.setattr(degraded, "about_end", warn)
    run = SimpleNamespace(wishes=SimpleNamespace(cell_releases=lambda: None), known_of_all=frozenset())
    stack = ExitStack()
    stack.callback(happened.append, "taken apart")
    work = cast("CellWork", SimpleNamespace(run=run, stack=stack))
    take_apart(work, Step(StepKind.ARRAY_STOP, "take it apart"))
    assert happened == ["told", "taken apart"]
