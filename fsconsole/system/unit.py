"""The transient systemd service that an engine runs in where systemd is PID 1, so that no logout ends it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fsconsole.model.command import Command, Executor
from fsconsole.system.mounts import MountEntry, read_mounts

_ASK_TIMEOUT_S = 10.0
_GONE = frozenset({"inactive", "failed", "unknown"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A service that is made when it starts and forgotten when it ends, however it ends."""

    name: str
    """With ".service" at its end."""
    description: str
    log_path: str
    """Where its outputs are appended: the journal would have them otherwise."""


def unit_argv(argv: tuple[str, ...], unit: Unit, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that has PID 1 start argv as a service (man 1 systemd-run).

    It ends once the service is forked, and can't tell what became of it: --wait needs a message bus, which
    small systems lack. append: is known to systemd 240 and later. KillMode stays control-group: unshare, the service's main process, blocks SIGTERM, so a mode that
    signals the main process alone would never reach the engine. A program that the kernel kills for want of
    memory must not end the run with it (OOMPolicy), and writers are as many as the plan says, not 15 % of
    what the kernel could run (TasksMax, man 5 systemd.resource-control).
    """
    return (
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={unit.name}",
        f"--description={unit.description}",
        *(f"--setenv={name}={value}" for name, value in sorted(environment.items())),
        "--property=OOMPolicy=continue",
        "--property=TasksMax=infinity",
        f"--property=StandardOutput=append:{unit.log_path}",
        f"--property=StandardError=append:{unit.log_path}",
        "--",
        # A service's command line knows variables, as a shell's does (man 5 systemd.service, COMMAND LINES).
        *(word.replace("$", "$$") for word in argv),
    )


def is_gone(executor: Executor, unit: Unit) -> bool:
    """Return whether systemd says that the unit runs no more; False where it says nothing. Raises ToolMissing."""
    command = Command(("systemctl", "is-active", "--", unit.name), timeout_s=_ASK_TIMEOUT_S)
    return executor.run(command).out.strip() in _GONE


def kill(executor: Executor, unit: Unit) -> None:
    """End all processes of the unit at once; one that has ended already is no failure. Raises ToolMissing."""
    executor.run(Command(("systemctl", "kill", "--signal=KILL", "--", unit.name), timeout_s=_ASK_TIMEOUT_S))


def is_systemd_booted() -> bool:
    """Return whether systemd is this machine's init (man 3 sd_booted)."""
    return os.path.isdir("/run/systemd/system")


def sees_what_init_sees() -> bool:
    """Return whether a path means the same file to PID 1 as to this process: no chroot, no namespace between.

    A service sees PID 1's files, so that neither this program nor the run's folder need be where they are
    here. In a chroot "/" is no mount point, or another mount's; a namespace's mounts have numbers of their own
    (man 5 proc_pid_mountinfo). Raises OSError.
    """
    own, init = (_roots(read_mounts(pid)) for pid in ("self", "1"))
    return bool(own) and own == init


def _roots(mounts: tuple[MountEntry, ...]) -> frozenset[int]:
    return frozenset(entry.mount_id for entry in mounts if entry.mount_point == "/")
