"""Start of the console, and of its tour."""

from __future__ import annotations

import os
import tempfile
from typing import Annotated

import typer

RECORDED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "tour.fsrun")
"""A run of ext3, ext4, xfs and btrfs whose loads take seconds (tests/bench/tour.toml)."""


def show_console(runs_dir: str, *, ascii_only: bool, slow_link: bool) -> None:
    """Show the console over a directory of runs. Raises DumbTerminal."""
    from fsconsole.tui.app import run_console

    run_console(runs_dir, ascii_only=ascii_only, slow_link=slow_link)


def tour(
    *,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Show the console in plain ASCII.")] = False,
    slow_link: Annotated[bool, typer.Option("--slow-link", help="Low-bandwidth mode: ASCII, fewer redraws.")] = False,
) -> None:
    """Show the console on a recorded run of ext3, ext4, xfs and btrfs. Needs no root and touches no disk."""
    from fsconsole.journal.importing import import_run
    from fsconsole.tui.app import run_console

    with tempfile.TemporaryDirectory(prefix="fsconsole-tour-") as runs_dir:
        folder = import_run(RECORDED, runs_dir)
        run_console(runs_dir, ascii_only=ascii_only, slow_link=slow_link, toured=folder)
