"""Checks requirements of runs: one finding each, with what to do about it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fsconsole.catalog.filesystem import Catalog
from fsconsole.model.command import Executor
from fsconsole.preflight.machine import (
    Driver,
    FilesystemSupport,
    MachineFacts,
    RunsDisk,
    SelfTest,
    TerminalFacts,
    Tool,
    installed_tools,
)
from fsconsole.text import MIB, printable
from fsconsole.units import format_bytes

LEAST_ROOM_BYTES = 64 * MIB
"""Some seven hours of journal: a sample takes about 250 bytes, and ten come each second."""
LEAST_COLUMNS, LEAST_LINES = 80, 24


class Status(str, Enum):
    """Results of a check; the values are printed."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and what to do (empty where nothing needs doing)."""

    check: str
    status: Status
    found: str
    remedy: str = ""
    essential: bool = True
    """True where no run is possible while this is missing."""

    @property
    def prevents_runs(self) -> bool:
        """True where this alone makes every run impossible."""
        return self.essential and self.status is Status.MISSING


def diagnose(machine: MachineFacts) -> tuple[Finding, ...]:
    """Return all findings, in the order in which they are printed."""
    total, free = format_bytes(machine.memory_bytes), format_bytes(machine.available_bytes)
    lacking = tuple(tool for tool in machine.programs if not tool.path)
    return (
        Finding("root", Status.OK, "runs as root")
        if machine.is_root
        else Finding("root", Status.MISSING, "formatting and mounting need root", "Run it again with sudo."),
        Finding("python", Status.OK, ".".join(map(str, machine.python))),
        Finding("kernel", Status.OK, machine.kernel),
        Finding("memory", Status.OK, f"{total}, {free} available, {machine.cpus} CPUs"),
        Finding("programs", Status.MISSING, _lack(lacking), _install(lacking))
        if lacking
        else Finding("programs", Status.OK, ", ".join(map(_versioned, machine.programs))),
        _tried("namespace", machine.namespace, "unshare(1) makes the engine's own mount and PID namespace"),
        _tried("confinement", machine.confinement, "bubblewrap keeps generators inside their tree"),
        _tried(
            "loop devices",
            machine.loop,
            "a file became a block device",
            "Load the driver (`modprobe loop`); without it there are no scratch devices and no demo.",
            essential=False,
        ),
        _page_reporting(machine),
        *_filesystems(machine.filesystems),
        _arrays(machine.array_tool, machine.array_levels),
        _generators(machine.generators),
        *_gauged(machine),
        _optional(
            "udevd",
            is_there=machine.udev_runs,
            found="running",
            lacks="not running",
            remedy="Devices come from sysfs alone: serial numbers and WWNs of some disks may be absent.",
        ),
        _optional(
            "kernel log",
            is_there=machine.kernel_log_readable,
            found="/dev/kmsg is readable",
            lacks="/dev/kmsg can't be read",
            remedy="Reasons of refused mounts stay unknown; root can read it, unless a container hides it.",
        ),
        _runs(machine.runs),
        _terminal(machine.terminal),
    )


def run_is_possible(findings: tuple[Finding, ...]) -> bool:
    """Tell whether nothing that every run needs is missing."""
    return not any(finding.prevents_runs for finding in findings)


def versions(executor: Executor, catalog: Catalog) -> list[str]:
    """Return versions of kernel, Python and tools, a line each."""
    return [
        f"kernel {printable(platform.release())}",
        f"Python {platform.python_version()}",
        *(
            f"{tool.name} {printable(tool.version) or 'of unknown version'}"
            for tool in installed_tools(executor, catalog)
        ),
    ]


def _tried(
    check: str,
    trial: SelfTest,
    what: str,
    remedy: str = "In a container or a locked-down system this may be forbidden: use the host, or a virtual machine.",
    *,
    essential: bool = True,
) -> Finding:
    if trial is None:
        return Finding(check, Status.LIMITED, "not tried without root", "Run it again with sudo.")
    if not trial:
        return Finding(check, Status.OK, f"tried: {what}")
    return Finding(check, Status.MISSING, f"tried, and failed: {trial}", remedy, essential)


def _page_reporting(machine: MachineFacts) -> Finding:
    """Check for free page reporting: reusing memory that the hypervisor took back costs CPU time."""
    if not machine.page_reporting:
        return Finding("free memory", Status.OK, "free page reporting off", essential=False)
    counted = "counted" if machine.counts_reported else "not counted by this kernel: no round is repeated for it"
    return Finding(
        "free memory",
        Status.LIMITED,
        f"free page reporting on: the hypervisor takes free memory back ({counted})",
        "Using it again costs about 2 CPU s per GiB. Set direct = true, or turn it off in the hypervisor (QEMU: "
        "virtio-balloon, free-page-reporting=off; libvirt: memballoon, freePageReporting='off'; Firecracker: balloon, "
        "free_page_reporting: false). Touching memory beforehand, or a memory cgroup, doesn't help.",
        essential=False,
    )


def _filesystems(filesystems: tuple[FilesystemSupport, ...]) -> Iterator[Finding]:
    none_works = all(filesystem.missing or filesystem.driver is Driver.ABSENT for filesystem in filesystems)
    for filesystem in filesystems:
        name, driver, missing = filesystem.name, filesystem.driver.value, filesystem.missing
        if filesystem.driver is Driver.ABSENT:
            remedy = f"Variants of {name} can't run here; choose others, or a kernel with {name}."
            found = filesystem.why_absent or f"driver {driver}"
            yield Finding(name, Status.MISSING, found, remedy, essential=none_works)
        elif missing:
            yield Finding(name, Status.MISSING, _lack(missing), _install(missing), essential=none_works)
        else:
            found = f"{_versioned(filesystem.tools[0])}; driver {driver}"
            yield Finding(name, Status.OK, found, essential=none_works)


def _gauged(machine: MachineFacts) -> tuple[Finding, ...]:
    """Return what gauges, traced loads and memory limits need of the kernel."""
    return (
        _optional(
            "debugfs",
            is_there=machine.has_debugfs,
            found="in the kernel; the engine mounts it where it isn't",
            lacks="not in this kernel",
            remedy="The gauges of each filesystem's own writeback are absent; all others work.",
        ),
        _optional(
            "tracefs",
            is_there=machine.has_tracefs,
            found="in the kernel; the engine mounts it where it isn't",
            lacks="not in this kernel",
            remedy="Loads with trace = true have no write seeks and no nr_pages; all others are the same.",
        ),
        _optional(
            "memory cgroups",
            is_there=machine.has_memory_cgroups,
            found="the memory controller is there for new groups",
            lacks="no memory controller in /sys/fs/cgroup",
            remedy="Plans can't set memory; `echo +memory > /sys/fs/cgroup/cgroup.subtree_control` enables it on version 2.",
        ),
    )


def _arrays(tool: Tool, levels: tuple[str, ...]) -> Finding:
    """Judge what plans with [[array]] need; no other run needs it."""
    found, remedy = f"{_versioned(tool)}; {', '.join(levels)}", ""
    if not levels:
        found = "this kernel makes no md arrays"
        remedy = "Plans with [[array]] can't run here; use a kernel with md, or arrays that are there as targets."
    elif not tool.path:
        found, remedy = _lack((tool,)), f"{_install((tool,))} Plans with [[array]] need it."
    return Finding("arrays", Status.LIMITED if remedy else Status.OK, found, remedy, essential=False)


def _generators(tools: tuple[Tool, ...]) -> Finding:
    """Judge the load generators beside the built-in one, each of which some plans name."""
    lacking = tuple(tool for tool in tools if not tool.path)
    found = ", ".join(["built-in", *(_versioned(tool) for tool in tools if tool.path)])
    if not lacking:
        return Finding("generators", Status.OK, found, essential=False)
    names = ", ".join(tool.name for tool in lacking)
    remedy = f"{_install(lacking)} Plans whose loads name {names} need it."
    return Finding("generators", Status.LIMITED, f"{found}; {_lack(lacking)}", remedy, essential=False)


def _lack(tools: tuple[Tool, ...]) -> str:
    return "not installed: " + ", ".join(tool.name for tool in tools)


def _install(tools: tuple[Tool, ...]) -> str:
    packages = ", ".join(dict.fromkeys(tool.package for tool in tools))
    return f"Install {packages} (Debian's name of the package)."


def _versioned(tool: Tool) -> str:
    return f"{tool.name} {tool.version}".strip()


def _optional(check: str, *, is_there: bool, found: str, lacks: str, remedy: str) -> Finding:
    if is_there:
        return Finding(check, Status.OK, found, essential=False)
    return Finding(check, Status.LIMITED, lacks, remedy, essential=False)


def _runs(runs: RunsDisk) -> Finding:
    if runs.trouble:
        return Finding("runs", Status.MISSING, runs.trouble, "Choose another place with --runs DIR.")
    found = f"{runs.path}: {format_bytes(runs.free_bytes)} free of {format_bytes(runs.total_bytes)}"
    if runs.free_bytes < LEAST_ROOM_BYTES:
        remedy = "Free some room, or choose another place with --runs DIR."
        return Finding("runs", Status.LIMITED, found, remedy)
    return Finding("runs", Status.OK, found)


def _terminal(terminal: TerminalFacts) -> Finding:
    if not terminal.columns:
        return Finding("terminal", Status.OK, "none: progress is printed line by line", essential=False)
    size = f"{terminal.name or 'unknown kind'}, {terminal.columns}x{terminal.lines}, {terminal.encoding}"
    if terminal.columns < LEAST_COLUMNS or terminal.lines < LEAST_LINES:
        remedy = f"Make it {LEAST_COLUMNS}x{LEAST_LINES} or larger, or lines will be cut."
        return Finding("terminal", Status.LIMITED, size, remedy, essential=False)
    return Finding("terminal", Status.OK, size, essential=False)
