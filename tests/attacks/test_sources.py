"""Sources of copies and commands that change between their manifest and their use, or while they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, CellStatus
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.lab.soak import SOAK, tried
from tests.loop.commands import each
from tests.loop.runs import new_run, wait_for_end

DRIVER = Path(__file__).parent.parent / "loop" / "swapping_engine.py"
LETTER = "nobody agreed to have this read"
HEAD = """
schema = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4" }]
after = { check = false, extents = false }
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(32 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """way/src is a source of 3 files and 3 MiB; elsewhere/src and secret are none."""
    for folder in ("way/src/below", "elsewhere/src", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("one", "two", "below/three"):
        (tmp_path / "way" / "src" / name).write_bytes(os.urandom(MIB))
    for folder in ("elsewhere/src", "secret"):
        (tmp_path / folder / "letter").write_text(LETTER)
    return tmp_path


def carried_out(place: Path, target: str, load: str, script: str, repeats: int) -> tuple[CellState, ...]:
    """Carry out a load with a script around it, and prove that no tree has the letter in it."""
    look = f"if [ $1 = after ] && grep -r '{LETTER}' $3; then echo $2 >> read; fi"
    (place / "script").write_text(f"cd {place}\n{look}\n{script}")
    plan = f"{HEAD}repeats = {repeats}\n[[workload]]\n{load}"
    folder = new_run(plan, target, str(place / "runs"))
    argv = engine_argv((sys.executable, str(DRIVER), folder.path, str(place / "script")))
    with open(place / "engine.log", "wb") as log:
        subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120)
    wait_for_end(folder)
    assert "Traceback" not in (place / "engine.log").read_text(), (place / "engine.log").read_text()
    assert not (place / "read").exists(), "cells in which it was read: " + (place / "read").read_text()
    return read_state(folder).cells


def script_of(*acts: tuple[str, str]) -> str:
    """Return a script that does the first of each pair before the load of the cell of that number, the second after it."""
    lines = (f"before{number}) {do};;\nafter{number}) {undo};;\n" for number, (do, undo) in enumerate(acts))
    return f"case $1$2 in\n{''.join(lines)}esac\n"


REPLACED = "way/src is not the source that was read: something else took its place"
CHANGED = "changed after they were read"
COPIES: dict[str, tuple[tuple[str, str], CellStatus, str]] = {
    "nothing": ((":", ":"), CellStatus.DONE, ""),
    "a file that was added": (("echo more > way/src/more", "rm way/src/more"), CellStatus.DONE, CHANGED),
    "a file that became a link out of the source": (
        ("mv way/src/one one; ln -s ../../secret/letter way/src/one", "mv one way/src/one"), CellStatus.DONE, CHANGED,
    ),
    "a directory that became a link out of the source": (
        ("mv way/src/below below; ln -s ../../secret way/src/below", "rm way/src/below; mv below way/src/below"),
        CellStatus.DONE, CHANGED,
    ),
    "a link in the source's place": (
        ("mv way/src aside; ln -s ../secret way/src", "rm way/src; mv aside way/src"), CellStatus.FAILED, REPLACED,
    ),
    "a link on the way to the source": (
        ("mv way aside; ln -s elsewhere way", "rm way; mv aside way"), CellStatus.FAILED, REPLACED,
    ),
    "another directory in the source's place": (
        ("mv way/src aside; mv secret way/src", "mv way/src secret; mv aside way/src"), CellStatus.FAILED, REPLACED,
    ),
    "no source": (("mv way/src aside", "mv aside way/src"), CellStatus.FAILED, "way/src: No such file or directory"),
    "a file that grew beyond the device": (
        ("head -c 40M /dev/zero >> way/src/two", "truncate -s 1M way/src/two; truncate -s 10T way/src/one"),
        CellStatus.FAILED, "is full",
    ),
    "a file that has grown beyond all disks when the sources are to be read": (
        (":", ":"), CellStatus.FAILED, "have grown to 10.0 TiB since the plan was made",
    ),
}  # fmt: skip


CHOSEN = (
    "nothing", "a file that became a link out of the source", "a link in the source's place",
    "a file that grew beyond the device", "a file that has grown beyond all disks when the sources are to be read",
)  # fmt: skip


def test_a_copy_is_of_its_declared_source_alone_and_a_tree_that_changed_is_told(place: Path, target: str) -> None:
    load = f'kind = "copy"\nsources = ["{place}/way/src"]\n'
    cases = {name: COPIES[name] for name in tried(tuple(COPIES), CHOSEN)}
    cells = carried_out(place, target, load, script_of(*(acts for acts, _, _ in cases.values())), len(cases))

    def held(cell: CellState, status: CellStatus, words: str) -> None:
        told = [one.reason for one in cell.warnings if one.kind is WarningKind.SOURCES and CHANGED in one.reason]
        assert cell.status is status, (cell.reason, told)
        assert words in (cell.reason if status is CellStatus.FAILED else "; ".join(told))
        assert bool(told) == (status is CellStatus.DONE and bool(words)), told
        figures = {one.metric: one.value for step in cell.steps for one in step.measurements}
        assert figures.get(Metric.WRITTEN) == figures.get(Metric.MADE), "figures are of what was copied"
        assert (Metric.WRITTEN in figures) == (status is CellStatus.DONE)

    each({name: (cell, *of[1:]) for (name, of), cell in zip(cases.items(), cells, strict=True)}, held)


COMMANDS: dict[str, tuple[tuple[str, str], CellStatus, str]] = {
    "nothing": ((":", ":"), CellStatus.DONE, ""),
    "a link in the source's place": COPIES["a link in the source's place"],
    # Last, since it is looked for after the drain, and no cell is begun with it.
    "a pipe that was added": (("mkfifo way/src/pipe", ":"), CellStatus.DONE, f"{CHANGED}, and have a named pipe"),
}


def test_a_command_is_given_its_declared_source_alone_and_a_tree_that_changed_is_told(place: Path, target: str) -> None:
    load = f'kind = "command"\nargv = ["sh", "-c", "cat {place}/way/src/l* > all; test -d {place}/way/src"]\n'
    script = script_of(*(acts for acts, _, _ in COMMANDS.values()))
    cells = carried_out(place, target, load + f'sources = ["{place}/way/src"]\n', script, len(COMMANDS))

    def held(cell: CellState, status: CellStatus, words: str) -> None:
        told = [one.reason for one in cell.warnings if one.kind is WarningKind.SOURCES]
        assert cell.status is status, (cell.reason, told)
        assert words in (cell.reason if status is CellStatus.FAILED else "; ".join(told)), told
        assert len(told) == (status is CellStatus.DONE and bool(words)), told

    each({name: (cell, *of[1:]) for (name, of), cell in zip(COMMANDS.items(), cells, strict=True)}, held)


STORM = """
if [ $1 = before ]; then
    while [ ! -e stop ]; do
        mv way/src/below aside; ln -s ../../secret way/src/below; rm way/src/below; mv aside way/src/below
    done && touch still &
else
    touch stop; until [ -e still ]; do sleep 0.01; done; rm stop still
fi
"""


def test_a_directory_that_becomes_a_link_and_back_all_the_time_leads_a_copy_nowhere(place: Path, target: str) -> None:
    for number in range(300):
        (place / "way" / "src" / "below" / str(number)).write_text("small")
    load = f'kind = "copy"\nsources = ["{place}/way/src"]\n'
    for cell in carried_out(place, target, load, STORM, 3 if SOAK else 1):
        told = [one.reason for one in cell.warnings if one.kind is WarningKind.SOURCES]
        assert (cell.status is CellStatus.DONE and told) or (cell.reason and CHANGED in cell.reason), cell.reason


def test_a_part_of_a_source_whose_directory_became_a_link_to_what_the_cage_shows_is_not_copied(
    place: Path, target: str
) -> None:
    (place / "way" / "src" / "below" / "passwd").write_text("small")
    (place / "way" / "src" / "below" / "three").rename(place / "way" / "src" / "below" / "zero")
    load = f'kind = "copy"\nsources = ["{place}/way/src"]\nat_most = "2.5MiB"\n'
    out = "if grep -r root: $3; then echo $2 of /etc >> read; fi; rm way/src/below; mv below way/src/below"
    script = script_of(("mv way/src/below below; ln -s /etc way/src/below", out))
    (cell,) = carried_out(place, target, load, script, 1)
    assert cell.status is CellStatus.FAILED
    assert f"below/passwd': No such file or directory; sources of 'copy' {CHANGED}" in cell.reason, cell.reason
