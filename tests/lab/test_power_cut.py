"""The power is cut at random moments of a run: what had been reported done is there, and the run is finished.

The guest is killed, and a second one boots with the same disks. That takes away all that the guest had in its memory
and had not written to a disk: dirty pages, the journal's and the filesystem's own. It does not take away what a
disk's own cache would hold (every write is handed to this machine's page cache, which outlives it), and it tears no
sector. So it proves that what is reported was written and waited for, and that what is found half-written is taken
up; not that the kernel flushes disks.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.cache import KERNEL as STABLE
from tests.lab.cache import UML
from tests.lab.machine import NO_MACHINE, Disk, Machine, why_no_machine
from tests.lab.power_story import Story
from tests.lab.soak import SOAK

KERNEL = STABLE if SOAK else UML
"""User-mode Linux loses the same as qemu, and is 20 times quicker."""
_WHY = why_no_machine(KERNEL)
pytestmark = pytest.mark.skipif(bool(_WHY), reason=f"{NO_MACHINE}: {_WHY}")

CHECKOUT = Path(__file__).parents[2]
CUTS = int(os.environ.get("FSCONSOLE_CUTS", "20" if SOAK else "1"))
GUEST = (sys.executable, "-m", "tests.lab.power_guest")
SIZES_MIB = {"kept": 2048, "target": 64, "bystander": 16}
"""In the order of the guest's disks; a scratch device leaves 1 GiB of its filesystem free."""
BOOT_LIMIT_S = 1200.0
LONGEST_CELL = 45
"""Lines that a cell tells, but for features and samples."""
_BOOTED = '{"told": "boot"'
_CROWD = ('{"event": "sample"', '{"event": "feature_seen"')


@dataclass(frozen=True, slots=True)
class Moment:
    """When the power is cut: so many cells done in this boot, then so many lines, then so many seconds."""

    cells: int
    lines: int
    delay_s: float


class Lab:
    """The disks that outlive their machines, and the run that is told of."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self.chance = random.Random(seed)  # noqa: S311 (moments, not secrets)
        self._paths = {name: folder / name for name in SIZES_MIB}
        self.boots = 0
        for name, size_mib in SIZES_MIB.items():
            with self._paths[name].open("wb") as file:
                file.truncate(size_mib * 2**20)
        self._paths["bystander"].write_bytes(os.urandom(SIZES_MIB["bystander"] * 2**20))
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._paths["kept"])], check=True)

    def bystander(self) -> str:
        """Return the digest of the disk that no run was given."""
        return hashlib.sha256(self._paths["bystander"].read_bytes()).hexdigest()

    def boot(self, moment: Moment | None, heard: set[str]) -> tuple[list[str], str]:
        """Boot, cut the power at that moment, and return what was told, and how a machine that wasn't cut ended.

        What was heard in earlier boots and is told again is nothing to go by.
        """
        self.boots += 1
        disks = tuple(Disk(size, kept=self._paths[name]) for name, size in SIZES_MIB.items())
        boot = self._folder / f"boot{self.boots}"
        machine = Machine(boot, disks, GUEST, CHECKOUT, KERNEL)
        try:
            is_cut = _wait_for(machine, moment, heard)
        finally:
            why = machine.end()
        if refusal := machine.refusal():
            pytest.skip(f"{NO_MACHINE}: {refusal}")
        *told, _torn = (machine.share / "reports").read_text().split("\n")
        if is_cut or why or (machine.share / "status").read_text().strip() == "0":
            return told, "" if is_cut else why
        return told, (machine.share / "output").read_text()

    def moment(self, cells: int) -> Moment:
        return Moment(cells, self.chance.randrange(LONGEST_CELL), self.chance.uniform(0, 2))


def _wait_for(machine: Machine, moment: Moment | None, heard: set[str]) -> bool:
    """Return True at the moment, or False when the machine has ended or its time is over."""
    cells, lines = 0, 0
    for line in machine.lines(BOOT_LIMIT_S):
        if line.startswith(_CROWD) or line in heard:
            continue
        if moment is not None and cells >= moment.cells:
            if lines >= moment.lines:
                time.sleep(moment.delay_s)
                return True
            lines += 1
        cells += '"event": "cell_finished"' in line
    return False


@contextmanager
def _told_of(words: str) -> Iterator[None]:
    """Put words before what a failure says."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{words}: {error}") from error


def test_a_run_whose_power_is_cut_has_all_that_was_reported_and_is_finished(tmp_path: Path) -> None:
    seed = int(os.environ.get("FSCONSOLE_SEED", time.time_ns()))
    lab, story, former, cuts = Lab(tmp_path, seed), Story(), Story(), 0
    before = lab.bystander()
    while cuts < CUTS or not story.is_finished:
        if story.is_finished:
            former, story = story, Story()
        # The first cut comes when there is something to lose.
        cells = lab.chance.randrange(2) if cuts else 1
        moment = lab.moment(cells) if cuts < CUTS else None
        told, why = lab.boot(moment, story.heard)
        with _told_of(f"seed {seed}, boot {lab.boots}, {moment or 'left alone'}"):
            assert why == ""
            since = next((number for number, line in enumerate(told) if line.startswith(_BOOTED)), 0)
            if told[:since] and story.begun and not story.is_finished:
                # It ended in the moment of the cut, when nobody could be told any more.
                story.hear(told[:since])
                former, story = story, Story()
            else:
                former.hear(told[:since])
            story.hear(told[since:])
            assert story.begun == sorted(story.begun)
            assert lab.bystander() == before
            assert moment is not None or story.is_finished
        cuts += not story.is_finished
        print(f"boot {lab.boots}: {moment or 'left alone'}; {_standing(told, story)}", flush=True)
    assert story.done == sorted(set(story.begun))


def _standing(told: list[str], story: Story) -> str:
    """Return where a machine was when its power went, for the soak's record."""
    last = next((json.loads(line) for line in reversed(told) if not line.startswith(_CROWD)), {})
    where = {key: last[key] for key in ("told", "event", "cell", "step", "kind") if key in last}
    return f"last told {where}; done so far {story.done}"
