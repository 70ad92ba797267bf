"""The layers and arrays that the faults happen to, and a volume that can be made to answer no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.hanging import Hanging, hanging_volume
from tests.lab.inside.faults.bench import bench  # noqa: F401


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """A volume that can be made to answer no more."""
    with hanging_volume() as volume:
        yield volume
