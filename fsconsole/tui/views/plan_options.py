"""Filesystems and their options as lines to be ticked, with what this machine says of each."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.catalog.filesystem import Catalog, Filesystem, Option
from fsconsole.catalog.known import Verdict
from fsconsole.plan.planfile import Checklist
from fsconsole.tui.draft import Draft, values_of
from fsconsole.tui.here import Here
from fsconsole.tui.views.lines import Line, Mark, mark_of


def filesystem_lines(draft: Draft, catalog: Catalog, here: Here) -> tuple[Line, ...]:
    """Return a line for each filesystem of the catalog."""
    return tuple(_filesystem(draft, filesystem, here) for filesystem in catalog.filesystems)


def option_lines(checklist: Checklist, filesystem: Filesystem, here: Here) -> tuple[Line, ...]:
    """Return a line for each option, below the name of its group."""
    groups: dict[str, list[Option]] = {}
    for option in filesystem.options:
        groups.setdefault(option.group, []).append(option)
    return tuple(
        line
        for group, options in groups.items()
        for line in (
            Line(f"group {group}", group, is_heading=True),
            *(_option(checklist, filesystem, option, here) for option in options),
        )
    )


def key_of(option: Option) -> str:
    """Return the key of an option's line."""
    return f"{option.scope.value} {option.name}"


def option_of(filesystem: Filesystem, key: str) -> Option:
    """Return the option whose line has this key."""
    return next(option for option in filesystem.options if key_of(option) == key)


def taken_values(filesystem: Filesystem, option: Option, here: Here) -> tuple[str, ...]:
    """Return the values that nothing is known to speak against."""
    return tuple(value for value in option.values_to_try if not here.refusal(filesystem, option, value))


def next_values(filesystem: Filesystem, option: Option, now: tuple[str, ...], here: Here) -> tuple[str, ...]:
    """Return what follows when a line is ticked once more: off, on, compare where there are several values, off."""
    taken = taken_values(filesystem, option, here)
    if not now:
        return taken[:1]
    return taken if len(now) == 1 and len(taken) > 1 else ()


def _filesystem(draft: Draft, filesystem: Filesystem, here: Here) -> Line:
    ticked, lacks = draft.is_ticked(filesystem.name), here.why_not(filesystem)
    mark = Mark.ON if ticked else Mark.BARRED if lacks else Mark.OFF
    title = filesystem.title.removeprefix(f"{filesystem.name}: ")
    about = (
        *([f"It can't be used here: {lacks}"] if lacks else ()),
        f"{title}.",
        f"Driver: {filesystem.driver}.",
        f"Check: {filesystem.check_note}.",
    )
    return Line(filesystem.name, filesystem.name, mark, title, about, is_faint=mark is Mark.BARRED)


def _option(checklist: Checklist, filesystem: Filesystem, option: Option, here: Here) -> Line:
    values = values_of(checklist, option.scope, option.name)
    barred = not values and not taken_values(filesystem, option, here) and bool(option.values_to_try)
    told = ",".join(values) or ("not here" if barred else "")
    return Line(
        key=key_of(option),
        name=option.name,
        mark=Mark.BARRED if barred else mark_of(len(values)),
        value=f"{option.scope.value:<5} {told}".rstrip(),
        about=tuple(_about(filesystem, option, here, barred=barred)),
        is_faint=barred,
        found_by=" ".join((option.group, option.help, *option.old_names, *_texts(option))),
    )


def _texts(option: Option) -> tuple[str, ...]:
    """Return an option in the tool's words."""
    return tuple(text for _, text in option.texts) or (option.template,)


def _about(filesystem: Filesystem, option: Option, here: Here, *, barred: bool) -> Iterator[str]:
    purpose = f"{option.help}."
    refused = tuple(_refused(filesystem, option, here))
    yield from (*refused, purpose) if barred else (purpose, *refused)
    for answer in here.answers(filesystem, option):
        if answer.verdict is Verdict.IGNORED:
            yield f"{answer.value}: accepted here, and not in effect ({answer.words})."
        elif answer.verdict is Verdict.REFUSED and not here.refusal(filesystem, option, answer.value):
            yield f"{answer.value}: refused on the image that it was tried on ({answer.words})."
    known = ", ".join(value for value, _ in option.texts)
    yield f"Values: {known}." if known else f"Takes {option.wanted} (enter to type it)."
    if option.ignored and not here.answers(filesystem, option):
        yield "Today's kernels accept it, without effect."
    if option.old_names:
        yield f"Once named {', '.join(option.old_names)}."
    if option.since:
        yield f"Since Linux {option.since}."


def _refused(filesystem: Filesystem, option: Option, here: Here) -> Iterator[str]:
    """Yield the words of each refusal, with the values that meet it."""
    refused: dict[str, list[str]] = {}
    for value in option.values_to_try:
        words = here.refusal(filesystem, option, value)
        if words:
            refused.setdefault(words, []).append(value)
    for words, values in refused.items():
        yield f"{', '.join(values)}: {words}."
