"""Looks at this machine, and tries out what a run will lean on; leaves nothing behind."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace

import psutil

from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.errors import KernelLacks, ToolFailed, ToolMissing
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.preflight.machine import Driver, FilesystemSupport, Machine, RunsDisk, Terminal, Tool, Trial
from fsconsole.system import host, loop
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.namespace import engine_argv
from fsconsole.system.packages import package_of
from fsconsole.system.programs import find_program
from fsconsole.system.text import read_text_or
from fsconsole.workloads.confinement import confined_argv

_PROGRAMS = ("bwrap", "mount", "umount", "unshare", "wipefs")
_TRIAL_S = 10.0
_LOOP_FILE_BYTES = 2**20
_UDEV_CONTROL = "/run/udev/control"
"""The socket by which libudev, too, knows that udevd runs (systemd, udev_queue_get_udev_is_active)."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def examine(executor: Executor, catalog: Catalog, runs_dir: str) -> Machine:
    """Return what this machine offers; runs_dir is where runs would be kept."""
    memory = psutil.virtual_memory()
    registered = parse_filesystems(read_text_or("/proc/filesystems", ""))
    loadable = parse_aliases(read_text_or(f"/lib/modules/{host.kernel_release()}/modules.alias", ""))
    with KernelLog() as kernel_log:
        return Machine(
            is_root=os.geteuid() == 0,
            python=sys.version_info[:3],
            kernel=host.kernel_release(),
            cpus=host.cpu_count(),
            memory_bytes=memory.total,
            available_bytes=memory.available,
            programs=tuple(_tool(executor, name) for name in _PROGRAMS),
            filesystems=tuple(
                _support(executor, filesystem, registered, loadable) for filesystem in catalog.filesystems
            ),
            namespace=_as_root(_try_namespace, executor),
            confinement=_as_root(_try_confinement, executor),
            loop=_as_root(_try_loop, executor),
            has_debugfs="debugfs" in registered,
            udev_runs=os.path.exists(_UDEV_CONTROL),
            kernel_log_readable=kernel_log.readable,
            runs=_runs_disk(os.path.abspath(runs_dir)),
            terminal=_terminal(),
        )


def parse_filesystems(text: str) -> frozenset[str]:
    """Return the names in /proc/filesystems: a line is "nodev", or nothing, a tab, and a name (man 5 proc)."""
    return frozenset(line.split()[-1] for line in text.splitlines() if line.strip())


def parse_aliases(text: str) -> frozenset[str]:
    """Return the filesystems that modprobe would load on mount: lines "alias fs-xfs xfs" of modules.alias.

    The kernel asks for the module "fs-NAME" (fs/filesystems.c, get_fs_type; man 5 modules.dep).
    """
    names = (line.split()[1] for line in text.splitlines() if line.startswith("alias fs-"))
    return frozenset(name.removeprefix("fs-") for name in names)


def parse_version(text: str) -> str:
    """Return the first dotted number that a tool prints about itself; empty where there is none."""
    found = _VERSION.search(text)
    return found[0] if found else ""


def _tool(executor: Executor, name: str) -> Tool:
    try:
        path = find_program(name)
    except ToolMissing as missing:
        return Tool(name, missing.package)
    # -V is what mkfs tools, mount and unshare all take; none of them opens a device for it.
    said = executor.run(Command((path, "--version" if name == "bwrap" else "-V"), timeout_s=_TRIAL_S))
    return Tool(name, package_of(name), path, parse_version(said.out + said.err))


def _support(
    executor: Executor, filesystem: Filesystem, registered: frozenset[str], loadable: frozenset[str]
) -> FilesystemSupport:
    driver = Driver.ABSENT
    if filesystem.name in registered:
        driver = Driver.LOADED
    elif filesystem.name in loadable:
        driver = Driver.MODULE
    tools = tuple(replace(_tool(executor, name), package=filesystem.package) for name in filesystem.tools)
    return FilesystemSupport(filesystem.name, driver, tools)


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
    return _failure(executor.run(Command(engine_argv(("true",), systemd=False, unit=""), timeout_s=_TRIAL_S)))


def _try_confinement(executor: Executor) -> str:
    """Have a confined program write inside its tree and beside it: the one must work, the other must not.

    It is tried where generators run, in a namespace like the engine's.
    """
    with tempfile.TemporaryDirectory(prefix="fsconsole-doctor-") as directory:
        above = os.path.realpath(directory)
        tree, inside, beside = f"{above}/tree", f"{above}/tree/inside", f"{above}/beside"
        os.mkdir(tree)
        argv = confined_argv(("touch", inside, beside), tree=tree, hidden=())
        result = executor.run(Command(engine_argv(argv, systemd=False, unit=""), timeout_s=_TRIAL_S))
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
    usage = psutil.disk_usage(there)
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
