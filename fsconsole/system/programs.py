"""Where programs are found, and the clean environment that they run in."""

from __future__ import annotations

import os
import shutil

from fsconsole.errors import ToolMissing
from fsconsole.system.packages import package_of

_SYSTEM_DIRECTORIES = ("/usr/sbin", "/sbin")
"""Missing from an ordinary user's PATH, and from root's after a plain su."""
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def search_path() -> str:
    """Return this process's PATH with the system directories at its end, and nothing of the directory at hand."""
    # What is relative, or empty, means wherever the operator happens to stand: root must not find tools there.
    directories = [d for d in os.environ.get("PATH", _DEFAULT_PATH).split(":") if os.path.isabs(d)]
    return ":".join([*directories, *(d for d in _SYSTEM_DIRECTORIES if d not in directories)])


def find_program(name: str) -> str:
    """Return the path of a program; a name with a slash is a path already. Raises ToolMissing."""
    found = shutil.which(name, path=search_path())
    if found is None:
        raise ToolMissing(tool=name, package=package_of(name))
    return found


def clean_environment(added: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the environment of a program: nothing of the operator's but PATH can change what it does or says."""
    return {"PATH": search_path(), "LANG": "C", "LC_ALL": "C", **dict(added)}
