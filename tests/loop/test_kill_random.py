"""Kills at random moments; with FSCONSOLE_SOAK=1, or by `python -m tests.loop.soak_kill 200`, more of them."""

from __future__ import annotations

import time

import pytest

from tests.lab.soak import SOAK
from tests.loop.soak_kill import soak

pytestmark = pytest.mark.root

KILLS = 200 if SOAK else 3


def test_a_run_killed_at_random_moments_is_finished_and_loses_nothing(tmp_path):
    seed = time.time_ns()
    print(f"the moments are those of seed {seed}")
    said = list(soak(KILLS, seed, str(tmp_path)))
    assert len(said) == KILLS
    assert all(words.startswith("the engine died ") for words in said)
