"""The engine's own mount and PID namespace: how to start it, and what it mounts inside."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.errors import NotPrivate, ToolFailed
from fsconsole.model.command import Command, CommandResult, Executor
from fsconsole.system.mounts import read_mounts

DEBUGFS = "/sys/kernel/debug"
"""Where the host has debugfs mounted, if it has (Documentation/filesystems/debugfs.rst)."""

PRIVATE_ROOT = "/run/fsconsole"
"""Where every engine mounts its tmpfs: one name serves all, since each sees only its own."""

_UNSHARE = (
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--propagation",
    "slave",
    "--",
)
_MOUNT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class PrivatePlaces:
    """What enter_private made: paths that exist in this mount namespace only."""

    mount_point: str
    proc: str
    """A proc of the engine's own PID namespace: its pids are os.getpid()'s."""
    debug: str
    """Where debugfs is to be read; empty where this kernel has none."""


def engine_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that starts argv as PID 1 of a namespace that dies, with all in it, when it ends.

    Propagation is slave: what the host unmounts later is let go of in here too.
    """
    return _UNSHARE + argv


def is_private() -> bool:
    """Return whether this process has another mount namespace than PID 1 of the visible /proc. Raises OSError.

    A live mount's number is its own in the whole system, so that two namespaces share none. The links in
    /proc/1/ns would say it shorter, but may be closed even to root (man 2 ptrace, access mode checking:
    PID 1 may have capabilities that this process lacks).
    """
    own, init = ({entry.mount_id for entry in read_mounts(pid)} for pid in ("self", "1"))
    return own.isdisjoint(init)


def enter_private(executor: Executor, root: str) -> PrivatePlaces:
    """Mount a tmpfs at root, and in it the place for the filesystem under test, a proc and, if need be, debugfs.

    Nothing of it is seen outside, and it goes with the namespace. Raises NotPrivate in the host's own
    mount namespace, ToolFailed where a mount is refused, and OSError.
    """
    if not is_private():
        raise NotPrivate
    os.makedirs(root, mode=0o700, exist_ok=True)
    _mount(executor, "tmpfs", root, "mode=0700,nosuid,nodev")
    places = PrivatePlaces(f"{root}/mnt", f"{root}/proc", f"{root}/debug")
    for path in (places.mount_point, places.proc, places.debug):
        os.mkdir(path, mode=0o700)
    _mount(executor, "proc", places.proc, "nosuid,nodev,noexec")
    return PrivatePlaces(places.mount_point, places.proc, _debugfs(executor, places.debug))


def _debugfs(executor: Executor, path: str) -> str:
    if any(entry.mount_point == DEBUGFS and entry.filesystem == "debugfs" for entry in read_mounts()):
        return DEBUGFS
    result = executor.run(_mount_command("debugfs", path, "nosuid,nodev,noexec"))
    return path if result.exit_code == 0 else ""


def _mount(executor: Executor, filesystem: str, path: str, options: str) -> CommandResult:
    command = _mount_command(filesystem, path, options)
    result = executor.run(command)
    if result.exit_code != 0:
        raise ToolFailed(" ".join(command.argv), result.exit_code, result.err.strip())
    return result


def _mount_command(filesystem: str, path: str, options: str) -> Command:
    return Command(("mount", "-t", filesystem, "-o", options, filesystem, path), timeout_s=_MOUNT_TIMEOUT_S)
