"""What the tests of bad input share, and signals as a terminal would send them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, wait_until
from tests.loop.commands import Bench, OwnLoop
from tests.loop.runs import processes_with

# A shell's background job ignores Ctrl-C, and so would every command that its tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def bench(tmp_path: Path, loop_device: MakeLoopDevice) -> Iterator[Bench]:
    """A loop device of 32 MiB that needs consent; after the test nothing may be left of any run."""
    made = Bench(tmp_path, loop_device(32 * MIB))
    yield made
    made.assert_given_back()


@pytest.fixture
def own_loop(tmp_path: Path) -> Iterator[OwnLoop]:
    """A loop device that may be given another file, with none to begin with."""
    loop = OwnLoop()
    yield loop
    wait_until(lambda: processes_with(str(tmp_path)) == [], "its processes end")
    loop.remove()


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scratch device of 64 MiB, one for all tests of a module."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)
