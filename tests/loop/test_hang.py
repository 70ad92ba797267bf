"""Writers that wait inside the kernel, where no signal reaches them: the run ends without them, and tells so."""

from __future__ import annotations

import fcntl
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fsconsole.client.children import ask
from fsconsole.devices import scratch
from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.events import Verb
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.plan.steps import TREE
from fsconsole.system.mounts import engine_argv
from tests.conftest import wait_until
from tests.loop.runs import (
    UNHURRIED_PLAN,
    arguments_of,
    assert_nothing_left,
    descendants,
    fsconsole,
    is_free,
    new_run,
    wait_for,
    wait_for_end,
    written_by,
)

pytestmark = pytest.mark.root

ENGINE = pathlib.Path(__file__).with_name("impatient_engine.py")
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
"""What fsfreeze does (include/uapi/linux/fs.h): who writes then waits in state D."""
LONG_S, SHORT_S = 600, 2


@dataclass
class Hung:
    """A run whose filesystem is frozen in the middle of its first load."""

    folder: RunFolder
    device: str
    engine: subprocess.Popen[bytes]
    tree: int
    """A descriptor of the frozen tree, by which it can be thawed; -1 when it has been."""

    def over(self) -> RunState:
        """Wait until the engine has said its last word and let go of the run; return how it ended."""
        wait_for(self.folder, lambda state: state.status is RunStatus.FINISHED, 120)
        wait_for_end(self.folder)
        return read_state(self.folder)

    def thaw(self) -> None:
        """Let the writers go, and wait until all that the run held is given back."""
        if self.tree >= 0:
            fcntl.ioctl(self.tree, FITHAW, 0)
            os.close(self.tree)
            self.tree = -1
            self.engine.wait()
            assert_nothing_left(self.device, self.folder)


@pytest.fixture(params=[SHORT_S])
def hung(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Hung]:
    made = scratch.create(64 * 2**20, str(tmp_path / "scratch"))
    folder = new_run(UNHURRIED_PLAN, made.device, str(tmp_path / "runs"))
    argv = engine_argv((sys.executable, str(ENGINE), folder.path, str(request.param)))
    engine = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)

    def writers() -> list[int]:
        words = ["-I", "-m", "fsconsole.workloads.host"]
        hosts = [pid for pid in descendants(engine.pid) if arguments_of(pid)[1:4] == words]
        return [pid for pid in hosts[1:] if written_by(pid) > 1000]

    try:
        wait_until(lambda: writers() != [], "writers write", 120)
        tree = os.open(f"/proc/{writers()[0]}/root{TREE}", os.O_RDONLY)
        fcntl.ioctl(tree, FIFREEZE, 0)
        hung = Hung(folder, made.device, engine, tree)
        try:
            yield hung
        finally:
            hung.thaw()
    finally:
        engine.kill()
        engine.wait()
        wait_until(lambda: is_free(made.device), "nothing holds the device")
        scratch.remove(made)


def test_writers_that_no_signal_ends_are_given_up_and_named(hung: Hung) -> None:
    state = hung.over()
    assert state.exit_code == ExitCode.DEVICE_HANGS
    assert f"{hung.device} does not answer in workload: python" in state.reason
    assert "(state D)" in state.reason
    assert "fsconsole cleanup" in state.hint
    assert [cell.status for cell in state.cells] == [
        CellStatus.FAILED,
        CellStatus.PENDING,
        CellStatus.PENDING,
    ]
    assert state.cells[0].reason == state.reason
    assert hung.engine.poll() is None


def test_cleanup_tells_who_still_waits_until_nobody_does(hung: Hung) -> None:
    hung.over()
    done = fsconsole("cleanup", "--runs", str(pathlib.Path(hung.folder.path).parent))
    assert "still waits in the kernel" in done.stdout, done
    hung.thaw()
    assert clean_folder(hung.folder) == ()


@pytest.mark.parametrize("hung", [LONG_S], indirect=True)
def test_stop_now_ends_a_run_whose_writers_no_signal_ends(hung: Hung) -> None:
    assert ask(hung.folder, Verb.STOP_NOW).accepted
    state = hung.over()
    assert state.exit_code == ExitCode.STOPPED
    assert f"stopped as asked, but {hung.device} does not answer" in state.reason
    assert state.cells[0].status is CellStatus.STOPPED
