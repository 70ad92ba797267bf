"""Whether what one demo says is contradicted by another: `sudo python -m tests.bench.demo_sentences`.

    [--runs 10] [--keep FILE] [--with FILE]...

Runs the demo again and again, prints each run's time and sentences, and compares all of them, also with those that
earlier calls have kept: a sentence is contradicted where another run's 95 % interval of the same ratio lies wholly
outside what the sentence allows. A ratio of another run that lies outside alone is counted: it decides nothing.
Exits with 1 where a sentence is contradicted, a run failed or, on a machine that did nothing else, took over 120 s.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fsconsole.results.compare import Comparison
from fsconsole.results.sentences import RunFindings, findings_from
from tests.bench.paired import as_program

Run = dict[str, Any]
_QUIET_LOAD = 1.0
_ALLOWED_S = 120.0
_FSCONSOLE = (sys.executable, "-m", "fsconsole")


def told(run: Run) -> RunFindings:
    """Return what is said of a run's comparisons by the code of today."""
    return findings_from(run["family"], msgspec.convert(run["pairs"], tuple[Comparison, ...]))


def demo() -> Run | None:
    """Run the demo once and return its comparisons, with time and load; None where it failed, which it has said."""
    with tempfile.TemporaryDirectory() as directory:
        load, begun_s = os.getloadavg()[0], time.monotonic()
        words = ("demo", "--runs", f"{directory}/runs", "--dir", f"{directory}/scratch")
        if subprocess.run((*_FSCONSOLE, *words), check=False, stdout=subprocess.DEVNULL).returncode != 0:
            # Its scratch device is kept for `resume`.
            for run in os.listdir(f"{directory}/runs"):
                subprocess.run((*_FSCONSOLE, "runs", "delete", run, "--yes", "--runs", f"{directory}/runs"), check=True)
            return None
        elapsed_s = time.monotonic() - begun_s
        words = ("results", "--runs", f"{directory}/runs", "--format", "json")
        out = subprocess.run((*_FSCONSOLE, *words), check=True, capture_output=True, text=True).stdout
    found: Run = json.loads(out)["findings"]
    kept = {"family": found["family"], "pairs": found["pairs"]}
    return {**kept, "elapsed_s": elapsed_s, "load": load, "load_after": os.getloadavg()[0]}


def contradictions(runs: Sequence[RunFindings]) -> tuple[list[str], int, int]:
    """Return the sentences that an interval of another run excludes, how often a ratio lies outside, and of how many."""
    found, outside, looked = [], 0, 0
    for number, run in enumerate(runs, 1):
        for sentence in run.sentences:
            most = math.inf if sentence.most is None else sentence.most
            for other_number, other in enumerate(runs, 1):
                for pair in other.pairs:
                    if other is run or place(pair) != place(sentence.of):
                        continue
                    looked += 1
                    outside += not sentence.least <= pair.ratio <= most
                    if pair.high < sentence.least or pair.low > most:
                        found.append(
                            f"run {number}: {sentence.text} Run {other_number}: {pair.low:.3g} to {pair.high:.3g}"
                        )
    return found, outside, looked


def place(pair: Comparison) -> tuple[object, ...]:
    """Return what a comparison shares with that of another run."""
    return pair.metric, pair.load, pair.row, pair.baseline


def main() -> int:
    """Run, print, keep, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="file that the runs' comparisons are added to")
    parser.add_argument("--with", dest="others", type=Path, action="append", default=[], help="file of earlier runs")
    words = parser.parse_args()
    runs: list[Run] = []
    for _ in range(words.runs):
        run = demo()
        if run is None:
            continue
        runs.append(run)
        print(f"{run['elapsed_s']:.0f} s at a load of {run['load']:.1f} to {run['load_after']:.1f}", flush=True)
        for sentence in told(run).sentences:
            print(f"  {sentence.text} ({sentence.figures})", flush=True)
        if words.keep is not None:
            kept = json.loads(words.keep.read_text()) if words.keep.exists() else []
            words.keep.write_text(json.dumps([*kept, run]))
    slow = [run for run in runs if run["load"] < _QUIET_LOAD and run["elapsed_s"] > _ALLOWED_S]
    own = len(runs)
    failed = words.runs - own
    for path in words.others:
        runs += json.loads(path.read_text())
    findings = [told(run) for run in runs]
    said = Counter(sentence.text for run in findings for sentence in run.sentences)
    print(f"\nsentences of {len(runs)} runs, {own} of them now:")
    for text, times in said.most_common():
        print(f"{times:4} {text}")
    found, outside, looked = contradictions(findings)
    print(f"compared with another run {looked} times: {outside} ratios outside, {len(found)} intervals")
    for line in found:
        print(line)
    print(f"took longer than {_ALLOWED_S:.0f} s on a quiet machine: {len(slow)} of {own}; failed: {failed}")
    return int(bool(found or slow or failed))


if __name__ == "__main__":
    as_program(main)
