"""With udevd and without, and what is a soak's matter."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.lab.guest import run
from tests.lab.hanging import Hanging, hanging_volume
from tests.lab.qmp import Qmp


@pytest.fixture(scope="module", params=["with udevd", "without udevd"])
def udevd(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let udevd run, as it does, or not."""
    if request.param == "with udevd":
        yield
        return
    run("udevadm", "control", "--exit")
    yield
    subprocess.run(["/lib/systemd/systemd-udevd", "--daemon"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def qmp() -> Qmp:
    """The guest's hand at its machine."""
    return Qmp()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """A volume that can be made to answer no more."""
    with hanging_volume() as volume:
        yield volume
