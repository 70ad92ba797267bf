"""Applies a plan file to devices: what `plan` shows is, by the same code, what `run` executes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.ask import require_answer
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.consent import consent_code, short_code, shown_on
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, inspect_device, require
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.hazards import ASKED_OF_SCRATCH
from fsconsole.devices.marker import proven_marker
from fsconsole.devices.memory_group import limit_file
from fsconsole.devices.scratch import Scratch, attached_for_now
from fsconsole.devices.settings import queues_of
from fsconsole.devices.snapshot import find_device, take_snapshot
from fsconsole.errors.runs import NotRoot
from fsconsole.errors.targets import DeviceRefused, NotAsShown
from fsconsole.journal.rates import measured_rates
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.command import Executor
from fsconsole.model.device import Device
from fsconsole.model.plan import Plan
from fsconsole.model.run import RunRequest, Target
from fsconsole.plan.arrays import EVERY_LEVEL, stripes_of
from fsconsole.plan.expand import build_plan, require_runnable, size_bounds
from fsconsole.plan.inodes import MKE2FS_CONF, parse_mke2fs_conf
from fsconsole.plan.lines import telling_lines
from fsconsole.plan.planfile import NO_DEVICE, PlanFile, QueueSpec, TargetSpec, with_rate
from fsconsole.plan.read import read_named
from fsconsole.preflight.findings import missing_tools, what_is_known
from fsconsole.preflight.machine import array_support, require_free_array_name, require_tools
from fsconsole.preflight.sources import with_sources
from fsconsole.system.files import kernel_release, memory_bytes, read_int_or, read_text_or
from fsconsole.system.mounts import read_mounts
from fsconsole.system.run import RealExecutor, find_program

# Codes of a plan and its devices as they were shown, to which a start can be bound.
#
# Consent is given for a device and all that is on it, and a scratch device needs none. This code holds for every device
# alike, and for the plan's cells with their exact commands: whoever starts what he saw gets that, or nothing.

BETWEEN = "."
"""Stands between the codes where they are told as one."""

_ARRAY_UUID = re.compile(r"(?<='--uuid=)[0-9a-f-]{36}(?=')")


def seen_codes(plan: Plan, reports: Sequence[GateReport]) -> tuple[str, ...]:
    """Return the code of a plan, then that of each device."""
    # The UUIDs of filesystems and arrays are new for every run, and are all that may differ.
    cells = (_ARRAY_UUID.sub("UUID", repr(cell).replace(cell.uuid, "UUID")) for cell in plan.cells)
    plan_code = short_code("\n".join((repr(replace(plan, cells=())), *cells)))
    targets = (json.dumps(shown_on(report), sort_keys=True) for report in reports)
    return (plan_code, *map(short_code, targets))


def check_seen(code: str, now: Sequence[str], reports: Sequence[GateReport]) -> None:
    """Raise NotAsShown unless plan and devices have the codes that they had when the code was given."""
    seen = code.strip().upper().split(BETWEEN)
    if len(seen) != len(now):
        raise NotAsShown("the choice of devices")
    names = ("the plan", *(report.device.path for report in reports))
    changed = [name for name, before, after in zip(names, seen, now, strict=True) if before != after]
    if changed:
        raise NotAsShown(", ".join(changed))


_ZEROES_IN_PLACE = ("ext2", "ext3", "ext4")
_STRIPED = ("raid4", "raid5", "raid6")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan applied to devices, with what the gate found on each, in the order of plan.targets."""

    plan: Plan
    reports: tuple[GateReport, ...]
    consent: str
    """The code that agrees to the loss of what the reports show; empty where only scratch devices are meant,
    and where a device is refused."""

    seen: tuple[str, ...]
    """Codes of the plan and of each device, which bind a start to what was found."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """The devices as an engine wants them: with identity, and with what was shown."""
        return tuple(agreed_target(report, self.consent) for report in self.reports)


def prepare(
    plan: str | PlanFile, device_paths: Sequence[str], *, executor: Executor, runs_dir: str, run_id: str
) -> Prepared:
    """Return a plan for these devices; reads them, writes nothing. A path may name a shipped plan.

    A device that the gate refuses has its refusals in its report; nothing is raised for it. Raises NotRoot,
    DeviceMissing, NotABlockDevice, DeviceSilent, DeviceRefused where two devices overlap or arrays have no name, and what require_apart, read_plan and
    build_plan raise.
    """
    plan_file = plan if isinstance(plan, PlanFile) else read_named(plan)
    catalog = load_catalog()
    if os.geteuid() != 0:
        raise NotRoot("Looking at what is on a device")
    plan_file, notes = with_sources(plan_file, runs_dir)
    devices = _distinct(device_paths)
    if plan_file.arrays:
        require_free_array_name()
    least, most = size_bounds(plan_file, catalog)
    context = GateContext(executor, runs_dir, catalog.marks, min_bytes=least, max_bytes=most)
    reports = inspect_devices([device.path for device in devices], context)
    graph = take_snapshot().graph
    rates = measured_rates(runs_dir, [report.identity for report in reports])
    targets = tuple(
        with_rate(target_spec(report.device, graph), rates.get(report.identity.stable_key(), 0.0)) for report in reports
    )
    expanded = _expanded(plan_file, targets, executor, run_id)
    expanded = replace(expanded, notes=expanded.notes + notes)
    require_apart(expanded, reports)
    seen = seen_codes(expanded, reports)
    is_refused = any(report.refusals for report in reports)
    return Prepared(expanded, reports, "" if is_refused else consent_code(reports), seen)


def inspect_devices(paths: Sequence[str], context: GateContext) -> tuple[GateReport, ...]:
    """Return the wipe gate's report on each device; none is read before all have answered.

    Raises DeviceSilent, and what inspect_device() raises.
    """
    known = take_snapshot().devices
    for device in (find_device(path, known) for path in paths):
        require_answer(device.path, device.size_bytes, context.executor)
    return tuple(inspect_device(path, context) for path in paths)


def require_ready(prepared: Prepared, path: str) -> None:
    """Raise the first reason why a prepared plan can't start; path names it in errors."""
    # First, since a device that could not be probed for want of a tool is refused for that.
    require_tools(prepared.plan)
    for report in prepared.reports:
        require(report)
    require_runnable(prepared.plan, path)


def require_apart(plan: Plan, reports: Sequence[GateReport]) -> None:
    """Raise DeviceRefused if the target shares a disk with the system, and the plan has another one or sets that disk."""
    for report in reports:
        path, own = report.device.path, f"/sys/block/{report.device.name}/"
        if not report.is_shared:
            continue
        # One code agrees to all targets: what costs a system must not pass among them.
        if len(reports) > 1 or any(cell.array for cell in plan.cells):
            what = "is on a disk shared with the system, and is not the only target"
            raise DeviceRefused(path, what, "Run the plan on it alone, without arrays: it has a consent of its own.")
        for write in (write for cell in plan.cells for write in cell.writes):
            if write.path.startswith("/sys/") and not write.path.startswith(own):
                what = f"is on a disk shared with the system, and the plan sets {write.name} of that whole disk"
                raise DeviceRefused(path, what, f"Leave {write.name} out of the plan, or name a disk of its own.")


def expand_only(plan_path: str, *, run_id: str) -> Plan:
    """Return a plan with the word DEVICE where a device will be; no device is looked at. Raises as read_plan."""
    plan_file, notes = with_sources(read_named(plan_path))
    plan = _expanded(plan_file, (NO_DEVICE,), RealExecutor(), run_id)
    return replace(plan, notes=plan.notes + notes)


def expand_on(plan_file: PlanFile, device_paths: Sequence[str], run_id: str) -> Plan:
    """Return a plan for these devices without a look at what is on them."""
    return _expanded(plan_file, tuple(map(target_spec, _distinct(device_paths))), RealExecutor(), run_id)


def _expanded(plan_file: PlanFile, targets: tuple[TargetSpec, ...], executor: Executor, run_id: str) -> Plan:
    """Return the plan with what is known of its filesystems here; nothing is tried for it. Raises ToolMissing."""
    catalog = load_catalog()
    listed = {checklist.filesystem for checklist in plan_file.checklists}
    wanted = frozenset(listed | {variant.filesystem for variant in plan_file.variants})
    filesystems = [filesystem for filesystem in catalog.filesystems if filesystem.name in wanted]
    if filesystems and all(missing_tools(filesystem) for filesystem in filesystems):
        # Some missing programs leave rows without figures, all of them leave no run.
        find_program(missing_tools(filesystems[0])[0])
    with telling_lines(plan_file.path, plan_file.source):
        return build_plan(
            plan_file,
            targets,
            catalog,
            run_id=run_id,
            kernel=kernel_release(),
            known=what_is_known(executor, catalog, wanted),
            support=array_support() if plan_file.arrays else EVERY_LEVEL,
            memory_bytes=memory_bytes(),
            mke2fs=parse_mke2fs_conf(read_text_or(MKE2FS_CONF, "")),
        )


def target_spec(device: Device, graph: DeviceGraph | None = None) -> TargetSpec:
    """Return what a plan needs to know of a device; graph has all devices, and is read where it is not given."""
    graph = graph or take_snapshot().graph
    # A partition has no queue of its own; its disk's counts (Documentation/block/queue-sysfs.rst).
    disk = graph.disk(device).name
    return TargetSpec(
        path=device.path,
        size_bytes=device.size_bytes,
        is_scratch=device.is_scratch,
        keeps_blocks=_keeps_blocks(device),
        can_discard=read_int_or(f"/sys/class/block/{disk}/queue/discard_max_bytes", 0) > 0,
        disk=disk,
        queues=tuple(QueueSpec(queue.name, queue.schedulers) for queue in queues_of(device, graph)),
        has_stripe_cache=device.md is not None and device.md.level in _STRIPED,
        memory_limit=limit_file(device.name),
        is_rotating=bool(device.rotational),
        is_flash=device.is_flash,
        bytes_per_s=_written_at(device),
        notes=stripes_of(device, graph.devices).sentences,
    )


def target_specs(request: RunRequest) -> dict[str, TargetSpec]:
    """Return what a plan needs to know of a run's devices, by their paths. Raises DeviceMissing."""
    return {
        target.path: target_spec(find_device(target.path))
        if target.place is None
        else TargetSpec(target.path, target.place.size_bytes, is_directory=True)
        for target in request.targets
    }


def _written_at(device: Device) -> float:
    """Return the rate at which the file of a scratch device was written; 0 where it isn't known."""
    loop = device.loop
    if not device.is_scratch or loop is None:
        return 0.0
    return proven_marker(loop.path, loop.file_device, loop.inode).bytes_per_s


def _keeps_blocks(device: Device) -> bool:
    """Return whether a device is zeroed in place: xfs and btrfs give the file of a scratch device other blocks."""
    if not device.is_scratch or device.loop is None:
        return True
    below = [mount.filesystem for mount in read_mounts() if mount.device_number == device.loop.file_device]
    return bool(below) and below[0] in _ZEROES_IN_PLACE


def _distinct(paths: Sequence[str]) -> tuple[Device, ...]:
    graph = take_snapshot().graph
    devices = (find_device(path, graph.devices) for path in paths)
    found = {device.path: device for device in devices}
    for device, other in permutations(found.values(), 2):
        # A run locks all that a target lies on: of two targets on one disk the second would find it locked.
        if set(lock_paths(device, graph)).intersection(lock_paths(other, graph)):
            raise DeviceRefused(
                device.path,
                f"lies on the same disk as {other.path}, which is a target too",
                "Name one of them; each run takes whole disks for itself.",
            )
    return tuple(found.values())


def kept_on(made: Scratch) -> str:
    """Return what somebody may want to keep on a scratch device, as a clause; empty where it is as fsconsole left it."""
    context = GateContext(RealExecutor(), DEFAULT_RUNS_DIR, load_catalog().marks)
    with attached_for_now(made) as device:
        report = inspect_device(device, context)
    reasons = [hazard.reason for hazard in report.hazards if hazard.check in ASKED_OF_SCRATCH]
    if not reasons:
        return ""
    return f"it {reasons[0]}" if report.is_blank else f"it holds {report.loss}"


def agreed_target(report: GateReport, consent: str) -> Target:
    """Return a device as an engine wants it: who it is, and what was shown on it."""
    loop = report.device.loop
    return Target(
        path=report.device.path,
        fingerprint=report.fingerprint,
        shown=report.hazards,
        consent=consent if report.needs_consent else "",
        backing_file=loop.path if loop is not None and report.device.is_scratch else "",
    )
