"""Looks at this machine, and tries out what a run will lean on; leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace

from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.errors import KernelLacks, ToolFailed, ToolMissing
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.preflight.array_support import MDADM, levels_here
from fsconsole.preflight.drivers import driver_of, registered_filesystems, why_absent
from fsconsole.preflight.machine import Driver, FilesystemSupport, Machine, RunsDisk, Terminal, Tool, Trial
from fsconsole.system import host, loop
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.namespace import engine_argv
from fsconsole.system.packages import package_of
from fsconsole.system.programs import find_program
from fsconsole.workloads.confinement import confined_argv

_PROGRAMS = ("bwrap", "mount", "umount", "unshare", "wipefs")
_TRIAL_S = 10.0
_LOOP_FILE_BYTES = 2**20
_UDEV_CONTROL = "/run/udev/control"
"""The socket by which libudev, too, knows that udevd runs (systemd, udev_queue_get_udev_is_active)."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def examine(executor: Executor, catalog: Catalog, runs_dir: str) -> Machine:
    """Return what this machine offers; runs_dir is where runs would be kept."""
    import psutil  # noqa: PLC0415 - most that load this module look at nothing but drivers

    memory = psutil.virtual_memory()
    registered = registered_filesystems()
    with KernelLog() as kernel_log:
        return Machine(
            is_root=os.geteuid() == 0,
            python=sys.version_info[:3],
            kernel=host.kernel_release(),
            cpus=host.cpu_count(),
            memory_bytes=memory.total,
            available_bytes=memory.available,
            programs=tuple(look_for_tool(executor, name) for name in _PROGRAMS),
            filesystems=tuple(
                filesystem_support(executor, filesystem, registered) for filesystem in catalog.filesystems
            ),
            namespace=_as_root(_try_namespace, executor),
            confinement=_as_root(_try_confinement, executor),
            loop=_as_root(_try_loop, executor),
            has_debugfs="debugfs" in registered,
            udev_runs=os.path.exists(_UDEV_CONTROL),
            kernel_log_readable=kernel_log.readable,
            runs=_runs_disk(os.path.abspath(runs_dir)),
            terminal=_terminal(),
            array_tool=look_for_tool(executor, MDADM),
            array_levels=levels_here(),
        )


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
    # -V is what mkfs tools, mount and unshare all take; none of them opens a device for it.
    said = executor.run(Command((path, "--version" if name == "bwrap" else "-V"), timeout_s=_TRIAL_S))
    return Tool(name, package_of(name), path, parse_version(said.out + said.err))


def filesystem_support(
    executor: Executor, filesystem: Filesystem, registered: frozenset[str] | None = None
) -> FilesystemSupport:
    """Return how kernel and tools serve a filesystem; registered is what is asked of the kernel without it."""
    driver = driver_of(filesystem.name, registered)
    why = why_absent(filesystem, host.kernel_release()) if driver is Driver.ABSENT else ""
    tools = tuple(
        replace(look_for_tool(executor, name), package=filesystem.package) for name in filesystem.tools
    )
    return FilesystemSupport(filesystem.name, driver, tools, why)


def _as_root(attempt: Callable[[Executor], str], executor: Executor) -> Trial:
    if os.geteuid() != 0:
        return Trial(tried=False)
    try:
        return Trial(tried=True, why=attempt(executor))
    except (ToolMissing, ToolFailed, KernelLacks) as error:
        return Trial(tried=True, why=str(error).rstrip("."))
    except OSError as error:
        return Trial(tried=True, why=error.strerror or str(error))


def _try_namespace(executor: Executor) -> str:
    return _failure(executor.run(Command(engine_argv(("true",)), timeout_s=_TRIAL_S)))


def _try_confinement(executor: Executor) -> str:
    """Have a confined program write inside its tree and beside it: the one must work, the other must not.

    It is tried where generators run, in a namespace like the engine's.
    """
    with tempfile.TemporaryDirectory(prefix="fsconsole-doctor-") as directory:
        above = os.path.realpath(directory)
        tree, inside, beside = f"{above}/tree", f"{above}/tree/inside", f"{above}/beside"
        os.mkdir(tree)
        argv = confined_argv(("touch", inside, beside), tree=tree, hidden=())
        result = executor.run(Command(engine_argv(argv), timeout_s=_TRIAL_S))
        if os.path.exists(beside):
            return "a confined program could write outside its tree"
        return "" if os.path.exists(inside) else _failure(result)


def _try_loop(_: Executor) -> str:
    with tempfile.NamedTemporaryFile(prefix="fsconsole-doctor-") as file:
        file.truncate(_LOOP_FILE_BYTES)
        loop.attach_held(file.name).close()
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
    usage = shutil.disk_usage(there)
    return RunsDisk(path, _trouble(there), usage.free, usage.total)


def _trouble(directory: str) -> str:
    if os.path.realpath(directory) != directory:
        return f"{directory} leads through a symbolic link, to {os.path.realpath(directory)}"
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        return f"{directory} is on a read-only filesystem"
    return "" if os.access(directory, os.W_OK | os.X_OK) else f"{directory} can't be written"


def _terminal() -> Terminal:
    columns, lines = os.get_terminal_size(sys.stdout.fileno()) if sys.stdout.isatty() else (0, 0)
    return Terminal(os.environ.get("TERM", ""), columns, lines, sys.stdout.encoding)
