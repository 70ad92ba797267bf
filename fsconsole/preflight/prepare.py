"""A plan file and devices brought together: what `plan` shows is, by the same code, what `run` executes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.known import Known
from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.answering import require_answer
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.consent import consent_code
from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.gate import GateContext, GateReport, inspect_device
from fsconsole.devices.queues import queues_of
from fsconsole.devices.relatives import DeviceGraph
from fsconsole.devices.uses import read_graph
from fsconsole.errors import DeviceRefused, NotRoot
from fsconsole.model.command import Executor
from fsconsole.model.device import Device
from fsconsole.model.plan import Plan
from fsconsole.model.run import Target
from fsconsole.plan.array_place import EVERY_LEVEL, ArraySupport
from fsconsole.plan.configs import resolve_plan
from fsconsole.plan.estimate import FLASH_BYTES_PER_S, ROTATING_BYTES_PER_S
from fsconsole.plan.expand import build_plan
from fsconsole.plan.needs import least_bytes, most_bytes
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.reader import read_plan
from fsconsole.plan.stripes import stripes_of
from fsconsole.plan.target import NO_DEVICE, QueueSpec, TargetSpec
from fsconsole.preflight.array_support import array_support, require_free_array_name
from fsconsole.preflight.probe_cache import missing_tools, what_is_known
from fsconsole.preflight.seen import seen_codes
from fsconsole.preflight.written import write_marks
from fsconsole.system.command import RealExecutor
from fsconsole.system.host import kernel_release
from fsconsole.system.programs import find_program
from fsconsole.system.text import read_int_or

_STRIPED = ("raid4", "raid5", "raid6")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan applied to devices, with what the gate found on each, in the order of plan.targets."""

    plan_file: PlanFile
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
    plan_path: str, device_paths: Sequence[str], *, executor: Executor, runs_dir: str, run_id: str
) -> Prepared:
    """Return a plan for these devices; reads them, writes nothing. plan_path may name a shipped plan.

    A device that the gate refuses has its refusals in its report; nothing is raised for it. Raises NotRoot,
    DeviceMissing, NotABlockDevice, DeviceSilent, DeviceRefused where two devices overlap or arrays have no name, and what read_plan and build_plan raise.
    """
    plan_file = read_plan(resolve_plan(plan_path))
    catalog = load_catalog()
    if os.geteuid() != 0:
        raise NotRoot("Looking at what is on a device")
    devices = _distinct(device_paths)
    if plan_file.arrays:
        require_free_array_name()
    context = GateContext(
        executor,
        runs_dir,
        min_bytes=least_bytes(plan_file, catalog),
        max_bytes=most_bytes(plan_file, catalog),
    )
    for device in devices:
        require_answer(device.path, device.size_bytes, executor)
    marks = tuple(write_marks(device) for device in devices)
    reports = tuple(inspect_device(device.path, context) for device in devices)
    known = _known(executor, plan_file, catalog)
    plan = _plan(plan_file, tuple(report.device for report in reports), catalog, known, run_id)
    seen = seen_codes(plan, reports, marks)
    return Prepared(plan_file, plan, reports, _possible_consent(reports), seen)


def expand_only(plan_path: str, *, run_id: str) -> Plan:
    """Return a plan with the word DEVICE where a device will be; no device is looked at. Raises as read_plan."""
    plan_file = read_plan(resolve_plan(plan_path))
    catalog = load_catalog()
    return build_plan(
        plan_file,
        (NO_DEVICE,),
        catalog,
        run_id=run_id,
        kernel=kernel_release(),
        known=_known(RealExecutor(), plan_file, catalog),
        support=_support(plan_file),
    )


def _known(executor: Executor, plan_file: PlanFile, catalog: Catalog) -> Known:
    """Return what is known of the plan's filesystems on this machine; nothing is tried for it. Raises ToolMissing."""
    listed = {checklist.filesystem for checklist in plan_file.checklists}
    named = {variant.filesystem for variant in plan_file.variants}
    wanted = frozenset(listed | named)
    filesystems = [filesystem for filesystem in catalog.filesystems if filesystem.name in wanted]
    if filesystems and all(missing_tools(filesystem) for filesystem in filesystems):
        # Some missing programs leave rows without figures, all of them leave no run.
        find_program(missing_tools(filesystems[0])[0])
    return what_is_known(executor, catalog, wanted)


def _support(plan_file: PlanFile) -> ArraySupport:
    return array_support() if plan_file.arrays else EVERY_LEVEL


def _plan(
    plan_file: PlanFile, devices: tuple[Device, ...], catalog: Catalog, known: Known, run_id: str
) -> Plan:
    rotating = any(device.rotational for device in devices)
    return build_plan(
        plan_file,
        tuple(target_spec(device) for device in devices),
        catalog,
        run_id=run_id,
        kernel=kernel_release(),
        known=known,
        support=_support(plan_file),
        assumed_bytes_per_s=ROTATING_BYTES_PER_S if rotating else FLASH_BYTES_PER_S,
    )


def target_spec(device: Device) -> TargetSpec:
    """Return what a plan needs to know of a device."""
    # A partition has no queue of its own; its disk's counts (Documentation/block/queue-sysfs.rst).
    graph = read_graph(discover())
    disk = graph.disk(device).name
    return TargetSpec(
        path=device.path,
        size_bytes=device.size_bytes,
        is_scratch=device.is_scratch,
        backing_file=device.loop.path if device.loop is not None else "",
        can_discard=read_int_or(f"/sys/class/block/{disk}/queue/discard_max_bytes", 0) > 0,
        disk=disk,
        queues=tuple(QueueSpec(queue.name, queue.schedulers) for queue in queues_of(device, graph)),
        has_stripe_cache=device.md is not None and device.md.level in _STRIPED,
        notes=stripes_of(device, graph.devices).sentences,
    )


def _distinct(paths: Sequence[str]) -> tuple[Device, ...]:
    everything = discover()
    found: dict[str, Device] = {}
    for path in paths:
        device = find_device(path, everything)
        found[device.path] = device
    graph = read_graph(everything)
    for device in found.values():
        _require_apart(device, found.values(), graph)
    return tuple(found.values())


def _require_apart(device: Device, others: Iterable[Device], graph: DeviceGraph) -> None:
    # A run locks all that a target lies on: of two targets on one disk the second would find it locked.
    own = set(lock_paths(device, graph))
    for other in others:
        if other != device and own.intersection(lock_paths(other, graph)):
            raise DeviceRefused(
                device.path,
                f"lies on the same disk as {other.path}, which is a target too",
                "Name one of them; each run takes whole disks for itself.",
            )


def _possible_consent(reports: tuple[GateReport, ...]) -> str:
    refused = any(report.inspection.refusals for report in reports)
    return "" if refused else consent_code(reports)


def agreed_target(report: GateReport, consent: str) -> Target:
    """Return a device as an engine wants it: who it is, and what was shown on it."""
    loop = report.device.loop
    return Target(
        path=report.device.path,
        identity=report.identity,
        shown=report.hazards,
        content_digest=report.content_digest,
        consent=consent if report.needs_consent else "",
        backing_file=loop.path if loop is not None and report.device.is_scratch else "",
    )
