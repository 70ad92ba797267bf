"""Surveys the filesystems of the catalog: declarations, support on this machine, and findings of trials."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from fsconsole.catalog.filesystem import Answer, Filesystem, Option
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.tables import nearest_words
from fsconsole.errors.targets import UnknownFilesystem
from fsconsole.model.answers import CatalogAnswer, OptionAnswer, ProbeAnswer, ToolAnswer
from fsconsole.model.command import Executor
from fsconsole.model.wire import encode
from fsconsole.preflight.findings import CACHE_DIR, Findings, keep_findings, read_findings, versions_now
from fsconsole.preflight.machine import FilesystemSupport, filesystem_support
from fsconsole.preflight.probe import probe
from fsconsole.system.run import RealExecutor


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One filesystem."""

    filesystem: Filesystem
    support: FilesystemSupport
    findings: Findings | None
    """None where nothing was tried, or nothing that still holds."""

    @property
    def unavailable(self) -> str:
        """Why it can't be used here, as a clause; empty where it can."""
        missing = [tool.name for tool in self.support.missing]
        lacks = f"not installed: {', '.join(missing)} (package {self.filesystem.package})" if missing else ""
        return "; ".join(filter(None, (self.support.why_absent, lacks)))

    def answers_to(self, option: Option) -> tuple[Answer, ...]:
        """Return what came of trying an option, value by value."""
        wanted = (option.scope, option.name)
        answers = self.findings.answers if self.findings is not None else ()
        return tuple(answer for answer in answers if (answer.scope, answer.option) == wanted)


@dataclass(frozen=True, slots=True)
class CatalogSurvey:
    """Filesystems in the catalog's order, and what could not be done, in sentences."""

    entries: tuple[CatalogEntry, ...]
    notes: tuple[str, ...]


def take(names: Sequence[str], *, probe: bool) -> CatalogSurvey:
    """Return the survey of these filesystems, of all where none is named; with probe their options are tried.

    Raises UnknownFilesystem, and what probing raises.
    """
    catalog, executor = load_catalog(), RealExecutor()
    for name in names:
        if name not in catalog.names:
            raise UnknownFilesystem("fsconsole catalog", "FS", name, nearest_words(name, catalog.names))
    wanted = tuple(fs for fs in catalog.filesystems if not names or fs.name in names)
    supports = {fs.name: filesystem_support(executor, fs) for fs in wanted}
    able = [fs for fs in wanted if not supports[fs.name].missing]
    notes: list[str] = []
    kept = () if probe else (read_findings(fs.name, versions_now(executor, fs)) for fs in able)
    seen = _probed(executor, able, notes) if probe else kept
    found = {findings.filesystem: findings for findings in seen if findings is not None}
    entries = tuple(CatalogEntry(fs, supports[fs.name], found.get(fs.name)) for fs in wanted)
    if probe:
        for entry in entries:
            if entry.findings is None:
                notes.append(f"{entry.filesystem.name} was not tried: {entry.unavailable}")
            elif entry.findings.trouble:
                notes.append(f"{entry.filesystem.name}: {entry.findings.trouble}")
    return CatalogSurvey(entries, tuple(notes))


def as_json(survey: CatalogSurvey) -> str:
    """Return the survey as a JSON list."""
    return encode(tuple(map(_entry, survey.entries)), indent=2)


def _probed(executor: Executor, filesystems: Sequence[Filesystem], notes: list[str]) -> tuple[Findings, ...]:
    found = probe(executor, filesystems, _progress)
    if os.geteuid() == 0:
        try:
            for findings in found:
                keep_findings(findings)
        except OSError as error:
            notes.append(f"the findings could not be kept in {CACHE_DIR}: {error.strerror}")
    return found


def _progress(name: str, tried: int, total: int) -> None:
    """Say on a terminal how far it is, in one line that the last count of a filesystem wipes."""
    if sys.stderr.isatty():
        line = "" if tried == total else f"trying {name}: {tried} of {total}"
        sys.stderr.write(f"\r{line:<40}\r{line}")
        sys.stderr.flush()


def _entry(entry: CatalogEntry) -> CatalogAnswer:
    filesystem, findings = entry.filesystem, entry.findings
    return CatalogAnswer(
        filesystem=filesystem.name,
        title=filesystem.title,
        driver=filesystem.driver,
        driver_in_use=findings.driver if findings is not None else "",
        kernel=entry.support.driver.value,
        package=filesystem.package,
        tools=tuple(ToolAnswer(tool.name, tool.path, tool.version) for tool in entry.support.tools),
        unavailable=entry.unavailable,
        check=filesystem.check_note,
        since=filesystem.since,
        until=filesystem.until,
        probed=findings is not None,
        trouble=findings.trouble if findings is not None else "",
        options=tuple(
            OptionAnswer(
                name=option.name,
                group=option.group,
                kind=option.scope.value,
                values=tuple(option.texts),
                takes=option.wanted,
                words=tuple(option.texts.values()) or (option.template,),
                help=option.help,
                since=option.since,
                until=option.until,
                tools_since=option.tools_since,
                old_names=option.old_names,
                refusals=dict(option.refusals),
                without_effect=option.ignored,
                depends=option.depends,
                probe=tuple(
                    ProbeAnswer(one.value, one.verdict.value, one.words) for one in entry.answers_to(option)
                ),
            )
            for option in filesystem.options
        ),
        rules=tuple(asdict(rule) for rule in filesystem.rules),
    )
