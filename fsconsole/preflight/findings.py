"""Keeps what trying a filesystem's options has shown, from one call to the next."""

from __future__ import annotations

import os

from fsconsole.catalog.filesystem import Answer, Catalog, Filesystem, Known
from fsconsole.catalog.loader import declaration_digest
from fsconsole.errors.runs import ToolMissing
from fsconsole.model.command import Command, Executor
from fsconsole.model.wire import Wire, decode, encode
from fsconsole.preflight.machine import Driver, driver_of, why_absent
from fsconsole.system.files import kernel_release, new_file
from fsconsole.system.run import find_program


class Versions(Wire, frozen=True):
    """Kernel, tools and catalog that the answers are valid for."""

    kernel: str
    """Release and build (uname -r, uname -v): the same release may be configured in another way."""
    tools: str
    catalog: str
    """A digest of the filesystem's declarations."""


class Findings(Wire, frozen=True):
    """All answers about one filesystem."""

    filesystem: str
    versions: Versions
    driver: str
    """The kernel driver that served it; empty where none was asked."""
    trouble: str
    """Why options could not be tried, or only mkfs's; empty where all were."""
    answers: tuple[Answer, ...]


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
        with open(_path(filesystem, directory), "rb") as file:
            found = decode(Findings, file.read())
    except (OSError, ValueError):
        return None
    return found if found.versions == versions else None


def keep_findings(findings: Findings, directory: str = CACHE_DIR) -> None:
    """Keep findings for the next call, whole or not at all. Raises OSError."""
    os.makedirs(directory, mode=0o755, exist_ok=True)
    with new_file(_path(findings.filesystem, directory), overwrite=True, mode=0o644) as file:
        # Every user may read it, whatever the umask.
        os.fchmod(file.fileno(), 0o644)
        file.write(encode(findings).encode())


def what_is_known(executor: Executor, catalog: Catalog, names: frozenset[str], directory: str = CACHE_DIR) -> Known:
    """Return what is known of these filesystems on this machine without trying anything."""
    absent: list[tuple[str, str]] = []
    answers: list[Answer] = []
    for filesystem in catalog.filesystems:
        if filesystem.name not in names:
            continue
        if driver_of(filesystem.name) is Driver.ABSENT:
            absent.append((filesystem.name, why_absent(filesystem, kernel_release())))
            continue
        if missing := missing_tools(filesystem):
            absent.append((filesystem.name, f"not installed: {', '.join(missing)}; package {filesystem.package}"))
            continue
        found = read_findings(filesystem.name, versions_now(executor, filesystem), directory)
        answers.extend(found.answers if found is not None else ())
    return Known(tuple(answers), tuple(absent))


def missing_tools(filesystem: Filesystem) -> tuple[str, ...]:
    """Return those of a filesystem's programs that are not installed."""
    missing = []
    for tool in filesystem.tools:
        try:
            find_program(tool)
        except ToolMissing:
            missing.append(tool)
    return tuple(missing)


def _path(filesystem: str, directory: str) -> str:
    return os.path.join(directory, f"options-{filesystem}.json")
