"""Labels, names and titles that hold escape sequences and markup: printed as data, by every command, everywhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.text import MIB
from tests.conftest import run
from tests.loop.commands import Bench, assert_plain, command, fails
from tests.loop.gate_cases import loop_over, sparse
from tests.loop.runs import FSCONSOLE

ACTING = "[/x]\x1b]0;\u202e"
"""Closing markup that nobody opened, the beginning of a window title, and a turn to the left."""
AS_DATA = r"[/x]\x1b]0;\u202e"
IN_JSON = r"[/x]\u001b]0;\u202e"
"""As TOML has it, too."""
LABEL, LABEL_AS_DATA = "[/x]\x1b]0;\ny", r"[/x]\x1b]0;\ny"
"""At most 16 bytes (man 8 mkfs.ext4)."""
PLAN = f"""
schema = 1
repeats = 1
title = "title {IN_JSON}"
variant = [{{ type = "ext4", label = "variant {IN_JSON}" }}]
workload = [{{ name = "load {IN_JSON}", kind = "create", threads = 2, file_size = "1MiB" }}]
"""
CURSOR = re.compile(rb"\x1b\[(?:\d*[ABGK]|\?25[lh]|[01;]*m)")
"""What the live view sends by itself: cursor up and back, erased lines, cursor hidden and shown, bold."""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A device with an acting label, over a file with an acting name in a directory with one."""
    directory = tmp_path / f"dir {ACTING}"
    directory.mkdir(parents=True)
    with loop_over(sparse(directory / "file \x1b]0;", 32 * MIB)) as device:
        run("mkfs.ext4", "-q", "-L", LABEL, device)
        made = Bench(directory, device)
        yield made
        made.assert_given_back()


def prints(*words: str, data: tuple[str, ...]) -> None:
    """Run a command that must succeed, and prove that it prints these texts as data."""
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert_plain(done.stdout + done.stderr)
    for text in data:
        assert text in done.stdout


def test_a_label_is_data_in_plan_devices_and_errors(bench: Bench):
    words = ("--device", bench.device, "--runs", bench.runs)
    prints("devices", bench.device, data=(LABEL_AS_DATA,))
    prints("devices", bench.device, "--json", data=(r"[/x]\u001b]0;\ny",))
    prints("plan", bench.plan(PLAN), *words, data=(LABEL_AS_DATA, f"title {AS_DATA}", f"load {AS_DATA}"))
    prints("plan", bench.plan(PLAN), *words, "--json", data=(f"load {IN_JSON}", r"[/x]\u001b]0;"))
    shown = f"ext4 '{LABEL_AS_DATA}'"
    fails(ExitCode.CONSENT_MISSING, "run", bench.plan(PLAN), *words, names=(shown,))


def test_names_of_files_are_data_in_errors(bench: Bench):
    plan = bench.plan("schema = ", name="plan [b]\x1b]0;\n.toml")
    fails(ExitCode.PLAN_NOT_TOML, "plan", plan, names=(r"plan [b]\x1b]0;\n.toml",))
    fails(ExitCode.RUN_MISSING, "results", ACTING, "--runs", bench.runs, names=(f"dir {AS_DATA}/runs",))
    fails(ExitCode.DEVICE_MISSING, "devices", f"/dev/{ACTING}", names=(f"/dev/{AS_DATA}",))


RESULTS = {
    (): f"title {AS_DATA}",
    ("--format", "json"): f"variant {IN_JSON}",
    ("--format", "csv"): f"variant {AS_DATA}",
    ("--format", "csv", "--summary"): f"variant {AS_DATA}",
    ("--format", "md"): r"title \[/x\]\\x1b\]0;\\u202e",
}


def test_titles_and_names_are_data_in_a_run_and_in_all_that_tells_of_it(bench: Bench):
    plan = bench.plan(PLAN)
    words = ("run", plan, "--device", bench.device, "--runs", bench.runs)
    code, sent = on_a_terminal((*words, "--consent", bench.code(plan)))
    assert code == 0, sent
    # The terminal is sent no sequence but the live view's own.
    left = CURSOR.sub(b"", sent).decode()
    assert [c for c in left if not (c.isprintable() or c in "\r\n")] == []
    assert f"title {AS_DATA}" in left
    assert f"variant {AS_DATA}" in left
    assert "Traceback" not in left
    prints(*words, "--consent", bench.code(plan), data=(f"variant {AS_DATA}", f"title {AS_DATA}"))
    prints(*words, "--consent", bench.code(plan), "--json", data=(IN_JSON,))
    for how, shown in RESULTS.items():
        prints("results", "--runs", bench.runs, *how, data=(shown,))
    prints("runs", "--runs", bench.runs, data=(f"title {AS_DATA}",))
    prints("runs", "--runs", bench.runs, "--json", data=(f"title {IN_JSON}",))


def on_a_terminal(words: tuple[str, ...]) -> tuple[int, bytes]:
    """Run a command on a terminal of its own; return its exit code and all that it sent."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "LINES": "50"}
    with subprocess.Popen([*FSCONSOLE, *words], stdin=inner, stdout=inner, stderr=inner, env=environment) as child:
        os.close(inner)
        sent = b"".join(chunks_of(outer))
        os.close(outer)
    return child.returncode, sent


def chunks_of(terminal: int) -> Iterator[bytes]:
    """Yield what arrives until nobody has the other side open, which reads as EIO (man 4 pts)."""
    while True:
        try:
            yield os.read(terminal, 65536)
        except OSError:
            return
