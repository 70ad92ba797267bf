"""Runs and the console in a terminal of 80 x 24, as tmux shows it, as root and as nobody."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.store import is_alive, list_runs
from tests.conftest import run as program
from tests.conftest import wait_until
from tests.loop.nobody import as_nobody, readable_by_all
from tests.loop.runs import (
    FSCONSOLE,
    UNHURRIED_PLAN,
    assert_nothing_left,
    freeze_load,
    kill_engines,
    new_folder,
    thaw,
)
from tests.tui.recorded import recorded

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`"
)


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
        live = terminal.wait_for("1/3  ext4 data=")
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


SAFE = set("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")
REST_S = 0.5


class Keyboard(Terminal):
    """A terminal with somebody at its keys."""

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them."""
        for key in keys:
            program(*self._tmux, "send-keys", key)

    def type(self, text: str) -> None:
        """Write a text over what stands in a field."""
        # As a hand does it: keys that come in one piece are taken for another key's escape sequence.
        for key in ("C-a", "C-k"):
            self.press(key)
            time.sleep(0.3)
        program(*self._tmux, "send-keys", "-l", text)
        self.wait_for(text[-20:])

    def wait_for(self, *words: str) -> list[str]:
        """Wait until all the words are on the screen; return its lines."""
        deadline = time.monotonic() + LIMIT_S
        while missing(words, self.lines()):
            assert time.monotonic() < deadline, f"{words} in vain:\n" + "\n".join(self.lines())
            time.sleep(0.1)
        return self.lines()

    def press_until(self, key: str, text: str) -> None:
        """Press a key again and again until a text is on the screen; each time when the screen has come to rest."""
        deadline = time.monotonic() + LIMIT_S
        while text not in "\n".join(lines := self.at_rest()):
            assert time.monotonic() < deadline, "\n".join(lines)
            self.press(key)

    def at_rest(self) -> list[str]:
        """Return the screen's lines once they have been the same for a while: what was pressed has had its effect."""
        lines, since_s = self.lines(), time.monotonic()
        while time.monotonic() < since_s + REST_S:
            time.sleep(0.1)
            if (now := self.lines()) != lines:
                lines, since_s = now, time.monotonic()
        return lines


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "runs"
    kill_engines(str(tmp_path / "runs"))
    for made in scratch.listing(str(tmp_path / "scratch")):
        # It lists what is attached, wherever its files lie.
        if made.path.startswith(str(tmp_path)):
            scratch.remove(made)


@pytest.fixture
def open_console(tmp_path: Path, runs: Path) -> Iterator[object]:
    opened: list[Keyboard] = []

    def one() -> Keyboard:
        place = tmp_path / f"terminal{len(opened)}"
        place.mkdir()
        words = shlex.join([*FSCONSOLE, "--runs", str(runs)])
        opened.append(Keyboard(place, f"cd {place}; TERM=linux LANG=C.UTF-8 {words}"))
        return opened[-1]

    yield one
    for terminal in opened:
        # A test may have ended it already.
        subprocess.run([*terminal._tmux, "kill-server"], check=False, capture_output=True)


def results(runs: Path, *words: str) -> str:
    done = subprocess.run(
        [*FSCONSOLE, "results", "--runs", str(runs), *words], check=True, capture_output=True
    )
    return done.stdout.decode()


def a_scratch_device(console: Keyboard, directory: Path) -> None:
    console.wait_for("1 Devices", "no target ticked")
    console.press("n")
    console.wait_for("New scratch device")
    console.type("512MiB")
    console.press("Tab")
    console.type(str(directory))
    console.wait_for("It fits")
    console.press("Enter")
    console.wait_for("1 target ticked", "scratch device, safe to wipe")


def two_journals_and_xfs(console: Keyboard) -> None:
    console.press("2")
    console.wait_for("2 variants, 6 cells")
    console.press("Down")
    console.wait_for("inode_size")
    console.press("Tab")
    console.at_rest()
    console.press("End")
    console.press_until("Up", "data before its metadata")
    console.press("Enter")
    console.wait_for("ext4: data (mount)")
    console.press("Space")
    console.wait_for("[x] ordered")
    console.press("Down", "Space")
    console.wait_for("[x] writeback")
    console.press("F10")
    console.wait_for("[*] data", "ordered, writeback", "3 variants, 9 cells")


def confirmed(console: Keyboard, runs: Path) -> None:
    console.press("g")
    console.wait_for("512.0 MiB", "Only scratch devices are wiped")
    console.press("Enter")
    time.sleep(1)
    assert not list_runs(str(runs)), "Enter alone began a run"
    console.press("C-s")
    console.wait_for("of 9", "running", "write ", "dirty ", "CPU ")


def shown_rows(lines: list[str]) -> list[str]:
    return sorted(line.rstrip() for line in lines if line.startswith(("ext4 data=", "xfs ")))


def test_from_a_new_box_to_a_grid_with_a_terminal_lost_on_the_way(open_console, tmp_path, runs):
    first = open_console()
    a_scratch_device(first, tmp_path / "scratch")
    two_journals_and_xfs(first)
    confirmed(first, runs)
    assert {character for character in "".join(first.lines()) if not character.isascii()} <= SAFE
    first.press("d")
    first.wait_for(f"{ENDED} 0", "fsconsole")
    first.close()

    (folder,) = list_runs(str(runs))
    second = open_console()
    second.wait_for("1 Devices")
    second.press("3")
    second.wait_for("ext4 data=ordered", "xfs")
    wait_until(lambda: not is_alive(folder), "the run's end", LIMIT_S)
    second.wait_for("enter shows its results")
    second.press("Enter")
    grid = second.wait_for("durable", "ext4 data=ordered", "ext4 data=writeback", "Medians of 3 cells")
    printed = shown_rows(results(runs).splitlines())
    assert len(printed) == 3
    # The row at the cursor stands in the pane below too, without figures.
    assert printed == [line for line in shown_rows(grid) if len(line.split()) > 3]

    second.press("e")
    second.wait_for("Export the figures")
    second.press("Tab")
    second.type(str(tmp_path / "grid.csv"))
    second.press("Enter")
    wait_until((tmp_path / "grid.csv").exists, "the exported file", LIMIT_S)
    # Its name may be broken at the edge.
    second.wait_for("durable", "Written: ")
    assert (tmp_path / "grid.csv").read_text() == results(runs, "--format", "csv")
    second.press("q")
    second.wait_for(f"{ENDED} 0")


ENVIRON = ("TERM=linux", "LANG=C.UTF-8")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may enter; those of pytest are root's own."""
    made = Path(tempfile.mkdtemp(prefix="fsconsole-nobody-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def open_as_nobody(place: Path) -> Iterator[Callable[[Path], Keyboard]]:
    opened: list[Keyboard] = []

    def one(readable_runs: Path) -> Keyboard:
        words = (sys.executable, "-m", "fsconsole", "--runs", str(readable_runs))
        opened.append(Keyboard(place, as_nobody(place, words, ENVIRON)))
        return opened[-1]

    yield one
    for terminal in opened:
        subprocess.run([*terminal._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def readable_runs(place: Path) -> Path:
    """Runs that everybody may read."""
    for name in ("grid", "stopped"):
        recorded(name, place / "runs")
    readable_by_all(place / "runs")
    return place / "runs"


def test_what_only_looks_works(open_as_nobody: Callable[[Path], Keyboard], readable_runs: Path) -> None:
    console = open_as_nobody(readable_runs)
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


def test_what_needs_root_says_so_and_how(
    open_as_nobody: Callable[[Path], Keyboard], readable_runs: Path
) -> None:
    console = open_as_nobody(readable_runs)
    console.wait_for("1 Devices", "disk")
    for key, what in (
        ("n", "Making a scratch device"),
        ("r", "Reading a disk"),
        ("x", "Removing a scratch device"),
    ):
        console.press(key)
        console.wait_for(f"{what} needs root", "sudo")
    console.press("Space")
    # The first device is in use, or nobody but root can tell.
    told = ("it can't be ticked", "Only root can check whether")
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
    open_as_nobody: Callable[[Path], Keyboard], readable_runs: Path
) -> None:
    readable_runs.chmod(0o700)
    console = open_as_nobody(readable_runs)
    console.wait_for("1 Devices", "disk")
    for key in ("5", "4", "3"):
        console.press(key)
        lines = console.wait_for(f"Reading {readable_runs} needs root", "sudo")
        assert "no runs" not in "\n".join(lines)
    console.press("q")
    console.wait_for(f"{ENDED} 0")
