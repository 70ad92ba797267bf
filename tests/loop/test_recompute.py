"""The figures of a cell, by means that share no code with what measured them (tests/recompute)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.recompute.__main__ import recomputed
from tests.recompute.compare import BETWEEN, EXACT, LATENCY, NOT, OTHER, SAME

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    program = str(Path(sys.executable).with_name("fsconsole"))
    again = recomputed(program, 3, ["ext4"], tmp_path_factory.mktemp("again"), quick=True)
    return {name: dict(counts) for name, counts in again.items()}


def test_extents_bytes_flushes_and_space_are_the_same_by_other_means(verdicts: dict[str, dict[str, int]]) -> None:
    exact = {name: counts for name, counts in verdicts.items() if name in EXACT or name == "the device"}
    # Between: a request of a step that is no load, on its last instant; other: a sync() of whatever runs beside this test.
    between = {"device_flushes": {BETWEEN, OTHER}}
    assert {name: set(counts) - between.get(name, set()) for name, counts in exact.items()} == {
        name: {SAME} for name in exact
    }
    assert {"written", "extents_mean", "used", "usable"} < set(exact)


def test_every_column_of_a_cell_is_recomputed(verdicts: dict[str, dict[str, int]]) -> None:
    assert {name for name, counts in verdicts.items() if NOT in counts} == set()
    assert sum(1 for name in verdicts if LATENCY.match(name)) > 30
