"""Whether somebody has taken an array that a dead engine left for his own: by what is on it that the run didn't make.

A new array may show remains of an older one, of the same members: what it showed stands in the step that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from fsconsole.devices.md_members import HeldArray, is_started, member_uuid
from fsconsole.devices.signatures import probe_signatures
from fsconsole.errors import DeviceSilent, ToolFailed
from fsconsole.model.command import Executor
from fsconsole.model.device import Signature
from fsconsole.model.observation import Outcome
from fsconsole.model.state import CellState, RunState
from fsconsole.model.step import StepKind
from fsconsole.plan.expand import array_uuid

_SHOWED = "showed "
_BETWEEN = ", "


def in_words(signatures: Iterable[Signature]) -> str:
    """Return what a new array shows, as its step's verdict: "showed ext4 UUID"; empty for nothing."""
    words = _BETWEEN.join(sorted({_word(signature) for signature in signatures}))
    return words and _SHOWED + words


class Owner:
    """Looks at the arrays that a run left; state is the run as its journal tells it."""

    def __init__(self, state: RunState, executor: Executor) -> None:
        self._executor = executor
        run_id = state.request.run_id
        cells = zip(state.request.plan.cells, state.cells, strict=True)
        self._known = {array_uuid(run_id, cell.index): (cell.uuid.lower(), known) for cell, known in cells}

    def objection(self, array: HeldArray) -> str:
        """Return, as a clause, that there is something on the array which the run didn't make; empty for nothing.

        Of one that can't be read nobody knows whose it is.
        """
        members = " ".join(sorted(_node(member) for member in array.members))
        by_hand = f"`mdadm --stop {array.path}`, then `mdadm --zero-superblock {members}`, end it, if nobody needs that"
        try:
            strange = [
                word for uuid in self._uuids(array) for word in self._strange(array, *self._known[uuid])
            ]
        except (DeviceSilent, ToolFailed) as error:
            why = str(error).rstrip(".")
            return f"{array.path} may hold anything, as it can't be read: {why}: it stays as it is; {by_hand}"
        if not strange:
            return ""
        return f"{array.path} holds {strange[0]}, which the run didn't make: it stays as it is; {by_hand}"

    def _uuids(self, array: HeldArray) -> frozenset[str]:
        found = set()
        for member in array.members:
            with suppress(OSError):
                found.add(member_uuid(_node(member)))
        return frozenset(found & self._known.keys())

    def _strange(self, array: HeldArray, uuid: str, known: CellState) -> Iterator[str]:
        making = [step for step in known.steps if step.kind is StepKind.ARRAY]
        if not making or making[-1].outcome is not Outcome.DONE:
            # The engine died while it made the array: what that showed is not known.
            return
        if not is_started(array.name):
            # It shows nothing to anybody.
            return
        remains = making[-1].verdict.removeprefix(_SHOWED).split(_BETWEEN)
        found = probe_signatures(self._executor, array.path)
        yield from (_word(s) for s in found if s.uuid.lower() != uuid and _word(s) not in remains)


def _node(name: str) -> str:
    return f"/dev/{name.replace('!', '/')}"


def _word(signature: Signature) -> str:
    return f"{signature.type} {signature.uuid or f'at {signature.offset_bytes}'}"
