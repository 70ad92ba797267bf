"""Slow resyncs, udevd, and disks that are clear after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.guest import udevd
from tests.lab.inside.whatif import arrays as lab


@pytest.fixture(scope="module", autouse=True)
def _udevd() -> Iterator[None]:
    with udevd():
        yield


@pytest.fixture(autouse=True)
def _clear(request: pytest.FixtureRequest) -> Iterator[None]:
    if "whole" in request.fixturenames:
        # One run for all tests of its module.
        yield
        return
    lab.hurry(200)
    yield
    lab.hurry(200000)
    lab.kill_engines()
    lab.clear_disks()
