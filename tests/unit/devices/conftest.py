from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.devices.system_tree import SystemTree


@pytest.fixture
def tree(tmp_path: Path) -> SystemTree:
    return SystemTree(tmp_path)
