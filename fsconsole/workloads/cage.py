"""Confinement of generators: one tree to write, the programs they need to read, nothing else of the machine."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from os.path import isabs, islink, normpath

from fsconsole.errors.runs import KernelLacks
from fsconsole.model.command import Command
from fsconsole.system.isolation import python_argv
from fsconsole.system.run import RealExecutor

# bubblewrap (man 1 bwrap) builds a root of its own. A mount that is only read-only is no protection: a Unix socket on it
# can be connected to, and root's tmux in /tmp is as good as a shell. So what isn't needed isn't there.

_PRIVATE_MOUNTS = ("unshare", "--mount", "--mount-proc", "--propagation", "slave")
"""bwrap looks up its child in /proc: in the engine's PID namespace the host's /proc has another process, or none, under
that pid (measured: bwrap then died without telling its child). Its own process stays in these mounts: as slaves of the
host's they keep nothing busy that the host unmounts."""
_PRIVATE_PIDS = ("--pid", "--fork", "--kill-child")
"""A PID namespace around the cage's: only a process with CAP_SYS_ADMIN inside can set its pid_max."""
_CUTTING_OFF = python_argv("-S", os.path.join(os.path.dirname(__file__), "cut_off.py"))
"""bwrap leaves what it shows slaves of the host's: a later mount of the host below one would appear inside, writable. So
it is given copies that no mount reaches."""
_NAMESPACES = (
    "--unshare-pid", "--as-pid-1", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
    "--new-session",
)  # fmt: skip
"""The generator itself is PID 1: with its own init bwrap would exit without waiting for its child, and the
generator's rusage would be lost. --new-session keeps the operator's terminal out of its reach."""
_CAPABILITIES = (
    "--cap-drop", "ALL",
    "--cap-add", "CAP_DAC_OVERRIDE",
    "--cap-add", "CAP_CHOWN",
    "--cap-add", "CAP_FOWNER",
)  # fmt: skip
"""Capabilities that root needs to work on files (man 7 capabilities); CAP_SYS_ADMIN, CAP_MKNOD, CAP_SYS_RAWIO stay out."""
PROGRAMS = (
    "/usr",
    "/etc",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
)
"""Programs, their libraries and settings, on every distribution; symbolic links are made again as links."""
_SMALL = ("/tmp", "/dev/shm")  # noqa: S108 (its own)
_SMALL_BYTES = 16 * 1024 * 1024
"""Memory that a generator may fill with files of its own: beyond, it would take page cache from what is measured."""


@contextmanager
def caged(  # noqa: PLR0913 (all but the first two are seldom given)
    argv: Sequence[str],
    *,
    tree: str,
    readable: Sequence[str] = (),
    hidden: Sequence[str] = (),
    fds: tuple[int, ...] = (),
    allow_io_uring: bool = False,
    allow_sockets: bool = True,
    most_pids: int = 0,
) -> Iterator[Command]:
    """Give the command that runs argv as this user, able to write below tree only; it can be started once, inside the with.

    All paths must exist and contain no symbolic links. readable directories are there beside the system's programs;
    hidden ones below any of these are empty (the run folder has the engine's control socket). fds are passed on.
    Without allow_sockets none can be connected to: for programs that see directories in which a service may listen.
    With most_pids, of root, they have at least that many pids, and 300 more at most; only for kernels whose PID namespaces
    have a pid_max each.
    Raises ValueError for a path that is not absolute and normal, and for / as tree; KernelLacks on a machine whose
    system calls aren't in the filter's table.
    """
    filter_fd = os.memfd_create("fsconsole-seccomp", os.MFD_CLOEXEC)
    try:
        os.write(filter_fd, _filter_of(allow_io_uring=allow_io_uring, allow_sockets=allow_sockets))
        os.lseek(filter_fd, 0, os.SEEK_SET)
        # Without root bwrap makes a user namespace, in which no capability reaches beyond the user's own files.
        is_root = os.geteuid() == 0
        pids = _PRIVATE_PIDS if most_pids else ()
        apart = (*_PRIVATE_MOUNTS, *pids, "--", *_CUTTING_OFF, str(most_pids), *_cut_off(tree, readable), "--")
        before, capabilities = (apart, _CAPABILITIES) if is_root else ((), _CAPABILITIES[:2])
        words = (
            *before, "bwrap", *_NAMESPACES, *_mounts(tree, readable, hidden), "--chdir", "/", *capabilities,
            "--seccomp", str(filter_fd), "--", *argv,
        )  # fmt: skip
        yield Command(words, inherit_fds=(*fds, filter_fd))
    finally:
        os.close(filter_fd)


def _filter_of(*, allow_io_uring: bool, allow_sockets: bool) -> bytes:
    return seccomp_filter(platform.machine(), allow_io_uring=allow_io_uring, allow_sockets=allow_sockets)


def _mounts(tree: str, readable: Sequence[str], hidden: Sequence[str]) -> list[str]:
    for path in (tree, *hidden, *readable):
        if not isabs(path) or normpath(path) != path:
            raise ValueError(f"{path!r} is not an absolute, normal path")
    if tree == "/":
        raise ValueError("the whole machine is no tree to confine a generator to")
    shown = _of_programs(readable)
    emptied = {path for path in hidden if _is_below(path, (*shown, tree)) and path != tree}
    size = ("--size", str(_SMALL_BYTES)) if _takes_sizes() else ()
    mounts = {path: _shown(path) for path in shown}
    mounts |= {path: ("--tmpfs", path) for path in emptied}
    mounts |= {"/dev": ("--dev", "/dev"), "/proc": ("--proc", "/proc")}
    mounts |= {path: (*size, "--tmpfs", path) for path in _SMALL}
    mounts |= {tree: ("--bind", tree, tree)}
    # Parents first: a later mount on a parent would cover its children.
    in_order = [word for path in sorted(mounts, key=lambda path: path.split("/")) for word in mounts[path]]
    # What is a tmpfs without a size could fill the memory. --proc alone leaves /proc/sys/vm/drop_caches writable.
    sealed = {"/", "/dev", "/proc", *emptied, *(() if size else _SMALL)}
    return [*in_order, *(word for path in sorted(sealed) for word in ("--remount-ro", path))]


def _of_programs(readable: Sequence[str]) -> list[str]:
    return [*filter(os.path.isdir, PROGRAMS), *readable]


def _cut_off(tree: str, readable: Sequence[str]) -> list[str]:
    """Return the uppermost of what is shown of the machine itself: what lies below one is cut off with it."""
    paths = {tree, *(path for path in _of_programs(readable) if not islink(path))}
    return sorted(path for path in paths if not _is_below(path, [*(paths - {path})]))


def _shown(path: str) -> tuple[str, ...]:
    if islink(path):
        return ("--symlink", os.readlink(path), path)
    return ("--ro-bind", path, path)


def _is_below(path: str, directories: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{directory}/") for directory in directories)


@cache
def _takes_sizes() -> bool:
    """Return True where bwrap limits a tmpfs (from 0.7.0 on)."""
    return "--size" in RealExecutor().run(Command(("bwrap", "--help"), timeout_s=10.0)).out


# ---- the system call filter: seccomp(2), Documentation/userspace-api/seccomp_filter.rst, include/uapi/linux/filter.h

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x35, 0x06, 0x54
"""BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_JMP|BPF_JGE|BPF_K, BPF_RET|BPF_K, BPF_ALU|BPF_AND|BPF_K"""
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
"""Offsets in struct seccomp_data (include/uapi/linux/seccomp.h)."""
_EPERM, _ENOSYS, _EAFNOSUPPORT, _AF_UNIX = 1, 38, 97, 1
_SOCK_STREAM, _SOCK_TYPE_MASK = 1, 0xF
"""The same on these architectures; the other bits of a type are flags (include/linux/net.h)."""
_X32_BIT = 0x40000000
_IO_URING_SETUP = 425
"""The same number on every architecture."""


@dataclass(frozen=True, slots=True)
class _Calls:
    """Numbers of system calls that make sockets; architecture is AUDIT_ARCH_* (include/uapi/linux/audit.h)."""

    architecture: int
    by_domain: tuple[int, ...]
    """socket and socketpair, whose first argument is the domain."""
    refused: tuple[int, ...] = ()
    """socketcall: its arguments lie in memory, where a filter can't read them."""
    big_endian: bool = False


_CALLS = {
    "x86_64": _Calls(0xC000003E, (41, 53)),
    "aarch64": _Calls(0xC00000B7, (198, 199)),
    "riscv64": _Calls(0xC00000F3, (198, 199)),
    "ppc64le": _Calls(0xC0000015, (326, 333), (102,)),
    "s390x": _Calls(0x80000016, (359, 360), (102,), big_endian=True),
}


def seccomp_filter(machine: str, *, allow_io_uring: bool, allow_sockets: bool = True) -> bytes:
    """Return a filter (struct sock_filter[]) that leaves Unix sockets only, and io_uring only where it is allowed.

    A vsock reaches the hypervisor from any network namespace, and IORING_OP_SOCKET makes one past a filter of socket().
    Without allow_sockets only pairs of stream sockets are left: one of a datagram pair could send to any other.
    machine is as `uname -m` says it. Raises KernelLacks for one that isn't known.
    """
    calls = _CALLS.get(machine)
    if calls is None:
        raise KernelLacks(
            what="a cage for generators",
            why=f"the numbers of {machine}'s system calls are not known to fsconsole",
            remedy="Use a machine of one of these kinds: " + ", ".join(_CALLS) + ".",
        )
    low_half = 4 if calls.big_endian else 0
    domain_at, type_at = 16 + low_half, 24 + low_half
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, calls.architecture),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in calls.refused if allow_io_uring else (*calls.refused, _IO_URING_SETUP):
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    first, second = calls.by_domain
    if not allow_sockets:
        program += [(_EQUAL, 0, 1, first), (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT)]
    program += [
        (_EQUAL, 2, 0, first),
        (_EQUAL, 1, 0, second),
        (_RETURN, 0, 0, _ALLOW),
        # The kernel takes the domain as an int: the low half of the argument.
        (_LOAD, 0, 0, domain_at),
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT),
    ]
    if not allow_sockets:
        program += [
            (_LOAD, 0, 0, type_at),
            (_AND, 0, 0, _SOCK_TYPE_MASK),
            (_EQUAL, 1, 0, _SOCK_STREAM),
            (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT),
        ]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
