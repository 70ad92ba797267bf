"""The text of `fsconsole catalog`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fsconsole.catalog.filesystem import Verdict
from fsconsole.model.answers import CatalogAnswer, LevelAnswer, OptionAnswer
from fsconsole.preflight.catalog_survey import CatalogSurvey
from fsconsole.text import counted, hanging, pad_right, printable

# The levels of [[array]], and what this machine lacks for each.

_NAME_WIDTH = 10


def lines(levels: Sequence[LevelAnswer], width: int) -> Iterator[str]:
    """Yield a few lines for each level: what it is, and why it can't be had here."""
    for level in levels:
        lacks = [f"not supported: {level.unavailable}", level.remedy] if level.unavailable else []
        yield from _beside(level.level, [level.about, *lacks], _NAME_WIDTH, width)


_OPTION_WIDTH = 24
_INDENT = "    "


def overview_lines(survey: CatalogSurvey, width: int) -> Iterator[str]:
    """Yield a few lines for each filesystem: what it is, whether it can be used here, how many options it has."""
    for entry in survey.entries:
        told = [entry.title, _usable(entry), _counted(entry)]
        yield from _beside(entry.filesystem, told, _NAME_WIDTH, width)
    yield ""
    yield from _fitted("`fsconsole catalog FS`: every option; --probe finds out what this machine takes.", "", width)


def filesystem_lines(entry: CatalogAnswer, width: int) -> Iterator[str]:
    """Yield a filesystem with all its options, group by group."""
    in_use = entry.driver_in_use
    seen = f"; in use when tried: {in_use}" if in_use and in_use != entry.filesystem else ""
    driver, check = f"driver: {entry.driver}{seen}", f"check: {entry.check}"
    yield from _fitted(entry.title, "", width)
    for line in (_usable(entry), driver, check, _counted(entry)):
        yield from _fitted(line, "  ", width)
    grouped: dict[str, list[OptionAnswer]] = {}
    for option in entry.options:
        grouped.setdefault(option.group, []).append(option)
    for group, options in grouped.items():
        yield from ("", group)
        for option in options:
            yield from _option_lines(option, width)
    yield from ("", "what goes together") if entry.rules else ("",)
    for rule in entry.rules:
        needs = f"needs {' or '.join(rule.needs)}" if rule.needs else ""
        excludes = f"never with {', '.join(rule.excludes)}" if rule.excludes else ""
        said = f"{rule.when}: {'; '.join(filter(None, (needs, excludes)))} ({rule.why})"
        yield from _fitted(said, "  ", width)
    yield ""


def _option_lines(option: OptionAnswer, width: int) -> Iterator[str]:
    values = ", ".join(option.values) or option.takes
    yield from _beside(f"  {option.name}", [f"{option.kind}: {values}"], _OPTION_WIDTH, width)
    yield from _fitted(option.help, _INDENT, width)
    bounds = (
        f"since Linux {option.since}" if option.since else "",
        f"since version {option.tools_since} of the tools" if option.tools_since else "",
        f"until Linux {option.until}" if option.until else "",
    )
    names = f"also called {', '.join(option.old_names)}" if option.old_names else ""
    told = _tried(option) or _declared(option)
    for line in filter(None, (", ".join(filter(None, bounds)), names, *told)):
        yield from _fitted(line, _INDENT, width)


def _tried(option: OptionAnswer) -> list[str]:
    answers = [answer for answer in option.probe if answer.verdict != Verdict.UNTRIED]
    taken = [answer.value for answer in answers if answer.verdict == Verdict.TAKEN]
    lines = [f"taken: {', '.join(taken)}"] if taken else []
    others = [answer for answer in answers if answer.verdict != Verdict.TAKEN]
    told: dict[str, str] = {Verdict.REFUSED: "refused", Verdict.IGNORED: "accepted, not in effect"}
    for (verdict, words), alike in groupby(others, key=lambda answer: (answer.verdict, answer.words)):
        lines.append(f'{told[verdict]}: {", ".join(answer.value for answer in alike)}: "{printable(words)}"')
    return lines


def _declared(option: OptionAnswer) -> list[str]:
    lines = ["accepted by today's kernels, without effect"] if option.without_effect else []
    said: dict[str, list[str]] = {}
    for value, words in option.refusals.items():
        said.setdefault(words, []).append(value or "all")
    hangs_on = {"device": ", depending on the device", "build": ", depending on how they were built"}
    where = hangs_on.get(option.depends, "")
    lines.extend(
        f'refused by today\'s kernels or tools{where}: {", ".join(values)}: "{words}"' for words, values in said.items()
    )
    return lines


def _usable(entry: CatalogAnswer) -> str:
    if entry.unavailable:
        return f"unavailable: {entry.unavailable}"
    tool = entry.tools[0]
    return f"{tool.name} {tool.version}".strip() + f"; driver {entry.kernel}"


def _counted(entry: CatalogAnswer) -> str:
    total = counted(len(entry.options), "option")
    if not entry.probed:
        return f"{total}, not tried here"
    verdicts = [answer.verdict for option in entry.options for answer in option.probe]
    counts = ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)
    trouble = f" ({entry.trouble})" if entry.trouble else ""
    return f"{total}; of their values {counts or 'none could be tried'}{trouble}"


def _beside(name: str, told: list[str], name_width: int, width: int) -> Iterator[str]:
    lead = pad_right(name, name_width - 1) + " " if len(name) < name_width else f"{name} "
    for text in told:
        yield from _fitted(text, lead, width)
        lead = " " * name_width


def _fitted(text: str, lead: str, width: int) -> list[str]:
    return hanging(lead, printable(text), width)
