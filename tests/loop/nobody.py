"""Commands as a user who is not root and may read no file of root's: nobody, wherever Python itself lies."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.unit.house.source import CHECKOUT

NOBODY = 65534


def as_nobody(place: Path, words: Iterable[str], environ: Iterable[str] = ()) -> str:
    """Return a command for root's shell that carries out words as nobody; place is an empty directory for mounts.

    Where Python or the checkout lies in a directory of root's own (pyenv in /root), that directory is covered by an
    empty one in a mount namespace of the command's own, with nothing but these mounted in it.
    """
    closed = {path: top for path in _needed() if (top := _closed_above(path)) is not None}
    lines = ["set -e"]
    for number, path in enumerate(closed):
        kept = place / f"kept{number}"
        kept.mkdir(parents=True)
        lines.append(f"mount --bind {shlex.quote(str(path))} {shlex.quote(str(kept))}")
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(top))}" for top in sorted(set(closed.values()))]
    for number, path in enumerate(closed):
        quoted = shlex.quote(str(path))
        lines.append(f"mkdir -p {quoted}; mount --bind {shlex.quote(str(place / f'kept{number}'))} {quoted}")
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    called = ["setpriv", *user, "env", "HOME=/nonexistent", "PYTHONDONTWRITEBYTECODE=1", *environ, *words]
    lines.append(f"cd /; exec {shlex.join(called)}")
    return shlex.join(["unshare", "--mount", "--propagation", "slave", "sh", "-c", "\n".join(lines)])


def readable_by_all(directory: Path) -> None:
    """Let everybody read what is below a directory."""
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _needed() -> Iterator[Path]:
    yield from dict.fromkeys(Path(os.path.realpath(one)) for one in (sys.base_prefix, sys.prefix, CHECKOUT))


def _closed_above(path: Path) -> Path | None:
    """Return the outermost directory on the way to a path that not everybody may enter."""
    ways = [*reversed(path.parents), path]
    return next((way for way in ways if not way.stat().st_mode & stat.S_IXOTH), None)
