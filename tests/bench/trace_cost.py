"""CPU time of a traced load's watch alone, while fio writes with 192 threads, and with 16 at random in 4 KiB.

python -m tests.bench.trace_cost DEVICE, which is formatted: a scratch device of 3 GiB or more. Started through
`unshare --mount --propagation private`, so that its mounts vanish with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from fsconsole.system.files import cpu_count
from fsconsole.system.mounts import mounted_at, mounted_tracefs
from fsconsole.system.run import RealExecutor
from fsconsole.telemetry.machine import bdi_name, device_bdi_path
from fsconsole.telemetry.trace_instance import TraceInstance
from fsconsole.telemetry.writeback import WritebackWatch, traced_disks

LOADS = {
    "192 writers, 64 KiB": ("--rw=write", "--bs=64k", "--size=12m", "--numjobs=192"),
    "16 random writers, 4 KiB direct": ("--rw=randwrite", "--bs=4k", "--size=64m", "--numjobs=16", "--direct=1"),
}
FIO = ("fio", "--name=x", "--thread", "--end_fsync=1", "--time_based", "--runtime=8", "--output-format=terse")


def measured(name: str, place: str, tracefs: str, debug: str, words: tuple[str, ...]) -> str:
    """Return what the watch cost beside one load, in words."""
    mounted = mounted_at(place)
    if mounted is None:
        raise SystemExit(f"nothing is mounted at {place}")
    trace = TraceInstance(tracefs, f"cost-{os.getpid()}", traced_disks(name), bdi_name(mounted))
    watch = WritebackWatch(name, device_bdi_path(debug, name), trace)
    before_s, begun_s = time.process_time(), time.monotonic()
    watch.start()
    subprocess.run((*FIO, f"--directory={place}", *words), check=True, stdout=subprocess.DEVNULL)
    used_s, elapsed_s = time.process_time() - before_s, time.monotonic() - begun_s
    watch.stop()
    watch.figures(time.monotonic_ns(), time.monotonic_ns(), wrote=True)
    after_s = time.process_time() - before_s - used_s
    events = 0 if watch.sums is None else watch.sums.events
    return (
        f"{100 * used_s / elapsed_s / cpu_count():.2f} % of all CPUs while it ran, {after_s:.3f} CPU s after it;"
        f" {events / elapsed_s:.0f} events a second, {watch.lost} lost, {len(watch.readings)} readings in {elapsed_s:.1f} s"
    )


def main(device: str) -> None:
    """Print a line for each load."""
    with tempfile.TemporaryDirectory() as directory:
        place, debug = (os.path.join(directory, name) for name in ("mnt", "debug"))
        for made in (place, debug):
            os.mkdir(made)
        tracefs = mounted_tracefs(RealExecutor(), os.path.join(directory, "trace"))
        subprocess.run(("mount", "-t", "debugfs", "debugfs", debug), check=True)
        for load, words in LOADS.items():
            subprocess.run(("mkfs.ext4", "-q", "-F", "-E", "nodiscard", device), check=True)
            subprocess.run(("mount", device, place), check=True)
            print(f"{load}: {measured(os.path.basename(device), place, tracefs, debug, words)}")
            subprocess.run(("umount", place), check=True)
        for mounted in (debug, tracefs) if tracefs.startswith(directory) else (debug,):
            subprocess.run(("umount", mounted), check=True)


if __name__ == "__main__":
    main(sys.argv[1])
