"""A box of its own for a kit: a mount namespace with a private /etc and a private lock of apply.sh."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fsconsole.model.answers import KitVerified
from fsconsole.model.wire import decode_whole
from tests.loop.runs import FSCONSOLE
from tests.unit.cli.contract import checked


@dataclass(frozen=True, slots=True)
class Place:
    """A mount namespace with an /etc of its own, in which a kit is applied, as on a machine of its own."""

    pid: int
    etc: Path

    def run(self, *argv: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        inside = ("nsenter", f"--target={self.pid}", "--mount", f"--wd={Path.cwd()}", *argv)
        return subprocess.run(
            inside, check=False, capture_output=True, text=True, env={**os.environ, **(environment or {})}
        )

    def apply(self, kit: Path, *words: str) -> str:
        done = self.run(str(kit / "apply.sh"), *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def verify(self, kit: Path, code: int = 0) -> dict[str, str]:
        """Return what differs: found by what was looked at."""
        done = self.run(*FSCONSOLE, "verify-kit", str(kit), "--json")
        assert done.returncode == code, done.stdout + done.stderr
        checked("verify-kit", done.stdout)
        answer = decode_whole(KitVerified, done.stdout)
        assert answer.differences == (len(answer.checks) - sum(one.verdict == "same" for one in answer.checks))
        return {one.what: one.found for one in answer.checks if one.verdict != "same"}


@contextlib.contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    """Make such a place, with its files in a folder."""
    etc, lock = folder / "etc", folder / "lock"
    shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
    lock.mkdir(mode=0o700)
    Path("/run/fsconsole-kit").mkdir(mode=0o700, exist_ok=True)
    words = f"mount --bind {etc} /etc && mount --bind {lock} /run/fsconsole-kit && echo ready && exec sleep 600"
    holder = subprocess.Popen(
        ("unshare", "--mount", "--propagation", "slave", "sh", "-c", words), stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    yield Place(holder.pid, etc)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
