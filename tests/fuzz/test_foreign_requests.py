"""Whatever a journal asks an engine for: it is refused, or its commands are fsconsole's own, on the run's device alone."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.own_commands import objection
from fsconsole.journal.codec import Mismatch, from_json, to_json
from fsconsole.journal.reader import JournalReader
from fsconsole.model.run import RunRequest
from fsconsole.plan.target import QueueSpec, TargetSpec
from tests.fuzz.damage import with_leaf
from tests.fuzz.test_plan_files import PLACES, QUICK, assert_own
from tests.fuzz.values import scalars
from tests.tui.recorded import recorded

NAMES = ("grid", "raw", "failed")


@cache
def request_of(name: str) -> RunRequest:
    """Return what a recorded run was asked to do."""
    with tempfile.TemporaryDirectory() as directory:
        return JournalReader(recorded(name, Path(directory)).journal).request()


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str]:
    """Return a recorded run's name, and its request with one to five values replaced."""
    name = draw(st.sampled_from(NAMES))
    document: Any = json.loads(to_json(request_of(name)))
    random = draw(st.randoms(use_true_random=False))
    values = draw(st.lists(st.one_of(scalars, words_of(name)), min_size=4, max_size=4))
    for _ in range(draw(st.integers(1, 5))):
        document = with_leaf(document, random, values)
    return name, json.dumps(document)


def words_of(name: str) -> st.SearchStrategy[Any]:
    """Return what draws words that the run's own commands have, which are hard to tell from them."""
    cells = request_of(name).plan.cells
    return st.sampled_from(
        sorted({word for cell in cells for step in cell.steps for argv in step.commands for word in argv})
    )


@QUICK
@given(example=requests())
def test_a_journals_commands_are_fsconsoles_own_or_refused(tmp_path: Path, example: tuple[str, str]) -> None:
    carry_out_nothing_else(tmp_path, example)


def carry_out_nothing_else(_directory: Path, example: tuple[str, str]) -> None:
    """Have a request's cells judged, and prove that those which pass hold nothing strange."""
    name, text = example
    try:
        request = from_json(RunRequest, text)
    except Mismatch:
        return
    (target,) = request_of(name).targets
    disk = target.path.removeprefix("/dev/")
    known = TargetSpec(
        target.path, target.identity.size_bytes, is_scratch=True, backing_file=target.backing_file,
        can_discard=True, disk=disk, queues=(QueueSpec(disk, ("none", "mq-deadline")),),
    )  # fmt: skip
    for cell in request.plan.cells:
        if not objection(cell, request.run_id, {target.path: known}, load_catalog()):
            assert_own(cell, target.path, PLACES - {"/dev/loop7"} | {target.path, target.backing_file})
