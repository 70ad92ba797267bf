"""Runs shipped plans to their end on a scratch device, and keeps their reports.

    python -m tests.bench.studies --size 16GiB --rounds 3 chinner-2012-writeback cao-2005-tiobench

Each report goes to tests/bench/studies/NAME.md; with --map its layout maps stand in it, with the extent sizes over the file
offset, with --curves its curves, and these beside it in NAME.svg. What the rows show, and which published findings came out
again, is written by hand in tests/bench/studies/README.md. The size is that of the device; plans scale to it themselves. With
--sparse the device is a loop device over a file of holes, for plans that need more room than they fill.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fsconsole.units import parse_bytes

PROGRAM = (sys.executable, "-m", "fsconsole")
CHECKOUT = Path(__file__).resolve().parents[2]
REPORTS = Path(__file__).with_name("studies")


LIMITS_MISSED, LIMITS_UNDECIDED = 5, 6
"""Exit codes of `results` where a plan has limits: the report is whole all the same."""


def told(*words: str) -> str:
    """Return what a command prints; its messages go to the terminal. Raises CalledProcessError."""
    done = subprocess.run([*PROGRAM, *words], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (LIMITS_MISSED, LIMITS_UNDECIDED):
        done.check_returncode()
    return done.stdout


def plan_with(name: str, values: Sequence[str], duration: str, place: Path) -> Path:
    """Return a shipped plan, or a copy with other values (KEY=VALUE) or time of FFSB profiles. Raises ValueError."""
    shipped = next(CHECKOUT.glob(f"configs/**/{name}.toml"))
    if not values and not duration:
        return shipped
    changed = shipped.read_text(encoding="utf-8")
    for one in values:
        key, _, value = one.partition("=")
        line = f"{key} = {value}"
        changed, count = re.subn(rf"(?m)^{re.escape(key)} *=.*$", lambda _, line=line: line, changed)
        if not count:
            raise ValueError(f"{shipped}: no line begins with {key} =")
    if duration:
        changed = re.sub(r'(?m)^kind *= *"ffsb".*$', rf'\g<0>\nduration = "{duration}"', changed)
    copy = place / shipped.name
    copy.write_text(changed, encoding="utf-8")
    return copy


@contextmanager
def scratch_device(size: str, folder: str) -> Iterator[str]:
    """Make a scratch device, which is written in full, and remove it at the end."""
    device = json.loads(told("scratch", "create", "--size", size, "--dir", folder, "--json"))["device"]
    try:
        yield device
    finally:
        told("scratch", "remove", device, "--yes")


@contextmanager
def sparse_device(size: str, folder: str) -> Iterator[str]:
    """Make a loop device over a file of holes in a folder, and detach it at the end."""
    file = Path(folder, "sparse")
    with file.open("wb") as opened:
        opened.truncate(parse_bytes(size))
    words = ("losetup", "--find", "--show", "--direct-io=on", str(file))
    device = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(("losetup", "--detach", device), check=True)
        file.unlink()


def study(
    name: str, plan: Path, device: str, runs: str, *, published: str, columns: str, curves: str, has_map: bool
) -> None:
    """Run one plan and keep its report, with these columns in tables of their own, layout maps, and curves of others."""
    started_s = time.monotonic()
    consent = json.loads(told("plan", str(plan), "-d", device, "--runs", runs, "--json", "--cell", "0"))["consent"]
    words = ("run", str(plan), "-d", device, "--runs", runs, *(("--consent", consent) if consent else ()))
    done = subprocess.run([*PROGRAM, *words], check=False)
    minutes = (time.monotonic() - started_s) / 60
    beside = ("--with", published) if published else ()
    text = told("results", "--runs", runs, "--format", "md", *beside)
    if columns:
        asked = told("results", "--runs", runs, "--format", "md", "--columns", columns)
        text += "\n## Further columns\n" + asked[asked.index("\n### ") :].partition("\n### Warnings")[0]
    REPORTS.mkdir(exist_ok=True)
    if has_map:
        text += f"\n## Layout\n\n```\n{told('results', '--runs', runs, '--map')}```\n"
    if curves:
        asked_curves = ("results", "--runs", runs, "--curves", "--columns", curves)
        text += f"\n## Curves\n\n```\n{told(*asked_curves)}```\n"
        drawing = REPORTS / f"{name}.svg"
        drawing.unlink(missing_ok=True)
        told(*asked_curves, "--svg", str(drawing))
    (REPORTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"{name}: exit {done.returncode}, {minutes:.1f} min", file=sys.stderr)


def main() -> None:
    """Run the plans that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--size", default="16GiB")
    parser.add_argument("--rounds", type=int, default=0, help="0: as the plan says")
    parser.add_argument(
        "--duration", default="", help="of each load of an FFSB profile, as 20s; else the profile's own"
    )
    parser.add_argument("--sparse", action="store_true", help="over a file of holes, which takes no room until written")
    parser.add_argument("--dir", default="/var/tmp", help="of the scratch file")
    parser.add_argument("--with", dest="published", default="", help="published table to lay beside")
    parser.add_argument("--columns", default="", help="further columns, in tables of their own at the end")
    parser.add_argument(
        "--map", dest="has_map", action="store_true", help="draw which file owns which part of the device"
    )
    parser.add_argument("--curves", default="", help="columns to draw over the plan's numeric axis")
    parser.add_argument(
        "--set",
        dest="values",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="in each line of the plan with KEY",
    )
    options = parser.parse_args()
    values = [*([f"repeats={options.rounds}"] if options.rounds else []), *options.values]
    with tempfile.TemporaryDirectory(prefix="fsconsole-studies-", dir=options.dir) as folder:
        make = sparse_device if options.sparse else scratch_device
        with make(options.size, folder) as device:
            for name in options.names:
                plan = plan_with(name, values, options.duration, Path(folder))
                study(
                    name,
                    plan,
                    device,
                    str(Path(folder, "runs")),
                    published=options.published,
                    columns=options.columns,
                    curves=options.curves,
                    has_map=options.has_map,
                )


if __name__ == "__main__":
    main()
