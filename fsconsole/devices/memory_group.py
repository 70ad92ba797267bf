"""The memory cgroup of a load: made with its limit, joined by the load's processes, removed with the setting.

Files: Documentation/admin-guide/cgroup-v2.rst (memory.max), cgroup-v1/memory.rst (memory.limit_in_bytes). Page cache
belongs to the group whose process touched it first; kernel threads that write it back stay outside.
"""

from __future__ import annotations

import os
import re

from fsconsole.system import cgroups
from fsconsole.system.files import read_text

NO_GROUP = "none"
"""Value of the setting while its group doesn't exist."""
_V1 = "/sys/fs/cgroup/memory/"
GROUP_FILE = re.compile(
    r"/sys/fs/cgroup/(?:memory/fsconsole-[A-Za-z0-9!._-]+/memory\.limit_in_bytes"
    r"|(?:unified/)?fsconsole-[A-Za-z0-9!._-]+/memory\.max)"
)
"""A group at the top of the hierarchy, with a name that only fsconsole uses."""


def limit_file(name: str, root: str = "") -> str:
    """Return the file of the limit of a device's group; empty if no hierarchy has the memory controller."""
    group = cgroups.group_path("memory", name, root)
    return f"{group}/{'memory.limit_in_bytes' if group.startswith(_V1) else 'memory.max'}" if group else ""


def read_limit(path: str) -> str:
    """Return a group's limit in bytes, as text; NO_GROUP where there is no such group. Raises OSError."""
    return read_text(path) if os.path.isdir(os.path.dirname(path)) else NO_GROUP


def write_limit(path: str, value: str) -> None:
    """Set a group's limit, and make the group first; NO_GROUP removes it, once it is empty. Raises OSError."""
    if value == NO_GROUP:
        cgroups.remove(os.path.dirname(path))
    else:
        cgroups.write_limit(path, value)


def killed_in(path: str) -> int:
    """Return how many processes of the group the kernel killed because its limit was reached."""
    group = os.path.dirname(path)
    files = ("memory.events", "memory.oom_control")
    return next(filter(None, (cgroups.count_events(f"{group}/{name}", "oom_kill") for name in files)), 0)
