"""More rounds of a plan: how many would decide a block's open rows, how long they take, and the plan for them.

They are a new run. Rounds that are added to a run because its verdicts were looked at would find false winners more
often than the 5 % that its intervals are made for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import tomli

from fsconsole.errors.targets import PlanUnwritable
from fsconsole.model.plan import Order
from fsconsole.model.state import RunState, RunStatus
from fsconsole.model.verdicts import LEAST_ROUNDS, Verdict
from fsconsole.results.blocks import Block, BlockKind
from fsconsole.show.progress import mean_cell_s
from fsconsole.units import format_guess

MOST_ROUNDS = 100
_FIRST_ROUNDS = 5
"""Of a run that had too few for verdicts."""
_REPEATS = re.compile(r'^repeats[ \t]*=[ \t]*("[^"\n]*"|[^#\n]*?)(?=[ \t]*(#|$))', re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def wanted_rounds(blocks: Iterable[Block], planned: int) -> int:
    """Return the rounds with which the open rows of some blocks would be decided with 80 % chance; as planned if none are."""
    if planned < LEAST_ROUNDS:
        return _FIRST_ROUNDS
    found = [row.compared for block in blocks for row in block.rows if row.compared is not None]
    needed = [one.n + one.more for one in found if one.verdict is Verdict.UNDECIDED and one.more]
    return min(MOST_ROUNDS, max(needed or (planned,)))


def lasts_words(state: RunState, rounds: int) -> str:
    """Return how long so many rounds take, by the cells so far: "est. 9 min"."""
    plan = state.request.plan
    cells = sum(not cell.unavailable and not cell.redo for cell in plan.cells) / max(1, plan.repeats)
    return f"est. {format_guess(mean_cell_s(state) * cells * rounds)}"


def next_words(state: RunState, block: Block, *, is_imported: bool = False) -> str:
    """Return what would decide a block: "Next: + runs the plan anew with 11 rounds (est. 9 min), ..."; else nothing."""
    plan = state.request.plan
    if block.kind is BlockKind.RAW or state.status is not RunStatus.FINISHED:
        return ""
    rounds = wanted_rounds([block], plan.repeats)
    lead = f"Next: + runs the plan anew with {rounds} rounds ({lasts_words(state, rounds)}), enough"
    if is_imported or state.request.owned_scratch or state.request.is_on_directories:
        there = " there" if is_imported else ""
        lead = f"Next: o opens the plan; {rounds} rounds ({lasts_words(state, rounds)}{there}) are enough"
    if plan.repeats < LEAST_ROUNDS and plan.order is Order.ROUNDS and block.family:
        return f"{lead} for verdicts."
    is_open = any(row.compared is not None and row.compared.more for row in block.rows)
    return f"{lead} to decide what is open." if is_open else ""


def barred_words(state: RunState, *, is_alive: bool, is_imported: bool) -> str:
    """Return why a run's plan can't be run again on its targets; empty where it can."""
    if is_alive:
        return "This run is still running: its rounds are not over."
    if is_imported:
        return "This run was imported: its devices are another machine's. o opens its plan: start it on a device of this one."
    if state.request.owned_scratch:
        return (
            "Its scratch device was made for this run alone and is gone. Create one (screen 1, n) or tick a device, "
            "then open the plan here (o) and start it."
        )
    if state.request.is_on_directories:
        return "It ran in directories: `fsconsole run PLAN --directory DIR` runs its plan there again."
    if not state.request.plan.source:
        return "The run does not hold its plan file."
    return ""


def rounds_complaint(text: str) -> str:
    """Return what is wrong with a number of rounds that was typed; empty for nothing."""
    if text.strip().isdecimal() and LEAST_ROUNDS <= int(text) <= MOST_ROUNDS:
        return ""
    return f"Give a number from {LEAST_ROUNDS} to {MOST_ROUNDS}: verdicts need {LEAST_ROUNDS} rounds."


def rounds_hint(state: RunState, text: str, wanted: int) -> str:
    """Return what a typed number of rounds costs, or the wanted one where that is no number of rounds."""
    rounds = wanted if rounds_complaint(text) else int(text)
    # The pane's number is of one block.
    decides = f"{wanted} would decide what is open in all blocks.\n" if wanted > state.request.plan.repeats else ""
    return decides + (
        f"{rounds} rounds: {lasts_words(state, rounds)} at the pace of this run.\n"
        "A new run: rounds that are added after a look at verdicts find false winners.\n"
        "The devices are wiped; what is on them is shown first."
    )


def with_repeats(source: str, rounds: int) -> str:
    """Return a plan file's text with another number of repeats, everything else as it was. Raises PlanUnwritable."""
    first = _TABLE.search(source)
    top = source[: first.start()] if first else source
    changed, count = _REPEATS.subn(f"repeats = {rounds}", top, count=1)
    if not count:
        changed = f"repeats = {rounds}\n{top}"
    text = changed + source[len(top) :]
    if tomli.loads(text) != tomli.loads(source) | {"repeats": rounds}:
        raise PlanUnwritable("the run's plan", "its rounds can't be changed")
    return text
