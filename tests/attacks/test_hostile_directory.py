"""Every command, started where somebody else put modules and programs, with variables that lead Python there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.cli.app import COMMANDS
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice
from tests.tui.on_a_pty import read_until, terminal
from tests.unit.house.source import CHECKOUT

INSTALLED = Path(sys.executable).with_name("fsconsole")
"""The program that an operator types; `./bootstrap` installs it."""
FOREIGN = (
    "fsconsole",
    "msgspec",
    "textual",
    "typer",
    "rich",
    "pyudev",
    "psutil",
    "tomli",
    "tomli_w",
    "click",
    "pydantic",
)
PROGRAM_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
PLAN = """
schema = 1
title = "each kind of child"
repeats = 1
order = "as-listed"
raw = true
equalise = "none"
filesystem = [{ type = "ext4" }]
age = { fill = 0.1, cycles = 1 }
after = { delete = "rm" }

[[workload]]
name = "built-in"
kind = "create"
threads = 2
file_size = "64KiB"

[[workload]]
name = "program"
kind = "command"
argv = ["true"]
"""


@dataclass(frozen=True, slots=True)
class Trap:
    """A directory whose modules and programs write their names into a file when they are started."""

    directory: Path
    marker: Path
    environment: dict[str, str]

    def started(self) -> str:
        return self.marker.read_text() if self.marker.exists() else ""

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the directory; it must not crash."""
        done = subprocess.run(
            [INSTALLED, *words], check=False, capture_output=True, timeout=300, stdin=subprocess.DEVNULL,
            text=True, cwd=self.directory, env=self.environment,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        assert "Fatal Python error" not in done.stderr, done.stderr
        assert not self.started(), f"{words} started {self.started()}"
        return done

    def succeed(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


def lay_modules(directory: Path, marker: Path) -> None:
    """Put a module of every name that Python or fsconsole imports into a directory, half of them as packages."""
    directory.mkdir(parents=True, exist_ok=True)
    # Before it can decode text Python has no open().
    text = f"import posix\nposix.write(posix.open({str(marker)!r}, 0o2101, 0o600), f'module {{__name__}} '.encode())\n"
    for name in sorted({*sys.stdlib_module_names, *FOREIGN, "sitecustomize", "usercustomize"}):
        (directory / f"{name}.py").write_text(text)
    for name in ("fsconsole", "encodings", "textual", "ctypes", "sqlite3", "msgspec"):
        (directory / f"{name}.py").unlink()
        (directory / name).mkdir()
        (directory / name / "__init__.py").write_text(text)
        (directory / name / "__main__.py").write_text(text)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    directory, marker = tmp_path / "hostile", tmp_path / "started"
    lay_modules(directory, marker)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for place in ("user", ".local", "venv"):
        lay_modules(directory / f"{place}/lib/{version}/site-packages", marker)
        (directory / f"{place}/lib/{version}/site-packages/trap.pth").write_text("import fsconsole\n")
    lay_modules(directory / f"home/lib/{version}", marker)
    (directory / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "program $0 $*" >>{marker}\n')
    program.chmod(0o755)
    (directory / "venv/bin").mkdir()
    (directory / "venv/bin/python").symlink_to(program)
    names = {name for place in PROGRAM_DIRECTORIES if os.path.isdir(place) for name in os.listdir(place)}
    for name in (names | {"gcc", "ld", "python", "python3", "pager", "editor"}) - {
        path.name for path in directory.iterdir()
    }:
        (directory / name).symlink_to(program)
    environment = {
        **os.environ,
        "PATH": f".::{os.environ['PATH']}:hostile:..",
        "HOME": str(directory),
        "PYTHONPATH": str(directory),
        "PYTHONHOME": str(directory / "home"),
        "PYTHONUSERBASE": str(directory / "user"),
        "PYTHONSTARTUP": str(directory / "site.py"),
        "PYTHONINSPECT": "1",
        "PYTHONBREAKPOINT": "site.main",
        "PYTHONWARNINGS": "error::fsconsole.Trap",
        "PYTHONPLATLIBDIR": "home",
        "PYTHONEXECUTABLE": str(directory / "venv/bin/python"),
        "__PYVENV_LAUNCHER__": str(directory / "venv/bin/python"),
        "ENV": str(program),
        "BASH_ENV": str(program),
    }
    for name in ("PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "SHELL"):
        environment[name] = str(program)
    return Trap(directory, marker, environment)


def test_commands_start_nothing_of_hostile_directory(
    trap: Trap, scratch_folder: Path, loop_device: MakeLoopDevice
) -> None:
    place = scratch_folder.parent
    blank, runs = loop_device(64 * MIB), ("--runs", str(place / "runs"))
    plan, kit, packed = place / "plan.toml", str(place / "kit"), str(place / "run.fsrun")
    plan.write_text(PLAN)
    for words in (
        ("devices", "--json"),
        ("prove", blank),
        ("readtest", blank, "--seconds", "0.1"),
        ("gauges", "--count", "1", "--json"),
    ):
        trap.succeed(*words)
    for words in (
        ("catalog", "ext4", "--probe"),
        ("doctor",),
        ("schema",),
        ("completion", "bash"),
        ("--version", "-v"),
    ):
        trap.run(*words)
    made = trap.succeed("scratch", "create", "--size", "320MiB", "--dir", str(scratch_folder), "--json")
    device = json.loads(made)["device"]
    trap.succeed("scratch", "list", "--dir", str(scratch_folder))
    try:
        for words in (("plan", str(plan), "-d", device), ("run", str(plan), "-d", device)):
            trap.succeed(*words, *runs)
        for words in (
            ("quick", "ext4", "-d", device, "--plan"),
            ("resume", "--show"),
            ("attach", "latest"),
            ("cleanup",),
        ):
            trap.run(*words, *runs)
    finally:
        trap.run("scratch", "remove", device, "--yes", "--dir", str(scratch_folder))
    for words in (("runs",), ("show", "latest", "1"), ("results", "latest"), ("export", "latest", packed)):
        trap.succeed(*words, *runs)
    for words in (("advise",), ("compare", "latest", "latest")):
        trap.run(*words, *runs)
    trap.succeed("apply-kit", "latest", "1", "--for", blank, kit, *runs)
    trap.run("verify-kit", kit)
    trap.succeed("import", packed, "--runs", str(place / "imported"))
    trap.run("demo", "--dir", str(scratch_folder), "--size", "400MiB", "--detach", *runs)
    trap.run("stop", "--now", *runs)
    for words in (("tour",), runs):
        with terminal(
            {**trap.environment, "TERM": "xterm"}, command=("env", "-C", trap.directory, INSTALLED, *words)
        ) as screen:
            read_until(screen, b"Quit")
        assert not trap.started(), f"{words} started {trap.started()}"
    text = Path(__file__).read_text()
    assert not [name for name, _, _ in COMMANDS if f'("{name}"' not in text]


def test_bootstrap_starts_nothing_of_hostile_directory(trap: Trap) -> None:
    done = subprocess.run(
        [CHECKOUT / "bootstrap", "--version"], check=False, capture_output=True, text=True, cwd=trap.directory,
        env=trap.environment,
    )  # fmt: skip
    assert (done.returncode, trap.started()) == (0, ""), done.stderr
