"""The console, by the command line's own options."""

from __future__ import annotations


def show_console(runs_dir: str, *, ascii_only: bool, slow_link: bool) -> None:
    """Show the console over the runs of this machine. Raises DumbTerminal."""
    from fsconsole.tui.start import run_console

    run_console(runs_dir, ascii_only=ascii_only, slow_link=slow_link)
