"""The process that tries options: `python -m fsconsole.preflight.probe_child`, in a namespace of its own as root.

It reads its order, one line of JSON, from stdin and answers in lines of JSON. It ends when stdin is closed, however
whoever started it ended; images, mounts and loop devices go with its namespace.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace

from fsconsole.catalog.filesystem import Filesystem, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.preflight.trials import list_trials
from fsconsole.preflight.trying import Bench, answer, try_plain
from fsconsole.system.command import RealExecutor
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.namespace import PRIVATE_ROOT, enter_private

OK, NO_ROOM, ABANDONED = 0, 3, 4
"""Exit codes: done; the images found no room; whoever asked is gone."""


def main() -> int:
    """Carry out one order; returns the exit code."""
    order = json.loads(sys.stdin.buffer.readline())
    images = "" if order["as_root"] else tempfile.mkdtemp(prefix="fsconsole-probe-")
    threading.Thread(target=_end_with_stdin, args=(images,), daemon=True).start()
    _say({"images": images})
    executor = RealExecutor(kernel_log=KernelLog())
    if images:
        bench = Bench(executor, images, has_loops=False, mount_point="")
    else:
        bench = _private_bench(executor, int(order["room_bytes"]))
    try:
        return _carry_out(order, bench)
    finally:
        if images:
            shutil.rmtree(images, ignore_errors=True)


def _carry_out(order: Mapping[str, list[str]], bench: Bench) -> int:
    catalog = load_catalog()
    try:
        for name in order["filesystems"]:
            mountable = name in order["mountable"]
            _try_all(bench if mountable else replace(bench, mount_point=""), catalog.get(name))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return NO_ROOM
    return OK


def _try_all(bench: Bench, filesystem: Filesystem) -> None:
    plain = try_plain(bench, filesystem)
    in_effect = (plain.features or {}).get(Scope.MOUNT, {})
    _say({"filesystem": filesystem.name, "driver": in_effect.get("driver", ""), "trouble": plain.refusal})
    if not plain.refusal:
        for trial in list_trials(filesystem):
            _say({"answer": asdict(answer(bench, filesystem, trial))})
    _say({"end": filesystem.name})


def _private_bench(executor: Executor, room_bytes: int) -> Bench:
    """Return a bench in memory, in this process's own mount namespace."""
    places = enter_private(executor, PRIVATE_ROOT)
    images = f"{PRIVATE_ROOT}/images"
    os.mkdir(images, mode=0o700)
    options = f"size={room_bytes},mode=0700,nosuid,nodev"
    result = executor.run(Command(("mount", "-t", "tmpfs", "-o", options, "tmpfs", images)))
    if result.exit_code != 0:
        raise ToolFailed(" ".join(result.argv), result.exit_code, result.err.strip())
    return Bench(executor, images, has_loops=True, mount_point=places.mount_point)


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _end_with_stdin(images: str) -> None:
    """Wait for the end of stdin, then end at once; what lies outside of the namespace is removed first."""
    # By the descriptor: the buffered reader would hold a lock that the interpreter's own end waits for.
    while os.read(0, 1):
        pass
    if images:
        shutil.rmtree(images, ignore_errors=True)
    os._exit(ABANDONED)


if __name__ == "__main__":
    sys.exit(main())
