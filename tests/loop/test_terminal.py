"""A run in front of a console of 80 columns and 24 lines, as tmux shows it."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.text import MIB
from tests.conftest import run as program
from tests.conftest import wait_until
from tests.loop.runs import (
    FSCONSOLE,
    UNHURRIED_PLAN,
    assert_nothing_left,
    freeze_load,
    kill_engines,
    new_folder,
    thaw,
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`"),
]

WIDTH, HEIGHT = 80, 24
LIMIT_S = 60
ENDED = "ended with"


class Terminal:
    """A terminal of 80 x 24 that runs one command, on a tmux server of its own."""

    def __init__(self, directory: Path, command: str) -> None:
        self._tmux = ("tmux", "-S", str(directory / "tmux"), "-f", os.devnull)
        # The last word keeps the terminal open until the test has looked at it.
        shown = f"{command}; echo {ENDED} $?; read -r"
        program(*self._tmux, "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), shown)

    def lines(self, *, scrolled: bool = False) -> list[str]:
        """Return what is on the screen, also what has scrolled off it; a line that was wrapped is one again."""
        history = ["-S", "-"] if scrolled else []
        return program(*self._tmux, "capture-pane", "-p", "-J", *history).rstrip("\n").split("\n")

    def wait_for(self, *words: str) -> list[str]:
        """Wait until all the words are on the screen; return its lines."""
        wait_until(lambda: not missing(words, self.lines()), f"{words} on the screen", LIMIT_S)
        return self.lines()

    def close(self) -> None:
        program(*self._tmux, "kill-server")


def missing(words: tuple[str, ...], lines: list[str]) -> list[str]:
    return [word for word in words if word not in "\n".join(lines)]


def assert_fits(lines: list[str]) -> None:
    assert [line for line in lines if len(line.rstrip()) > WIDTH] == []
    assert [line for line in lines if not line.isascii()] == []


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A scratch device of 64 MiB."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture
def start(tmp_path, device):
    """Start a run in a terminal of a kind; returns the terminal and the run's folder, its first load frozen."""
    runs = str(tmp_path / "runs")
    plan = tmp_path / "plan.toml"
    plan.write_text(UNHURRIED_PLAN)
    terminals = []

    def started(term: str) -> Terminal:
        words = shlex.join([*FSCONSOLE, "run", str(plan), "--device", device, "--runs", runs])
        terminals.append(Terminal(tmp_path, f"TERM={term} {words}"))
        return terminals[0], new_folder(runs)

    yield started
    kill_engines(runs)
    for terminal in terminals:
        terminal.close()


@pytest.mark.parametrize("term", ["linux", "screen", "dumb"])
def test_a_run_fits_a_console_of_80_columns_and_says_where_it_is(start, device, term):
    terminal, folder = start(term)
    workers = freeze_load(folder)
    if term == "dumb":
        live = terminal.wait_for("1/3 ext4 data=")
    else:
        live = terminal.wait_for(
            "cell 1 of 3, est. ",
            " left",
            "ext4 data=",
            "step    workload: ",
            "load    ",
            "MB/s",
            "threads",
            "dirty   [",
            "limit ",
        )
    assert_fits(live)
    assert len(live) < HEIGHT
    thaw(workers)
    ended = terminal.wait_for(f"{ENDED} 0")
    assert_nothing_left(device, folder)
    # The head of the grid and its three rows are what the operator sees without scrolling.
    assert not missing(("write  durable", "data=ordered", "data=writeback", "data=journal"), ended)
    whole = terminal.lines(scrolled=True)
    assert_fits(whole)
    # Nothing of the live view stays in between.
    assert missing(("step    ",), whole)
    assert (
        len([line for line in whole if line.startswith(("1/3 ", "2/3 ", "3/3 ")) and "  done  " in line]) == 3
    )
