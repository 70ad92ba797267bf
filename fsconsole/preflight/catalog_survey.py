"""Surveys the filesystems of the catalog: declarations, support on this machine, and findings of trials."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Filesystem, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.tables import close_words
from fsconsole.errors.targets import UnknownFilesystem
from fsconsole.model.answers import CatalogAnswer, OptionAnswer, ProbeAnswer, RuleAnswer, ToolAnswer
from fsconsole.model.command import Executor
from fsconsole.preflight.findings import CACHE_DIR, Findings, keep_findings, read_findings, versions_now
from fsconsole.preflight.machine import FilesystemSupport, filesystem_support
from fsconsole.preflight.probe import probe
from fsconsole.system.run import RealExecutor
from fsconsole.text import error_reason


@dataclass(frozen=True, slots=True)
class CatalogSurvey:
    """Filesystems in the catalog's order, and what could not be done, in sentences."""

    entries: tuple[CatalogAnswer, ...]
    notes: tuple[str, ...]


def take(names: Sequence[str], *, probe: bool) -> CatalogSurvey:
    """Return the survey of these filesystems, of all where none is named; with probe their options are tried.

    Raises UnknownFilesystem, and what probing raises.
    """
    catalog, executor = load_catalog(), RealExecutor()
    for name in names:
        if name not in catalog.names:
            raise UnknownFilesystem("fsconsole catalog", "FS", name, close_words(name, catalog.names))
    wanted = tuple(fs for fs in catalog.filesystems if not names or fs.name in names)
    supports = {fs.name: filesystem_support(executor, fs) for fs in wanted}
    able = [fs for fs in wanted if not supports[fs.name].missing]
    notes: list[str] = []
    kept = () if probe else (read_findings(fs.name, versions_now(executor, fs)) for fs in able)
    seen = _probed(executor, able, notes) if probe else kept
    found = {findings.filesystem: findings for findings in seen if findings is not None}
    entries = tuple(catalog_answer(fs, supports[fs.name], found.get(fs.name)) for fs in wanted)
    for entry in entries if probe else ():
        if not entry.probed:
            notes.append(f"{entry.filesystem} was not tried: {entry.unavailable}")
        elif entry.trouble:
            notes.append(f"{entry.filesystem}: {entry.trouble}")
    return CatalogSurvey(entries, tuple(notes))


def _probed(executor: Executor, filesystems: Sequence[Filesystem], notes: list[str]) -> tuple[Findings, ...]:
    found = probe(executor, filesystems, _progress)
    if os.geteuid() == 0:
        try:
            for findings in found:
                keep_findings(findings)
        except OSError as error:
            notes.append(f"the findings could not be kept in {CACHE_DIR}: {error_reason(error)}")
    return found


def _progress(name: str, tried: int, total: int) -> None:
    """Say on a terminal how far it is, in one line that the last count of a filesystem wipes."""
    if sys.stderr.isatty():
        line = "" if tried == total else f"trying {name}: {tried} of {total}"
        sys.stderr.write(f"\r{line:<40}\r{line}")
        sys.stderr.flush()


def catalog_answer(filesystem: Filesystem, support: FilesystemSupport, findings: Findings | None) -> CatalogAnswer:
    """Return a filesystem as this machine has it; findings is None where nothing was tried, or nothing that still holds."""
    missing = ", ".join(tool.name for tool in support.missing)
    lacks = f"not installed: {missing} (package {filesystem.package})" if missing else ""
    probed: dict[tuple[Scope, str], list[ProbeAnswer]] = defaultdict(list)
    for one in findings.answers if findings is not None else ():
        probed[one.scope, one.option].append(ProbeAnswer(one.value, one.verdict.value, one.words))
    return CatalogAnswer(
        filesystem=filesystem.name,
        title=filesystem.title,
        driver=filesystem.driver,
        driver_in_use=findings.driver if findings is not None else "",
        kernel=support.driver.value,
        package=filesystem.package,
        tools=tuple(ToolAnswer(tool.name, tool.path, tool.version) for tool in support.tools),
        unavailable="; ".join(filter(None, (support.why_absent, lacks))),
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
                probe=tuple(probed[option.scope, option.name]),
            )
            for option in filesystem.options
        ),
        rules=tuple(RuleAnswer(rule.when, rule.excludes, rule.needs, rule.why) for rule in filesystem.rules),
    )
