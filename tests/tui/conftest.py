"""What every test of the console wants: the same host, the same time zone."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the host a name, and the clock UTC."""
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
