"""Examines this machine: programs, kernel drivers, md levels, namespaces, loop devices, room for runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from fsconsole.catalog.filesystem import Catalog, Filesystem, is_after, is_before
from fsconsole.devices.md import MDSTAT_PATH, held_arrays
from fsconsole.devices.memory_group import limit_file
from fsconsole.errors.runs import KernelLacks, ToolFailed, ToolMissing
from fsconsole.errors.targets import DeviceRefused
from fsconsole.journal.store import place_objection
from fsconsole.model.answers import LevelAnswer
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.model.plan import Plan
from fsconsole.model.run import TOOL_FACT
from fsconsole.model.workload import BUILT_IN, Workload, WorkloadKind
from fsconsole.plan.arrays import ABOUT_LEVELS, ARRAY_NAME, ARRAY_PATH, LEVELS, Lacking
from fsconsole.system import block, files
from fsconsole.system.files import read_text_or
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import find_program, package_of
from fsconsole.telemetry.page_reporting import is_reporting, reported_bytes
from fsconsole.text import error_reason
from fsconsole.workloads.cage import caged

MDADM = "mdadm"


def array_support() -> Lacking:
    """Return what stands against arrays of each level on this machine."""
    return {level.level: level.unavailable for level in every_level() if level.unavailable}


def every_level() -> tuple[LevelAnswer, ...]:
    """Return how this machine stands to each level there is."""
    lacks: list[tuple[str, str]] = []
    try:
        find_program(MDADM)
    except ToolMissing as missing:
        why = f"mdadm is not installed (Debian's package {missing.package})"
        lacks.append((why, f"Install {missing.package}."))
    here, found = levels_here(), []
    for level in LEVELS:
        against = list(lacks)
        if level not in here:
            why = f"this kernel makes no {level}: /proc/mdstat does not name it, and there is no module md-{level}"
            against.append((why, "Use a kernel that has it, or an array that is there as the target."))
        whys, remedies = "; ".join(why for why, _ in against), " ".join(remedy for _, remedy in against)
        found.append(LevelAnswer(level, ABOUT_LEVELS[level], whys, remedies))
    return tuple(found)


def levels_here() -> tuple[str, ...]:
    """Return the levels that the running kernel makes arrays of."""
    return array_levels(read_text_or(MDSTAT_PATH, ""), _module_aliases())


def array_levels(mdstat: str, aliases: str) -> tuple[str, ...]:
    """Return the levels that the kernel has, or a module of it that mdadm makes it load.

    mdstat names those loaded, "[raid6] [raid5] [raid4]"; the kernel asks for the module md-LEVEL (drivers/md/md.c).
    """
    lines = (line for line in mdstat.splitlines() if line.startswith("Personalities"))
    loaded = {word.strip("[]") for line in lines for word in line.split()}
    return tuple(level for level in LEVELS if level in loaded | parse_aliases(aliases, "md-"))


def require_free_array_name() -> None:
    """Raise DeviceRefused if an array has the name that a run's own gets."""
    for array in held_arrays():
        if array.name == ARRAY_NAME:
            members = ", ".join(sorted(array.members))
            raise DeviceRefused(
                ARRAY_PATH,
                f"is an array of {members} already, and a run makes its arrays under that name",
                f"`fsconsole cleanup`, where a killed run left it; else `mdadm --detail {ARRAY_PATH}` shows it.",
            )


class Driver(str, Enum):
    """Kernel support for a filesystem; the values are printed."""

    LOADED = "in the kernel"
    MODULE = "a module, loaded when it is mounted"
    ABSENT = "not in this kernel"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, with its path (empty: not installed) and version (empty: not asked, or not understood)."""

    name: str
    package: str
    path: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class FilesystemSupport:
    """A filesystem of the catalog on this machine."""

    name: str
    driver: Driver
    tools: tuple[Tool, ...]
    why_absent: str = ""
    """Why this kernel has no driver for it, where it has none."""

    @property
    def missing(self) -> tuple[Tool, ...]:
        """Tools that are not installed."""
        return tuple(tool for tool in self.tools if not tool.path)


SelfTest = str | None
"""Why something failed when it was tried out: empty where it worked, None where it was not tried."""


@dataclass(frozen=True, slots=True)
class RunsDisk:
    """The place where runs are kept, or its nearest existing parent; trouble is empty where it can be written."""

    path: str
    trouble: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """Terminal of stdout: columns and lines are 0 where it is none."""

    name: str
    """$TERM."""
    columns: int
    lines: int
    encoding: str


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """All that doctor looks at."""

    is_root: bool
    python: tuple[int, int, int]
    kernel: str
    cpus: int
    memory_bytes: int
    available_bytes: int
    programs: tuple[Tool, ...]
    """Requirements of every run, whatever the filesystem."""
    filesystems: tuple[FilesystemSupport, ...]
    namespace: SelfTest
    confinement: SelfTest
    loop: SelfTest
    has_debugfs: bool
    udev_runs: bool
    kernel_log_readable: bool
    runs: RunsDisk
    terminal: TerminalFacts
    array_tool: Tool = Tool("mdadm", "mdadm")
    array_levels: tuple[str, ...] = ()
    """Array support of the kernel or its modules."""
    generators: tuple[Tool, ...] = ()
    """Load generators that only some plans call."""
    page_reporting: bool = False
    """True if the hypervisor takes free memory back (free page reporting)."""
    counts_reported: bool = False
    """True if the kernel counts the reported memory."""
    has_tracefs: bool = False
    has_memory_cgroups: bool = False


def registered_filesystems() -> frozenset[str]:
    """Return what the running kernel has registered, "debugfs" and the like too."""
    return parse_filesystems(read_text_or("/proc/filesystems", ""))


def parse_filesystems(text: str) -> frozenset[str]:
    """Return the names in /proc/filesystems: a line is "nodev", or nothing, a tab, and a name (man 5 proc)."""
    return frozenset(line.split()[-1] for line in text.splitlines() if line.strip())


def parse_aliases(text: str, prefix: str = "fs-") -> frozenset[str]:
    """Return what modprobe would load by names with a prefix: lines "alias fs-xfs xfs" of modules.alias.

    The kernel asks for the module "fs-NAME" on mount (fs/filesystems.c, get_fs_type; man 5 modules.dep).
    """
    names = (line.split()[1] for line in text.splitlines() if line.startswith(f"alias {prefix}"))
    return frozenset(name.removeprefix(prefix) for name in names)


def _module_aliases() -> str:
    return read_text_or(f"/lib/modules/{files.kernel_release()}/modules.alias", "")


def driver_of(name: str) -> Driver:
    """Return how this kernel serves a filesystem."""
    if name in registered_filesystems():
        return Driver.LOADED
    return Driver.MODULE if name in parse_aliases(_module_aliases()) else Driver.ABSENT


def why_absent(filesystem: Filesystem, kernel: str) -> str:
    """Return why a kernel without the driver has none, as a clause."""
    if filesystem.until and is_after(kernel, filesystem.until):
        return f"{filesystem.name} left the kernel after Linux {filesystem.until}"
    if filesystem.since and is_before(kernel, filesystem.since):
        return f"{filesystem.name} came with Linux {filesystem.since}"
    return (
        f"this kernel has no driver for {filesystem.name}:"
        f" /proc/filesystems does not name it, and there is no module fs-{filesystem.name}"
    )


ENGINE_PROGRAMS = ("bwrap", "mount", "umount", "unshare", "wipefs")
"""Programs that gate and engine call beside the plan's steps."""
_LONG_OPTION = frozenset({"bwrap", "fio"})
"""Tools that tell their version by --version alone."""
GENERATOR_PROGRAMS = ("bonnie++", "fio")
"""Generators that plans may name beside the built-in one."""
_TRIAL_S = 10.0
_LOOP_FILE_BYTES = 2**20
_UDEV_CONTROL = "/run/udev/control"
"""The socket by which libudev, too, knows that udevd runs (systemd, udev_queue_get_udev_is_active)."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def examine(executor: Executor, catalog: Catalog, runs_dir: str) -> MachineFacts:
    """Return what this machine offers; runs_dir is where runs would be kept."""
    import psutil  # noqa: PLC0415 - most that load this module look at nothing but drivers

    memory = psutil.virtual_memory()
    columns, lines = os.get_terminal_size(sys.stdout.fileno()) if sys.stdout.isatty() else (0, 0)
    with KernelLog() as kernel_log:
        return MachineFacts(
            is_root=os.geteuid() == 0,
            python=sys.version_info[:3],
            kernel=files.kernel_release(),
            cpus=files.cpu_count(),
            memory_bytes=memory.total,
            available_bytes=memory.available,
            programs=tuple(look_for_tool(executor, name) for name in ENGINE_PROGRAMS),
            filesystems=tuple(filesystem_support(executor, filesystem) for filesystem in catalog.filesystems),
            namespace=_as_root(
                lambda run: _failure(run.run(Command(engine_argv(("true",)), timeout_s=_TRIAL_S))), executor
            ),
            confinement=_as_root(_try_confinement, executor),
            loop=_as_root(lambda _: try_loop(), executor),
            has_debugfs="debugfs" in registered_filesystems(),
            has_tracefs="tracefs" in registered_filesystems(),
            has_memory_cgroups=bool(limit_file("disk")),
            udev_runs=os.path.exists(_UDEV_CONTROL),
            kernel_log_readable=kernel_log.readable,
            runs=_runs_disk(os.path.abspath(runs_dir)),
            terminal=TerminalFacts(os.environ.get("TERM", ""), columns, lines, sys.stdout.encoding),
            array_tool=look_for_tool(executor, MDADM),
            array_levels=levels_here(),
            generators=tuple(look_for_tool(executor, name) for name in GENERATOR_PROGRAMS),
            page_reporting=is_reporting(),
            counts_reported=reported_bytes() is not None,
        )


def installed_tools(executor: Executor, catalog: Catalog) -> tuple[Tool, ...]:
    """Return the programs that are installed here with their versions: one mkfs each, then generators and the rest."""
    makers = [filesystem.tools[0] for filesystem in catalog.filesystems]
    names = dict.fromkeys((*makers, MDADM, *GENERATOR_PROGRAMS, *ENGINE_PROGRAMS))
    return tuple(tool for tool in (look_for_tool(executor, name) for name in names) if tool.path)


def parse_version(text: str) -> str:
    """Return the first dotted number that a tool prints about itself; empty where there is none."""
    found = _VERSION.search(text)
    return found[0] if found else ""


def look_for_tool(executor: Executor, name: str) -> Tool:
    """Return a program with its version, or without a path where it is not installed."""
    try:
        path = find_program(name)
    except ToolMissing as missing:
        return Tool(name, missing.package)
    # -V is what mkfs tools, mount and unshare all take, and bonnie++ refuses with its version; none opens a device for it.
    said = executor.run(Command((path, "--version" if name in _LONG_OPTION else "-V"), timeout_s=_TRIAL_S))
    return Tool(name, package_of(name), path, parse_version(said.out + said.err))


def tool_facts(executor: Executor, plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the version of each mkfs of a plan as a fact of its run; that of its package's other tools is the same."""
    names = {argv[0] for cell in plan.cells if not cell.unavailable for step in cell.steps for argv in step.commands}
    tools = (look_for_tool(executor, name) for name in sorted(names) if name.startswith("mkfs"))
    return tuple((f"{TOOL_FACT}{tool.name}", tool.version) for tool in tools if tool.version)


def filesystem_support(executor: Executor, filesystem: Filesystem) -> FilesystemSupport:
    """Return how kernel and tools serve a filesystem."""
    driver = driver_of(filesystem.name)
    why = why_absent(filesystem, files.kernel_release()) if driver is Driver.ABSENT else ""
    tools = tuple(replace(look_for_tool(executor, name), package=filesystem.package) for name in filesystem.tools)
    return FilesystemSupport(filesystem.name, driver, tools, why)


def _as_root(attempt: Callable[[Executor], str], executor: Executor) -> SelfTest:
    if os.geteuid() != 0:
        return None
    try:
        return attempt(executor)
    except (ToolMissing, ToolFailed, KernelLacks) as error:
        return str(error).rstrip(".")
    except OSError as error:
        return error_reason(error)


def _try_confinement(executor: Executor) -> str:
    """Have a confined program write inside its tree and beside it: the one must work, the other must not.

    It is tried where generators run, in a namespace like the engine's.
    """
    with tempfile.TemporaryDirectory(prefix="fsconsole-doctor-") as directory:
        above = os.path.realpath(directory)
        tree, inside, beside = f"{above}/tree", f"{above}/tree/inside", f"{above}/beside"
        os.mkdir(tree)
        with caged(("touch", inside, beside), tree=tree) as command:
            result = executor.run(replace(command, argv=engine_argv(command.argv), timeout_s=_TRIAL_S))
        if os.path.exists(beside):
            return "a confined program could write outside its tree"
        return "" if os.path.exists(inside) else _failure(result)


def try_loop() -> str:
    """Attach a file to a loop device; returns nothing. Raises OSError, KernelLacks."""
    with tempfile.NamedTemporaryFile(prefix="fsconsole-doctor-") as file:
        file.truncate(_LOOP_FILE_BYTES)
        block.attach_held(file.name).close()
    return ""


def _failure(result: CommandResult) -> str:
    if result.exit_code == 0:
        return ""
    return result.err.strip() or f"`{result.argv[0]}` ended with exit code {result.exit_code}"


def _runs_disk(path: str) -> RunsDisk:
    there = path
    while not os.path.isdir(there):
        if os.path.lexists(there):
            return RunsDisk(path, f"{there} is not a directory", 0, 0)
        there = os.path.dirname(there)
    usage, trouble = shutil.disk_usage(there), place_objection(path)
    if trouble:
        trouble = f"{path}: {trouble}"
    elif os.path.realpath(there) != there:
        trouble = f"{there} leads through a symbolic link, to {os.path.realpath(there)}"
    elif os.statvfs(there).f_flag & os.ST_RDONLY:
        trouble = f"{there} is on a read-only filesystem"
    elif not os.access(there, os.W_OK | os.X_OK):
        trouble = f"{there} can't be written"
    return RunsDisk(path, trouble, usage.free, usage.total)


def generator_program(load: Workload) -> str:
    """Return the program that makes a load; empty for the built-in generator, and for a command, which names its own."""
    if load.kind is WorkloadKind.BONNIE:
        return "bonnie++"
    return "" if load.is_built_in or load.kind not in BUILT_IN else load.generator.value


def require_tools(plan: Plan) -> None:
    """Look for every program of the plan's available cells. Raises ToolMissing with the package that brings it."""
    wanted = dict.fromkeys(ENGINE_PROGRAMS)
    for cell in plan.cells:
        if not cell.unavailable:
            wanted.update(dict.fromkeys(argv[0] for step in cell.steps for argv in step.commands))
            wanted.update(dict.fromkeys(filter(None, map(generator_program, cell.workloads))))
    for name in wanted:
        find_program(name)
