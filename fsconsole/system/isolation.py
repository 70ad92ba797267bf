"""Starts Python programs isolated, and keeps programs of the working directory out of PATH."""

from __future__ import annotations

import os
import sys

_ISOLATED = "-I"
_SYSTEM_DIRECTORIES = ("/usr/sbin", "/sbin")
"""Missing from an ordinary user's PATH, and from root's after a plain su."""
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def python_argv(*words: str) -> tuple[str, ...]:
    """Return the command that starts this interpreter with "-m", a module and its words, or with options and a file.

    Isolated (-I): neither the working directory, PYTHON* variables nor the user's site directory lend it a module.
    """
    return (sys.executable, _ISOLATED, *words)


def module_of(argv: tuple[str, ...]) -> str:
    """Return the module that a command of python_argv() runs; empty for any other command."""
    return argv[3] if argv[1:3] == (_ISOLATED, "-m") and argv[3:4] else ""


def search_path() -> str:
    """Return this process's PATH with the system directories at its end, and without relative directories.

    A relative or empty part means the working directory, in which root must not find tools.
    """
    directories = [d for d in os.environ.get("PATH", _DEFAULT_PATH).split(":") if os.path.isabs(d)]
    return ":".join([*directories, *(d for d in _SYSTEM_DIRECTORIES if d not in directories)])
