"""Start of the console."""

from __future__ import annotations

from fsconsole.model import DEFAULT_RUNS_DIR


def show_console(runs_dir: str, *, ascii_only: bool, slow_link: bool) -> None:
    """Show the console over a directory of runs; empty: where they are by default. Raises DumbTerminal."""
    from fsconsole.tui.app import run_console

    run_console(runs_dir or DEFAULT_RUNS_DIR, ascii_only=ascii_only, slow_link=slow_link)
