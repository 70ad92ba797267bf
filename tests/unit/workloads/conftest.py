"""Files for operations to work on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workloads.load import make_files


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Four files of 10,000 bytes."""
    directory = tmp_path / "source"
    directory.mkdir()
    make_files(directory, 4, 10_000)
    return directory
