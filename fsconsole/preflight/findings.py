"""What trying a filesystem's options brought to light, as values and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fsconsole.catalog.filesystem import Scope
from fsconsole.catalog.known import Answer, Verdict


@dataclass(frozen=True, slots=True)
class Versions:
    """What the answers hold for: another kernel, tool or catalog may answer otherwise."""

    kernel: str
    """Release and build (uname -r, uname -v): the same release may be configured in another way."""
    tools: str
    catalog: str
    """A digest of the filesystem's declarations."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All answers about one filesystem."""

    filesystem: str
    versions: Versions
    driver: str
    """The kernel driver that served it; empty where none was asked."""
    trouble: str
    """Why options could not be tried, or only mkfs's; empty where all were."""
    answers: tuple[Answer, ...]


def to_json(findings: Findings) -> dict[str, object]:
    """Return findings as JSON values."""
    return asdict(findings)


def from_json(document: object) -> Findings:
    """Return findings from JSON values. Raises ValueError for any other shape."""
    match document:
        case {
            "filesystem": str(filesystem),
            "versions": {"kernel": str(kernel), "tools": str(tools), "catalog": str(catalog)},
            "driver": str(driver),
            "trouble": str(trouble),
            "answers": [*answers],
        }:
            found = tuple(answer_from_json(answer) for answer in answers)
            return Findings(filesystem, Versions(kernel, tools, catalog), driver, trouble, found)
        case _:
            raise ValueError("these are no findings")


def answer_from_json(document: object) -> Answer:
    """Return one answer from JSON values. Raises ValueError for any other shape."""
    match document:
        case {
            "filesystem": str(filesystem),
            "scope": str(scope),
            "option": str(option),
            "value": str(value),
            "verdict": str(verdict),
            "words": str(words),
            "shows": str(shows),
        }:
            return Answer(filesystem, Scope(scope), option, value, Verdict(verdict), words, shows)
        case _:
            raise ValueError("this is no answer")
