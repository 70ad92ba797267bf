"""The text of `fsconsole catalog`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fsconsole.catalog.filesystem import Answer, Option, Rule, Verdict
from fsconsole.model.answers import LevelAnswer
from fsconsole.model.wire import encode
from fsconsole.plan.arrays import ABOUT_LEVELS
from fsconsole.preflight.catalog_survey import CatalogEntry, CatalogSurvey
from fsconsole.preflight.machine import LevelHere
from fsconsole.text import pad_right, printable, wrap

# The levels of [[array]], and what this machine lacks for each: as JSON, and in plain lines.

_NAME_WIDTH = 10


def levels_as_json(levels: Sequence[LevelHere]) -> str:
    """Return the levels as a JSON list."""
    told = (LevelAnswer(one.level, ABOUT_LEVELS[one.level], one.why, one.remedy) for one in levels)
    return encode(tuple(told), indent=2)


def lines(levels: Sequence[LevelHere], width: int) -> Iterator[str]:
    """Yield a few lines for each level: what it is, and why it can't be had here."""
    for level in levels:
        told = [ABOUT_LEVELS[level.level]]
        if level.why:
            told += [f"not supported: {level.why}", level.remedy]
        parts = [part for text in told for part in wrap(printable(text), width - _NAME_WIDTH)]
        leads = [level.level, *[""] * (len(parts) - 1)]
        yield from (pad_right(lead, _NAME_WIDTH) + part for lead, part in zip(leads, parts, strict=True))


_OPTION_WIDTH = 24
_INDENT = "    "


def overview_lines(survey: CatalogSurvey, width: int) -> Iterator[str]:
    """Yield a few lines for each filesystem: what it is, whether it can be used here, how many options it has."""
    for entry in survey.entries:
        told = [entry.filesystem.title, _usable(entry), _counted(entry)]
        yield from _columns(entry.filesystem.name, told, _NAME_WIDTH, width)
    yield ""
    yield "`fsconsole catalog FS`: every option; --probe finds out what this machine takes."


def filesystem_lines(entry: CatalogEntry, width: int) -> Iterator[str]:
    """Yield a filesystem with all its options, group by group."""
    filesystem = entry.filesystem
    told = [_usable(entry), f"driver: {_driver(entry)}", f"check: {filesystem.check_note}", _counted(entry)]
    yield from _fitted(filesystem.title, "", width)
    for line in told:
        yield from _fitted(line, "  ", width)
    grouped: dict[str, list[Option]] = {}
    for option in filesystem.options:
        grouped.setdefault(option.group, []).append(option)
    for group, options in grouped.items():
        yield ""
        yield f"{group}"
        for option in options:
            yield from _option_lines(entry, option, width)
    yield ""
    if filesystem.rules:
        yield "what goes together"
    for rule in filesystem.rules:
        yield from _fitted(_constraint(rule), "  ", width)
    yield ""


def _option_lines(entry: CatalogEntry, option: Option, width: int) -> Iterator[str]:
    values = ", ".join(option.texts) or option.wanted
    yield from _columns(f"  {option.name}", [f"{option.scope.value}: {values}"], _OPTION_WIDTH, width)
    yield from _fitted(option.help, _INDENT, width)
    for line in (*_bounds(option), *(_tried(entry, option) or _declared(option))):
        yield from _fitted(line, _INDENT, width)


def _constraint(rule: Rule) -> str:
    needs = f"needs {' or '.join(rule.needs)}" if rule.needs else ""
    excludes = f"never with {', '.join(rule.excludes)}" if rule.excludes else ""
    return f"{rule.when}: {'; '.join(filter(None, (needs, excludes)))} ({rule.why})"


def _bounds(option: Option) -> Iterator[str]:
    since = f"since Linux {option.since}" if option.since else ""
    tools = f"since version {option.tools_since} of the tools" if option.tools_since else ""
    until = f"until Linux {option.until}" if option.until else ""
    told = ", ".join(filter(None, (since, tools, until)))
    if told:
        yield told
    if option.old_names:
        yield f"also called {', '.join(option.old_names)}"


def _tried(entry: CatalogEntry, option: Option) -> list[str]:
    """Return what came of trying: the values that were taken as one line, each refusal with its words."""
    answers = [answer for answer in entry.answers_to(option) if answer.verdict is not Verdict.UNTRIED]
    taken = [answer.value for answer in answers if answer.verdict is Verdict.TAKEN]
    lines = [f"taken: {', '.join(taken)}"] if taken else []
    others = [answer for answer in answers if answer.verdict is not Verdict.TAKEN]
    for (verdict, words), alike in groupby(others, key=lambda answer: (answer.verdict, answer.words)):
        lines.append(_against(verdict, words, list(alike)))
    return lines


def _against(verdict: Verdict, words: str, answers: list[Answer]) -> str:
    told = {Verdict.REFUSED: "refused", Verdict.IGNORED: "accepted, not in effect"}[verdict]
    return f'{told}: {", ".join(answer.value for answer in answers)}: "{printable(words)}"'


def _declared(option: Option) -> list[str]:
    """Return what is declared of today's kernels, where nothing was tried."""
    lines = ["accepted by today's kernels, without effect"] if option.ignored else []
    said: dict[str, list[str]] = {}
    for value, words in option.refusals.items():
        said.setdefault(words, []).append(value or "all")
    hangs_on = {"device": ", depending on the device", "build": ", depending on how they were built"}
    where = hangs_on.get(option.depends, "")
    lines.extend(
        f'refused by today\'s kernels or tools{where}: {", ".join(values)}: "{words}"'
        for words, values in said.items()
    )
    return lines


def _usable(entry: CatalogEntry) -> str:
    if entry.unavailable:
        return f"unavailable: {entry.unavailable}"
    tool = entry.support.tools[0]
    return f"{tool.name} {tool.version}".strip() + f"; driver {entry.support.driver.value}"


def _driver(entry: CatalogEntry) -> str:
    in_use = entry.findings.driver if entry.findings is not None else ""
    seen = f"; in use when tried: {in_use}" if in_use and in_use != entry.filesystem.name else ""
    return f"{entry.filesystem.driver}{seen}"


def _counted(entry: CatalogEntry) -> str:
    total = f"{len(entry.filesystem.options)} options"
    if entry.findings is None:
        return f"{total}, not tried here"
    verdicts = [answer.verdict for answer in entry.findings.answers]
    counts = ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)
    trouble = f" ({entry.findings.trouble})" if entry.findings.trouble else ""
    return f"{total}; of their values {counts or 'none could be tried'}{trouble}"


def _columns(name: str, told: list[str], name_width: int, width: int) -> Iterator[str]:
    """Yield texts beside a name, which has the first line's beginning."""
    lines = [part for text in told for part in wrap(printable(text), width - name_width)]
    leads = [name + " " if len(name) >= name_width else name, *[""] * (len(lines) - 1)]
    for lead, line in zip(leads, lines, strict=True):
        yield (pad_right(lead, name_width) if len(lead) < name_width else lead) + line


def _fitted(text: str, indent: str, width: int) -> Iterator[str]:
    yield from (indent + part for part in wrap(printable(text), width - len(indent)))
