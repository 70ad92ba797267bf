"""An engine that bounds programs in one way: python limited_engine.py RUN_FOLDER cgroup|namespace|watchdog."""

from __future__ import annotations

import sys

from fsconsole.engine import pid_limit, runner
from fsconsole.system import cgroups


def main(folder: str, way: str) -> int:
    if way != "cgroup":
        cgroups.group_path = lambda *_words: ""
    if way == "watchdog":
        pid_limit.has_pid_max_per_namespace = lambda: False
    return runner.main([folder])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
