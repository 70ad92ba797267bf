"""Disturbs a real run at random moments, and tells whether the cell that was hit names it, and whether a quiet one names anything.

    sudo python -m tests.recompute.disturb [--cells 24] [--times 10] [--kinds cpu,disk,engine] [--seed N] [--dir DIRECTORY]
    sudo python -m tests.recompute.disturb --memory 4|all [--dir DIRECTORY]

The run's scratch file lies on a disk of its own, a loop device with ext4, on which the foreign writer (dd) writes too. A load must
name what overlapped it by a second; a cell with nothing beside it must name nothing; what lies between is not judged. It needs a
machine that does nothing else, and exits with 1 where a disturbance was not named, or one was named that was not there.

--memory has free memory reported to the hypervisor before the cell of round 4, or of every round, while the engine stands
still between two cells: of six equal rounds the fourth must be named and repeated; all of them must be named, and none repeated.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.recompute.figures import span_of
from tests.recompute.run import REPORTED, Json

PLAN = """
schema = 1
title = "disturbed"
order = "{order}"
repeats = {repeats}
equalise = "none"
variant = [{{ type = "ext4" }}]
workload = [{load}]
after = {{ check = false }}
"""
DIRECT = '{ kind = "create", threads = 2, file_size = "16MiB", block_size = "64KiB", direct = true, duration = "4s", end = "at-once" }'
BUFFERED = '{ kind = "create", threads = 2, file_size = "256MiB", block_size = "64KiB" }'
BURN = "import time\nend = time.monotonic() + 2.5\nwhile time.monotonic() < end: pass"
NAMED = {"cpu": "others-cpu", "disk": "foreign-io", "engine": "engine-beside"}
JUDGED = {*NAMED.values(), "memory-cold"}
LOADS = ("workload", "drain")


@dataclass
class Injected:
    """What disturbed, and from when to when (CLOCK_MONOTONIC)."""

    kind: str
    begin_ns: int
    end_ns: int = 0


def scratch(program: str, directory: Path, size: str) -> str:
    words = [program, "scratch", "create", "--size", size, "--dir", str(directory), "--json"]
    return str(json.loads(subprocess.check_output(words, text=True, stderr=subprocess.DEVNULL))["device"])


@contextmanager
def own_disk(place: Path) -> Iterator[Path]:
    """Give a directory on a disk that nobody else uses."""
    image, point = place / "disk.img", place / "disk"
    point.mkdir()
    subprocess.run(["fallocate", "-l", "3GiB", str(image)], check=True)
    device = subprocess.check_output(["losetup", "--find", "--show", "--direct-io=on", str(image)], text=True).strip()
    with ExitStack() as stack:
        stack.callback(subprocess.run, ["losetup", "--detach", device], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], check=True)
        subprocess.run(["mount", device, str(point)], check=True)
        stack.callback(subprocess.run, ["umount", str(point)], check=True)
        yield point


def inject(kind: str, program: str, place: Path, other: str) -> Injected:
    """Disturb for about 2.5 s."""
    done = Injected(kind, time.monotonic_ns())
    if kind == "cpu":
        subprocess.run([sys.executable, "-c", BURN], check=True)
    elif kind == "disk":
        noise = place / "disk" / "noise"
        dd = f"while :; do dd if=/dev/zero of={noise} bs=1M count=64 oflag=direct conv=notrunc; done"
        subprocess.run(["timeout", "2.5", "/bin/sh", "-c", dd], stderr=subprocess.DEVNULL, check=False)
        noise.unlink(missing_ok=True)
    else:
        plan = place / "other.toml"
        plan.write_text(PLAN.format(order="as-listed", repeats=1, load=DIRECT.replace('"4s"', '"2s"')))
        words = [program, "run", str(plan), "--device", other, "--runs", str(place / "other-runs"), "--json"]
        subprocess.run(words, check=True, capture_output=True)
    done.end_ns = time.monotonic_ns()
    return done


def overlap_s(span: tuple[int, int], one: Injected) -> float:
    return (min(span[1], one.end_ns) - max(span[0], one.begin_ns)) / 1e9


def judged(cell: Json, injected: list[Injected]) -> Iterator[tuple[str, str]]:
    """Yield what was right or wrong about a cell: a verdict and its sentence."""
    named = {warning["kind"] for warning in cell["warnings"]} & JUDGED
    steps = [span_of(step) for step in cell["steps"]]
    loads = [span_of(step) for step in cell["steps"] if step["kind"] in LOADS]
    load, whole = (loads[0][0], loads[-1][1]), (steps[0][0], steps[-1][1])
    beside = [one for one in injected if overlap_s(whole, one) > 0]
    for one in beside:
        seconds = overlap_s(load, one)
        says = "named" if NAMED[one.kind] in named else "NOT NAMED" if seconds >= 1 else "too short to judge"
        yield (
            says,
            f"cell {cell['cell'] + 1}: {one.kind} for {seconds:.1f} s of its load: {says}; all: {', '.join(sorted(named)) or '-'}",
        )
    if not beside:
        yield (
            ("FALSE ALARM" if named else "quiet"),
            f"cell {cell['cell'] + 1}: nothing beside it; named: {', '.join(sorted(named)) or '-'}",
        )


def disturbed(program: str, place: Path, cells: int, times: int, kinds: list[str]) -> Counter[str]:
    """Carry out a run, disturb it so many times, and judge its cells."""
    with own_disk(place) as disk, ExitStack() as stack:
        devices = [scratch(program, disk / "scratch", size) for size in ("1GiB", "256MiB")]
        for device in devices:
            remove = [program, "scratch", "remove", device, "--dir", str(disk / "scratch"), "--yes"]
            stack.callback(subprocess.run, remove, check=True, capture_output=True)
        plan, runs = place / "plan.toml", place / "runs"
        plan.write_text(PLAN.format(order="as-listed", repeats=cells, load=DIRECT))
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
            injected.append(inject(kinds[number % len(kinds)], program, place, devices[1]))
        run.wait()
        export = results(program, runs)
    found = [verdict for cell in export["cells"] for verdict in judged(cell, injected)]
    for _, sentence in found:
        print(f"  {sentence}")
    return Counter(verdict for verdict, _ in found)


def results(program: str, runs: Path) -> Json:
    words = [program, "results", "--runs", str(runs), "--format", "json"]
    return dict(json.loads(subprocess.check_output(words, text=True)))


def make_cold(gib: int) -> None:
    """Touch memory and give it back, until the kernel has reported about as much to the hypervisor."""
    before = int(REPORTED.read_text())
    with mmap.mmap(-1, gib << 30) as memory:
        for place in range(0, gib << 30, 4096):
            memory[place] = 1
    deadline = time.monotonic() + 30
    while int(REPORTED.read_text()) - before < gib << 19 and time.monotonic() < deadline:
        time.sleep(0.2)


def engine_of(runs: Path) -> int | None:
    """Return the engine's process: the one whose interpreter runs fsconsole.engine for a folder of these runs."""
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = found.read_bytes().decode(errors="replace").split("\0")
            is_engine = "fsconsole.engine" in words[:5] and words[0].rpartition("/")[2].startswith("python")
            if is_engine and any(word.startswith(str(runs)) for word in words):
                return int(found.parent.name)
    return None


def with_cold_memory(program: str, place: Path, which: str) -> int:
    """Have six rounds carried out, memory made cold before some of them; tell whether it was named and repeated."""
    device = scratch(program, place / "scratch", "1GiB")
    plan, runs = place / "plan.toml", place / "runs"
    plan.write_text(PLAN.format(order="rounds", repeats=6, load=BUFFERED))
    words = [program, "run", str(plan), "--device", device, "--runs", str(runs), "--json"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    made = threading.Thread(target=hold_and_cool, args=(run, runs, which), daemon=True)
    made.start()
    run.wait()
    export = results(program, runs)
    subprocess.run(
        [program, "scratch", "remove", device, "--dir", str(place / "scratch"), "--yes"],
        check=True,
        capture_output=True,
    )
    cold = []
    for cell in export["cells"]:
        figures = {one["metric"]: one["value"] for step in cell["steps"] for one in step["measurements"]}
        named = sorted({warning["kind"] for warning in cell["warnings"]} & JUDGED)
        cold += [cell["cell"] + 1] if "memory-cold" in named else []
        told = ", ".join(
            f"{name} {figures[name]:.3g}"
            for name in ("generator_per_gib", "memory_reported", "write")
            if name in figures
        )
        print(f"  cell {cell['cell'] + 1}, round {cell['repeat']}: {told}; {', '.join(named) or '-'}")
    repeated = len(export["cells"]) - 6
    print(f"memory made cold in {which}: named in {cold}, rounds repeated: {repeated}")
    return 0 if (cold, repeated) == (([4], 1) if which == "4" else ([1, 2, 3, 4, 5, 6], 0)) else 1


def hold_and_cool(run: subprocess.Popen[str], runs: Path, which: str) -> None:
    """Stop the engine where a cell begins, make memory cold, and let it go on."""
    if run.stdout is None:
        return
    for line in run.stdout:
        told = json.loads(line)
        if told["event"] == "cell_started" and which in ("all", str(told["cell"] + 1)):
            engine = engine_of(runs)
            if engine is not None:
                os.kill(engine, signal.SIGSTOP)
                make_cold(6)
                os.kill(engine, signal.SIGCONT)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recompute.disturb", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cells", type=int, default=24)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--kinds", default=",".join(NAMED))
    parser.add_argument("--memory", choices=("4", "all"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--fsconsole", default=str(Path(sys.executable).with_name("fsconsole")))
    parser.add_argument("--dir", default=None)
    asked = parser.parse_args()
    random.seed(asked.seed)
    with tempfile.TemporaryDirectory(dir=asked.dir, prefix="disturb-") as directory:
        if asked.memory:
            return with_cold_memory(asked.fsconsole, Path(directory), asked.memory)
        sums = disturbed(asked.fsconsole, Path(directory), asked.cells, asked.times, asked.kinds.split(","))
    print(f"seed {asked.seed}:", ", ".join(f"{count} {says}" for says, count in sums.most_common()))
    return 1 if sums["NOT NAMED"] or sums["FALSE ALARM"] else 0


if __name__ == "__main__":
    sys.exit(main())
