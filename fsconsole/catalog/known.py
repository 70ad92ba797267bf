"""What was found out about options by trying them: values, so that a plan can be judged without touching anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fsconsole.catalog.filesystem import Option, Scope


class Verdict(str, Enum):
    """What came of trying an option at a value; the values are printed and stored."""

    TAKEN = "taken"
    REFUSED = "refused"
    IGNORED = "not in effect"
    """Accepted, and nothing came of it."""
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Answer:
    """One option at one value; words are the kernel's own, or the tool's, empty where it was simply taken."""

    filesystem: str
    scope: Scope
    option: str
    value: str
    verdict: Verdict
    words: str = ""
    shows: str = ""
    """How it shows in what was read back, where that is declared."""


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of this machine beside its kernel's release."""

    answers: tuple[Answer, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    """(filesystem, why) for those that this kernel has no driver for."""
    _index: dict[tuple[str, Scope, str, str], Answer] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Sort the answers by what they are about: thousands of rows ask for each of their options."""
        for answer in self.answers:
            key = (answer.filesystem, answer.scope, answer.option, answer.value)
            self._index.setdefault(key, answer)

    def about(self, filesystem: str, option: Option, value: str) -> Answer | None:
        """Return what came of trying it, or None where nothing is known: most callers then go by declarations."""
        return self._index.get((filesystem, option.scope, option.name, value))

    def why_absent(self, filesystem: str) -> str:
        """Return why this kernel can't mount it at all; empty where it can, or where that is not known."""
        return dict(self.absent).get(filesystem, "")


NOTHING_KNOWN = Known()
