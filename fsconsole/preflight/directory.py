"""Applies a plan file to directories: what `plan` shows is, by the same code, what `run` executes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.place import find_places
from fsconsole.errors.runs import KernelLacks
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Fingerprint, Identity
from fsconsole.model.plan import Plan
from fsconsole.model.run import Target
from fsconsole.plan.directory import Row, directory_plan
from fsconsole.plan.read import read_named
from fsconsole.preflight.sources import with_sources
from fsconsole.system.files import memory_bytes, read_text_or
from fsconsole.system.run import find_program


@dataclass(frozen=True, slots=True)
class PreparedDirectories:
    """A plan applied to directories; nothing needs consent, since nothing is wiped."""

    plan: Plan
    rows: tuple[Row, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        """The directories as an engine wants them."""
        return tuple(map(_target, self.rows))


def prepare_directories(file: str, words: Sequence[str], *, runs_dir: str, run_id: str) -> PreparedDirectories:
    """Return a plan for directories, each given as PATH or LABEL=PATH; writes nothing.

    Raises DirectoryRefused, and what read_plan() and directory_plan() raise.
    """
    plan_file, notes = with_sources(read_named(file, needs_rows=False), runs_dir)
    rows = tuple(Row(label, path, place) for label, path, place in find_places(words, runs_dir))
    plan = directory_plan(
        plan_file, rows, load_catalog(), run_id=run_id, is_root=os.geteuid() == 0, memory_bytes=memory_bytes()
    )
    return PreparedDirectories(replace(plan, notes=plan.notes + notes), rows)


def _target(row: Row) -> Target:
    place = row.place
    identity = Identity(row.path, place.boot_id, place.device_number, place.size_bytes)
    return Target(row.path, Fingerprint(identity, (), (), "", ()), (), "", place=place)


_TRIAL = (
    "bwrap", "--unshare-pid", "--as-pid-1", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
    "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true",
)  # fmt: skip
_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "install the AppArmor profile of bubblewrap (bwrap-userns-restrict), or "
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)
"""Settings that forbid user namespaces to users, below /proc/sys (man 7 user_namespaces; apparmor.d), with the remedy as root."""


def require_cage(executor: Executor) -> None:
    """Raise ToolMissing or KernelLacks, with the remedy, unless generators of a user without root can be confined."""
    find_program("bwrap")
    if os.geteuid() == 0:
        return
    tried = executor.run(Command(_TRIAL, timeout_s=20.0))
    if tried.exit_code != 0:
        remedies = [remedy for name, value, remedy in _SWITCHES if read_text_or(f"/proc/sys/{name}", "") == value]
        said = (tried.err.strip().splitlines() or ["bwrap failed"])[-1]
        remedy = "; or ".join(remedies) or "allow user namespaces to users (man 7 user_namespaces)"
        raise KernelLacks(
            what="a cage for generators to users without root",
            why=f"bubblewrap can't make a user namespace ({said})",
            remedy=f"As root: {remedy}. Or run as root. Nothing is run unconfined.",
        )
