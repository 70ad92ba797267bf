"""What the tests of bad input share, and signals as a terminal would send them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.scratch import Scratch
from fsconsole.system import block
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, loops_under, wait_until
from tests.loop.commands import Bench, OwnLoop, in_another_boot
from tests.loop.runs import kill_engines, processes_with

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


@pytest.fixture
def blank(loop_device: MakeLoopDevice) -> str:
    """A loop device of 64 MiB of zeros that needs consent."""
    return loop_device(64 * MIB)


@pytest.fixture
def scratch_folder(tmp_path: Path) -> Iterator[Path]:
    """A directory for scratch files beside that of runs; neither an engine nor a device of theirs outlives the test."""
    path = tmp_path / "scratch"
    path.mkdir(mode=0o700)
    yield path
    kill_engines(str(tmp_path / "runs"))
    for device in loops_under(str(path)):
        block.detach(device)
    wait_until(lambda: not loops_under(str(path)), "scratch devices are detached")


@pytest.fixture
def own_scratch(scratch_folder: Path) -> Scratch:
    """A scratch device of 64 MiB of the test's own."""
    return scratch.create(64 * MIB, str(scratch_folder))


@pytest.fixture
def other_boot(tmp_path: Path) -> tuple[str, ...]:
    """What starts a command after a reboot, as it were."""
    return in_another_boot(tmp_path)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scratch device of 64 MiB, one for all tests of a module."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)
