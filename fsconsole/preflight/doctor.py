"""Judges what a machine offers: one finding for each thing that a run leans on, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fsconsole.preflight.machine import (
    Driver,
    FilesystemSupport,
    MachineFacts,
    RunsDisk,
    SelfTest,
    TerminalFacts,
    Tool,
)
from fsconsole.text import MIB
from fsconsole.units import format_bytes

LEAST_ROOM_BYTES = 64 * MIB
"""Some seven hours of journal: a sample takes about 250 bytes, and ten come each second."""
LEAST_COLUMNS, LEAST_LINES = 80, 24


class Status(str, Enum):
    """How a thing was found; the values are printed."""

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
    return (
        Finding("root", Status.OK, "runs as root")
        if machine.is_root
        else Finding("root", Status.MISSING, "formatting and mounting need root", "Run it again with sudo."),
        Finding("python", Status.OK, ".".join(map(str, machine.python))),
        Finding("kernel", Status.OK, machine.kernel),
        _memory(machine),
        _programs(machine.programs),
        _trial("namespace", machine.namespace, "unshare(1) makes the engine's own mount and PID namespace"),
        _trial("confinement", machine.confinement, "bubblewrap keeps generators inside their tree"),
        _loop(machine.loop),
        *_filesystems(machine.filesystems),
        _arrays(machine.array_tool, machine.array_levels),
        _optional(
            "debugfs",
            is_there=machine.has_debugfs,
            found="in the kernel; the engine mounts it where it isn't",
            lacks="not in this kernel",
            remedy="The gauges of each filesystem's own writeback are absent; all others work.",
        ),
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


def _memory(machine: MachineFacts) -> Finding:
    total, free = format_bytes(machine.memory_bytes), format_bytes(machine.available_bytes)
    return Finding("memory", Status.OK, f"{total}, {free} available, {machine.cpus} CPUs")


def _programs(programs: tuple[Tool, ...]) -> Finding:
    missing = tuple(tool for tool in programs if not tool.path)
    if missing:
        return Finding("programs", Status.MISSING, _lack(missing), _install(missing))
    return Finding(
        "programs", Status.OK, ", ".join(f"{tool.name} {tool.version}".strip() for tool in programs)
    )


def _trial(check: str, trial: SelfTest, what: str) -> Finding:
    if not trial.tried:
        return Finding(check, Status.LIMITED, "not tried without root", "Run it again with sudo.")
    if trial.works:
        return Finding(check, Status.OK, f"tried: {what}")
    remedy = (
        "In a container or a locked-down system this may be forbidden: use the host, or a virtual machine."
    )
    return Finding(check, Status.MISSING, f"tried, and failed: {trial.why}", remedy)


def _loop(trial: SelfTest) -> Finding:
    if trial.works or not trial.tried:
        return _trial("loop devices", trial, "a file became a block device")
    remedy = "Load the driver (`modprobe loop`); without it there are no scratch devices and no demo."
    return Finding("loop devices", Status.MISSING, f"tried, and failed: {trial.why}", remedy, essential=False)


def _filesystems(filesystems: tuple[FilesystemSupport, ...]) -> Iterator[Finding]:
    none_works = not any(filesystem.usable for filesystem in filesystems)
    for filesystem in filesystems:
        missing = tuple(tool for tool in filesystem.tools if not tool.path)
        name, driver = filesystem.name, filesystem.driver.value
        if filesystem.driver is Driver.ABSENT:
            remedy = f"Variants of {name} can't run here; choose others, or a kernel with {name}."
            found = filesystem.why_absent or f"driver {driver}"
            yield Finding(name, Status.MISSING, found, remedy, essential=none_works)
        elif missing:
            yield Finding(name, Status.MISSING, _lack(missing), _install(missing), essential=none_works)
        else:
            version = f"{filesystem.tools[0].name} {filesystem.tools[0].version}".strip()
            yield Finding(name, Status.OK, f"{version}; driver {driver}", essential=none_works)


def _arrays(tool: Tool, levels: tuple[str, ...]) -> Finding:
    """Judge what plans with [[array]] need; no other run needs it."""
    if not levels:
        remedy = (
            "Plans with [[array]] can't run here; use a kernel with md, or arrays that are there as targets."
        )
        return Finding("arrays", Status.LIMITED, "this kernel makes no md arrays", remedy, essential=False)
    if not tool.path:
        remedy = f"{_install((tool,))} Plans with [[array]] need it."
        return Finding("arrays", Status.LIMITED, _lack((tool,)), remedy, essential=False)
    found = f"{tool.name} {tool.version}".strip() + f"; {', '.join(levels)}"
    return Finding("arrays", Status.OK, found, essential=False)


def _lack(tools: tuple[Tool, ...]) -> str:
    return "not installed: " + ", ".join(tool.name for tool in tools)


def _install(tools: tuple[Tool, ...]) -> str:
    packages = ", ".join(dict.fromkeys(tool.package for tool in tools))
    return f"Install {packages} (Debian's name of the package)."


def _optional(check: str, *, is_there: bool, found: str, lacks: str, remedy: str) -> Finding:
    if is_there:
        return Finding(check, Status.OK, found, essential=False)
    return Finding(check, Status.LIMITED, lacks, remedy, essential=False)


def _runs(runs: RunsDisk) -> Finding:
    room = f"{format_bytes(runs.free_bytes)} free of {format_bytes(runs.total_bytes)}"
    if runs.trouble:
        return Finding("runs", Status.MISSING, runs.trouble, "Choose another place with --runs DIR.")
    if runs.free_bytes < LEAST_ROOM_BYTES:
        remedy = "Free some room, or choose another place with --runs DIR."
        return Finding("runs", Status.LIMITED, f"{runs.path}: {room}", remedy)
    return Finding("runs", Status.OK, f"{runs.path}: {room}")


def _terminal(terminal: TerminalFacts) -> Finding:
    if not terminal.columns:
        return Finding("terminal", Status.OK, "none: progress is printed line by line", essential=False)
    size = f"{terminal.name or 'unknown kind'}, {terminal.columns}x{terminal.lines}, {terminal.encoding}"
    if terminal.columns < LEAST_COLUMNS or terminal.lines < LEAST_LINES:
        remedy = f"Make it {LEAST_COLUMNS}x{LEAST_LINES} or larger, or lines will be cut."
        return Finding("terminal", Status.LIMITED, size, remedy, essential=False)
    return Finding("terminal", Status.OK, size, essential=False)
