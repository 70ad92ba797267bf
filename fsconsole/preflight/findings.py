"""What trying a filesystem's options brought to light, as values and as JSON."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass

from fsconsole.catalog.filesystem import Answer, Catalog, Filesystem, Known, Scope, Verdict
from fsconsole.catalog.loader import declaration_digest
from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command, Executor
from fsconsole.preflight.machine import Driver, driver_of, registered_filesystems, why_absent
from fsconsole.system.files import kernel_release
from fsconsole.system.run import find_program


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


# Where findings are kept from one call to the next, and how it is known that they still hold.

CACHE_DIR = "/var/cache/fsconsole"
_VERSION_S = 10.0


def versions_now(executor: Executor, filesystem: Filesystem) -> Versions:
    """Return what answers about a filesystem would hold for. Raises ToolMissing."""
    tool = find_program(filesystem.tools[0])
    said = executor.run(Command((tool, "-V"), timeout_s=_VERSION_S))
    lines = (said.out + said.err).strip().splitlines()
    system = os.uname()
    return Versions(
        kernel=f"{system.release} {system.version}",
        tools=lines[0].strip() if lines else filesystem.tools[0],
        catalog=declaration_digest(filesystem.name),
    )


def read_findings(filesystem: str, versions: Versions, directory: str = CACHE_DIR) -> Findings | None:
    """Return what is kept about a filesystem, or None where nothing is, or nothing that still holds."""
    try:
        with open(_path(filesystem, directory), encoding="utf-8") as file:
            found = from_json(json.load(file))
    except (OSError, ValueError):
        return None
    return found if found.versions == versions else None


def keep_findings(findings: Findings, directory: str = CACHE_DIR) -> None:
    """Keep findings for the next call, whole or not at all. Raises OSError."""
    os.makedirs(directory, mode=0o755, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=".options-", dir=directory)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(to_json(findings), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, _path(findings.filesystem, directory))
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        raise


def what_is_known(
    executor: Executor, catalog: Catalog, names: frozenset[str], directory: str = CACHE_DIR
) -> Known:
    """Return what is known of these filesystems on this machine without trying anything."""
    registered, kernel = registered_filesystems(), kernel_release()
    absent: list[tuple[str, str]] = []
    answers: list[Answer] = []
    for filesystem in catalog.filesystems:
        if filesystem.name not in names:
            continue
        if driver_of(filesystem.name, registered) is Driver.ABSENT:
            absent.append((filesystem.name, why_absent(filesystem, kernel)))
            continue
        if missing := missing_tools(filesystem):
            absent.append(
                (filesystem.name, f"not installed: {', '.join(missing)}; package {filesystem.package}")
            )
            continue
        found = read_findings(filesystem.name, versions_now(executor, filesystem), directory)
        answers.extend(found.answers if found is not None else ())
    return Known(tuple(answers), tuple(absent))


def missing_tools(filesystem: Filesystem) -> tuple[str, ...]:
    """Return those of a filesystem's programs that are not installed."""
    return tuple(tool for tool in filesystem.tools if not _is_there(tool))


def _is_there(tool: str) -> bool:
    try:
        find_program(tool)
    except ToolMissing:
        return False
    return True


def _path(filesystem: str, directory: str) -> str:
    return os.path.join(directory, f"options-{filesystem}.json")
