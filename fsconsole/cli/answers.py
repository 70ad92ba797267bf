"""Documents that commands print with --json, and the JSON Schema of each."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from fsconsole.client.runs import ListedRun
from fsconsole.devices.scratch import ScratchAnswer, ScratchListAnswer
from fsconsole.devices.state import DevicesAnswer
from fsconsole.engine.cleanup import Cleaned
from fsconsole.journal.events import NAMES
from fsconsole.model.answers import (
    FilesystemsAnswer,
    KitVerified,
    KitWritten,
    LevelsAnswer,
    PlanAnswer,
    ProveAnswer,
    ReadTestAnswer,
)
from fsconsole.model.contract import SCHEMA, Document, contract_of, document_text, tagged
from fsconsole.model.run import StartedRun
from fsconsole.model.sample import Sample
from fsconsole.model.wire import Wire
from fsconsole.preflight.doctor import Finding
from fsconsole.results.advice_text import AdviceAnswer
from fsconsole.results.json import CellTold, ResultsAnswer, RunTold
from fsconsole.results.sides_export import CompareAnswer


class ShippedPlan(Wire, frozen=True):
    """A shipped plan by its name."""

    name: str
    title: str


class PlansAnswer(Document, frozen=True):
    """Shipped plans."""

    plans: tuple[ShippedPlan, ...]


class StopAnswer(Document, frozen=True):
    """The engine's answer to a request."""

    run_id: str
    request: str
    accepted: bool
    step: str
    why: str
    words: str


class CleanupAnswer(Document, frozen=True):
    """What was cleaned up."""

    cleaned: tuple[Cleaned, ...]


class RunsAnswer(Document, frozen=True):
    """Runs: those made here, newest first, then others."""

    runs: tuple[ListedRun, ...]


class RunAnswer(Document, frozen=True, kw_only=True):
    """A run that was renamed, deleted, exported or imported. title is the new one, file and size_bytes are the archive's."""

    run_id: str
    title: str | None = None
    folder: str
    file: str | None = None
    size_bytes: int | None = None


class PublishedTold(Wire, frozen=True):
    """A published table."""

    name: str
    title: str
    source: str
    date: str
    row_count: int


class PublishedAnswer(Document, frozen=True):
    """Published tables."""

    published: tuple[PublishedTold, ...]


class DoctorAnswer(Document, frozen=True):
    """Checks of this machine."""

    run_possible: bool
    checks: tuple[Finding, ...]


class OutputTold(Wire, frozen=True):
    """A raw output of a command; left_out is the number of bytes that are not shown."""

    file: str
    text: str
    left_out: int


class ShowAnswer(Document, frozen=True):
    """A run with all its cells, or with one of them and its outputs."""

    run: RunTold
    cells: tuple[CellTold, ...]
    outputs: tuple[OutputTold, ...]


_EVENTS = tuple(tagged(kind, name) for kind, name in NAMES.items())
_SAMPLE = tagged(Sample, "sample")
_FOLLOWED = (*_EVENTS, _SAMPLE)
_STARTED = (*_FOLLOWED, contract_of(StartedRun))
LINES = frozenset({"gauges", "run", "quick", "resume", "demo", "attach"})
"""Commands that print one object per line."""
ANSWERS: Mapping[str, tuple[object, ...]] = {
    "devices": (contract_of(DevicesAnswer),),
    "readtest": (contract_of(ReadTestAnswer),),
    "gauges": (_SAMPLE,),
    "catalog": (contract_of(FilesystemsAnswer), contract_of(LevelsAnswer)),
    "scratch create": (contract_of(ScratchAnswer),),
    "scratch list": (contract_of(ScratchListAnswer),),
    "scratch attach": (contract_of(ScratchAnswer),),
    "scratch remove": (contract_of(ScratchAnswer),),
    "prove": (contract_of(ProveAnswer),),
    "plan": (contract_of(PlanAnswer), contract_of(PlansAnswer)),
    "run": _STARTED,
    "quick": (contract_of(PlanAnswer), *_FOLLOWED),
    "resume": (*_STARTED, contract_of(PlanAnswer)),
    "demo": _STARTED,
    "attach": _FOLLOWED,
    "stop": (contract_of(StopAnswer),),
    "cleanup": (contract_of(CleanupAnswer),),
    "runs": (contract_of(RunsAnswer),),
    "runs rename": (contract_of(RunAnswer),),
    "runs delete": (contract_of(RunAnswer),),
    "show": (contract_of(ShowAnswer),),
    "results": (contract_of(ResultsAnswer),),
    "advise": (contract_of(AdviceAnswer),),
    "apply-kit": (contract_of(KitWritten),),
    "verify-kit": (contract_of(KitVerified),),
    "export": (contract_of(RunAnswer),),
    "import": (contract_of(RunAnswer),),
    "compare": (contract_of(CompareAnswer), contract_of(PublishedAnswer)),
    "doctor": (contract_of(DoctorAnswer),),
}
"""Types of the documents of each command, as the contract has them."""


def schema_of(command: str) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a command's documents, of one line where it prints lines."""
    kinds, parts = msgspec.json.schema_components(ANSWERS[command], ref_template="#/$defs/{name}")
    what = "each line of" if command in LINES else "the output of"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{what} `fsconsole {command} --json`, version {SCHEMA}",
        "anyOf": list(kinds),
        "$defs": parts,
    }


def tell(document: Document) -> None:
    """Print a document."""
    sys.stdout.write(document_text(document, indent=2) + "\n")
