"""What trying every option of ext4, xfs and btrfs costs, and what it leaves: `python -m tests.bench.probe_time`.

Needs root. CPU seconds are user and system of the command and of all its children (wait4); what it leaves is loop
devices, mounts, files below /tmp, processes and entries of /run/fsconsole that were not there before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FILESYSTEMS = ("ext4", "xfs", "btrfs")
ALLOWED_S = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where it took no longer than it may and left nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filesystem", nargs="*", default=FILESYSTEMS)
    names = parser.parse_args(arguments).filesystem
    before = everything()
    total_s = 0.0
    print(f"{'':<10}{'values':>8}{'taken':>8}{'refused':>9}{'no effect':>11}{'wall s':>9}{'CPU s':>8}")
    for name in names:
        document, wall_s, cpu_s = probed(name)
        total_s += wall_s
        verdicts = [answer["verdict"] for option in document["options"] for answer in option["probe"]]
        counts = [verdicts.count(word) for word in ("taken", "refused", "not in effect")]
        print(f"{name:<10}{len(verdicts):>8}{counts[0]:>8}{counts[1]:>9}{counts[2]:>11}{wall_s:>9.1f}{cpu_s:>8.1f}")
    left = settled(before)
    print(f"together {total_s:.1f} s, allowed {ALLOWED_S:.0f}; left: {', '.join(sorted(left)) or 'nothing'}")
    return 1 if left or total_s > ALLOWED_S else 0


def probed(name: str) -> tuple[dict[str, list[dict[str, list[dict[str, str]]]]], float, float]:
    """Return what one probe printed, and its wall and CPU seconds."""
    begun = time.monotonic()
    argv = [sys.executable, "-m", "fsconsole", "catalog", name, "--probe", "--json"]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    printed = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"the probe of {name} failed with exit code {child.returncode}")
    (document,) = json.loads(printed)["filesystems"]
    return document, time.monotonic() - begun, usage.ru_utime + usage.ru_stime


def settled(before: set[str], limit_s: float = 5.0) -> set[str]:
    """Return what is left when the kernel has had time to detach loop devices."""
    deadline = time.monotonic() + limit_s
    while (left := everything() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def everything() -> set[str]:
    """Return what a probe could leave, of this machine, each as a line of its own."""
    images = [path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file") if path.exists()]
    loops = {f"loop over {image}" for image in images if "/images/" in image}
    mounts = {f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if "fsconsole" in line}
    files = {
        str(path) for place in ("/tmp", "/run/fsconsole") for path in Path(place).glob("*") if "probe" in path.name
    }
    processes = {f"process {path.parent.name}" for path in Path("/proc").glob("[0-9]*/cmdline") if is_probe(path)}
    return loops | mounts | files | processes


def is_probe(path: Path) -> bool:
    """Tell whether a process, by its command line, is one that tries options."""
    try:
        return b"probe_child" in path.read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
