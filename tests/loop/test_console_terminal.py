"""The console in a terminal of 80 x 24 with TERM=linux, from a new box to a grid, by the keys that a user presses."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.store import is_alive, list_runs
from tests.conftest import run as program
from tests.conftest import wait_until
from tests.loop.runs import FSCONSOLE, kill_engines
from tests.loop.test_terminal import ENDED, LIMIT_S, Terminal, missing

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: `sudo ./bootstrap test`"),
]

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
    console.wait_for("512.0 MiB", "will be wiped", "Only scratch devices are wiped")
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
