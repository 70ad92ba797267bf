"""Kills at random moments; `python -m tests.loop.soak_kill 100` does more of them."""

from __future__ import annotations

import time

import pytest

from tests.loop.soak_kill import soak

pytestmark = pytest.mark.root

KILLS = 3


def test_a_run_killed_at_random_moments_is_finished_and_loses_nothing(tmp_path):
    said = list(soak(KILLS, time.time_ns(), str(tmp_path)))
    assert len(said) == KILLS
    assert all(words.startswith("the engine died ") for words in said)
