"""Lines of the options of a checklist: the values of each, what this machine refuses, what a rule leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fsconsole.catalog.filesystem import Filesystem, Option, Rule, Scope, Verdict
from fsconsole.plan.draft import Draft, values_of
from fsconsole.plan.outcome import Outcome, ThisMachine
from fsconsole.plan.planfile import Checklist
from fsconsole.plan.rows import Candidate
from fsconsole.show.lines import OTHER, Line
from fsconsole.show.plan import chips_of

MORE = "more"
"""Key of the line that lists the other options."""


def common_lines(
    checklist: Checklist, filesystem: Filesystem, here: ThisMachine, made: Sequence[Candidate] = ()
) -> tuple[Line, ...]:
    """Return the options that are compared most often, and those that have a value; then how many more there are.

    made: the variants that the checklist comes to.
    """
    ranked = sorted(filesystem.options, key=lambda option: option.common or len(filesystem.options))
    first = [option for option in ranked if option.common or values_of(checklist, option.scope, option.name)]
    more = len(filesystem.options) - len(first)
    return (
        Line("group", f"Common options of {filesystem.name}", is_heading=True),
        *(_option(checklist, filesystem, option, here, made) for option in first),
        *((Line(MORE, f"{more} more options: / finds one, enter lists all"),) if more else ()),
    )


def option_lines(
    checklist: Checklist, filesystem: Filesystem, here: ThisMachine, made: Sequence[Candidate] = ()
) -> tuple[Line, ...]:
    """Return a line for each option: the common ones first, then each below the name of its group."""
    groups: dict[str, list[Option]] = {}
    for option in sorted(filesystem.options, key=lambda option: option.common):
        groups.setdefault("" if option.common else option.group, []).append(option)
    common = groups.pop("", [])
    return tuple(
        line
        for group, options in ((f"Common options of {filesystem.name}", common), *groups.items())
        for line in (
            Line(f"group {group}", group, is_heading=True),
            *(_option(checklist, filesystem, option, here, made) for option in options),
        )
    )


def key_of(option: Option) -> str:
    """Return the key of an option's line."""
    return f"{option.scope.value} {option.name}"


def option_of(filesystem: Filesystem, key: str) -> Option:
    """Return the option whose line has this key."""
    return next(option for option in filesystem.options if key_of(option) == key)


def taken_values(filesystem: Filesystem, option: Option, here: ThisMachine) -> tuple[str, ...]:
    """Return the values that this machine is not known to refuse."""
    return tuple(value for value in option.values_to_try if not here.refusal(filesystem, option, value))


def made_by(counted: Draft, outcome: Outcome, number: int) -> tuple[Candidate, ...]:
    """Return the variants that a checklist of the draft comes to; outcome is that of counted."""
    checklists = counted.checklists
    return tuple(each for each in outcome.candidates if each.of_checklist and checklists[each.number] == number)


def _option(
    checklist: Checklist, filesystem: Filesystem, option: Option, here: ThisMachine, made: Sequence[Candidate]
) -> Line:
    values = values_of(checklist, option.scope, option.name)
    barred = not values and not taken_values(filesystem, option, here) and bool(option.values_to_try)
    refused = {value for value in option.values_to_try if here.refusal(filesystem, option, value)}
    texts = tuple(option.texts.values()) or (option.template,)
    both = all(filesystem.option(option.name, scope) is not None for scope in Scope)
    chips = chips_of(_offered(option), values, refused, is_typed=not option.texts and not barred)
    out = {value: rules[0].why for value in values if (rules := _rules_out(filesystem, option, value, made))}
    way = way_of(checklist, filesystem, option, made) if out else Way()
    told = [f"{value}: left out: {why}" for value, why in out.items()]
    return Line(
        key=key_of(option),
        name=f"{option.name} ({option.scope.value})" if both else option.name,
        about=tuple(_about(filesystem, option, here, barred=barred)),
        warning="; ".join((*told, f"J goes to {way.name}")) if way.key else "; ".join(told),
        is_faint=barred,
        found_by=" ".join((option.scope.value, option.group, option.help, *values, *option.old_names, *texts)),
        chips=tuple(replace(chip, is_out=chip.value in out) for chip in chips),
    )


def _offered(option: Option) -> tuple[str, ...]:
    """Return the values that are offered: of those that come to the same, as "no" and "none", the first."""
    by_effect: dict[str, str] = {}
    for value in option.values_to_try:
        by_effect.setdefault(option.shown_as(value) or f"not seen: {value}", value)
    return tuple(by_effect.values())


def _rules_out(filesystem: Filesystem, option: Option, value: str, made: Sequence[Candidate]) -> tuple[Rule, ...]:
    """Return the rule about a value by which all variants with it are left out; none where some are rows."""
    if not option.has_words(value):
        return ()
    broken = set()
    # Most often the first one is a row, of thousands.
    for each in made:
        if (option.name, value) in each.values and not each.is_excluded:
            if not each.broken:
                return ()
            broken.add(each.broken)
    word = _word(option, value)
    about = (rule for rule in filesystem.rules if rule.why in broken)
    found = (rule for rule in about if any(_is_part(part, word) for part in (rule.when, *rule.excludes)))
    return tuple(islice(found, 1))


def _word(option: Option, value: str) -> str:
    """Return a value as rules between options have it: "mount data=journal"."""
    return f"{option.scope.value} {option.text(value)}"


def _is_part(part: str, word: str) -> bool:
    """Return whether a rule's word is a value's, or its beginning: "mount data", "mkfs -C"."""
    return word == part or word.startswith((f"{part}=", f"{part} "))


@dataclass(frozen=True, slots=True)
class Way:
    """The line of the option that a left out value needs, or excludes, and the value there; both empty for none."""

    key: str = ""
    value: str = ""
    why: str = ""
    """Words of the rule between both."""

    @property
    def name(self) -> str:
        """The option's name."""
        return self.key.partition(" ")[2]


def way_of(checklist: Checklist, filesystem: Filesystem, option: Option, made: Sequence[Candidate]) -> Way:
    """Return the way from an option with a value that is left out to the option that decides that."""
    values = values_of(checklist, option.scope, option.name)
    rules = (rule for value in values for rule in _rules_out(filesystem, option, value, made))
    found = (
        Way(key_of(other), value, rule.why)
        for rule in rules
        for word in rule.needs or (rule.when, *rule.excludes)
        for other in filesystem.options
        if other is not option
        # What it needs may be any value there is, what excludes it is ticked.
        for value in (other.values_to_try if rule.needs else values_of(checklist, other.scope, other.name))
        if other.has_words(value) and _is_part(word, _word(other, value))
    )
    return next(found, Way())


def why_barred(line: Line, value: str) -> str:
    """Return the sentence on a value of a line that can't be ticked; the first where none names it."""
    own = (words for words in line.about if value in words.partition(":")[0].split(", "))
    return next(own, line.about[0] if line.about else "")


def _about(filesystem: Filesystem, option: Option, here: ThisMachine, *, barred: bool) -> Iterator[str]:
    purpose = f"{option.scope.value}: {option.help}."
    # The words of each refusal, with the values that meet it.
    by_words: dict[str, list[str]] = {}
    for value in option.values_to_try:
        by_words.setdefault(here.refusal(filesystem, option, value), []).append(value)
    refused = [f"{', '.join(values)}: {words}." for words, values in by_words.items() if words]
    yield from (*refused, purpose) if barred else (purpose, *refused)
    for answer in here.answers(filesystem, option):
        if answer.verdict is Verdict.IGNORED:
            yield f"{answer.value}: accepted here, and not in effect ({answer.words})."
        elif answer.verdict is Verdict.REFUSED and not here.refusal(filesystem, option, answer.value):
            yield f"{answer.value}: refused on the image that it was tried on ({answer.words})."
    if not option.texts:
        yield f"Takes {option.wanted}: type it at {OTHER}"
    if option.ignored and not here.answers(filesystem, option):
        yield "Today's kernels accept it, without effect."
    if option.old_names:
        yield f"Once named {', '.join(option.old_names)}."
    if option.since:
        yield f"Since Linux {option.since}."
