"""The cage of every generator: it can write below its tree and nowhere else, and reach no device.

bubblewrap (man 1 bwrap) gives it a private /dev, everything outside the tree read-only, no network, and no
capability to mount, to make device nodes or to reach hardware.

/proc is a new one, made read-only afterwards (measured: --proc alone leaves /proc/sys/vm/drop_caches writable).
The surrounding one would be a way out: it shows bwrap's own process, which has root's user id and no
capabilities, so that any generator may enter /proc/PID/root of it, and write there to the whole machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isabs, normpath

_PRIVATE_MOUNTS = ("unshare", "--mount", "--mount-proc", "--propagation", "private", "--")
"""bwrap leaves its mounts slaves of the host's: what the host mounts later would appear inside, writable.
And it looks its child up in /proc: in the engine's PID namespace the host's /proc has another process, or none,
under that number (measured: it then died without a word to its child)."""

_NAMESPACES = (
    "--unshare-pid", "--as-pid-1", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
    "--new-session",
)  # fmt: skip
"""The generator itself is PID 1: with an init of its own bwrap ends without having waited for its child, and
the rusage of the generator is lost. A session of its own keeps the operator's terminal out of its reach."""

_CAPABILITIES = (
    "--cap-drop", "ALL",
    "--cap-add", "CAP_DAC_OVERRIDE",
    "--cap-add", "CAP_CHOWN",
    "--cap-add", "CAP_FOWNER",
)  # fmt: skip
"""What root needs to work on files (man 7 capabilities); CAP_SYS_ADMIN, CAP_MKNOD, CAP_SYS_RAWIO stay out."""

_ALWAYS_HIDDEN = "/run"
"""Sockets of system services, and every engine's own places."""


def confined_argv(
    argv: Sequence[str], *, tree: str, hidden: Sequence[str], readable: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs argv, as root, with tree as the only place where it can write.

    All paths are absolute, exist, and hold no symbolic links. hidden directories appear empty (the run
    folder has the engine's control socket); readable ones appear even where a hidden one is above them,
    but never what is hidden below. Raises ValueError for a path that is not absolute and normal, and for
    / as tree.
    """
    for path in (tree, *hidden, *readable):
        if not isabs(path) or normpath(path) != path:
            raise ValueError(f"{path!r} is not an absolute, normal path")
    if tree == "/":
        raise ValueError("the whole machine is no tree to confine a generator to")
    emptied = {_ALWAYS_HIDDEN, *hidden} - {tree}
    root = ("--ro-bind", "/", "/")
    mounts: dict[str, tuple[str, ...]] = {
        path: ("--ro-bind", path, path) for path in readable if _is_below_any(path, emptied)
    }
    mounts |= {path: ("--tmpfs", path) for path in emptied}
    mounts |= {"/dev": ("--dev", "/dev"), "/proc": ("--proc", "/proc"), tree: ("--bind", tree, tree)}
    # What lies deeper is mounted later, or what is above it would cover it.
    in_order = [word for path in sorted(mounts, key=_depth_first) for word in mounts[path]]
    # The empty directories are in memory: left writable, they could be filled until the machine has none.
    sealed = [word for path in sorted({"/proc", *emptied}) for word in ("--remount-ro", path)]
    return (
        *_PRIVATE_MOUNTS, "bwrap", *_NAMESPACES, *root, *in_order, *sealed, "--chdir", "/", *_CAPABILITIES,
        "--", *argv,
    )  # fmt: skip


def _is_below_any(path: str, directories: set[str]) -> bool:
    return any(path.startswith(f"{directory}/") for directory in directories)


def _depth_first(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))
