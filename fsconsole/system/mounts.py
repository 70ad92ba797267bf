"""Mount tables and swap areas, as the kernel lists them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fsconsole.errors.runs import NotPrivate, ToolFailed
from fsconsole.model.command import Command, Executor

_BLANKS = re.compile("[ \t]+")
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/PID/mountinfo (man 5 proc_pid_mountinfo); device_number is makedev(major, minor)."""

    mount_id: int
    device_number: int
    root: str
    mount_point: str
    options: tuple[str, ...]
    filesystem: str
    source: str
    super_options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SwapEntry:
    """One line of /proc/swaps (man 5 proc_swaps); kind is "partition" for any block device, or "file"."""

    path: str
    kind: str
    size_bytes: int


def read_mounts(pid: str = "self", proc: str = "/proc") -> tuple[MountEntry, ...]:
    """Return the mounts that a process of the visible /proc sees. Raises OSError, ValueError."""
    with open(f"{proc}/{pid}/mountinfo", "rb") as file:
        return parse_mountinfo(os.fsdecode(file.read()))


def mounted_at(mount_point: str) -> MountEntry | None:
    """Return the topmost mount there, or None. Raises OSError, ValueError."""
    entries = [entry for entry in read_mounts() if entry.mount_point == mount_point]
    return entries[-1] if entries else None


def read_swaps(proc: str = "/proc") -> tuple[SwapEntry, ...]:
    """Return the active swap areas; none where the kernel has no swap support. Raises OSError, ValueError."""
    if not os.path.exists(f"{proc}/swaps"):
        return ()
    with open(f"{proc}/swaps", "rb") as file:
        return parse_swaps(os.fsdecode(file.read()))


def parse_mountinfo(text: str) -> tuple[MountEntry, ...]:
    """Return the entries of a mountinfo file in their order. Raises ValueError on a line of another shape."""
    return tuple(_mount_entry(line) for line in text.split("\n") if line)


def parse_swaps(text: str) -> tuple[SwapEntry, ...]:
    """Return the entries of a /proc/swaps file; its sizes are KiB. Raises ValueError."""
    lines = [_BLANKS.split(line) for line in text.split("\n")[1:] if line]
    return tuple(SwapEntry(unescape(line[0]), line[1], int(line[2]) * 1024) for line in lines)


def unescape(field: str) -> str:
    r"""Return a field with the kernel's octal escapes (\040 \011 \012 \134 \043) undone.

    The text is what os.fsdecode makes of the kernel's bytes, so that a path can be used as one.
    """
    if "\\" not in field:
        return field
    raw = os.fsencode(field)
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), raw))


def _mount_entry(line: str) -> MountEntry:
    left, separator, right = line.partition(" - ")
    fields, supers = left.split(" "), right.split(" ")
    if not separator or len(fields) < 6 or len(supers) < 2:
        raise ValueError(f"not a mountinfo line: {line!r}")
    major, minor = fields[2].split(":")
    return MountEntry(
        mount_id=int(fields[0]),
        device_number=os.makedev(int(major), int(minor)),
        root=unescape(fields[3]),
        mount_point=unescape(fields[4]),
        options=_words(fields[5]),
        filesystem=unescape(supers[0]),
        source=unescape(supers[1]),
        super_options=_words(supers[2] if len(supers) > 2 else ""),
    )


def _words(field: str) -> tuple[str, ...]:
    return tuple(unescape(word) for word in field.split(",") if word)


DEBUGFS = "/sys/kernel/debug"
"""Usual mount point of debugfs (Documentation/filesystems/debugfs.rst)."""

TRACEFS = "/sys/kernel/tracing"
"""Where the host has tracefs mounted, if it has (Documentation/trace/ftrace.rst)."""

PRIVATE_ROOT = "/run/fsconsole"
"""Mount point of every engine's tmpfs: one name serves all, since each sees only its own."""

_UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave", "--")
_MOUNT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class PrivatePlaces:
    """Paths that enter_private made, in this mount namespace only."""

    mount_point: str
    proc: str
    """A proc of the engine's own PID namespace: its pids are os.getpid()'s."""
    debug: str
    """Path of debugfs; empty where this kernel has none."""


def engine_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that starts argv as PID 1 of a namespace of its own, which ends with it.

    Propagation is slave: later unmounts of the host happen in here, too.
    """
    return _UNSHARE + argv


def is_private() -> bool:
    """Return whether this process has another mount namespace than PID 1 of the visible /proc. Raises OSError.

    Mount ids are unique in the whole system, so two namespaces share none. /proc/1/ns may be closed even to root
    (man 2 ptrace: PID 1 may have capabilities that this process lacks).
    """
    own, init = ({entry.mount_id for entry in read_mounts(pid)} for pid in ("self", "1"))
    return own.isdisjoint(init)


def enter_private(executor: Executor, root: str) -> PrivatePlaces:
    """Mount a tmpfs at root with a mount point for the tested filesystem, a proc and, if needed, debugfs.

    All vanish with the namespace. Raises NotPrivate in the host's mount namespace, ToolFailed, OSError.
    """
    if not is_private():
        raise NotPrivate
    os.makedirs(root, mode=0o700, exist_ok=True)
    _mount(executor, "tmpfs", root, "mode=0700,nosuid,nodev")
    places = PrivatePlaces(f"{root}/mnt", f"{root}/proc", f"{root}/debug")
    for path in (places.mount_point, places.proc, places.debug):
        os.mkdir(path, mode=0o700)
    _mount(executor, "proc", places.proc, "nosuid,nodev,noexec")
    if any(entry.mount_point == DEBUGFS and entry.filesystem == "debugfs" for entry in read_mounts()):
        return replace(places, debug=DEBUGFS)
    try:
        _mount(executor, "debugfs", places.debug, "nosuid,nodev,noexec")
    except ToolFailed:
        return replace(places, debug="")
    return places


def mounted_tracefs(executor: Executor, place: str) -> str:
    """Return where tracefs is: the host's, else place, where it is mounted if it isn't yet. Raises ToolFailed, OSError.

    An engine mounts it for loads that are traced only, and its mount vanishes with its namespace.
    """
    entries = {entry.mount_point for entry in read_mounts() if entry.filesystem == "tracefs"}
    for found in (TRACEFS, place):
        if found in entries:
            return found
    os.makedirs(place, mode=0o700, exist_ok=True)
    _mount(executor, "tracefs", place, "nosuid,nodev,noexec")
    return place


def _mount(executor: Executor, filesystem: str, path: str, options: str) -> None:
    argv = ("mount", "-t", filesystem, "-o", options, filesystem, path)
    result = executor.run(Command(argv, timeout_s=_MOUNT_TIMEOUT_S))
    if result.exit_code != 0:
        raise ToolFailed(" ".join(argv), result.exit_code, result.err.strip())


_ASK_TIMEOUT_S = 10.0
_GONE = frozenset({"inactive", "failed", "unknown"})


@dataclass(frozen=True, slots=True)
class SystemdUnit:
    """A transient service: created at its start, removed at its end."""

    name: str
    """With ".service" at its end."""
    description: str
    log_path: str
    """Its outputs are appended here instead of going to the journal."""


def unit_argv(argv: tuple[str, ...], unit: SystemdUnit, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that has PID 1 start argv as a service (man 1 systemd-run).

    It returns once the service is forked: --wait needs a message bus, which small systems lack. append: needs systemd
    240. KillMode stays control-group, since unshare, the main process, blocks SIGTERM. OOMPolicy: a program that the
    OOM killer ends must not end the run. TasksMax: writers are as many as the plan says (systemd.resource-control).
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


def is_gone(executor: Executor, unit: SystemdUnit) -> bool:
    """Return whether systemd says that the unit has ended; False without an answer. Raises ToolMissing."""
    command = Command(("systemctl", "is-active", "--", unit.name), timeout_s=_ASK_TIMEOUT_S)
    return executor.run(command).out.strip() in _GONE


def kill(executor: Executor, unit: SystemdUnit) -> None:
    """End all processes of the unit at once; one that has ended already is no failure. Raises ToolMissing."""
    executor.run(Command(("systemctl", "kill", "--signal=KILL", "--", unit.name), timeout_s=_ASK_TIMEOUT_S))


def is_systemd_booted() -> bool:
    """Return whether systemd is this machine's init (man 3 sd_booted)."""
    return os.path.isdir("/run/systemd/system")


def sees_what_init_sees() -> bool:
    """Return whether this process has the root of PID 1, as a service would: no chroot, no mount namespace.

    In a chroot "/" is no mount point or another mount's; a namespace has mount ids of its own. Raises OSError.
    """
    own, init = ({entry.mount_id for entry in read_mounts(pid) if entry.mount_point == "/"} for pid in ("self", "1"))
    return bool(own) and own == init
