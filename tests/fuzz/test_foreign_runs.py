"""Whatever a run folder holds: each command on it ends with words or an error and its hint, and acts on nothing else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.client.runs import list_outputs, read_output
from fsconsole.devices.settings import MACHINE_LOCK
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.text import printable_lines
from tests.fuzz.cage import acting_in, assert_harmless, caged, say
from tests.fuzz.damage import damages
from tests.fuzz.packing import files_of, members_of, pack
from tests.fuzz.test_plan_files import QUICK

READING = (
    ("runs",), ("runs", "--json"), ("results",), ("results", "--explain", "--with", "bull-2008"), ("compare", "latest", "lowe-2009"),
    ("results", "--format", "json"), ("results", "--format", "csv"), ("results", "--format", "csv", "--summary"),
    ("results", "--format", "md"), ("attach",), ("stop",),
)  # fmt: skip
CHANGING = (
    ("cleanup",), ("resume", "--show"), ("runs", "rename", "NAME", "another title"), ("cleanup", "--json"), ("runs",),
    ("export", "NAME", "FILE", "--force"), ("import", "FILE"), ("runs", "delete", "NAME", "--yes"), ("import", "FILE"),
)  # fmt: skip
A_FEW = st.sets(st.integers(0, len(READING) - 1), min_size=1, max_size=2)
"""Of the commands that read: to try all of them on each folder would leave time for few folders."""
Make = Callable[[Path], RunFolder]
Reading = tuple[Make, set[int]]


@pytest.fixture(scope="module", autouse=True)
def _warmed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what the commands load, so that no example waits for it."""
    for words in (*READING, *CHANGING):
        say(*words, "--runs", str(tmp_path_factory.getbasetemp() / "none"))


@QUICK
@given(example=st.tuples(damages(), A_FEW))
def test_commands_that_read_a_foreign_run_change_nothing_and_print_it_as_data(tmp_path: Path, example: Reading) -> None:
    make, chosen = example
    folder = make(tmp_path)
    for number in sorted(chosen):
        harmless(tmp_path, READING[number], folder)
    with caged(tmp_path):
        for name in (*list_outputs(folder), "../journal.sqlite", "/etc/passwd"):
            with contextlib.suppress(FsconsoleError):
                text, _ = read_output(folder, name)
                assert acting_in("\n".join(printable_lines(text))) == []


@settings(QUICK, max_examples=QUICK.max_examples // 2)
@given(make=damages())
def test_commands_that_act_on_a_foreign_run_execute_nothing_of_it_and_stay_in_its_folder(
    tmp_path: Path, make: Make
) -> None:
    folder = make(tmp_path)
    for words in CHANGING:
        harmless(tmp_path, words, folder)


@settings(QUICK, max_examples=QUICK.max_examples // 3)
@given(make=damages())
def test_an_archive_of_whatever_is_imported_whole_or_not_at_all_and_never_acts(tmp_path: Path, make: Make) -> None:
    folder = make(tmp_path)
    with contextlib.suppress(OSError):
        pack(tmp_path / "runs" / "x.fsrun", members_of(files_of(folder)))
        imported = RunFolder(str(tmp_path / "runs" / "another"))
        harmless(tmp_path, ("import", "FILE"), imported)
        assert imported.is_imported or [name for name in os.listdir(tmp_path / "runs") if name[0] == "."] == []
        for words in (("results", "another"), ("resume", "another"), ("runs", "rename", "another", "x"), ("cleanup",)):
            harmless(tmp_path, words, imported)


def harmless(directory: Path, words: tuple[str, ...], folder: RunFolder) -> None:
    """Carry a command out in a cage, and prove that what lies beside the runs is as it was."""
    canary = directory / "canary"
    canary.write_text("as it was")
    places = {"NAME": folder.name, "FILE": str(directory / "runs" / "x.fsrun")}
    named = tuple(places.get(word, word) for word in words)
    with caged(directory, MACHINE_LOCK):
        said = say(*named, "--runs", str(directory / "runs"))
    assert_harmless(said, words)
    assert canary.read_text() == "as it was"
    assert sorted(path.name for path in directory.iterdir()) in (["canary"], ["canary", "runs"])
