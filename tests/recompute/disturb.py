"""Disturbs a real run at random moments, and tells whether the cell that was hit names it, and whether a quiet one names anything.

    sudo python -m tests.recompute.disturb [--cells 24] [--times 10] [--kinds cpu,disk,engine] [--seed N] [--busy] [--dir DIRECTORY]

The run's scratch file lies on a disk of its own, a loop device with ext4, on which the foreign writer (dd) writes too. A load must
name what overlapped it by a second; a cell with nothing beside it must name nothing; what lies between is not judged. It needs a
machine that does nothing else, or --busy, and exits with 1 where a disturbance was not named, or one was named that was not there.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.recompute.figures import span_of
from tests.recompute.run import Json

PLAN = """
schema = 1
title = "disturbed"
order = "as-listed"
repeats = {repeats}
equalise = "none"
variant = [{{ type = "ext4" }}]
workload = [{load}]
after = {{ check = false }}
"""
DIRECT = '{ kind = "create", threads = 2, file_size = "16MiB", block_size = "64KiB", direct = true, duration = "4s", end = "at-once" }'
BURN = "import time\nend = time.monotonic() + 2.5\nwhile time.monotonic() < end: pass"
NAMED = {"cpu": "others-cpu", "disk": "foreign-io", "engine": "engine-beside"}
LOADS = ("workload", "drain")


@dataclass
class Injected:
    """What disturbed, and from when to when (CLOCK_MONOTONIC)."""

    kind: str
    begin_ns: int
    sure_ns: int = 0
    """From when on it disturbs for sure: an engine's program starts before it locks its disk."""
    end_ns: int = 0
    mark: str = ""
    """What its warning must say: process, disk."""


def scratch(program: str, directory: Path, size: str) -> str:
    words = [program, "scratch", "create", "--size", size, "--dir", str(directory), "--json"]
    directory.mkdir(exist_ok=True)
    return str(json.loads(subprocess.check_output(words, text=True, stderr=subprocess.DEVNULL))["device"])


@contextmanager
def own_disk(place: Path) -> Iterator[tuple[Path, str]]:
    """Give a directory on a disk that nobody else uses, and the disk's name."""
    image, point = place / "disk.img", place / "disk"
    point.mkdir()
    subprocess.run(["fallocate", "-l", "3GiB", str(image)], check=True)
    device = subprocess.check_output(["losetup", "--find", "--show", "--direct-io=on", str(image)], text=True).strip()
    with ExitStack() as stack:
        stack.callback(subprocess.run, ["losetup", "--detach", device], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], check=True)
        subprocess.run(["mount", device, str(point)], check=True)
        stack.callback(subprocess.run, ["umount", str(point)], check=True)
        yield point, Path(device).name


def inject(kind: str, program: str, place: Path, disk: str, other: str) -> Injected:
    """Disturb for about 2.5 s."""
    done = Injected(kind, time.monotonic_ns())
    if kind == "cpu":
        burner = subprocess.Popen([sys.executable, "-c", BURN])
        done.mark = f"(process {burner.pid})"
        burner.wait()
    elif kind == "disk":
        noise, done.mark = place / "disk" / "noise", f" on {disk} "
        dd = f"while :; do dd if=/dev/zero of={noise} bs=1M count=64 oflag=direct conv=notrunc; done"
        subprocess.run(["timeout", "2.5", "/bin/sh", "-c", dd], stderr=subprocess.DEVNULL, check=False)
        noise.unlink(missing_ok=True)
    else:
        plan, done.mark = place / "other.toml", f"{Path(other).name} "
        plan.write_text(PLAN.format(repeats=1, load=DIRECT.replace('"4s"', '"2s"')))
        words = [program, "run", str(plan), "--device", other, "--runs", str(place / "other-runs"), "--json"]
        engine = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        for line in engine.stdout or ():
            done.sure_ns = done.sure_ns or ('"target_accepted"' in line and time.monotonic_ns())
        engine.wait()
    done.end_ns = time.monotonic_ns()
    return done


def overlap_s(span: tuple[int, int], begin_ns: int, end_ns: int) -> float:
    return (min(span[1], end_ns) - max(span[0], begin_ns)) / 1e9


def judged(cell: Json, injected: list[Injected], marks: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what was right or wrong about a cell, with its sentence; a warning with none of the marks is about somebody else."""
    said = [w for w in cell["warnings"] if w["kind"] in NAMED.values() and any(mark in w["reason"] for mark in marks)]
    steps = [span_of(step) for step in cell["steps"]]
    loads = [span_of(step) for step in cell["steps"] if step["kind"] in LOADS]
    load, whole = (loads[0][0], loads[-1][1]), (steps[0][0], steps[-1][1])
    beside = [one for one in injected if overlap_s(whole, one.begin_ns, one.end_ns) > 0]
    for one in beside:
        seconds = overlap_s(load, one.sure_ns or one.begin_ns, one.end_ns)
        is_named = any(w["kind"] == NAMED[one.kind] and one.mark in w["reason"] for w in said)
        says = "named" if is_named else "NOT NAMED" if seconds >= 1 else "too short to judge"
        yield says, f"{one.kind} for {seconds:.1f} s of its load: {says}"
    if not beside:
        yield "FALSE ALARM" if said else "quiet", f"nothing beside it: {[w['reason'] for w in said]}"


def disturbed(program: str, place: Path, cells: int, times: int, kinds: list[str], *, is_busy: bool) -> Counter[str]:
    """Carry out a run, disturb it so many times, and judge its cells."""
    with own_disk(place) as (disk, name), ExitStack() as stack:
        devices = [scratch(program, disk / "scratch", size) for size in ("1GiB", "256MiB")]
        for device in devices:
            remove = [program, "scratch", "remove", device, "--dir", str(disk / "scratch"), "--yes"]
            stack.callback(subprocess.run, remove, check=True, capture_output=True)
        plan, runs = place / "plan.toml", place / "runs"
        plan.write_text(PLAN.format(repeats=cells, load=DIRECT))
        run = subprocess.Popen(
            [program, "run", str(plan), "--device", devices[0], "--runs", str(runs), "--json"],
            stdout=subprocess.DEVNULL,
        )
        injected: list[Injected] = []
        for number in range(times):
            time.sleep(
                random.uniform(  # noqa: S311 (a moment, no secret)
                    3, max(4, 2 * cells * 5.5 / times - 5)
                )
            )
            if run.poll() is not None:
                break
            injected.append(inject(kinds[number % len(kinds)], program, place, name, devices[1]))
        run.wait()
        export = results(program, runs)
    # By default all warnings are judged; on a busy machine those that can only be about this run's own disturbances.
    marks = sorted({one.mark for one in injected}) if is_busy else [""]
    found = [(cell["cell"], *verdict) for cell in export["cells"] for verdict in judged(cell, injected, marks)]
    for number, _, sentence in found:
        print(f"  cell {number}: {sentence}")
    return Counter(verdict for _, verdict, _ in found)


def results(program: str, runs: Path) -> Json:
    words = [program, "results", "--runs", str(runs), "--format", "json"]
    return dict(json.loads(subprocess.check_output(words, text=True)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recompute.disturb", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cells", type=int, default=24)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--kinds", default=",".join(NAMED))
    parser.add_argument("--busy", action="store_true", help="judge only warnings that name a process or disk of ours")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--fsconsole", default=str(Path(sys.executable).with_name("fsconsole")))
    parser.add_argument("--dir", default=None)
    asked = parser.parse_args()
    random.seed(asked.seed)
    with tempfile.TemporaryDirectory(dir=asked.dir, prefix="disturb-") as directory:
        sums = disturbed(
            asked.fsconsole, Path(directory), asked.cells, asked.times, asked.kinds.split(","), is_busy=asked.busy
        )
    print(f"seed {asked.seed}:", ", ".join(f"{count} {says}" for says, count in sums.most_common()))
    return 1 if sums["NOT NAMED"] or sums["FALSE ALARM"] else 0


if __name__ == "__main__":
    sys.exit(main())
