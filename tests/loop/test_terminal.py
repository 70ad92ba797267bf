"""Runs and the console in a terminal of 80 x 24, as tmux shows it, as root and as nobody."""

from __future__ import annotations

import os
import re
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
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive, list_runs
from fsconsole.model.events import Outcome
from tests.conftest import loops_under, wait_until
from tests.conftest import run as program
from tests.loop.nobody import as_nobody, readable_by_all
from tests.loop.runs import (
    FSCONSOLE,
    UNHURRIED_PLAN,
    assert_nothing_left,
    freeze_load,
    new_folder,
    succeed,
    thaw,
    written,
)
from tests.tui.recorded import recorded
from tests.tui.test_errands import ERRANDS

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`")


WIDTH, HEIGHT = 80, 24
LIMIT_S = 60
ENDED = "ended with"


class Terminal:
    """A terminal of 80 x 24 that runs one command, on a tmux server of its own, with somebody at its keys."""

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
        deadline = time.monotonic() + LIMIT_S
        while missing(words, self.lines()):
            assert time.monotonic() < deadline, f"{words} in vain:\n" + "\n".join(self.lines())
            time.sleep(0.1)
        return self.lines()

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

    def quit(self) -> None:
        self.press("q")
        self.wait_for(f"{ENDED} 0")

    def close(self) -> None:
        """End it, unless a test has done so already."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


Opening = Callable[[str], Terminal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opening]:
    """Terminals that run a command each."""
    terminals: list[Terminal] = []

    def one(command: str) -> Terminal:
        place = tmp_path / f"terminal{len(terminals)}"
        place.mkdir()
        terminals.append(Terminal(place, f"cd {place}; {command}"))
        return terminals[-1]

    yield one
    for terminal in terminals:
        terminal.close()


def missing(words: tuple[str, ...], lines: list[str]) -> list[str]:
    return [word for word in words if word not in "\n".join(lines)]


def assert_fits(lines: list[str]) -> None:
    assert [line for line in lines if len(line.rstrip()) > WIDTH] == []
    assert [line for line in lines if not line.isascii()] == []


@pytest.mark.parametrize("term", ["linux", pytest.param("dumb", marks=pytest.mark.soak)])
def test_a_run_fits_a_console_of_80_columns_and_says_where_it_is(
    opened: Opening, tmp_path: Path, own_scratch: scratch.Scratch, term: str
) -> None:
    device, runs = own_scratch.device, str(tmp_path / "runs")
    words = ["run", written(tmp_path, UNHURRIED_PLAN), "--device", device, "--runs", runs]
    terminal = opened(f"TERM={term} {shlex.join([*FSCONSOLE, *words])}")
    folder = new_folder(runs)
    workers = freeze_load(folder)
    live = terminal.wait_for(*LIVE[term])
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
    cells = [line for line in whole if line.startswith(("1/3 ", "2/3 ", "3/3 ")) and "  done  " in line]
    assert len(cells) == 3


def test_ctrl_c_beside_a_run_asks_and_d_leaves_it_alive(
    opened: Opening, tmp_path: Path, own_scratch: scratch.Scratch
) -> None:
    device, runs = own_scratch.device, str(tmp_path / "runs")
    words = ["run", written(tmp_path, UNHURRIED_PLAN), "--device", device, "--runs", runs]
    terminal = opened(f"TERM=linux {shlex.join([*FSCONSOLE, *words])}")
    folder = new_folder(runs)
    workers = freeze_load(folder)
    terminal.wait_for(*LIVE["linux"])
    terminal.press("C-c")
    terminal.wait_for("d detach, a stop after cell 1 of 3, ext4 data=", "X stop now")
    terminal.press("d")
    left = terminal.wait_for("The run goes on", f"fsconsole attach {folder.name}", f"{ENDED} 0")
    assert_fits(left)
    assert is_alive(folder)
    thaw(workers)
    wait_until(lambda: not is_alive(folder), "the run's end", LIMIT_S)
    ended = succeed("results", "--runs", runs)
    assert not missing(("data=ordered", "data=writeback", "data=journal"), ended.splitlines())
    assert_nothing_left(device, folder)


LIVE = {
    "dumb": ("1/3  ext4 data=",),
    "linux": (
        "cell 1 of 3, about ", " left", "ext4 data=", "step    workload: ", "load    ", "MB/s", "threads",
        "dirty   [", "limit ",
    ),
}  # fmt: skip


def console_of(runs: Path, *, starter: tuple[str, ...] = FSCONSOLE) -> str:
    # A draft that another test's console kept would be there again.
    environ = f"TERM=linux LANG=C.UTF-8 XDG_STATE_HOME={shlex.quote(str(runs.parent))}"
    return f"{environ} {shlex.join([*starter, '--runs', str(runs)])}"


SAFE = set("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")


FIRST_RUN, MOST_KEYS = ERRANDS[1]
"""Keys of the first errand: a benchmark on a scratch device that is made for it."""
BEFORE_KEYS = (
    ("1 Devices", "no target ticked"),
    ("New scratch device", "320MiB", "It fits"),
    ("1 target ticked", "scratch device, wiped without"),
    ("2 variants, 10 cells",),
    ("320.0 MiB", "Only scratch devices are wiped"),
)
"""What is waited for before each of them."""
WITH_DELALLOC, MOST_WITH_DELALLOC = ERRANDS[2]
"""Keys of the second: the same with delayed allocation on and off."""
BEFORE_WITH_DELALLOC = (*BEFORE_KEYS[:4], (">(default)",), ("3 variants, 15 cells",), BEFORE_KEYS[4])
TMUX_KEYS = {"enter": "Enter", "f10": "F10", "right": "Right"}


def a_first_run(
    console: Terminal,
    runs: Path,
    keys: tuple[str, ...] = FIRST_RUN,
    before_keys: tuple[tuple[str, ...], ...] = BEFORE_KEYS,
    cells: int = 10,
) -> RunFolder:
    """Start a run from nothing by these keys and no others; return it once its engine is in its first cell."""
    for key, words in zip(keys, before_keys, strict=True):
        if words[0] == "1 target ticked":
            ticked(console)
        console.wait_for(*words)
        assert not list_runs(str(runs))
        console.press(TMUX_KEYS.get(key, key))
    console.wait_for(f"/{cells} cells", "running", "write ", "dirty ", "CPU ")
    (folder,) = list_runs(str(runs))
    wait_until(lambda: read_state(folder).current_cell == 0, "its first cell", LIMIT_S)
    assert is_alive(folder)
    return folder


def ticked(console: Terminal) -> None:
    told = ("/dev/loop", " is ticked:", " was unticked")
    wait_until(
        lambda: any(told[0] in line and (told[1] in line or told[2] in line) for line in console.lines()),
        "it is made",
        LIMIT_S,
    )
    if any(told[2] in line for line in console.lines()):
        # Beside other tests that make and remove loop devices one look at it may miss its file: the console then unticks it.
        console.press("Space")


def stopped(console: Terminal, folder: RunFolder) -> None:
    console.press("X")
    console.wait_for("Stop the run now, in cell ")
    console.press("y")
    wait_until(lambda: not is_alive(folder), "the run's end", LIMIT_S)
    console.wait_for("stopped in ")


def two_journals_and_xfs(console: Terminal) -> None:
    console.press("2")
    console.wait_for("2 variants, 10 cells")
    console.wait_for("Common options of ext4")
    console.press("/")
    console.wait_for("words to look for")
    console.press(*"writeback")
    console.wait_for("options match", "data before its metadata")
    console.press("Enter")
    console.wait_for("clears.")
    console.press("Right", "Enter", "Right", "Enter")
    console.wait_for("[ordered]>[writeback]", "3 variants, 15 cells")
    # No fewer rounds have verdicts.
    console.press("+")
    console.wait_for("enter Apply", "+ More")
    console.press("3", "Enter")
    console.wait_for("3 variants, 9 cells")
    if any("No device is ticked" in line for line in console.lines()):
        # As in ticked().
        console.press("1")
        console.wait_for("no target ticked")
        console.press("Space")
        console.wait_for("1 target ticked")
        console.press("2")
        console.wait_for("3 variants, 9 cells")


def confirmed(console: Terminal) -> None:
    console.press("F10")
    console.wait_for("320.0 MiB", "Only scratch devices are wiped")
    # The button has the keys where no name is to be typed.
    console.press("Enter")
    console.wait_for("/9 cells", "running", "write ", "dirty ", "CPU ")


def figures_of(lines: list[str]) -> list[list[str]]:
    """Return the figures of each row, whose name may be broken; the row at the cursor stands below too, without any."""
    rows = (re.findall(r"(?<= )\d[\d.]*(?= |$)", line) for line in lines if line.startswith(("ext4", "xfs ")))
    return [row for row in rows if len(row) > 3]


@pytest.fixture
def begun(opened: Opening, tmp_path: Path, scratch_folder: Path) -> tuple[Terminal, RunFolder]:
    """A console on a new box in which a first run was started and stopped."""
    runs = tmp_path / "runs"
    starter = (sys.executable, str(Path(__file__).with_name("small_scratch.py")), str(scratch_folder), "320MiB")
    console = opened(console_of(runs, starter=starter))
    folder = a_first_run(console, runs)
    stopped(console, folder)
    return console, folder


def test_from_a_new_box_five_keys_start_a_run(begun: tuple[Terminal, RunFolder]) -> None:
    assert len(FIRST_RUN) == MOST_KEYS == 5
    console, folder = begun
    assert read_state(folder).outcome is Outcome.STOPPED
    console.quit()


def run_beside(runs: Path, other: RunFolder) -> RunFolder:
    """Return the only run that is not the other one."""
    (folder,) = set(list_runs(str(runs))) - {other}
    return folder


@pytest.mark.soak
def test_after_a_first_run_a_plan_leads_to_a_grid_with_a_terminal_lost_on_the_way(
    opened: Opening, tmp_path: Path, begun: tuple[Terminal, RunFolder]
) -> None:
    runs, (first, of_five_keys) = tmp_path / "runs", begun
    two_journals_and_xfs(first)
    confirmed(first)
    assert {character for character in "".join(first.lines()) if not character.isascii()} <= SAFE
    # As d does: it leaves the run alone, and says how to come back.
    first.press("C-c")
    first.wait_for(f"{ENDED} 0", "fsconsole")
    assert is_alive(run_beside(runs, of_five_keys))
    first.close()

    folder = run_beside(runs, of_five_keys)
    second = opened(console_of(runs))
    # The question covers the head of the screen.
    second.wait_for("A run is in progress", "3 Show it")
    second.press("3")
    second.wait_for("ext4 data=ordered", "xfs")
    wait_until(lambda: not is_alive(folder), "the run's end", LIMIT_S)
    second.wait_for("enter shows its results")
    second.press("Enter")
    grid = second.wait_for("durable", "data=ordered", "data=writeback", "verdict")
    printed = figures_of(succeed("results", folder.name, "--runs", str(runs)).splitlines())
    # A row of each variant in the block of the load, and one in that of the filesystem's life.
    assert len(printed) == 6
    verdicts = ("baseline", "slower", "faster", "same", "undecided")
    assert (
        len([line for line in grid if line.startswith(("ext4", "xfs ")) and any(word in line for word in verdicts)])
        == 3
    )

    second.press("e")
    second.wait_for("Export run ")
    second.press("Down", "Tab")
    second.type(str(tmp_path / "grid.csv"))
    second.press("Enter")
    wait_until((tmp_path / "grid.csv").exists, "the exported file", LIMIT_S)
    # Its name may be broken at the edge.
    second.wait_for("durable", "Written: ")
    assert (tmp_path / "grid.csv").read_text() == succeed(
        "results", folder.name, "--runs", str(runs), "--format", "csv"
    )
    second.quit()


def test_from_a_new_box_eight_keys_start_a_run_of_ext4_with_and_without_delayed_allocation(
    opened: Opening, tmp_path: Path, scratch_folder: Path
) -> None:
    assert len(WITH_DELALLOC) <= MOST_WITH_DELALLOC == 8
    runs = tmp_path / "runs"
    starter = (sys.executable, str(Path(__file__).with_name("small_scratch.py")), str(scratch_folder), "320MiB")
    console = opened(console_of(runs, starter=starter))
    folder = a_first_run(console, runs, WITH_DELALLOC, BEFORE_WITH_DELALLOC, 15)
    stopped(console, folder)
    planned = read_state(folder).request.plan
    assert {cell.variant.label for cell in planned.cells} == {"ext4 delalloc", "ext4 nodelalloc", "xfs"}
    assert {cell.devices for cell in planned.cells} == {tuple(loops_under(str(scratch_folder)))}
    console.quit()


ENVIRON = ("TERM=linux", "LANG=C.UTF-8")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may enter, with runs that everybody may read; those of pytest are root's own."""
    made = Path(tempfile.mkdtemp(prefix="fsconsole-nobody-"))
    made.chmod(0o755)
    for name in ("grid", "stopped"):
        recorded(name, made / "runs")
    readable_by_all(made / "runs")
    yield made
    shutil.rmtree(made)


DEVICE_ACTS = {
    "n": "Making a scratch device",
    "R": "Reading a disk",
    "x": "Removing a scratch device",
}


RUN_ACTS = {
    "C": "Cleaning up",
    "m": "Renaming a run",
    "x": "Deleting a run",
}


def test_without_root_what_only_looks_works_and_what_needs_root_says_so(
    open_as_nobody: Callable[[], Terminal],
) -> None:
    console = open_as_nobody()
    console.wait_for("1 Devices", "disk")
    for key, what in DEVICE_ACTS.items():
        console.press(key)
        console.wait_for(f"{what} needs root", "sudo")
    console.press("Space")
    # The first device is in use, or nobody but root can tell.
    told = ("it can't be ticked", "Only root can check whether")
    wait_until(lambda: any(words in " ".join(console.lines()) for words in told), "Space says why not", LIMIT_S)
    console.press("2")
    console.wait_for("2 variants, 10 cells")
    console.press("l")
    console.wait_for("$ mkfs.")
    # A key right after escape would be taken for one with alt.
    console.press("Escape")
    console.wait_for("New plan", "f10 Run..")
    console.press("5")
    console.wait_for("2 runs", "stopped after 5 of 6 cells", "can't be resumed")
    for key, what in RUN_ACTS.items():
        console.press(key)
        console.wait_for(f"{what} needs root", "sudo fsconsole")
    console.press("Down", "Enter")
    console.wait_for("No verdicts: ", "finished")
    console.press("Enter")
    console.wait_for("Curves  Figures", "CPU busy")
    console.press("l")
    console.wait_for("mkfs")
    console.press("Escape")
    console.wait_for("No verdicts: ")
    console.press("3")
    console.wait_for("finished", "enter shows its results", "write  ", "CPU  ")
    console.press("l")
    console.wait_for("Cell ", " of 6")
    console.press("Escape")
    console.wait_for("CPU  ")
    console.quit()


@pytest.fixture
def open_as_nobody(place: Path, opened: Opening) -> Callable[[], Terminal]:
    words = (sys.executable, "-m", "fsconsole", "--runs", str(place / "runs"))
    return lambda: opened(as_nobody(place, words, ENVIRON))


def test_runs_that_only_root_may_read_are_told_of(open_as_nobody: Callable[[], Terminal], place: Path) -> None:
    (place / "runs").chmod(0o700)
    console = open_as_nobody()
    console.wait_for("1 Devices", "disk")
    for key in ("5", "4", "3"):
        console.press(key)
        lines = console.wait_for(f"Reading {place / 'runs'} needs root", "sudo")
        assert "no runs" not in "\n".join(lines)
    console.quit()
