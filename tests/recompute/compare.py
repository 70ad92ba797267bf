"""Sets the figures of a run's export beside the recomputed ones."""

from __future__ import annotations

import math
import os
import re
import subprocess
import uuid
from collections import Counter, defaultdict
from pathlib import Path

from tests.recompute.figures import Figure, Recomputed
from tests.recompute.run import Json

SAME, NEAR, BETWEEN, LATE, OTHER, NOT = "same", "near", "between", "late", "OTHER", "not recomputed"
WAITING = ("synced", "direct", "random read")
"""Loads that wait for the device: their latencies are the trace's where the machine does nothing else, and come late (by the CPU) where it does."""
COMPUTES_MS = 0.1
"""A call this short didn't wait for the device."""
EXACT = {
    "written", "read_bytes", "files_mapped", "files_compressed", "extents_mean", "extents_median", "extents_max",
    "extent_size_median", "usable", "available", "overhead", "used", "inodes", "non_contiguous", "over_2_s", "over_10_s", "lists_read",
    "device_flushes", "latency_count", "fsync_count",
}  # fmt: skip
LATENCY = re.compile(
    r"(latency|fsync|create|write|append|read|random_read|random_write|stat|delete)_(mean|p50|p95|p99|max)$"
)
BOUNDED = ("stalls", "peak_dirty")
"""Theirs are two samples a second; the true figure has bounds."""
ROUGH = {
    "check_rss": (0.10, 2.0**19),
    "check_empty_rss": (0.10, 2.0**19),
    "memory_reported": (0.10, 2.0**26),
    "foreign_io": (0.25, 2.0**25),
}
"""Share and least by which they may differ: of others, who do much between two of our samples."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def verdict(name: str, told: float, found: Figure | None, load: str, span_s: float) -> str:
    """Tell how near a figure is to the recomputed one; span_s is what it was measured over."""
    if found is None:
        return NOT
    if math.isclose(told, found.value, rel_tol=1e-12):
        return SAME
    if name not in BOUNDED and abs(told - found.value) <= allowed(name, found.value, span_s):
        return NEAR
    low, high = sorted((found.value, found.high))
    # A bucket is 6 % wide; 16 MiB are what all others may have dirtied between two samples.
    room = 2**24 if name == "peak_dirty" else 0
    if not 0.93 * low - room <= told <= 1.07 * high + room:
        return OTHER
    waits = LATENCY.match(name) and load in WAITING and found.value > COMPUTES_MS and not name.endswith("max")
    return LATE if waits else BETWEEN


def allowed(name: str, true: float, span_s: float) -> float:
    """Return by how much a figure may differ."""
    ticks = 2 * TICK_S / max(span_s, TICK_S)
    share, least = 0.05, 0.010
    if name in EXACT or name.endswith("_count"):
        share, least = 0.0, 0.0
    elif LATENCY.match(name):
        share, least = 0.10, 0.002
    elif name.startswith("cpu_by") or name in ("cpu", "cpu_generator", "observer"):
        share, least = 0.10, 100 * ticks
    elif name.endswith("per_gib"):
        share = max(0.10, 2 * ticks)
    elif name in ROUGH:
        share, least = ROUGH[name]
    elif name.startswith(("device_", "write_amp")):
        # What the loop device's own threads do at the very begin and end may stand on the other side of the instant.
        share, least = 0.01, 2
    elif name.endswith("_per_s") or name.startswith(("raw_", "readtest")) or name in ("write", "durable", "read"):
        share = max(0.05, 0.010 / span_s)
    return max(share * true, least)


def free_space(steps: list[Json], size_bytes: int, place: Path) -> tuple[int, int]:
    """Return the bytes free, and those for others than root, of the same filesystem on a sparse file of the same size."""
    mkfs, mount = (next(s["commands"][0]["argv"] for s in steps if s["kind"] == kind) for kind in ("mkfs", "mount"))
    image, point = place / "image", place / "point"
    image.write_bytes(b"")
    os.truncate(image, size_bytes)
    point.mkdir(exist_ok=True)
    device = subprocess.check_output(["losetup", "--find", "--show", "--direct-io=on", str(image)], text=True).strip()
    try:
        of_run = mount[-2]
        fresh = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
        words = [device if word == of_run else fresh.sub(str(uuid.uuid4()), word) for word in mkfs]
        subprocess.run(words, check=True, capture_output=True)
        subprocess.run([*mount[:-2], device, str(point)], check=True, capture_output=True)
        room = os.statvfs(point)
        subprocess.run(["umount", str(point)], check=True)
        return room.f_bfree * room.f_frsize, room.f_bavail * room.f_frsize
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
        image.unlink()


def compared(again: Recomputed, size_bytes: int, place: Path, *, tells_all: bool) -> dict[str, Counter[str]]:
    """Print what differs, and how near each column is; return the verdicts by column."""
    all_of: dict[str, Counter[str]] = defaultdict(Counter)
    cells = again.run.export["cells"]
    made = [cell for cell in cells if any(step["kind"] == "mkfs" for step in cell["steps"])]
    free = {cell["variant"]: free_space(cell["steps"], size_bytes, place) for cell in made}
    for cell in cells:
        load, told, found = "", {}, {}
        for step, figures in again.life(cell, free, size_bytes):
            if step["kind"] != "drain":
                told, found = {}, {}
                load = step["title"].partition(":")[0] if step["kind"] == "workload" else step["kind"]
            told |= {one["metric"]: one["value"] for one in step["measurements"]}
            found |= figures
            if step["kind"] in ("check", "check-empty"):
                found |= of_check(step, again.run.folder)
            if step["kind"] == "extent-lists" and step["commands"]:
                found |= of_lists(step, again.run.folder)
            if step["kind"] == "workload" and next_is_drain(cell, step):
                continue
            for user in [name for name in told if name.endswith("_user")]:
                command = user.removesuffix("_user")
                told[f"{command} CPU"] = told.pop(user) + told.pop(f"{command}_system")
            if "user" in told:
                told["load CPU"] = told.pop("user") + told.pop("system")
            span_s = told["last_done"] + told.get("drain", 0.0) if "last_done" in told else step["elapsed_s"]
            for name, value in told.items():
                says = verdict(name, value, found.get(name), load, span_s)
                all_of[name][says] += 1
                if says in (OTHER, LATE) or tells_all:
                    print(f"  {says:8} {cell['variant']}, {load}: {name} {value:.6g}, again {found.get(name)}")
    for name, verdicts in all_of.items():
        print(f"  {name:24}", ", ".join(f"{count} {says}" for says, count in verdicts.most_common()))
    return all_of


def next_is_drain(cell: Json, step: Json) -> bool:
    return any(s["number"] == step["number"] + 1 and s["kind"] == "drain" for s in cell["steps"])


def of_lists(step: Json, folder: Path) -> dict[str, Figure]:
    """Return the share of extent trees with interior nodes (debugfs: lines below the head), or of format 3 (xfs_db)."""
    said = (folder / step["commands"][0]["output"]).read_text(errors="replace")
    formats = re.findall(r"core\.format = (\d)", said)
    files = said.count("Level Entries") + len(formats)
    outside = len(re.findall(r"Level Entries[^\n]*\n *\d+/", said)) + formats.count("3")
    return {"lists_read": Figure(100 * outside / files)} if files else {}


def of_check(step: Json, folder: Path) -> dict[str, Figure]:
    """Return e2fsck's own share of fragmented files, from what it printed."""
    said = (folder / step["commands"][0]["output"]).read_text(errors="replace")
    share = re.search(r"\(([\d.]+)% non-contiguous\)", said)
    return {"non_contiguous": Figure(float(share[1]))} if share else {}
