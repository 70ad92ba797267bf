"""The console as a user who is not root: what only looks works, and what needs root says so and how."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import wait_until
from tests.loop.nobody import as_nobody, readable_by_all
from tests.loop.test_console_terminal import Keyboard
from tests.loop.test_terminal import ENDED, LIMIT_S
from tests.tui.recorded import recorded

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`"),
]

ENVIRON = ("TERM=linux", "LANG=C.UTF-8")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may enter; those of pytest are root's own."""
    made = Path(tempfile.mkdtemp(prefix="fsconsole-nobody-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def open_console(place: Path) -> Iterator[Callable[[Path], Keyboard]]:
    opened: list[Keyboard] = []

    def one(runs: Path) -> Keyboard:
        words = (sys.executable, "-m", "fsconsole", "--runs", str(runs))
        opened.append(Keyboard(place, as_nobody(place, words, ENVIRON)))
        return opened[-1]

    yield one
    for terminal in opened:
        subprocess.run([*terminal._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def runs(place: Path) -> Path:
    """Runs that everybody may read."""
    for name in ("grid", "stopped"):
        recorded(name, place / "runs")
    readable_by_all(place / "runs")
    return place / "runs"


def test_what_only_looks_works(open_console: Callable[[Path], Keyboard], runs: Path) -> None:
    console = open_console(runs)
    console.wait_for("1 Devices", "disk")
    console.press("2")
    console.wait_for("2 variants, 6 cells")
    console.press("c")
    console.wait_for("mkfs.ext4")
    # A key right after escape would be taken for one with alt.
    console.press("Escape")
    console.wait_for("New plan", "g Go")
    console.press("5")
    console.wait_for("2 runs", "stopped after 5 of 6 cells", "u resumes it")
    console.press("Down", "Enter")
    console.wait_for("sorted by durable", "finished")
    console.press("Enter")
    console.wait_for("v Curves", "CPU busy")
    console.press("m")
    console.wait_for("mkfs")
    console.press("Escape")
    console.wait_for("sorted by durable")
    console.press("3")
    console.wait_for("finished", "enter shows its results", "write  ", "CPU  ")
    console.press("l")
    console.wait_for("Cell 6 of 6")
    console.press("Escape")
    console.wait_for("CPU  ")
    console.press("q")
    console.wait_for(f"{ENDED} 0")


def test_what_needs_root_says_so_and_how(open_console: Callable[[Path], Keyboard], runs: Path) -> None:
    console = open_console(runs)
    console.wait_for("1 Devices", "disk")
    for key, what in (
        ("n", "A scratch device is made"),
        ("r", "A disk is read"),
        ("x", "A scratch device is removed"),
    ):
        console.press(key)
        console.wait_for(f"{what} by root only", "sudo")
    console.press("Space")
    # The first device is in use, or nobody but root can tell.
    told = ("it can't be ticked", "Only root can see whether")
    wait_until(
        lambda: any(words in " ".join(console.lines()) for words in told), "Space says why not", LIMIT_S
    )
    console.press("5")
    console.wait_for("stopped after 5 of 6 cells; u resumes it")
    for key, what in (
        ("u", "Resuming a run"),
        ("c", "Cleaning up"),
        ("m", "Renaming a run"),
        ("x", "Deleting a run"),
    ):
        console.press(key)
        console.wait_for(f"{what} needs root", "sudo fsconsole")
    console.press("q")
    console.wait_for(f"{ENDED} 0")


def test_runs_that_only_root_may_read_are_told_of(
    open_console: Callable[[Path], Keyboard], runs: Path
) -> None:
    runs.chmod(0o700)
    console = open_console(runs)
    console.wait_for("1 Devices", "disk")
    for key in ("5", "4", "3"):
        console.press(key)
        lines = console.wait_for(f"Reading {runs} needs root", "sudo")
        assert "no runs" not in "\n".join(lines)
    console.press("q")
    console.wait_for(f"{ENDED} 0")
