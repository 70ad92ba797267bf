"""Device and kernel settings of a plan: the files they are written to, and why a target can't have them.

read_ahead, nr_requests, scheduler: Documentation/block/queue-sysfs.rst; dirty_*: admin-guide/sysctl/vm.rst;
stripe_cache_size: admin-guide/md.rst; memory: admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fsconsole.model.plan import Setting, Write
from fsconsole.plan.keys import MACHINE_WIDE, MEMORY, SETTING_NAMES
from fsconsole.plan.planfile import TargetSpec
from fsconsole.text import KIB
from fsconsole.units import parse_bytes

_UNITS = {"read_ahead": KIB}
"""Bytes of one of what the kernel's file counts."""
_IN_BYTES = frozenset({"read_ahead", "dirty_bytes", "dirty_background_bytes", MEMORY})


def writes_of(values: Mapping[str, str], target: TargetSpec) -> tuple[Write, ...]:
    """Return the writes for settings of a target, in order."""
    return tuple(
        Write(
            name,
            path,
            values[name] if name not in _IN_BYTES else str(parse_bytes(values[name]) // _UNITS.get(name, 1)),
        )
        for name in SETTING_NAMES
        if name in values
        for path in _paths(name, target)
    )


def objections(values: Mapping[str, str], target: TargetSpec) -> tuple[str, ...]:
    """Return why a target, or the kernel, can't have these settings, in clauses; empty where nothing is known."""
    reasons = []
    wanted = values.get("scheduler", "")
    for queue in target.scheduled if wanted else ():
        if queue.schedulers and wanted not in queue.schedulers:
            offered = ", ".join(queue.schedulers)
            reasons.append(
                f"{queue.disk} has no scheduler {wanted}, it offers {offered} (`modprobe {wanted}` may add it)"
            )
    if "stripe_cache_size" in values and not target.has_stripe_cache:
        reasons.append(f"{target.path} has no stripe cache: only md arrays of level 4, 5 and 6 have one")
    if MEMORY in values and not target.memory_limit:
        reasons.append(
            "this machine has no memory cgroups: the memory controller is neither in /sys/fs/cgroup/memory nor enabled in "
            "/sys/fs/cgroup/cgroup.subtree_control"
        )
    limits = [parse_bytes(values.get(name, "0")) for name in ("dirty_background_bytes", "dirty_bytes")]
    if all(limits) and limits[0] >= limits[1]:
        reasons.append("dirty_background_bytes is not below dirty_bytes: the kernel would take half of dirty_bytes")
    return tuple(reasons)


def own_values(setting: Setting, own: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return a workload's own settings; with a scheduler of its own the cell's nr_requests is written again after it."""
    values, of_cell = dict(own), dict(setting.values)
    if "scheduler" in values and "nr_requests" in of_cell:
        return {"nr_requests": of_cell["nr_requests"]} | values
    return values


def _paths(name: str, target: TargetSpec) -> tuple[str, ...]:
    if name in MACHINE_WIDE:
        return (f"/proc/sys/vm/{name}",)
    if name == MEMORY:
        return (target.memory_limit,)
    if name == "stripe_cache_size":
        return (f"/sys/block/{target.sysfs_name}/md/{name}",)
    if name == "read_ahead":
        return (f"/sys/block/{target.sysfs_name}/queue/read_ahead_kb",)
    return tuple(f"/sys/block/{queue.disk}/queue/{name}" for queue in target.scheduled)
