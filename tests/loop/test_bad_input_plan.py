"""Plan files that can't be carried out, tools that are missing, and operators who are not root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.state import CellStatus
from tests.loop.commands import AS_NOBODY, Bench, command, fails, hiding, nothing_changes
from tests.loop.runs import TINY_PLAN, new_run

pytestmark = pytest.mark.root

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
    "a key twice": ("schema = 1\nschema = 1\n", ExitCode.PLAN_NOT_TOML, ("line 2",)),
    "not UTF-8": (b'schema = 1\ntitle = "\xff\xfe"\n', ExitCode.PLAN_NOT_TOML, ("UTF-8", "line 2")),
    "NUL bytes": (b"\0" * 4096, ExitCode.PLAN_NOT_TOML, ("line 1, column 1",)),
    "a terminal's commands": ('t = "\x1b]0;"', ExitCode.PLAN_NOT_TOML, ("line 1, column",)),
    "empty": ("", ExitCode.PLAN_BAD_VALUE, ("schema",)),
    "another schema": (changed("schema = 1", "schema = 2"), ExitCode.PLAN_BAD_VALUE, ("schema",)),
    "an unknown key": (changed("threads", "treads"), ExitCode.PLAN_UNKNOWN_KEY, ("workload[0].treads", "first: threads")),
    "an unknown key above": (changed("title", "tilte"), ExitCode.PLAN_UNKNOWN_KEY, ("tilte", "first: title")),
    "a key that acts": (changed("title", r'"[/x]\u001b]0;"'), ExitCode.PLAN_UNKNOWN_KEY, (r"[/x]\x1b]0;",)),
    "an unknown filesystem": (changed('"ext4"', '"ext5"'), ExitCode.UNKNOWN_FILESYSTEM, ("'ext5'", "first: ext")),
    "no filesystem": (changed('type = "ext4"', ""), ExitCode.PLAN_BAD_VALUE, ("filesystem[0].type",)),
    "an option that is none": (changed(MOUNT, 'mount = { device = "/dev/sda" }'), ExitCode.PLAN_UNKNOWN_KEY, ("mount.device", "first: ")),
    "a refused value": (changed('"writeback"', '"wirteback"'), ExitCode.OPTION_REFUSED, ("wirteback", "first: writeback")),
    "a refused mount word": (in_words(mount="noatime,suid"), ExitCode.OPTION_REFUSED, ("variant[0].mount", "'suid'")),
    "a mount word of another device": (in_words(mount="journal_path=/dev/sda"), ExitCode.OPTION_REFUSED, ("journal_path",)),
    "a refused mkfs word": (in_words(mkfs="-J device=/dev/sda"), ExitCode.OPTION_REFUSED, ("device=/dev/sda",)),
    "a second device for mkfs": (in_words(mkfs="/dev/sda"), ExitCode.OPTION_REFUSED, ("'/dev/sda'",)),
    "a shell's words": (in_words(mkfs="; rm -rf /"), ExitCode.OPTION_REFUSED, ("';'",)),
    "zero threads": (changed("threads = 4", "threads = 0"), ExitCode.PLAN_BAD_VALUE, ("workload[0].threads = 0",)),
    "threads in words": (changed("threads = 4", 'threads = "four"'), ExitCode.PLAN_BAD_VALUE, ("threads", "number")),
    "blocks above the file": (changed("64KiB", "2MiB"), ExitCode.PLAN_BAD_VALUE, ("block_size", "file_size")),
    "no size": (changed("1MiB", "0"), ExitCode.PLAN_BAD_VALUE, ("file_size",)),
    "a size in words": (changed("1MiB", "1 cow"), ExitCode.PLAN_BAD_VALUE, ("1 cow", "such as")),
    "an unknown load": (changed('"create"', '"creat"'), ExitCode.PLAN_BAD_VALUE, ("kind", "create")),
    "no load": (TINY_PLAN.split("[[workload]]")[0], ExitCode.PLAN_BAD_VALUE, ("workload",)),
    "no repeats": (changed("repeats = 1", "repeats = 0"), ExitCode.PLAN_BAD_VALUE, ("repeats",)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "names"), PLANS.values(), ids=PLANS)
def test_a_plan_file_that_says_nonsense_is_refused(
    bench: Bench, text: str | bytes, code: ExitCode, names: tuple[str, ...]
):
    plan = bench.plan(text)
    with nothing_changes(bench):
        fails(code, *bench.words("run", plan), names=(plan, *names))


NO_FILES = {
    "nothing": "absent.toml",
    "an empty name": "",
    "a directory": "/etc",
    "a device without end": "/dev/zero",
    "a name that acts": "[/x]\x1b]0;\n.toml",
    "a name too long": "x" * 300,
}


@pytest.mark.parametrize("name", NO_FILES.values(), ids=NO_FILES)
def test_a_plan_that_is_no_file_is_refused(bench: Bench, name: str):
    with nothing_changes(bench):
        fails(ExitCode.PLAN_MISSING, *bench.words("run", name), names=("--list",))


def test_a_pipe_is_no_plan_and_nobody_waits_for_it(bench: Bench):
    os.mkfifo(bench.directory / "plan.toml")
    with nothing_changes(bench):
        fails(ExitCode.PLAN_MISSING, *bench.words("run", str(bench.directory / "plan.toml")))


TOOLS = {"mkfs.ext4": "e2fsprogs", "bwrap": "bubblewrap", "wipefs": "util-linux"}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_missing_tool_is_named_with_its_package_before_anything_is_touched(bench: Bench, tool: str):
    words = (*bench.words("run", bench.plan()), "--consent", bench.code(bench.plan()))
    with nothing_changes(bench):
        fails(ExitCode.TOOL_MISSING, *words, under=hiding(tool), names=(f" {tool} ", TOOLS[tool]))


def test_a_filesystem_whose_tool_is_missing_keeps_its_rows_and_the_others_run(bench: Bench):
    plan = bench.directory / "two.toml"
    plan.write_text(TINY_PLAN + '[[filesystem]]\ntype = "btrfs"\n')
    words = (*bench.words("run", str(plan)), "--consent", bench.code(str(plan)))
    done = command(*words, under=hiding("mkfs.btrfs"))
    assert done.returncode == 0, done.stderr
    assert "unavailable: not installed: mkfs.btrfs; package btrfs-progs" in done.stdout


@pytest.mark.parametrize("tool", ["mkfs.ext4", "mount"])
def test_a_tool_that_is_gone_when_the_engine_wants_it_ends_the_run(bench: Bench, tool: str):
    folder = new_run(TINY_PLAN, bench.device, bench.runs)
    words = ("resume", "--runs", bench.runs)
    fails(ExitCode.TOOL_MISSING, *words, under=hiding(tool), names=(f" {tool} ",))
    assert CellStatus.DONE not in {cell.status for cell in read_state(folder).cells}
    bench.assert_given_back()


NEEDS_ROOT = {
    "run": ("run", "demo", "--device", "/dev/loop0"),
    "plan": ("plan", "demo", "--device", "/dev/loop0"),
    "resume": ("resume",),
    "cleanup": ("cleanup",),
    "demo": ("demo", "--dir", "DIR"),
}


@pytest.mark.parametrize("words", NEEDS_ROOT.values(), ids=NEEDS_ROOT)
def test_who_is_not_root_is_told_so(tmp_path: Path, words: tuple[str, ...]):
    words = tuple(str(tmp_path) if word == "DIR" else word for word in words)
    fails(ExitCode.NOT_ROOT, *words, "--runs", str(tmp_path / "runs"), under=AS_NOBODY, names=("sudo",))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["create", "list", "remove"])
def test_scratch_devices_are_for_root(tmp_path: Path, verb: str):
    words = ("scratch", verb, *(("x",) if verb == "remove" else ()), "--dir", str(tmp_path))
    fails(ExitCode.NOT_ROOT, *words, under=AS_NOBODY)
    assert list(tmp_path.iterdir()) == []
