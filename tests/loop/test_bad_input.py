"""Plans, tools and run folders that can't be used."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run
from tests.lab.soak import tried
from tests.loop.commands import (
    AS_NOBODY,
    Bench,
    assert_plain,
    assert_told,
    command,
    each,
    fails,
    hiding,
    nothing_changes,
)
from tests.loop.runs import BEGUN, FSCONSOLE, TINY_PLAN, new_run, tell, tell_the_end, wait_for

MOUNT = 'mount = { data = ["ordered", "writeback"] }'


def changed(old: str, new: str) -> str:
    assert old in TINY_PLAN
    return TINY_PLAN.replace(old, new, 1)


def in_words(**words: str) -> str:
    """Return the plan with one variant in the tools' own words."""
    lines = "".join(f'{key} = "{value}"\n' for key, value in {"type": "ext4", **words}.items())
    return changed(f'[[filesystem]]\ntype = "ext4"\n{MOUNT}\n', f"[[variant]]\n{lines}")


PLANS: dict[str, tuple[str | bytes, ExitCode, tuple[str, ...]]] = {
    "syntax": ("schema = 1\ntitle = \n", ExitCode.PLAN_NOT_TOML, ("line 2, column 9",)),
    "not UTF-8": (b'schema = 1\ntitle = "\xff\xfe"\n', ExitCode.PLAN_NOT_TOML, ("UTF-8", "line 2")),
    "a terminal's commands": ('t = "\x1b]0;"', ExitCode.PLAN_NOT_TOML, ("line 1, column",)),
    "an unknown key": (changed("threads", "treads"), ExitCode.PLAN_UNKNOWN_KEY, ("workload[0].treads", "Did you mean threads")),
    "a key that acts": (changed("title", r'"[/x]\u001b]0;"'), ExitCode.PLAN_UNKNOWN_KEY, (r"[/x]\x1b]0;",)),
    "an unknown filesystem": (changed('"ext4"', '"ext5"'), ExitCode.UNKNOWN_FILESYSTEM, ("'ext5'", "Did you mean ext")),
    "an option that is none": (changed(MOUNT, 'mount = { device = "/dev/sda" }'), ExitCode.PLAN_UNKNOWN_KEY, ("mount.device", "Choose one of: ")),
    "a refused value": (changed('"writeback"', '"wirteback"'), ExitCode.OPTION_REFUSED, ("wirteback", "Allowed: writeback")),
    "a refused mount word": (in_words(mount="noatime,suid"), ExitCode.OPTION_REFUSED, ("variant[0].mount", "'suid'")),
    "a refused mkfs word": (in_words(mkfs="-J device=/dev/sda"), ExitCode.OPTION_REFUSED, ("device=/dev/sda",)),
    "a second device for mkfs": (in_words(mkfs="/dev/sda"), ExitCode.OPTION_REFUSED, ("'/dev/sda'",)),
    "a shell's words": (in_words(mkfs="; rm -rf /"), ExitCode.OPTION_REFUSED, ("';'",)),
    "zero threads": (changed("threads = 4", "threads = 0"), ExitCode.PLAN_BAD_VALUE, ("workload[0].threads = 0",)),
}  # fmt: skip
"""One of each kind; every value that a reader refuses is in tests/unit/plan/test_reader.py."""


def test_a_plan_file_that_says_nonsense_is_refused(bench: Bench):
    def refused(text: str | bytes, code: ExitCode, names: tuple[str, ...]) -> None:
        plan = bench.plan(text)
        fails(code, *bench.words("run", plan), names=(plan, *names))

    with nothing_changes(bench):
        each(PLANS, refused)


NO_FILES = {
    "nothing": "absent.toml",
    "a directory": "/etc",
    "a device without end": "/dev/zero",
    "a name that acts": "[/x]\x1b]0;\n.toml",
    "a name too long": "x" * 300,
}


def test_a_plan_that_is_no_file_is_refused(bench: Bench):
    def refused(name: str) -> None:
        fails(ExitCode.PLAN_MISSING, *bench.words("run", name), names=("--list",))

    with nothing_changes(bench):
        each({name: (path,) for name, path in NO_FILES.items()}, refused)


TOOLS = {"mkfs.ext4": "e2fsprogs", "bwrap": "bubblewrap", "wipefs": "util-linux"}


def test_a_missing_tool_is_named_with_its_package_before_anything_is_touched(bench: Bench):
    words = (*bench.words("run", bench.plan()), "--consent", bench.code(bench.plan()))

    def named(tool: str, package: str) -> None:
        fails(ExitCode.TOOL_MISSING, *words, under=hiding(tool), names=(f" {tool} ", package))

    with nothing_changes(bench):
        each({tool: (tool, package) for tool, package in TOOLS.items()}, named)


def test_a_filesystem_whose_tool_is_missing_keeps_its_rows_and_the_others_run(bench: Bench):
    plan = bench.directory / "two.toml"
    plan.write_text(TINY_PLAN + '[[filesystem]]\ntype = "btrfs"\n')
    words = (*bench.words("run", str(plan)), "--consent", bench.code(str(plan)))
    done = command(*words, under=hiding("mkfs.btrfs"))
    assert done.returncode == 0, done.stderr
    assert "not installed: mkfs.btrfs; package btrfs-progs" in done.stdout


def test_a_tool_that_is_gone_when_the_engine_wants_it_ends_the_run(bench: Bench):
    folder = new_run(TINY_PLAN, bench.device, bench.runs)
    for tool in tried(("mount", "mkfs.ext4"), ("mkfs.ext4",)):
        words = ("resume", "--runs", bench.runs, *agreeing(bench.runs))
        fails(ExitCode.TOOL_MISSING, *words, under=hiding(tool), names=(f" {tool} ",))
        assert CellStatus.DONE not in {cell.status for cell in read_state(folder).cells}
        bench.assert_given_back()


NEEDS_ROOT = {
    "run": ("run", "demo", "--device", "/dev/loop0"),
    "plan": ("plan", "demo", "--device", "/dev/loop0"),
    "demo": ("demo", "--dir", "DIR"),
    "scratch create": ("scratch", "create", "--dir", "DIR"),
    "scratch list": ("scratch", "list", "--dir", "DIR"),
    "scratch remove": ("scratch", "remove", "x", "--dir", "DIR"),
}


def test_who_is_not_root_is_told_so(tmp_path: Path):
    def told(*words: str) -> None:
        runs = () if words[0] == "scratch" else ("--runs", str(tmp_path / "runs"))
        words = tuple(str(tmp_path) if word == "DIR" else word for word in words)
        fails(ExitCode.NOT_ROOT, *words, *runs, under=AS_NOBODY, names=("sudo",))
        assert list(tmp_path.iterdir()) == []

    each({name: NEEDS_ROOT[name] for name in tried(tuple(NEEDS_ROOT), ("run", "scratch remove"))}, told)


NO_RUNS = {
    "/etc/passwd": "Not a directory",
    "/etc/passwd/runs": "Not a directory",
    "/proc/[/x]\x1b]0;\n": r"/proc/[/x]\x1b]0;\n: /proc has the kernel's own files",
}


def full(disk: Path) -> None:
    """Leave no room on a disk."""
    for step_bytes in (MIB, 512):
        with contextlib.suppress(OSError), (disk / "ballast").open("ab", buffering=0) as file:
            while True:
                file.write(b"\xa5" * step_bytes)
                os.fsync(file.fileno())


@pytest.fixture
def words(bench: Bench) -> tuple[str, ...]:
    """The words of a run that is consented to; --runs is to be added."""
    plan = bench.plan(TINY_PLAN.replace("repeats = 1", "repeats = 2"))
    return ("run", plan, "--device", bench.device, "--consent", bench.code(plan))


@pytest.fixture
def small_disk(loop_device: MakeLoopDevice, mounted: Mount) -> Path:
    """A disk for run folders with little room."""
    device = loop_device(16 * MIB)
    run("mkfs.ext4", "-q", device)
    return mounted(device)


def test_a_full_or_read_only_disk_takes_no_run(bench: Bench, words: tuple[str, ...], small_disk: Path):
    full(small_disk)
    runs = str(small_disk / "runs")
    with nothing_changes(bench):
        fails(ExitCode.NO_SPACE, *words, "--runs", runs, names=(f"{runs} has 0 B free", "--runs"))
        assert list(small_disk.glob("runs/*")) == []
        (small_disk / "ballast").unlink()
        Path(runs).mkdir(exist_ok=True)
        run("mount", "-o", "remount,ro", str(small_disk))
        fails(ExitCode.RUNS_READ_ONLY, *words, "--runs", runs, names=(runs, "Read-only file system"))


def test_runs_are_kept_nowhere_but_in_a_directory(bench: Bench, words: tuple[str, ...]):
    with nothing_changes(bench):
        for runs, why in NO_RUNS.items():
            fails(ExitCode.RUNS_READ_ONLY, *words, "--runs", runs, names=(why, "--runs DIR"))


def spoiled_in_the_middle(words: tuple[str, ...], runs: Path, spoil: Callable[[], None]) -> tuple[
    subprocess.CompletedProcess[str], RunFolder
]:  # fmt: skip
    """Spoil a run's disk when its first cell has been reported done; return how the run ended, and its folder."""
    argv = [*FSCONSOLE, *words, "--runs", str(runs), "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        shown = list(lines_until(viewer.stdout, '"event": "cell_finished"'))
        spoil()
        out, err = viewer.communicate(timeout=120)
    (folder,) = list_runs(str(runs))
    return subprocess.CompletedProcess(argv, viewer.returncode, "".join(shown) + out, err), folder


def lines_until(stream: Iterator[str], word: str) -> Iterator[str]:
    for line in stream:
        yield line
        if word in line:
            return


def agreeing(runs: str) -> tuple[str, str]:
    """Return the words that agree to what is asked; a code is asked for only after the middle of a wipe."""
    shown = command("resume", "--runs", runs, "--show", "--json")
    assert shown.returncode == 0, shown
    return ("--consent", json.loads(shown.stdout)["consent"])


def reported(text: str) -> int:
    return text.count('"event": "cell_finished"')


@pytest.mark.soak
def test_a_disk_that_runs_full_stops_the_run_and_loses_no_cell(bench: Bench, words: tuple[str, ...], small_disk: Path):
    runs = str(small_disk / "runs")
    done, folder = spoiled_in_the_middle(words, small_disk / "runs", lambda: full(small_disk))
    assert_told(done, ExitCode.JOURNAL_FULL, folder.name, "disk is full", "fsconsole resume")
    assert '"event": "run_finished"' in done.stdout
    bench.assert_given_back()
    again = ("resume", "--runs", runs, *agreeing(runs))
    fails(ExitCode.JOURNAL_FULL, *again, names=("disk is full",))
    assert "disk is full" in command("runs", "--runs", runs, "--json").stdout

    (small_disk / "ballast").unlink()
    before = read_state(folder)
    assert (before.status, before.exit_code) == (RunStatus.FINISHED, ExitCode.JOURNAL_FULL)
    assert "disk is full" in command("cleanup", "--runs", runs).stdout
    resumed_without_loss(folder, runs, reported(done.stdout))


def test_a_disk_that_turns_read_only_stops_the_run_and_loses_no_cell(
    bench: Bench, words: tuple[str, ...], small_disk: Path
):
    # What ext4 does to itself after an error (man 5 ext4: abort).
    done, folder = spoiled_in_the_middle(
        words, small_disk / "runs", lambda: run("mount", "-o", "remount,abort", str(small_disk))
    )
    assert_told(done, ExitCode.JOURNAL_UNUSABLE, folder.journal, "Read-only file system")
    bench.assert_given_back()
    kept_there = ("--runs", str(small_disk / "runs"))
    for name in ("runs", "results"):
        shown = command(name, *kept_there)
        assert shown.returncode == 0, shown.stderr
        assert "could not say why: its disk is read-only now" in " ".join(shown.stdout.split())
    cleaned = command("cleanup", *kept_there).stdout
    assert f"{folder.name}: left as it is: its folder is not writable: Read-only file system" in cleaned
    names = ("its disk is read-only", "Copy the folder")
    fails(ExitCode.JOURNAL_UNUSABLE, "resume", *kept_there, names=names)
    run("cp", "--archive", str(small_disk / "runs"), bench.runs)
    resumed_without_loss(RunFolder(f"{bench.runs}/{folder.name}"), bench.runs, reported(done.stdout))


def resumed_without_loss(folder: RunFolder, runs: str, reported: int) -> None:
    """Resume a run to its end, and prove that what was reported done before it is there as it was."""
    kept = [cell for cell in read_state(folder).cells if cell.status is CellStatus.DONE]
    assert len(kept) >= reported >= 1
    assert command("resume", "--runs", runs, *agreeing(runs)).returncode == 0
    after = read_state(folder)
    assert {cell.status for cell in after.cells} == {CellStatus.DONE}
    assert [after.cells[cell.index] for cell in kept] == kept


@pytest.fixture
def ended_run(bench: Bench) -> RunFolder:
    """A run that is over, all of its cells done."""
    folder = new_run(TINY_PLAN, bench.device, bench.runs)
    tell_the_end(folder)
    return folder


def without_tables(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not table.startswith("sqlite_"):
                connection.execute(f"DROP TABLE {table}")


def edited(statement: str, *values: str) -> Callable[[Path], None]:
    """Return the damage that a statement of SQL does."""

    def edit(path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement, values)

    return edit


IN_VAIN = {
    "results of none": (("results", "nix"), ExitCode.RUN_MISSING, "'nix'"),
    "a name that acts": (("results", "[/x]\x1b]0;"), ExitCode.RUN_MISSING, r"'[/x]\x1b]0;'"),
    "a path": (("results", "../runs"), ExitCode.RUN_MISSING, "'../runs'"),
    "attach to none": (("attach", "nix"), ExitCode.RUN_MISSING, "'nix'"),
    "stop of none": (("stop", "nix"), ExitCode.RUN_MISSING, "'nix'"),
    "resume of none": (("resume", "nix"), ExitCode.RUN_MISSING, "'nix'"),
    "stop of a dead one": (("stop", "--now"), ExitCode.RUN_OVER, "No run in"),
    "resume of a finished one": (("resume",), ExitCode.RUN_COMPLETE, "nothing left to do"),
    "an unknown column to sort by": (("results", "--sort", "drane"), ExitCode.USAGE, "Did you mean drain"),
    "an unknown column": (("results", "--columns", "write,drane"), ExitCode.USAGE, "'drane'"),
    "a column that acts": (("results", "--columns", "\x1b]0;"), ExitCode.USAGE, r"'\x1b]0;'"),
}


def test_what_no_run_can_give_is_told(bench: Bench, ended_run: RunFolder):
    def told(words: tuple[str, ...], code: ExitCode, name: str) -> None:
        before = Path(ended_run.journal).read_bytes()
        fails(code, *words, "--runs", bench.runs, names=(name,))
        assert Path(ended_run.journal).read_bytes() == before

    each(IN_VAIN, told)


def test_what_an_option_does_not_know_is_an_error_of_usage(bench: Bench, ended_run: RunFolder):
    for words in (("results", "--format", "nix"), ("stop", "--now", "--skip"), ("run", "demo"), ("nix",)):
        runs = () if words == ("nix",) else ("--runs", bench.runs)
        done = command(*words, *runs)
        assert done.stdout == ""
        assert_told(done, ExitCode.USAGE, "--help")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "no-database": lambda path: path.write_bytes(b"\xa5" * 9000),
    "overwritten": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * 40_000),
    "without-tables": without_tables,
    "a-request-that-is-none": edited(
        "UPDATE run SET request = ?",
        '{"[/x]\x1b]0;": [',
    ),
    "gone": lambda path: path.unlink(),
    "a-directory": lambda path: (path.unlink(), path.mkdir()),
    "newer": edited("PRAGMA user_version = 999"),
}


def test_damaged_runs_are_told_listed_and_left_alone_beside_a_whole_one(bench: Bench, ended_run: RunFolder):
    def told(name: str, damage: Callable[[Path], object]) -> None:
        shutil.copytree(ended_run.path, f"{bench.runs}/{name}")
        path = Path(bench.runs, name, "journal.sqlite")
        damage(path)
        before = path.read_bytes() if path.is_file() else b""
        code = ExitCode.JOURNAL_NEWER if name == "newer" else ExitCode.JOURNAL_UNUSABLE
        for word in ("results", "resume"):
            fails(code, word, name, "--runs", bench.runs, names=(str(path),))
        assert (path.read_bytes() if path.is_file() else b"") == before

    each({name: (name, damage) for name, damage in DAMAGES.items()}, told)
    for word in ("runs", "cleanup"):
        done = command(word, "--runs", bench.runs)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(name in done.stdout for name in DAMAGES)
        assert_plain(done.stdout)


def test_a_dead_run_is_told_from_one_that_never_began(bench: Bench):
    folder = new_run(TINY_PLAN, bench.device, bench.runs)
    fails(ExitCode.RUN_OVER, "attach", "--runs", bench.runs)
    assert "never started" in command("runs", "--runs", bench.runs).stdout
    tell(folder, BEGUN, finished=False)
    fails(ExitCode.ENGINE_DIED, "attach", "--runs", bench.runs)
    assert "engine died" in command("runs", "--runs", bench.runs).stdout
    assert "the engine died" in command("cleanup", "--runs", bench.runs).stdout
    wait_for(folder, lambda state: state.status is RunStatus.INTERRUPTED)
