"""Scratch devices for tests, and runs on them with an engine under which something happens."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from tests.loop.faulty_engine import Event, argv_with
from tests.loop.runs import assert_nothing_left


@contextmanager
def scratch_device(directory: Path | str, size_bytes: int) -> Iterator[str]:
    """Make a scratch device below a folder and return its path; afterwards it is removed."""
    made = scratch.create(size_bytes, str(Path(directory, "scratch")))
    try:
        yield made.device
    finally:
        scratch.remove(made)


def carry_out(folder: RunFolder, events: Sequence[Event], device: str = "") -> subprocess.CompletedProcess[str]:
    """Carry out a run under which events happen; with a device, nothing of the run may be left on it."""
    with tempfile.TemporaryDirectory() as place:
        argv = argv_with(folder.path, list(events), Path(place, "script"))
        done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    if device:
        assert "Traceback" not in done.stderr, done.stderr
        assert_nothing_left(device, folder)
    return done
