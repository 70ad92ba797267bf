"""Starting the console: what the terminal can do is found out before anything is painted."""

from __future__ import annotations

import gc
import os
import sys

from fsconsole.client.children import RealChildren
from fsconsole.errors import ConsoleFailed, NoTerminal
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import Session
from fsconsole.tui.terminal import encoding_of, is_screen, terminal_of


def run_console(runs_dir: str, *, ascii_only: bool = False, slow_link: bool = False) -> None:
    """Show the console until the operator leaves. Raises NoTerminal, DumbTerminal, ConsoleFailed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminal
    encoding = encoding_of(os.environ, sys.stdout.encoding or "ascii", is_utf8_mode=bool(sys.flags.utf8_mode))
    terminal = terminal_of(os.environ, encoding, ascii_only=ascii_only, slow_link=slow_link)
    if is_screen(os.environ.get("TERM", "")):
        # Textual would send 24-bit colours, which GNU screen 4 takes for other things.
        os.environ.pop("COLORTERM", None)
    # What is loaded by now stays to the end: whoever presses a key need not wait until Python has looked through it again.
    gc.freeze()
    session = Session(terminal, RealChildren(), runs_dir, is_root=os.geteuid() == 0)
    app = ConsoleApp(session)
    app.run()
    if app.return_code:
        # Textual has shown what it was.
        raise ConsoleFailed
