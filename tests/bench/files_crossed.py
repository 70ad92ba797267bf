"""Counts the files of fsconsole that five real calls cross: how far a reader must go to follow one thing.

    sudo .venv/bin/python -m tests.bench.files_crossed [--names]

All modules are loaded before, so that only calls count, not imports. A call is counted where its code lies; code
that children execute is not seen.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import fsconsole
from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.main import main
from fsconsole.devices.consent import consent_code
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import inspect_device
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import NO_DEVICE
from fsconsole.plan.read import read_plan
from fsconsole.system.run import RealExecutor
from tests.bench.scratch_fs import loop_device, room

_HOUSE = os.path.dirname(os.path.realpath(fsconsole.__file__)) + os.sep
_RUNS = Path(__file__).parents[1] / "data" / "runs"
_PLAN = """
schema = 1
repeats = 1
[[filesystem]]
type = "ext4"
mount = { data = ["ordered", "writeback"] }
[[workload]]
name = "one"
kind = "create"
threads = 1
files = 1
file_size = "1MiB"
"""


def crossed(call: Callable[[], object]) -> tuple[set[str], int]:
    """Return the files whose functions a call enters, and how many functions."""
    files: set[str] = set()
    functions: set[tuple[str, int]] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_HOUSE):
            files.add(code.co_filename.removeprefix(_HOUSE))
            functions.add((code.co_filename, code.co_firstlineno))

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # None takes it away (docs.python.org, threading)
    return files, len(functions)


def command(*words: str) -> Callable[[], object]:
    """Return a call of the command line; what it prints is dropped."""

    def call() -> int:
        sys.argv = ["fsconsole", *words]
        with contextlib.redirect_stdout(io.StringIO()):
            return main()

    return call


def expand_options(file: Path) -> Callable[[], object]:
    """Return a call that makes the cells of a plan with one option, which was read before."""
    plan, catalog = read_plan(file), load_catalog()
    return lambda: build_plan(plan, (NO_DEVICE,), catalog, run_id="traced")


def ask_consent(device: str, place: Path) -> Callable[[], object]:
    """Return a call of the gate that ends in a device's consent code."""
    return lambda: consent_code(
        (inspect_device(device, GateContext(RealExecutor(), str(place), load_catalog().marks)),)
    )


def load_all() -> None:
    """Import every module but the console's, which needs a terminal to be of use."""
    for module in pkgutil.walk_packages(fsconsole.__path__, "fsconsole."):
        if not module.name.startswith("fsconsole.tui") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def measure(place: Path, device: str) -> dict[str, tuple[set[str], int]]:
    """Trace the five calls."""
    file = place / "one.toml"
    file.write_text(_PLAN)
    calls = {
        "plan to cells": command("plan", "demo"),
        "sample to gauge": command("gauges", "--device", device, "--count", "1"),
        "device to consent": ask_consent(device, place),
        "option to cells": expand_options(file),
        "journal to report": command("results", "grid", "--runs", str(_RUNS)),
    }
    return {name: crossed(call) for name, call in calls.items()}


def print_table() -> None:
    """Print a line for each call, and the files with --names."""
    load_all()
    names = "--names" in sys.argv
    with room() as place, loop_device(place / "disk", 64 << 20, allocate=False) as device:
        results = measure(place, device)
    print(f"{'what is followed':20} files functions")
    for name, (files, functions) in results.items():
        print(f"{name:20} {len(files):5} {functions:9}")
        if names:
            print("   ", *sorted(files))


if __name__ == "__main__":
    print_table()
