"""A whole run on an array, from plan to journal: carried out once in a guest, and looked at by many tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from fsconsole.journal.events import Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import open_run
from fsconsole.model.sample import Role, Sample
from fsconsole.model.state import RunState
from tests.lab import warm  # noqa: F401 - its engine is forked
from tests.lab.guest import Done, create_array, fsconsole, settle, stop_arrays
from tests.lab.soak import IN_UML

RUNS = "/var/lib/fsconsole/runs"
ARRAY = "md0"
MEMBERS = tuple(f"{'ubd' if IN_UML else 'vd'}{letter}" for letter in "bcd")
"""What these runs' arrays are made of, under user-mode Linux and in qemu."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The run when it is over, and all that the gauges showed meanwhile."""

    name: str
    done: Done
    state: RunState
    samples: tuple[Sample, ...]

    @property
    def gauges(self) -> set[tuple[str, Role, str]]:
        """Name, role and what is above of each device that a gauge was shown for."""
        return {(each.name, each.role, each.above) for sample in self.samples for each in sample.devices}

    def written_bytes(self, *roles: Role) -> float:
        """Return what the gauges of these roles add up to."""
        moved: dict[Role, float] = defaultdict(float)
        for before, sample in pairwise(self.samples):
            for device in sample.devices:
                moved[device.role] += device.write_bytes_s * (sample.monotonic_ns - before.monotonic_ns) / 1e9
        return sum(moved[role] for role in roles)


@contextmanager
def run_on_array(plan: str, level: str, *members: str) -> Iterator[Whole]:
    """Make an array of disks, agree to what its plan shows, carry it out, and stop the array at the end."""
    paths = [f"/dev/{name}" for name in members]
    create_array(ARRAY, level, *paths)
    settle()
    try:
        planned = fsconsole("plan", plan, "--device", f"/dev/{ARRAY}", "--json", "--cell", "0")
        assert planned.code == 0, planned.err
        consent = json.loads(planned.out)["consent"]
        done = fsconsole("run", plan, "--device", f"/dev/{ARRAY}", "--consent", consent, "--json")
        folder = open_run(RUNS)
        yield Whole(
            folder.name,
            done,
            read_state(folder),
            JournalReader(folder.journal).read_since(Cursor()).samples,
        )
    finally:
        stop_arrays(*paths)
