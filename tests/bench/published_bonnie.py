"""bonnie++ by hand, by a plan, and built-in loads that say the same: its own csv beside our figures, its clock beside `time`.

    sudo python -m tests.bench.published_bonnie [--bonnie PATH] [--pairs 4] [--data-mib 1024] [--memory-mib 256] [--files 32768]

Four things. The csv of each run by a plan is read once more by the field names of bon_csv2html(1): our figures must equal it.
The program that a command starts is timed by the shell's `time`, and by our clock around it. The same tests by hand and
by a plan, in its cage, take turns; so do bonnie++ and the built-in loads create, read, stat and delete. A memory cgroup holds all
of them to less page cache than there are data, so that block input comes from the device: what it read is counted.

bonnie++ writes with O_DIRECT and reads through the page cache, one file of at most 1 GiB after the other. Each is synced at its
end within the time of block output, and the built-in create syncs each file, too. Files for creates, stats and deletes are empty.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from fsconsole.model.bonnie import IN_KIB, RATES_OF_ALL, BonnieTest
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.read import parse_plan
from fsconsole.system.cgroups import join
from fsconsole.text import GIB, KIB, MIB
from fsconsole.workloads.program import prepare_program
from fsconsole.workloads.protocol import LoadResult
from tests.bench.paired import as_program, judge
from tests.bench.phases import (
    DEVICE,
    FILES,
    OPS,
    SPEED,
    TOOK,
    Ours,
    Run,
    device_read_bytes,
    in_directory,
    memory_group,
    side_by_side,
    within,
)
from tests.bench.scratch_fs import Mounted, filesystem, room

HEAD = 'schema = 1\n[[variant]]\ntype = "ext4"\n'
BLOCK = 32 * KIB
HEADER = (
    "format_version,bonnie_version,name,concurrency,seed,file_size,chunk_size,seeks_count,seek_proc_count,putc,putc_cpu,put_block,"
    "put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,"
    "file_chunk_size,seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,"
    "ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,"
    "seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency"
)
"""man 1 bon_csv2html, format 1.98."""
MS_OF = {"us": 1e-3, "ms": 1.0, "s": 1e3}
WHOLE = "whole run"
OURS_OF = {
    BonnieTest.PUT_BLOCK: ("put", SPEED), BonnieTest.GET_BLOCK: ("get", SPEED),
    BonnieTest.SEQ_CREATE: ("files", FILES), BonnieTest.SEQ_STAT: ("stat", FILES), BonnieTest.SEQ_DELETE: ("delete", FILES),
}  # fmt: skip
"""Tests that a built-in load says the same as, and that load."""


def csv_row(said: str) -> dict[str, str]:
    """Return bonnie++'s last line of csv by the names of its manual."""
    lines = [line for line in said.splitlines() if line.count(",") > 20]
    (row,) = csv.DictReader([HEADER, lines[-1]])
    return row


def own_figures(said: str) -> dict[str, float]:
    """Return what a line of csv says, in the units of our metrics, under their names; what it could not tell is left out."""
    row, found = csv_row(said), {}
    for test in BonnieTest:
        name = f"bonnie_{test.value}"
        if row[test.value] and "+" not in row[test.value]:
            found[RATES_OF_ALL.get(test, name)] = float(row[test.value]) * (KIB if test in IN_KIB else 1)
            found[f"{name}_cpu"] = float(row[f"{test.value}_cpu"])
        if match := re.fullmatch(r"(\d+)(us|ms|s)", row[f"{test.value}_latency"]):
            found[f"{name}_latency"] = int(match[1]) * MS_OF[match[2]]
    return found


def rates(said: str) -> Run:
    """Return its rates as phases."""
    row = csv_row(said)
    return {
        test.value: {
            SPEED if test in IN_KIB else OPS if test is BonnieTest.SEEKS else FILES: float(row[test.value])
            * (KIB / 1e6 if test in IN_KIB else 1)
        }
        for test in BonnieTest
        if row[test.value] and "+" not in row[test.value]
    }


def words_of(asked: argparse.Namespace, directory: Path) -> tuple[str, ...]:
    """Return its command line, as the plan's `direct` makes it: no single bytes, and no check of the RAM."""
    size, files = f"{asked.data_mib}:{BLOCK}", f"{asked.files // 1024}:0:0:1"
    return (
        asked.bonnie,
        "-q",
        "-u",
        "0:0",
        "-d",
        str(directory),
        "-s",
        size,
        "-n",
        files,
        "-r",
        "0",
        "-z",
        "1",
        "-D",
        "-f",
    )


def by_hand(asked: argparse.Namespace, disk: Mounted, directory: Path, group: str) -> Run:
    """Run it once."""
    before, begun_s = device_read_bytes(disk.device), time.monotonic()
    argv = within(group, words_of(asked, directory))
    said = subprocess.run(argv, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    took_s, read = time.monotonic() - begun_s, device_read_bytes(disk.device) - before
    return {**rates(said), WHOLE: {TOOK: took_s, DEVICE: read / 1e6}}


def loads_of(text: str) -> tuple[Workload, ...]:
    return workload_choices(parse_plan(HEAD + text, "plan.toml"))[0]


def program(load: Workload, directory: Path, group: str) -> tuple[LoadResult, str, str]:
    """Carry out a program's load as a cell does; return its result and both outputs."""
    (directory / "program").mkdir()
    handle = prepare_program(
        load, tree=str(directory), device=directory.stat().st_dev, directory="program", hidden=(), roots=load.sources
    )
    try:
        handle.wait_ready()
        if group:
            join(str(Path(group).parent), handle.pid, "/proc")
        handle.go()
        result = handle.wait()
        if result.failures:
            raise SystemExit(f"{load.name}: {result.failures}")
        ended = handle.end()
        return result, ended.stdout.decode(), ended.stderr.decode()
    finally:
        handle.kill()


def by_plan(asked: argparse.Namespace, disk: Mounted, directory: Path, group: str, unequal: list[str]) -> Run:
    """Run it once in its cage, and compare our figures with its csv."""
    (load,) = loads_of(
        f'[[workload]]\nkind = "bonnie"\nbytes = "{asked.data_mib}MiB"\nblock_size = "{BLOCK}B"\nfiles = {asked.files}\n'
        "direct = true\n"
    )
    before = device_read_bytes(disk.device)
    result, said, _ = program(load, directory, group)
    read = device_read_bytes(disk.device) - before
    told, own = {one.metric.value: one.value for one in result.told}, own_figures(said)
    unequal += [
        f"{name}: {told.get(name)} is not {own.get(name)}" for name in told | own if told.get(name) != own.get(name)
    ]
    return {**rates(said), WHOLE: {TOOK: result.elapsed_s, DEVICE: read / 1e6}}


def built_in(asked: argparse.Namespace, disk: Mounted, directory: Path, group: str) -> Run:
    """Carry out the built-in loads that say the same, under the names of its tests."""
    whole = -(-asked.data_mib // 1024)
    text = f"""
[[workload]]
name = "put"
kind = "create"
files = {whole}
file_size = "{asked.data_mib // whole}MiB"
block_size = "{BLOCK}B"
direct = true
fsync = "each-file"
[[workload]]
name = "get"
kind = "read"
block_size = "{BLOCK}B"
[[workload]]
name = "files"
kind = "create"
files = {asked.files}
file_size = "4KiB"
block_size = "4KiB"
[[workload]]
name = "stat"
kind = "stat"
[[workload]]
name = "delete"
kind = "delete"
"""
    # A plan has no empty files; the generator makes them.
    loads = [replace(load, file_size_bytes=0) if load.name == "files" else load for load in loads_of(text)]
    found = Ours(disk, directory, group).carry_out(loads)
    return {test.value: {figure: found[name][figure]} for test, (name, figure) in OURS_OF.items()}


def clocks(asked: argparse.Namespace, disk: Mounted, group: str) -> bool:
    """Have the shell's `time` and our clock measure the same run."""
    script = 'TIMEFORMAT="time %R %U %S"; time "$@"'
    holds = True
    for _ in range(2):

        def run(directory: Path) -> Run:
            argv = ("bash", "-c", script, "time", *words_of(asked, directory / "program"))
            load = Workload("clock", WorkloadKind.COMMAND, 1, 0, 0, BLOCK, argv=argv)
            result, _, said = program(load, directory, group)
            real_s, user_s, system_s = map(float, said.rpartition("time ")[2].split()[:3])
            return {
                "time": {"CPU s": user_s + system_s, TOOK: real_s},
                "ours": {"CPU s": result.user_s + result.system_s, TOOK: result.elapsed_s},
            }

        found = in_directory(disk, run)
        for figure in ("CPU s", TOOK):
            own, theirs = found["ours"][figure], found["time"][figure]
            judge(
                f"around bonnie++, {figure}: ours {own:.3f}, time {theirs:.3f}; ours - time, ms", (own - theirs) * 1e3
            )
            holds &= abs(own - theirs) < max(0.02, 0.005 * theirs)
    print(f"our clock and time: {'holds' if holds else 'DOES NOT HOLD'}", flush=True)
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bonnie", default=shutil.which("bonnie++") or "bonnie++", help="the program")
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--data-mib", type=int, default=1024)
    parser.add_argument("--memory-mib", type=int, default=256, help="of the page cache; 0: all there is")
    parser.add_argument("--files", type=int, default=32768)
    parser.add_argument("--device-gib", type=int, default=8)
    parser.add_argument("--filesystem", default="ext4")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    unequal: list[str] = []
    with (
        room(asked.dir) as place,
        filesystem(place, asked.device_gib * GIB, asked.filesystem) as disk,
        memory_group(asked.memory_mib * MIB) as group,
    ):
        print(f"{asked.data_mib} MiB, {asked.files} empty files, {asked.memory_mib} MiB of memory, {asked.pairs} pairs")
        kept = clocks(asked, disk, group)
        kept &= side_by_side(
            "bonnie++ by hand",
            lambda: in_directory(disk, lambda place: by_hand(asked, disk, place, group)),
            {
                "by a plan": lambda: in_directory(disk, lambda place: by_plan(asked, disk, place, group, unequal)),
                "built-in loads": lambda: in_directory(disk, lambda place: built_in(asked, disk, place, group)),
            },
            asked.pairs,
            judged=(SPEED, OPS, FILES),
        )
        print(f"figures of ours that differ from bonnie++'s csv: {unequal or 'none'}")
    return 0 if kept and not unequal else 1


if __name__ == "__main__":
    as_program(main)
