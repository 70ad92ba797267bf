"""Commands that mean harm, as loads of whole runs: what they reach, leave running, fill, print, and how they are ended."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice, Mount, run, wait_until
from tests.loop.commands import each
from tests.loop.runs import (
    assert_nothing_left,
    carry_out,
    fsconsole,
    is_in,
    kill_engines,
    new_folder,
    processes_with,
    succeed,
    wait_for,
    wait_for_end,
    written,
)
from tests.loop.test_confinement import NEVER, OUTSIDE, OWN_PID, Cage, listening, outside

CAGED = pathlib.Path(__file__).parent.parent / "loop" / "caged.py"
TREE = "/run/fsconsole/mnt/tree"
HEAD = """
schema = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4" }]
after = { check = false, extents = false }
"""
MARK = f"fsconsole-test-left-{OWN_PID}"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(32 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def a_command(*argv: str, name: str = "harm", sources: tuple[str, ...] = ()) -> str:
    more = f"sources = {json.dumps(sources)}\n" if sources else ""
    return f'[[workload]]\nname = "{name}"\nkind = "command"\nargv = {json.dumps(argv)}\n{more}'


def outputs(folder: RunFolder) -> list[bytes]:
    return [path.read_bytes() for path in sorted(pathlib.Path(folder.raw).iterdir())]


@pytest.fixture
def bait(tmp_path: pathlib.Path) -> pathlib.Path:
    """A source with a file, and a socket in which somebody listens."""
    place = tmp_path / "bait"
    place.mkdir()
    (place / "file").write_bytes(b"dear")
    shutil.copy(CAGED, place)
    return place


def harm(bait: pathlib.Path, tmp_path: pathlib.Path, loop: str) -> dict[str, tuple[list[object], set[str]]]:
    """Return attempts, with the errors that each may meet."""
    (tmp_path / "cage").mkdir()
    cage = Cage(tmp_path / "cage")
    # Of another tree: what lies in that one, and a neighbour in the cage's own /tmp; those of its own are tried below.
    others = ("a node that lies there", "a file beside the tree", "a file through a link out of the tree")
    found = {name: ([*words], errors) for name, (words, errors) in outside(cage, loop).items() if name not in others}
    moved = {
        name: ([TREE + str(word).removeprefix(str(cage.tree)) if str(word).startswith(str(cage.tree)) else word for word in words], errors)
        for name, (words, errors) in found.items()
    }  # fmt: skip
    read_only, file = {"EROFS"}, str(bait / "file")
    own = {
        "a new file in a source": (["create", f"{bait}/{NEVER}"], read_only),
        "a source": (["open_for_writing", file], read_only),
        "the mode of a source": (["change_mode", file], read_only),
        "a source's owner": (["own_file", file], read_only),
        "the removal of a source": (["remove", file], read_only),
        "a source, mounted anew": (["remount_writable", str(bait)], {"EPERM", "EINVAL"}),
        "a socket in a source": (["connect", f"{bait}/socket"], {"EAFNOSUPPORT"}),
        "a socket in a source, by a pair": (["send_to", f"{bait}/socket"], {"EAFNOSUPPORT", "EISCONN"}),
        "a socket of its own": (["make_socket", 1], {"EAFNOSUPPORT"}),
        "another user": (["become_another", 1000], {"EPERM"}),
        "who started the engine": (["trace", OWN_PID], {"ESRCH", "EPERM"}),
        "more of /tmp than is its own": (["fill", "/tmp", 32 * MIB], {"ENOSPC"}),
        "more of /dev/shm": (["fill", "/dev/shm", 32 * MIB], {"ENOSPC"}),
        "a node in its own directory": (["make_node", "node", os.stat(loop).st_rdev], {"EPERM"}),
        "fsconsole's own files": (["open_for_reading", "/var/lib/fsconsole/seal.key"], {"ENOENT"}),
        "beside the tree": (["create", f"{TREE}-beside"], {"EROFS"}),
        "its own directory": (["own_file", "file"], {"succeeded"}),
    }
    return {**moved, **own}  # type: ignore[dict-item]


def test_a_command_reaches_its_tree_and_sources_alone_leaves_nothing_running_and_prints_no_gigabytes(
    target: str, bait: pathlib.Path, tmp_path: pathlib.Path, device: str
) -> None:
    tried = harm(bait, tmp_path, device)
    argv = (sys.executable, "-I", str(bait / CAGED.name), json.dumps([words for words, _ in tried.values()]))
    # Sessions of their own, deaf to signals, with a file of the tree open: an unmount would find it busy.
    left = f"(trap '' HUP TERM; exec setsid sh -c ': {MARK}; while :; do date >&9; done') 9> open-file & "
    loads = (
        a_command(*argv, sources=(str(bait),)),
        a_command(
            "sh", "-c", left * 5 + "env | cut -d= -f1 | sort | xargs; pwd; echo $HOME; sleep 0.2", name="daemons"
        ),
        a_command("sh", "-c", "head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2", name="noise"),
    )
    try:
        with listening(str(bait / "socket")):
            done, folder = carry_out(HEAD + "repeats = 1\n" + "".join(loads), target, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = next(out for out in outputs(folder) if b"succeeded" in out).decode().split()
        assert len(lines) == len(tried)

        def refused(line: str, errors: set[str]) -> None:
            assert line in errors

        each({name: (line, errors) for line, (name, (_, errors)) in zip(lines, tried.items(), strict=True)}, refused)
        assert (bait / "file").read_bytes() == b"dear"
        assert sorted(path.name for path in bait.iterdir()) == ["caged.py", "file", "socket"]
        assert not [place for place in (*OUTSIDE, "/etc") if pathlib.Path(place, NEVER).exists()]
    finally:
        for place in (*OUTSIDE, "/etc"):
            with suppress(OSError):
                pathlib.Path(place, NEVER).unlink()
    assert processes_with(MARK) == []
    (cell,) = read_state(folder).cells
    assert cell.status is CellStatus.DONE
    own = f"BLKID_FILE HOME LANG LC_ALL PATH PWD TMPDIR\n{TREE}/daemons\n{TREE}/daemons\n"
    assert any(out.decode(errors="replace").startswith(own) for out in outputs(folder))
    assert 32 * MIB <= max(len(out) for out in outputs(folder)) < 33 * MIB


def test_a_command_in_a_directory_opens_no_node_that_lies_in_its_tree_and_makes_nothing_beside_it(
    victim: str, loop_device: MakeLoopDevice, mounted: Mount, bait: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Of a directory the mount is the operator's, and may have devices; the nodes are put there from outside."""
    disk = loop_device(64 * MIB)
    run("mkfs.ext4", "-q", disk)
    place, runs = mounted(disk, options="nosuid"), str(tmp_path / "runs")
    attempts = [["open_for_writing", "../node"], ["open_for_reading", "../node"], ["make_node", "own", os.stat(victim).st_rdev],
                ["create", "../../beside"], ["create", "../out"], ["create", "../../../beside"]]  # fmt: skip
    wait = 'touch there; until test -e go; do sleep 0.02; done; exec "$@"'
    argv = ("sh", "-c", wait, "sh", sys.executable, "-I", str(bait / CAGED.name), json.dumps(attempts))
    plan = "schema = 1\nrepeats = 1\n" + a_command(*argv, sources=(str(bait),))
    succeed("run", written(tmp_path, plan), "-D", str(place), "--runs", runs, "--detach")
    try:
        folder = new_folder(runs)
        wait_until(lambda: bool([*place.glob("fsconsole-*/tree/*/there")]), "the command runs")
        (there,) = place.glob("fsconsole-*/tree/*/there")
        tree = there.parents[1]
        os.mknod(tree / "node", stat.S_IFBLK | 0o600, os.stat(victim).st_rdev)
        os.close(os.open(tree / "node", os.O_RDONLY))
        (tree / "out").symlink_to(tree.parent / "beside")
        (there.parent / "go").touch()
        wait_for_end(folder)
    finally:
        kill_engines(runs)
    (cell,) = read_state(folder).cells
    assert cell.status is CellStatus.DONE, cell.reason
    (said,) = [out.split() for out in outputs(folder) if b"EACCES" in out]
    # All below /tmp, of which the command has its own: what lies beside the run's tree in truth would keep it from being removed.
    assert said == [b"EACCES", b"EACCES", b"EPERM", *[b"succeeded"] * 3]
    assert [path.name for path in place.iterdir()] == ["lost+found"]


def test_a_command_that_fills_the_filesystem_costs_its_own_cell_alone(target: str, tmp_path: pathlib.Path) -> None:
    fill = "test -e ../full && exit 3; cat /dev/zero > full; echo as full as can be >&2; exit 7"
    done, folder = carry_out(HEAD + "repeats = 2\n" + a_command("sh", "-c", fill), target, tmp_path)
    assert done.returncode != 0
    cells = read_state(folder).cells
    assert [cell.status for cell in cells] == [CellStatus.FAILED] * 2
    for words in ("exit code 7", "as full as can be", f"the filesystem on {target} is full: "):
        assert all(words in cell.reason for cell in cells), words


def test_a_command_that_never_ends_is_ended_by_skip(target: str, tmp_path: pathlib.Path) -> None:
    runs = str(tmp_path / "runs")
    plan = HEAD + "repeats = 2\n" + a_command("sh", "-c", f"trap '' TERM; : {MARK}; sleep 1000")
    started = fsconsole("run", written(tmp_path, plan), "--device", target, "--runs", runs, "--detach")
    assert started.returncode == 0, shlex.join(started.args) + started.stderr
    folder = new_folder(runs)
    for cell, verb in ((0, "--skip"), (1, "--now")):
        wait_for(folder, is_in(cell, StepKind.WORKLOAD))
        wait_until(lambda: bool(processes_with(MARK)), "the command runs")
        succeed("stop", verb, "--runs", runs)
        wait_until(lambda: processes_with(MARK) == [], "the command is gone", 10)
    assert_nothing_left(target, folder)
    assert [cell.status for cell in read_state(folder).cells] == [CellStatus.SKIPPED, CellStatus.STOPPED]
