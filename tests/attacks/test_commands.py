"""Commands that mean harm, as loads of whole runs: what they reach, leave running, fill, print, and how they are ended."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import socket
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress

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
from tests.loop.test_confinement import (
    FORBIDDEN,
    NEVER,
    OUTSIDE,
    OWN_PID,
    Cage,
    late_mount,
    listening,
    outside,
    shared,
    sockets,
)

__all__ = ["shared"]

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


@pytest.fixture
def listeners(bait: pathlib.Path) -> Iterator[dict[str, str]]:
    """Sockets of the machine, in a source, where services have theirs, and without a place; nobody may come to one."""
    name = f"fsconsole-test-{OWN_PID}"
    places = {place: f"{place}/{name}" for place in ("/run", "/home", "/tmp")}
    found = {"a source": f"{bait}/socket", **places, "no place": f"\0{name}"}
    with ExitStack() as stack:
        servers = []
        for address in found.values():
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                own = f"{address}-{kind.name}"
                server = stack.enter_context(listening(own, kind))
                servers.append(server)
                if not own.startswith("\0"):
                    stack.callback(os.unlink, own)
        yield found
        for server in servers:
            assert select.select([server], [], [], 0)[0] == [], server.getsockname()


Attempts = dict[str, tuple[list[object], set[str]]]


def harm(bait: pathlib.Path, tmp_path: pathlib.Path, loop: str, listeners: dict[str, str], *, sees: bool) -> Attempts:
    """Return attempts, with the errors that each may meet by a command that sees a source, or none."""
    (tmp_path / f"cage-{sees}").mkdir()
    cage = Cage(tmp_path / f"cage-{sees}")
    # Of another tree: what lies in that one, and a neighbour in the cage's own /tmp; those of its own are tried below.
    others = ("a node that lies there", "a file beside the tree", "a file through a link out of the tree")
    found = {name: ([*words], errors) for name, (words, errors) in outside(cage, loop).items() if name not in others}
    moved = {
        name: ([TREE + str(word).removeprefix(str(cage.tree)) if str(word).startswith(str(cage.tree)) else word for word in words], errors)
        for name, (words, errors) in found.items()
    }  # fmt: skip
    file = str(bait / "file")
    # Without a source it is not there: neither to be read, nor to be changed. /tmp is the cage's own.
    read_only, mounting = ({"EROFS"}, {"EPERM", "EINVAL"}) if sees else ({"ENOENT"}, {"ENOENT", "EPERM", "EINVAL"})
    no_socket = {"EAFNOSUPPORT"} if sees else {"ENOENT", "ECONNREFUSED"}
    own: Attempts = {
        "a new file in a source": (["create", f"{bait}/{NEVER}"], read_only),
        "a source": (["open_for_writing", file], read_only),
        "the mode of a source": (["change_mode", file], read_only),
        "a source's owner": (["own_file", file], read_only),
        "the removal of a source": (["remove", file], read_only),
        "a source, mounted anew": (["remount_writable", str(bait)], mounting),
        "a source by its number": (["open_by_number", file], {"EPERM"} if sees else {"ENOENT"}),
        **{name: ([*words], errors) for name, (words, errors) in sockets().items()},
        "a socket of its own": (["make_socket", socket.AF_UNIX], {"EAFNOSUPPORT"} if sees else {"succeeded"}),
        **{
            f"a socket in {place}": (["connect", f"{address}-SOCK_STREAM"], no_socket)
            for place, address in listeners.items()
        },
        **{
            f"a socket in {place}, by a pair of {kind.name}": (["send_to", f"{address}-{kind.name}", kind], errors)
            for place, address in listeners.items()
            for kind, errors in ((socket.SOCK_STREAM, {"EISCONN"}), (socket.SOCK_DGRAM, no_socket))
        },
        "another user": (["become_another", 1000], {"EPERM"}),
        "who started the engine": (["trace", OWN_PID], {"ESRCH", "EPERM"}),
        "any process's root": (["through_any_process", "create", f"/etc/{NEVER}"], FORBIDDEN),
        "a device by any process's root": (["through_any_process", "open_for_reading", loop], {"ENOENT"}),
        "more of /tmp than is its own": (["fill", "/tmp", 32 * MIB], {"ENOSPC"}),
        "more of /dev/shm": (["fill", "/dev/shm", 32 * MIB], {"ENOSPC"}),
        "a node in its own directory": (["make_node", "node", os.stat(loop).st_rdev], {"EPERM"}),
        "fsconsole's own files": (["open_for_reading", "/var/lib/fsconsole/seal.key"], {"ENOENT"}),
        "beside the tree": (["create", f"{TREE}-beside"], {"EROFS"}),
        "its own directory": (["own_file", "file"], {"succeeded"}),
    }
    return {**moved, **own}  # type: ignore[dict-item]


IN_WORDS = f"import base64, zlib; exec(zlib.decompress(base64.b85decode({base64.b85encode(zlib.compress(CAGED.read_bytes(), 9))!r})))"
"""The attempts for a command that sees no file of the test's."""


def test_a_command_reaches_its_tree_and_sources_alone_leaves_nothing_running_and_prints_no_gigabytes(
    target: str, listeners: dict[str, str], tmp_path: pathlib.Path, device: str, shared: pathlib.Path
) -> None:
    bait, late, runs = tmp_path / "bait", shared / "late", str(tmp_path / "runs")
    late.mkdir()
    tried: dict[str, Attempts] = {
        "waits": {
            "a file in what is mounted later": (["create", f"{late}/{NEVER}"], {"EROFS"}),
            "what is mounted later, anew": (["remount_writable", str(late)], {"EPERM", "EINVAL"}),
        },
        "seeing": harm(bait, tmp_path, device, listeners, sees=True),
        "blind": harm(bait, tmp_path, device, listeners, sees=False),
    }
    words = {name: [json.dumps(words) for words, _ in attempts.values()] for name, attempts in tried.items()}
    waiting = f': {MARK}; for i in $(seq 3000); do test -e {bait}/go && break; sleep 0.02; done; exec "$@"'
    script = str(bait / CAGED.name)
    # Sessions of their own, deaf to signals, with a file of the tree open: an unmount would find it busy.
    left = f"(trap '' HUP TERM; exec setsid sh -c ': {MARK}; while :; do date >&9; done') 9> open-file & "
    loads = (
        a_command("sh", "-c", waiting, "sh", sys.executable, "-I", script, *words["waits"], name="waits", sources=(str(bait), str(shared))),
        a_command(sys.executable, "-I", script, *words["seeing"], name="seeing", sources=(str(bait),)),
        a_command(sys.executable, "-I", "-c", IN_WORDS, *words["blind"], name="blind"),
        a_command(
            "sh", "-c", left * 5 + "env | cut -d= -f1 | sort | xargs; pwd; echo $HOME; sleep 0.2", name="daemons"
        ),
        a_command("sh", "-c", "head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2", name="noise"),
    )  # fmt: skip
    plan = written(tmp_path, HEAD + "repeats = 1\n" + "".join(loads))
    try:
        succeed("run", plan, "--device", target, "--runs", runs, "--detach")
        folder = new_folder(runs)
        wait_until(lambda: bool(processes_with(MARK)), "the command runs")
        with late_mount(late):
            (bait / "go").touch()
            wait_for_end(folder)
            assert list(late.iterdir()) == []
        (bait / "go").unlink()
        assert list(late.iterdir()) == []
        said = [out.decode().split() for out in outputs(folder) if re.fullmatch(rb"(E[A-Z]+\n|succeeded\n)+", out)]

        def refused(line: str, errors: set[str]) -> None:
            assert line in errors

        for lines, (load, attempts) in zip(said, tried.items(), strict=True):
            met = zip(lines, attempts.items(), strict=True)
            each({f"{load}: {name}": (line, errors) for line, (name, (_, errors)) in met}, refused)
        assert (bait / "file").read_bytes() == b"dear"
        assert {path.name for path in bait.iterdir() if not path.is_socket()} == {"caged.py", "file"}
        assert not [place for place in (*OUTSIDE, "/etc") if pathlib.Path(place, NEVER).exists()]
    finally:
        kill_engines(runs)
        for place in (*OUTSIDE, "/etc"):
            with suppress(OSError):
                pathlib.Path(place, NEVER).unlink()
    assert_nothing_left(target, folder)
    assert processes_with(MARK) == []
    (cell,) = read_state(folder).cells
    assert cell.status is CellStatus.DONE, cell.reason
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
    argv = ("sh", "-c", wait, "sh", sys.executable, "-I", str(bait / CAGED.name), *map(json.dumps, attempts))
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


@pytest.mark.soak
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
