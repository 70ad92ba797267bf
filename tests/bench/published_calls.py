"""System calls of tiotest, FFSB and bonnie++ on their files, and of our loads doing the same: traced, file by file.

    sudo python -m tests.bench.published_calls [--ffsb PATH] [--tiotest PATH] [--bonnie PATH] [--dir DIRECTORY]

bonnie++ is called by hand, by a plan (kind = "bonnie", in its cage), and beside what the built-in generator makes of the
same tests. The other two are built outside of this tree, as for published_generators.py; strace must be there. Each run is small: what counts
is which calls are made on each open file, how many, of how many bytes and in which order, not how fast. A line is one way
to treat a file from open to close, with how often it occurred; the order of lines is that of the first one.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from fsconsole.model.workload import Workload
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.ffsb import list_profiles
from fsconsole.plan.read import find_config, parse_plan
from fsconsole.text import GIB
from fsconsole.workloads.builtin import prepare_load
from fsconsole.workloads.program import prepare_program
from fsconsole.workloads.tree import SourceFiles
from tests.bench.paired import as_program
from tests.bench.scratch_fs import filesystem, room

CALLS = "openat,open,creat,ftruncate,write,pwrite64,read,readv,pread64,preadv,preadv2,lseek,fsync,fdatasync,unlink,unlinkat,stat,newfstatat"
LINE = re.compile(r"(?P<ns>[\d.]+) (?P<call>\w+)\((?P<said>.*)\) += (?P<result>-?\d+)(?:<(?P<path>[^>]*)>)?")
FD = re.compile(r"\d+<(?P<path>[^>]*)>")
THREADS, MIB_EACH, BLOCK, OPERATIONS = 4, 2, 16384, 80
MOST_PIECES = 8
"""Of a way to treat a file that is told call by call."""
BONNIE = """
bytes = "8MiB"
block_size = "32KiB"
files = 1024
file_size = "4KiB"
direct = true
"""
BONNIE_WORDS = ("-q", "-u", "0:0", "-s", "8:32768", "-n", "1:4096:4096:1", "-c", "1", "-z", "1", "-r", "0", "-D", "-f")
"""The same, by hand: -D and -f leave out the tests of single bytes, 16 million calls."""
LIKE_BONNIE = """
[[workload]]
name = "data"
kind = "create"
files = 1
file_size = "8MiB"
block_size = "32KiB"
direct = true
fsync = "each-file"

[[workload]]
kind = "read"
block_size = "32KiB"
direct = true

[[workload]]
name = "files"
kind = "create"
files = 1024
file_size = "4KiB"
block_size = "4KiB"

[[workload]]
kind = "stat"

[[workload]]
kind = "delete"
"""
"""Block output and input, creates, stats and deletes, as the built-in generator has them."""
HEAD = 'schema = 1\n[[variant]]\ntype = "ext4"\n'


def traced(argv: Sequence[str], directory: Path) -> Counter[str]:
    """Run a program under strace; return what it did to each open file below the directory, in the order of time."""
    with tempfile.TemporaryDirectory() as place:
        words = ("strace", "-ff", "-y", "-ttt", "-s", "0", "-e", f"trace={CALLS},close", "-o", f"{place}/trace")
        done = subprocess.run([*words, *argv], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"{argv[0]} ended with {done.returncode}: {done.stderr[-500:]}")
        found = sorted(
            one for path in Path(place).iterdir() for one in ways(path.read_text(errors="replace"), str(directory))
        )
    return Counter(way for _, way in found)


def ways(trace: str, directory: str) -> Iterator[tuple[float, str]]:
    """Yield from one thread's trace when each file was opened, and what was done to it."""
    open_files: dict[str, tuple[float, list[str]]] = {}
    for line in trace.splitlines():
        match = LINE.match(line)
        if match is None or int(match["result"]) < 0:
            continue
        call, said = match["call"], match["said"]
        if call in ("openat", "open", "creat"):
            path = match["path"] or ""
            if path.startswith(directory) and "O_DIRECTORY" not in said:
                flags = re.search(r"O_[A-Z_|O]+", said)
                kept = [one for one in (flags[0] if flags else "").split("|") if one not in ("O_CLOEXEC", "O_NOFOLLOW")]
                open_files[path] = (float(match["ns"]), [f"open {'|'.join(kept)}"])
        elif call in ("unlink", "unlinkat"):
            # bonnie++ works in its directory.
            if directory in said or not said.startswith('"/'):
                yield float(match["ns"]), "unlink"
        elif call in ("stat", "newfstatat"):
            if directory in said and ', "/' not in said and ', ""' not in said:
                yield float(match["ns"]), "stat"
        elif (fd := FD.match(said)) is not None and fd["path"] in open_files:
            at, calls = open_files[fd["path"]]
            if call == "close":
                del open_files[fd["path"]]
                yield at, ", ".join([*counted(calls), "close"])
            else:
                moves = call.startswith(("write", "pwrite", "read", "pread"))
                calls.append(f"{call} of {match['result']}" if moves else call)


def counted(calls: Sequence[str]) -> list[str]:
    """Return neighbouring calls of one kind as one, two in turn as a pair, and many in no order by their number.

    A seek belongs to the call after it.
    """
    runs = [(call, len(list(same))) for call, same in groupby(one for one in calls if one != "lseek")]
    told, at = list[str](), 0
    while at < len(runs):
        pair, turns = runs[at : at + 2], 1
        while len(pair) == 2 and runs[at + 2 * turns : at + 2 * turns + 2] == pair:
            turns += 1
        told.append(f"{turns} x ({', '.join(_run(*run) for run in pair)})" if turns > 1 else _run(*runs[at]))
        at += 2 * turns if turns > 1 else 1
    if len(told) <= MOST_PIECES:
        return told
    sums = Counter(call for call in calls[1:] if call != "lseek")
    return [runs[0][0], "mixed: " + " and ".join(_run(*one) for one in sorted(sums.items()))]


def _run(call: str, number: int) -> str:
    return f"{number} x {call}" if number > 1 else call


def ours(loads: Sequence[Workload], directory: Path) -> None:
    """Carry out loads one after the other in the directory, as cells do, without their drains."""
    sources: dict[int, SourceFiles] = {}
    for number, load in enumerate(loads):
        source = sources.get(load.source) if load.source is not None else None
        handle = prepare_load(load, tree=str(directory), tree_device=directory.stat().st_dev, hidden=(), source=source)
        try:
            handle.wait_ready()
            handle.go()
            result = handle.wait()
            if result.failures:
                raise SystemExit(result.failures)
            handle.end()
            counts = tuple(thread.files_done for thread in result.threads)
            sources[number] = SourceFiles(result.directory, load.directories, counts)
        finally:
            handle.kill()


def bonnie_by_plan(directory: Path) -> None:
    """Carry out bonnie++ as a cell does, in its cage."""
    (load,) = workload_choices(parse_plan(f'{HEAD}[[workload]]\nkind = "bonnie"\n{BONNIE}', "plan.toml"))[0]
    (directory / "bonnie").mkdir()
    handle = prepare_program(load, tree=str(directory), device=directory.stat().st_dev, directory="bonnie", hidden=())
    try:
        handle.wait_ready()
        handle.go()
        result = handle.wait()
        if result.failures:
            raise SystemExit(result.failures)
    finally:
        handle.kill()


def tiobench_loads() -> tuple[Workload, ...]:
    """Return the shipped study's loads, as small as the run of tiotest."""
    text = find_config("cao-2005-tiobench").read_text()
    for old, new in (
        ("[1, 2, 4, 8, 16, 32, 64]", str(THREADS)),
        ('"4GiB"', f'"{THREADS * MIB_EACH}MiB"'),
        (f"{4000 * BLOCK}B", f"{OPERATIONS * BLOCK}B"),
    ):
        text = text.replace(old, new)
    return workload_choices(parse_plan(text, "plan.toml"))[0]


def small_profile(name: str, directory: Path) -> str:
    """Return a shipped profile of FFSB 6.0 for one second in a directory, with fewer and smaller files."""
    (path,) = (one for one in list_profiles() if one.stem == name)
    text = re.sub(r"time = \d+", "time = 1", path.read_text())
    text = (
        re.sub(r"location = .*", f"location = {directory}", text).replace("= 1GB", "= 1MB").replace("= 40MB", "= 1MB")
    )
    for old, new in (("num_files = 100000", "num_files = 200"), ("num_files = 100\n", "num_files = 10\n")):
        text = text.replace(old, new)
    return text.replace("num_threads = 1", f"num_threads = {THREADS}")


def told(who: str, found: Counter[str], most: int) -> None:
    print(f"  {who}")
    if len(found) > most:
        # Files of many sizes: how many calls, and of how many bytes, is left out.
        alike: Counter[str] = Counter()
        for way, number in found.items():
            alike[re.sub(r"(n x write of n, )?write of n", "writes", re.sub(r"\b\d+\b", "n", way))] += number
        found = alike
    for way, number in list(found.items())[:most]:
        print(f"    {number:5} x  {way}")
    if len(found) > most:
        print(f"    and {len(found) - most} more ways, {sum(found.values()) - sum(list(found.values())[:most])} times")


def beside(
    point: Path, what: str, theirs: Sequence[str], own: Sequence[str], *more: tuple[str, Sequence[str]], most: int = 6
) -> None:
    for who, argv in (("theirs", theirs), ("ours", own), *more):
        told(f"{what}, {who}", traced(argv, point / "load"), most)
        shutil.rmtree(point / "load")
        (point / "load").mkdir()
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ffsb", default=shutil.which("ffsb") or "", help="the program")
    parser.add_argument("--tiotest", default=shutil.which("tiotest") or "", help="the program of tiobench")
    parser.add_argument("--bonnie", default=shutil.which("bonnie++") or "", help="the program")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    parser.add_argument("--ours", default="", help=argparse.SUPPRESS)
    parser.add_argument("--in", dest="place", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ours:
        place = Path(asked.place)
        if asked.ours == "bonnie":
            bonnie_by_plan(place)
            return 0
        if asked.ours == "like-bonnie":
            ours(workload_choices(parse_plan(HEAD + LIKE_BONNIE, "plan.toml"))[0], place)
            return 0
        profile = f'{HEAD}[[workload]]\nkind = "ffsb"\nprofile = "{asked.ours}"\n'
        is_tiobench = asked.ours == "tiobench"
        ours(tiobench_loads() if is_tiobench else workload_choices(parse_plan(profile, "plan.toml"))[0], place)
        return 0
    with room(asked.dir) as place, filesystem(place, 8 * GIB, "ext4", allocate=False) as disk:
        load = disk.point / "load"
        load.mkdir()
        own = (sys.executable, "-m", "tests.bench.published_calls", "--in", str(load), "--ours")
        if asked.tiotest:
            words = ("-t", THREADS, "-f", MIB_EACH, "-r", OPERATIONS // THREADS, "-b", BLOCK, "-d", load, "-T")
            beside(disk.point, "tiobench", (asked.tiotest, *map(str, words)), (*own, "tiobench"))
        if asked.bonnie:
            by_hand = (asked.bonnie, "-d", str(load), *BONNIE_WORDS)
            built_in = ("built-in loads that say the same", (*own, "like-bonnie"))
            beside(disk.point, "bonnie++", by_hand, (*own, "bonnie"), built_in, most=16)
        for path in list_profiles() if asked.ffsb else ():
            if not path.stem.endswith("-5.1") and path.stem != "bull-2008":
                profile = place / path.name
                profile.write_text(small_profile(path.stem, load))
                beside(disk.point, path.stem, (asked.ffsb, str(profile)), (*own, str(profile)))
    return 0


if __name__ == "__main__":
    as_program(main)
