"""Start of the console."""

from __future__ import annotations


def show_console(runs_dir: str, *, ascii_only: bool, slow_link: bool) -> None:
    """Show the console over a directory of runs. Raises DumbTerminal."""
    from fsconsole.tui.app import run_console

    run_console(runs_dir, ascii_only=ascii_only, slow_link=slow_link)
