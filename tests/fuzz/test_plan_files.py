"""Whatever a plan file says: it is refused in a sentence, or its commands are fsconsole's own, on its own device alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.settings import is_setting
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Cell, Plan
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import QueueSpec, TargetSpec
from fsconsole.plan.read import read_plan
from fsconsole.plan.steps import MOUNT_POINT, TREE
from fsconsole.text import GIB
from fsconsole.workloads.tree import directory_name
from tests.fuzz.cage import assert_harmless, caged, say
from tests.fuzz.plans import any_plan, put
from tests.lab.soak import SOAK

DEVICE = TargetSpec(
    "/dev/loop7", 4 * GIB, disk="loop7", queues=(QueueSpec("loop7", ("none", "mq-deadline")),), can_discard=True,
    has_stripe_cache=True,
)  # fmt: skip
PLACES = frozenset({DEVICE.path, MOUNT_POINT, TREE})
PROGRAMS = frozenset({
    "blkdiscard", "mdadm", "fallocate", "shred", "mount", "umount", "sync", "rm", "dumpe2fs", "xfs_info", "btrfs", "dump.f2fs", "jfs_tune",
    "nilfs-tune", "debugreiserfs", "e2fsck", "xfs_repair", "fsck.f2fs", "fsck.jfs", "fsck.reiserfs", "reiserfsck", "tune2fs",
    "mkreiserfs", "mke2fs", "reiserfstune", "xfs_admin", "btrfstune", "fsconsole",
})  # fmt: skip
OWN_PROGRAMS = tuple(
    (sys.executable, "-I", "-m", *words) for words in (("fsconsole.workloads.raw",), ("fsconsole", "readtest"))
)
WORD = re.compile(r"[A-Za-z0-9^_=.,:+-]+")
ARRAY = re.compile(r"/dev/md[0-9]+")
DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
GRANTING = frozenset({"suid", "dev", "loop", "bind", "rbind", "move", "remount", "user", "users", "owner", "group"})
MOST_SHOWN = 150
"""Cells; to print the commands of thousands takes minutes, and shows nothing that a few don't."""
MOST = settings.default.max_examples
QUICK = settings(suppress_health_check=list(HealthCheck), max_examples=MOST if SOAK or MOST > 100 else MOST // 2)
"""In the test command half of its few examples."""


@QUICK
@given(text=any_plan())
def test_a_plan_file_is_told_in_printable_words_or_refused_with_a_hint(tmp_path: Path, text: bytes) -> None:
    path = put(tmp_path, text)
    with caged(tmp_path):
        if len(cells_of(path)) > MOST_SHOWN:
            return
        for words in (("plan", path, "--commands"), ("plan", path, "--json")):
            assert_harmless(say(*words, "--runs", str(tmp_path)), words)


@QUICK
@given(text=any_plan())
def test_a_plan_file_reaches_no_program_no_device_and_no_file_but_its_own(tmp_path: Path, text: bytes) -> None:
    path = put(tmp_path, text)
    with caged(tmp_path):
        cells = cells_of(path)
    for cell in cells[:MOST_SHOWN]:
        assert_own(cell)


def cells_of(path: str) -> tuple[Cell, ...]:
    """Return the cells of a plan, none of one that is refused."""
    try:
        return planned(path).cells
    except FsconsoleError:
        return ()


def planned(path: str) -> Plan:
    return build_plan(read_plan(path), (DEVICE,), load_catalog(), run_id="run", kernel="6.1.0")


def assert_own(cell: Cell, device: str = DEVICE.path, places: frozenset[str] = PLACES) -> None:
    """Prove that a cell's commands hold nothing by which anything else could be reached."""
    if cell.array is None:
        assert cell.target == device
    else:
        # An array that the cell makes of the device, and takes apart in the end.
        assert ARRAY.fullmatch(cell.target)
        places |= {cell.target}
    for step in cell.steps:
        for argv in step.commands:
            assert_own_command(argv, places)
        assert all(is_setting(write.path, write.value) for write in step.writes), step.writes
    assert all(DIRECTORY.fullmatch(directory_name(workload.name)) for workload in cell.workloads)


def assert_own_command(argv: tuple[str, ...], places: frozenset[str]) -> None:
    """Prove that of a command each word is its tool's own, or a place that is the run's."""
    program, *words = argv
    for own in OWN_PROGRAMS:
        if argv[: len(own)] == own:
            program, words = "fsconsole", list(argv[len(own) :])
    assert program in PROGRAMS or re.fullmatch(r"mkfs\.[a-z0-9]+", program), argv
    strange = [word for word in words if word not in places and not WORD.fullmatch(word)]
    assert strange == [], argv
    if program == "mount":
        options = words[words.index("-o") + 1].split(",")
        assert {"nosuid", "nodev"} <= set(options), argv
        assert not {option.partition("=")[0] for option in options} & GRANTING, argv
