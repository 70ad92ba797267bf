"""A run against a bash script that does the same by hand: `sudo python -m tests.bench.demo_against_script`.

    [--pairs 5] [--size 2GiB] [--plan one_load.toml] [--dir DIRECTORY] [--show]

The script is made of the plan's own commands, as `fsconsole plan --json` lists them for the same scratch device, in
the plan's order. For what the engine does itself stands what one would type: mkdir for the tree, writers.c (C threads)
for the built-in generator, `sync --file-system` and `sync DEVICE` for the drain, filefrag over all files for the
extents, sync and drop_caches before the cold mount. Waiting until nothing is dirty is a sync. It has no gate, no
journal, no gauges and no figures. --show prints it and ends.

The package is compiled beforehand, as an installed one is: confined, the generator could not keep what Python compiles.
`fsconsole run` begins with a Python to be started and ends with its grid; both are in its time, the making of the
scratch device is in neither. CPU seconds are those of all processes below each, whoever waits for them.
"""

from __future__ import annotations

import argparse
import compileall
import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import fsconsole as package
from fsconsole.devices import scratch
from fsconsole.plan.steps import MOUNT_POINT, TREE
from fsconsole.units import parse_bytes
from tests.bench.paired import Cost, as_program, cost_of, in_turn, judge, ratio, table
from tests.bench.scratch_fs import room

ALLOWED_RATIO = 1.05
ONE_LOAD = str(Path(__file__).with_name("one_load.toml"))
"""Four variants under one load; what the demo's loads do is more than writers.c can."""
FSCONSOLE = (sys.executable, "-m", "fsconsole")
PR_SET_CHILD_SUBREAPER = 36
"""include/uapi/linux/prctl.h"""


class Script:
    """Writes the script of a plan."""

    def __init__(self, plan: dict, writers: Path, mount_point: Path, out: Path) -> None:
        self._plan, self._writers, self._point, self._out = plan, writers, mount_point, out

    def text(self) -> str:
        out = shlex.quote(str(self._out))
        lines = ["set -eu", f"exec 3>&2 >{out} 2>&1", f"trap '[ $? = 0 ] || tail -n 5 {out} >&3' EXIT"]
        for cell in self._plan["cells"]:
            lines.append(f"# {cell['index'] + 1}: {cell['variant']['label']}, repeat {cell['repeat'] + 1}")
            for step in cell["steps"]:
                lines += self._step(cell, step)
        return "\n".join(lines) + "\n"

    def _step(self, cell: dict, step: dict) -> Iterator[str]:
        tree, target = self._here(TREE), shlex.quote(cell["target"])
        before = {
            "cold": ["sync"],
            "cold-mount": ["sync", "echo 3 >/proc/sys/vm/drop_caches"],
            "quiesce": ["sync"],
        }
        after = {
            "mount": [f"mkdir {tree}"],
            "drain": [f"sync --file-system {self._here(MOUNT_POINT)}", f"sync {target}"],
            "extents": [f"find {tree} -type f -print0 | xargs -0 filefrag"],
        }
        yield from before.get(step["kind"], [])
        for argv in step["commands"]:
            # A check that has repaired something, or found it, says so by its exit code.
            yield self._here(shlex.join(argv)) + (" || true" if step["kind"] == "check" else "")
        if step["kind"] == "workload":
            yield self._load(cell["workloads"][step["workload"]], tree)
        yield from after.get(step["kind"], [])

    def _load(self, load: dict, tree: str) -> str:
        if (load["kind"], load["files"], load["directories"]) != ("create", load["threads"], "one"):
            raise SystemExit(f"'{load['name']}' is more than one file of each thread: writers.c can't do that")
        directory = f"{tree}/load{len(load['name'])}"
        words = (self._writers, load["threads"], load["file_size_bytes"], load["block_size_bytes"])
        return f"mkdir {directory} && {words[0]} {directory} {words[1]} {words[2]} {words[3]}"

    def _here(self, text: str) -> str:
        return text.replace(MOUNT_POINT, str(self._point))


def fsconsole(*words: str) -> str:
    """Run a command of fsconsole to its end and return what it printed."""
    done = subprocess.run((*FSCONSOLE, *words), check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"fsconsole {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def with_orphans(words: tuple[str, ...]) -> Cost:
    """Run a program and wait for all that it leaves behind too, which then comes to this process."""

    def run() -> None:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            said = child.communicate()[0]
        except KeyboardInterrupt:
            end_now(child)
            raise
        finally:
            wait_for_orphans()
        if child.returncode:
            raise SystemExit(f"{shlex.join(words)}: exit {child.returncode}: {said[-1000:]}")

    return cost_of(run)


def end_now(child: subprocess.Popen[str]) -> None:
    """End a program as a second and third Ctrl-C would: one stops a run after its cell, two at once."""
    for _ in range(2):
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
    child.communicate()


def wait_for_orphans() -> None:
    """Wait for every process below this one."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--size", default="2GiB", help="of the scratch device; the plan shrinks to fit")
    parser.add_argument("--plan", default=ONE_LOAD, help="a plan file, or the name of a shipped one")
    parser.add_argument("--dir", default=None, help="where the scratch device and the runs are kept")
    parser.add_argument("--show", action="store_true", help="print the script and end")
    asked = parser.parse_args()
    compileall.compile_dir(os.path.dirname(package.__file__), quiet=1)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with ExitStack() as stack:
        place = stack.enter_context(room(asked.dir))
        made = scratch.create(parse_bytes(asked.size), str(place / "scratch"))
        stack.callback(scratch.remove, made)
        on_it = ("--device", made.device, "--runs", str(place / "runs"))
        plan = json.loads(fsconsole("plan", asked.plan, *on_it, "--json"))
        writers, point, script = place / "writers", place / "mnt", place / "script"
        point.mkdir()
        script.write_text(Script(plan, writers, point, place / "said").text())
        if asked.show:
            print(script.read_text(), end="")
            return 0
        source = Path(__file__).with_name("writers.c")
        subprocess.run(("cc", "-O2", "-pthread", "-o", str(writers), str(source)), check=True)
        stack.callback(subprocess.run, ("umount", str(point)), check=False, stderr=subprocess.DEVNULL)

        def ours() -> Cost:
            # What the script left on the scratch device is nobody's own: it is agreed to before the clock runs.
            code = json.loads(fsconsole("plan", asked.plan, *on_it, "--json"))["consent"]
            return with_orphans((*FSCONSOLE, "run", asked.plan, *on_it, *(("--consent", code) if code else ())))

        contestants = {"fsconsole": ours, "script": lambda: with_orphans(("bash", str(script)))}
        found = in_turn(contestants, asked.pairs)
    print(f"{asked.plan}: {len(plan['cells'])} cells, on a scratch device of {asked.size}")
    table(found)
    ours, theirs = found["fsconsole"], found["script"]
    judge("CPU, fsconsole / script", ratio([c.cpu_s for c in ours], [c.cpu_s for c in theirs]))
    by_clock = ratio([c.wall_s for c in ours], [c.wall_s for c in theirs])
    return 0 if judge("time, fsconsole / script", by_clock, at_most=ALLOWED_RATIO) else 1


if __name__ == "__main__":
    as_program(main)
