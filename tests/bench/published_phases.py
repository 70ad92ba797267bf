"""All four phases of tiotest, and FFSB's profiles, beside our loads of the shipped plan and profiles: in turn, on one device.

    sudo python -m tests.bench.published_phases [--tiotest PATH] [--ffsb PATH] [--pairs 5] [--dir DIRECTORY]
        [--threads 4] [--file-mib 256] [--operations 32000] [--files 50] [--mail-files 4000] [--seconds 3] [--memory-mib 0]

Both are built as for published_generators.py. Without --memory-mib all calls are direct, and each byte comes from the device;
with it, calls are buffered and a memory cgroup of that size, less than there are data, holds the page cache of both.
What the device read is counted beside what the program read.

tiotest's figures are those of its terse line: its clock, the mean of what its threads say of their process's CPU, its
latencies. FFSB's are those that it prints, with its own statistics of system calls; caches are dropped by its callout, before
its clock starts, and a sync() is the last that is within its time. Of reads and random writes its files are made once and used
again; the mail server, which is always buffered, has new ones in each turn. Ours are the product's own figures of the load,
where something was written over the time until such a sync() is done.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

from msgspec.structs import replace

from fsconsole.model.workload import DataKind, Workload
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.ffsb import list_profiles
from fsconsole.plan.read import find_config, parse_plan
from fsconsole.text import GIB, MIB
from tests.bench.paired import as_program
from tests.bench.phases import (
    BYTES,
    CPU,
    DEVICE,
    MAX,
    MEAN,
    OPS,
    OVER_2,
    OVER_10,
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

BLOCK = 16384
READS, MAIL = ("large-file-sequential-read", "large-file-random-read"), "mail-server"
HEAD = 'schema = 1\n[[variant]]\ntype = "ext4"\n'
TIOTEST_NAMES = {
    "write": "sequential write",
    "rwrite": "random write",
    "read": "sequential read",
    "rread": "random read",
}
"""tiotest's lines, and our loads."""
FFSB_LINES = {
    OPS: r"^([\d.]+) Transactions per Second",
    TOOK: r"^Benchmark took ([\d.]+) sec",
    "user": r"^([\d.]+)% User +Time",
    "system": r"^([\d.]+)% System Time",
}
FFSB_RATE = r"^{} Throughput: ([\d.e+]+)(GB|MB|KB)/sec"
FFSB_CALLS = r"^\[ +{}\]\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s"
FFSB_DONE = r"^ +{} : +(\d+)"
UNIT_BYTES = {"GB": 2**30, "MB": 2**20, "KB": 2**10}
STATS = "\t[stats]\n\t\tenable_stats = 1\n\t\tenable_range = 0\n\t[end]\n[end]"


def tiobench_loads(asked: argparse.Namespace) -> tuple[Workload, ...]:
    """Return the shipped study's loads with the numbers asked for, zeros as tiotest's; nothing but --memory-mib makes reads cold."""
    text = find_config("cao-2005-tiobench").read_text()
    for old, new in (
        ("[1, 2, 4, 8, 16, 32, 64]", str(asked.threads)),
        ('"4GiB"', f'"{asked.threads * asked.file_mib}MiB"'),
        (f"{4000 * BLOCK}B", f"{asked.operations // asked.threads * asked.threads * BLOCK}B"),
    ):
        text = text.replace(old, new)
    loads = workload_choices(parse_plan(text, "plan.toml"))[0]
    is_direct = not asked.memory_mib
    return tuple(replace(load, data=DataKind.ZERO, cold=False, direct=is_direct) for load in loads)


def tiotest(asked: argparse.Namespace, disk: Mounted, directory: Path, group: str) -> Run:
    """Run tiotest once and return what it prints of each phase."""
    each = asked.operations // asked.threads
    words = f"-T -t {asked.threads} -f {asked.file_mib} -r {each} -b {BLOCK} -d {directory}".split()
    before = device_read_bytes(disk.device)
    said = told(within(group, (asked.tiotest, *words, *(() if asked.memory_mib else ("-X",)))))
    read_mb, found, read = (device_read_bytes(disk.device) - before) / 1e6, {}, 0.0
    for line in said.splitlines():
        name, _, rest = line.partition(":")
        if name in TIOTEST_NAMES:
            mib, took, user, system, mean, most, over_2, over_10 = map(float, rest.split(","))
            read += mib * MIB / 1e6 if name in ("read", "rread") else 0
            found[TIOTEST_NAMES[name]] = {
                CPU: (user + system) / (mib * MIB / 1e9), SPEED: mib * MIB / took / 1e6, OPS: mib * MIB / BLOCK / took, MEAN: mean, MAX: most, OVER_2: over_2, OVER_10: over_10,
                BYTES: mib * MIB / 1e6, TOOK: took,
            }  # fmt: skip
    return {**found, "all phases": {"device read / read": read_mb / read}}


def tiobench_ours(loads: tuple[Workload, ...], disk: Mounted, directory: Path, group: str) -> Run:
    """Carry out our four loads."""
    found = Ours(disk, directory, group).carry_out(loads)
    read_mb = sum(found[name][BYTES] for name in ("sequential read", "random read"))
    return {**found, "all phases": {"device read / read": sum(one[DEVICE] for one in found.values()) / read_mb}}


def told(argv: tuple[str, ...]) -> str:
    """Return what a program prints. Ends where it fails."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{argv} ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return done.stdout


def profile_for(name: str, asked: argparse.Namespace, directory: Path) -> str:
    """Return a shipped profile of FFSB 6.0 with the numbers asked for."""
    (path,) = (one for one in list_profiles() if one.stem == name)
    text = path.read_text()
    for old, new in (
        (r"time = \d+", f"time = {asked.seconds}"),
        (r"location = .*", f"location = {directory}"),
        (r"num_files = \d+", f"num_files = {asked.mail_files if name == MAIL else asked.files}"),
        (r"num_threads = \d+", f"num_threads = {asked.threads}"),
        (r"directio = \d", f"directio = {0 if asked.memory_mib or name == MAIL else 1}"),
    ):
        text = re.sub(old, new, text)
    return text


def ffsb(asked: argparse.Namespace, disk: Mounted, profile: Path, group: str) -> Run:
    """Run FFSB once on the files that it finds, or makes first, and return what it prints."""
    said = told(within(group, (asked.ffsb, str(profile))))

    def found(pattern: str) -> tuple[str, ...]:
        match = re.search(pattern, said, re.MULTILINE)
        if match is None:
            raise SystemExit(f"not understood: {said[-800:]}")
        return match.groups()

    numbers = {name: float(found(pattern)[0]) for name, pattern in FFSB_LINES.items()}
    call = "read" if "Read Throughput" in said else "write"
    rate, unit = found(FFSB_RATE.format(call.capitalize()))
    speed = float(rate) * UNIT_BYTES[unit] / 1e6
    moved_gb = speed * numbers[TOOK] / 1e3
    figures = {
        CPU: (numbers["user"] + numbers["system"]) / 100 * numbers[TOOK] / moved_gb,
        SPEED: speed, OPS: numbers[OPS], BYTES: moved_gb * 1e3, TOOK: numbers[TOOK],
    }  # fmt: skip
    if profile.stem == MAIL:
        # Its write calls are appends and parts of creates, of which ours have one time each.
        for name in ("append", "delete"):
            figures[f"{name}s/s"] = float(found(FFSB_DONE.format(name))[0]) / numbers[TOOK]
    else:
        figures[MEAN], figures[MAX] = map(float, found(FFSB_CALLS.format(call)))
    if call == "read":
        # The callout keeps what the device had read before the clock started.
        before = int(profile.with_suffix(".before").read_text()) * 512
        figures[DEVICE] = (device_read_bytes(disk.device) - before) / 1e6
    return {profile.stem: figures}


def ffsb_phase(name: str, asked: argparse.Namespace, disk: Mounted, place: Path, group: str) -> bool:
    """Compare FFSB's operations by one profile with ours."""
    home, own_home = disk.point / "theirs", disk.point / "ours"
    home.mkdir()
    own_home.mkdir()
    text, profile, callout = profile_for(name, asked, home), place / f"{name}.ffsb", place / "callout"
    stat = f"/sys/class/block/{Path(disk.device).name}/stat"
    callout.write_text(
        "#!/bin/sh\necho 3 >/proc/sys/vm/drop_caches\n"
        f"read -r a b sectors rest <{stat}\necho $sectors >{profile.with_suffix('.before')}\n"
    )
    callout.chmod(0o755)
    plan = f'{HEAD}[[workload]]\nname = "{name}"\nkind = "ffsb"\ncold = true\nprofile = "{place}/own.ffsb"\n'
    (place / "own.ffsb").write_text(text)
    file_set, phase = workload_choices(parse_plan(plan, "plan.toml"))[0]
    made = replace(file_set, data=DataKind.ZERO, direct=False)
    phase = replace(phase, data=DataKind.ZERO)
    changes_files = name == MAIL
    with_stats = re.sub(r"\[end\]\s*$", STATS, text)
    with_callout = with_stats.replace("\n[filesystem]", f"\ncallout = {callout}\n[filesystem]", 1)
    reused = with_callout if changes_files else re.sub(r"(location = .*)", r"\1\n\treuse = 1", with_callout)
    profile.write_text(reused)

    def theirs() -> Run:
        if changes_files:
            shutil.rmtree(home)
            home.mkdir()
        return ffsb(asked, disk, profile, group)

    own = Ours(disk, own_home, group, until_synced=name not in READS)

    def ours() -> Run:
        if not changes_files:
            return own.carry_out([phase], first=1)
        shutil.rmtree(own_home)
        own_home.mkdir()
        fresh = Ours(disk, own_home, group, until_synced=True)
        return {name: fresh.carry_out([made, phase])[phase.name]}

    try:
        if not changes_files:
            own.carry_out([made])
        judged = (SPEED, OPS) if changes_files else (SPEED, OPS, MEAN)
        return side_by_side("FFSB", theirs, {"ours": ours}, asked.pairs, judged=judged)
    finally:
        shutil.rmtree(home)
        shutil.rmtree(own_home)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ffsb", default=shutil.which("ffsb") or "", help="the program")
    parser.add_argument("--tiotest", default=shutil.which("tiotest") or "", help="the program of tiobench")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--file-mib", type=int, default=256, help="of each of tiotest's files, one of each thread")
    parser.add_argument("--operations", type=int, default=32000, help="of each random phase, over all threads")
    parser.add_argument("--files", type=int, default=50, help="of FFSB, 40 MiB each")
    parser.add_argument("--mail-files", type=int, default=4000, help="of FFSB's mail server, 4 to 64 KiB each")
    parser.add_argument("--seconds", type=int, default=3, help="of each FFSB run")
    parser.add_argument("--memory-mib", type=int, default=0, help="of the page cache; 0: direct I/O")
    parser.add_argument("--filesystem", default="ext4")
    parser.add_argument("--device-gib", type=int, default=8)
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    kept = True
    with room(asked.dir) as place, filesystem(place, asked.device_gib * GIB, asked.filesystem) as disk:
        how = f"buffered, {asked.memory_mib} MiB of memory" if asked.memory_mib else "direct"
        print(f"{asked.threads} threads, {how}, {asked.filesystem}, {asked.pairs} pairs; medians")
        with memory_group(asked.memory_mib * MIB) as group:
            if asked.tiotest:
                loads = tiobench_loads(asked)
                kept &= side_by_side(
                    "tiotest",
                    lambda: in_directory(disk, lambda place: tiotest(asked, disk, place, group)),
                    {"ours": lambda: in_directory(disk, lambda place: tiobench_ours(loads, disk, place, group))},
                    asked.pairs,
                    judged=(SPEED, MEAN),
                )
            for name in (*READS, "large-file-random-write", MAIL) if asked.ffsb else ():
                kept &= ffsb_phase(name, asked, disk, place, group)
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
