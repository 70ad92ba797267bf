"""Whatever a journal asks an engine for: it is refused, or its commands are fsconsole's own, on the run's device alone."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.runner import objection
from fsconsole.journal.reader import JournalReader
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import Mismatch, decode, encode
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import QueueSpec, TargetSpec
from fsconsole.plan.read import find_config, parse_plan
from fsconsole.plan.steps import MOUNT_POINT, TREE
from fsconsole.text import GIB
from tests.fuzz.damage import with_leaf
from tests.fuzz.test_plan_files import QUICK, assert_own
from tests.fuzz.values import scalars, texts
from tests.tui.recorded import recorded

ARRAYS = "arrays"
NAMES = ("grid", "raw", "failed", ARRAYS)
MEMBERS = ("/dev/loop11", "/dev/loop12", "/dev/loop13", "/dev/loop14")
KNOBS = """
[[array]]
level = "raid5"
chunk = "64KiB"
members = [3]
stripe_cache_size = [256, 4096]
group_thread_count = [2]
consistency_policy = ["ppl"]
"""


@cache
def request_of(name: str) -> RunRequest:
    """Return what a recorded run was asked to do, or one that makes arrays of four devices."""
    if name == ARRAYS:
        return _on_arrays(request_of(NAMES[0]))
    with tempfile.TemporaryDirectory() as directory:
        return JournalReader(recorded(name, Path(directory)).journal).request()


def _on_arrays(like: RunRequest) -> RunRequest:
    plan = parse_plan(find_config("whatif-arrays").read_text() + KNOBS, "arrays.toml")
    specs = tuple(_known(path) for path in MEMBERS)
    built = build_plan(plan, specs, load_catalog(), run_id=like.run_id, kernel="6.1.0")
    targets = tuple(replace(like.targets[0], path=path, backing_file="") for path in MEMBERS)
    return replace(like, plan=built, targets=targets)


def _known(path: str, size_bytes: int = 4 * GIB, backing_file: str = "") -> TargetSpec:
    disk = path.removeprefix("/dev/")
    queue = QueueSpec(disk, ("none", "mq-deadline"))
    return TargetSpec(
        path, size_bytes, is_scratch=bool(backing_file), can_discard=True, disk=disk, queues=(queue,)
    )  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str]:
    """Return a recorded run's name, and its request edited in one to five places."""
    name = draw(st.sampled_from(NAMES))
    document: Any = json.loads(encode(request_of(name)))
    random = draw(st.randoms(use_true_random=False))
    values = draw(st.lists(st.one_of(texts, texts, scalars, words_of(name)), min_size=4, max_size=4))
    for _ in range(draw(st.integers(1, 5))):
        edit = draw(st.sampled_from(_EDITS))
        # What an edit before has broken leaves some no place.
        with suppress(KeyError, TypeError, AttributeError):
            edit(document, random, values)
    return name, json.dumps(document)


def _any_value(document: Any, random: Any, values: list[Any]) -> None:
    """Replace whatever value of whatever cell, rather than the run's own, which the cells hardly depend on."""
    with_leaf(random.choice(document["plan"]["cells"]), random, values)


def _a_word(document: Any, random: Any, values: list[Any]) -> None:
    """Replace, add or leave out a word of a command."""
    commands = [argv for step in _steps(document) for argv in step["commands"] if argv]
    if not commands:
        return
    argv = random.choice(commands)
    place = random.randrange(len(argv))
    argv[place : place + random.choice((0, 1, 1))] = [str(random.choice(values))][: random.choice((0, 1, 1, 1))]


def _a_command(document: Any, random: Any, values: list[Any]) -> None:
    """Add a command of such words, or one of another step."""
    steps = _steps(document)
    others = [argv for step in steps for argv in step["commands"]]
    made = [[str(value) for value in random.sample(values, random.randrange(1, 4))]]
    random.choice(steps)["commands"].append(list(random.choice(others + made)))


def _an_option(document: Any, random: Any, values: list[Any]) -> None:
    """Add a word to a variant, and to all of its commands that had its words."""
    cell = random.choice(document["plan"]["cells"])
    kind = random.choice(("mkfs_words", "mount_words", "tune_words"))
    word = str(random.choice(values))
    cell["variant"][kind].append(word)
    for step in cell["steps"]:
        for argv in step["commands"]:
            if argv and argv[0].startswith("mkfs" if kind == "mkfs_words" else "mount"):
                argv.insert(random.randrange(1, len(argv) + 1), word)


def _the_steps(document: Any, random: Any, _values: list[Any]) -> None:
    """Leave a step out, double it, or take steps in another order."""
    steps = random.choice(document["plan"]["cells"])["steps"]
    if not steps:
        return
    how = random.randrange(3)
    if how == 0:
        del steps[random.randrange(len(steps))]
    elif how == 1:
        steps.insert(random.randrange(len(steps)), random.choice(steps))
    else:
        random.shuffle(steps)


def _a_write(document: Any, random: Any, values: list[Any]) -> None:
    """Add what is to be written to a setting."""
    write = {"name": "read_ahead", "path": str(random.choice(values)), "value": str(random.choice(values))}
    random.choice(_steps(document))["writes"].append(write)


def _the_place(document: Any, random: Any, values: list[Any]) -> None:
    """Put another device in the place of a cell's, in all of its commands or in its target alone."""
    cell = random.choice(document["plan"]["cells"])
    target, other = cell["target"], str(random.choice((*values, "/dev/sdb")))
    cell["target"] = other
    for step in cell["steps"] if random.random() < 0.5 else ():
        step["commands"] = [[other if word == target else word for word in argv] for argv in step["commands"]]


_EDITS = (_any_value, _a_word, _a_word, _a_command, _an_option, _the_steps, _a_write, _the_place)


def _steps(document: Any) -> list[Any]:
    return [step for cell in document["plan"]["cells"] for step in cell["steps"]] or [{"commands": [], "writes": []}]


def words_of(name: str) -> st.SearchStrategy[Any]:
    """Return what draws words that the run's own commands have, which are hard to tell from them."""
    cells = request_of(name).plan.cells
    return st.sampled_from(
        sorted({word for cell in cells for step in cell.steps for argv in step.commands for word in argv})
    )


@QUICK
@given(example=requests())
def test_a_journals_commands_are_fsconsoles_own_or_refused(example: tuple[str, str]) -> None:
    name, text = example
    try:
        request = decode(RunRequest, text)
    except Mismatch:
        return
    targets = request_of(name).targets
    known = {target.path: _known(target.path, target.identity.size_bytes, target.backing_file) for target in targets}
    own = frozenset({MOUNT_POINT, TREE, *known, *(target.backing_file for target in targets)})
    for cell in request.plan.cells:
        if not objection(cell, request.run_id, known, load_catalog()):
            assert set(cell.devices) <= set(known)
            assert_own(cell, targets[0].path, own)
