"""Who may load whom, by the contracts and by what really gets loaded."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import fsconsole
from tests.unit.house.source import CHECKOUT

SCREENS = ("textual", "rich", "typer")
GROUND_FLOOR = ("fsconsole.errors", "fsconsole.units", "fsconsole.text", "fsconsole.model")
ROOMS = (
    *GROUND_FLOOR, "fsconsole.system", "fsconsole.catalog", "fsconsole.devices", "fsconsole.telemetry",
    "fsconsole.workloads", "fsconsole.inspect", "fsconsole.journal", "fsconsole.plan", "fsconsole.preflight",
    "fsconsole.engine", "fsconsole.client", "fsconsole.results", "fsconsole.show",
)  # fmt: skip
STARTS_THE_CONSOLE = ("fsconsole.cli.console",)

LOADER = """
import importlib, sys
unwanted = sys.argv[1].split(",")
for name in sys.argv[2:]:
    importlib.import_module(name)
    for loaded in unwanted:
        if loaded in sys.modules:
            sys.exit(f"{name} loads {loaded}")
"""


def all_modules() -> list[str]:
    return [module.name for module in pkgutil.walk_packages(fsconsole.__path__, "fsconsole.")]


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def loading(modules: list[str], *unwanted: str) -> str:
    """Import modules one by one in a fresh process and return who was first to load what is unwanted."""
    argv = [sys.executable, "-c", LOADER, ",".join(unwanted), *modules]
    done = subprocess.run(argv, cwd=CHECKOUT, check=False, capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2]


def test_the_contracts_between_rooms_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=CHECKOUT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_console_loads_textual():
    others = [m for m in all_modules() if not is_within(m, ("fsconsole.tui", *STARTS_THE_CONSOLE))]
    assert loading(others, "textual") == ""


def test_no_room_below_the_command_line_loads_a_screen_library():
    rooms = [module for module in all_modules() if is_within(module, ROOMS)]
    assert [room for room in ROOMS if not any(is_within(module, (room,)) for module in rooms)] == []
    assert loading(rooms, *SCREENS, "pydantic") == ""


def test_the_model_loads_no_other_room():
    model = [module for module in all_modules() if is_within(module, GROUND_FLOOR)]
    others = [room for room in ROOMS if room not in GROUND_FLOOR]
    assert loading(model, *others, "sqlite3", "subprocess", "psutil", "pyudev") == ""


def test_a_forbidden_load_would_be_seen():
    assert loading(["fsconsole.cli.run"], "typer") == "fsconsole.cli.run loads typer"
