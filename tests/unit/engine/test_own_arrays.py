"""A journal's cells on arrays: only those that fsconsole itself would make pass, of members that were agreed upon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.runner import objection
from fsconsole.model.plan import ArraySpec, Cell, StepKind
from fsconsole.plan.arrays import array_place
from fsconsole.plan.expand import filesystem_of, rebuilt_steps
from fsconsole.plan.planfile import QueueSpec, TargetSpec
from fsconsole.text import GIB
from tests.unit.plan.examples import VARIANT, WORKLOAD, build

DISKS = tuple(TargetSpec(f"/dev/sd{d}", GIB, disk=f"sd{d}", queues=(QueueSpec(f"sd{d}"),)) for d in "abc")
KNOWN = {disk.path: disk for disk in DISKS}
CATALOG = load_catalog()


def honest() -> Cell:
    text = 'schema = 1\n[[array]]\nlevel = ["raid5"]\nmembers = [2]\nstripe_cache_size = [512]\n'
    return build(text + VARIANT + WORKLOAD, *DISKS).cells[0]


def remade(cell: Cell, spec: ArraySpec, members: tuple[str, ...]) -> Cell:
    """Return a cell whose steps fit its other words, as a careful forger would make it."""
    devices = [KNOWN.get(path, replace(DISKS[0], path=path)) for path in members]
    forged = replace(cell, array=spec, members=members, target=array_place(spec, devices).path)
    return replace(forged, steps=rebuilt_steps(forged, devices, filesystem_of(cell, CATALOG), "run"))


def spec_of(cell: Cell) -> ArraySpec:
    assert cell.array is not None
    return cell.array


def with_argv(cell: Cell, kind: StepKind, *words: str) -> Cell:
    steps = [replace(s, commands=((*s.commands[0], *words),)) if s.kind is kind else s for s in cell.steps]
    return replace(cell, steps=tuple(steps))


def without(cell: Cell, kind: StepKind) -> Cell:
    return replace(cell, steps=tuple(step for step in cell.steps if step.kind is not kind))


FORGED: dict[str, Callable[[Cell], Cell]] = {
    "a member that nobody agreed to": lambda c: remade(c, spec_of(c), ("/dev/sda", "/dev/sdz")),
    "a member twice": lambda c: remade(c, spec_of(c), ("/dev/sda", "/dev/sda")),
    "one member": lambda c: remade(c, spec_of(c), ("/dev/sda",)),
    "a bitmap in a file": lambda c: remade(c, replace(spec_of(c), bitmap="/etc/passwd"), c.members),
    "a level that is another word": lambda c: remade(c, replace(spec_of(c), level="faulty"), c.members),
    "a policy with a journal": lambda c: remade(c, replace(spec_of(c), consistency_policy="journal"), c.members),
    "a chunk of raid1": lambda c: remade(c, ArraySpec("raid1", chunk_bytes=65536), c.members),
    "a knob below nothing": lambda c: remade(c, replace(spec_of(c), stripe_cache_size=-1), c.members),
    "another array as the target": lambda c: replace(c, target="/dev/md0"),
    "members without an array": lambda c: replace(c, array=None),
    "a further device for mdadm": lambda c: with_argv(c, StepKind.ARRAY, "/dev/sdc"),
    "a further superblock to clear": lambda c: with_argv(c, StepKind.ARRAY_STOP, "/dev/sdc"),
    "an array that is never taken apart": lambda c: without(c, StepKind.ARRAY_STOP),
    "no gate": lambda c: without(c, StepKind.GATE),
    "a filesystem beside the array": lambda c: without(c, StepKind.ARRAY),
}  # fmt: skip


def test_an_honest_cell_passes_and_a_forged_one_is_refused():
    assert objection(honest(), "run", KNOWN, CATALOG) == ""
    passed = [what for what, forge in FORGED.items() if not objection(forge(honest()), "run", KNOWN, CATALOG)]
    assert passed == []
    cell = honest()
    (made,) = [step.commands[0] for step in cell.steps if step.kind is StepKind.ARRAY]
    words = tuple(word[:-4] + "beef" if word.startswith("--uuid=") else word for word in made)
    assert words != made
    steps = [replace(s, commands=(words,)) if s.kind is StepKind.ARRAY else s for s in cell.steps]
    assert "would not make" in objection(replace(cell, steps=tuple(steps)), "run", KNOWN, CATALOG)
