"""Workloads, settings, run keys and custom variants of a draft: their lines in lists, and their forms."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.tables import Table
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import OptionRefused, PlanBadValue, PlanUnknownKey, UnknownFilesystem
from fsconsole.model.answers import PowerAnswer
from fsconsole.model.statistics import LOOKS
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan import keys, kinds
from fsconsole.plan.draft import PLACE, Draft, checked_workloads
from fsconsole.plan.planfile import PlanFile, VariantText
from fsconsole.plan.read import read_variant
from fsconsole.plan.steps import workload_title
from fsconsole.show.lines import Chip, Line, Mark
from fsconsole.show.plan import NEW, START, variant_about, variant_words
from fsconsole.show.plan_text import DECIDES_LITTLE, decides_little, power_lines, power_words

SETTINGS = {key.name: key for key in keys.SETTINGS}
RUN = {key.name: key for key in keys.RUN} | {f"after.{key.name}": key for key in keys.AFTER}
"""At the top of a plan file and below [after]."""
_SHOWN = {"repeats": "rounds"}
"""Names of plan keys on screens, where they differ."""
TYPED = tuple(name for name, key in RUN.items() if key.kind.is_typed)
"""Keys whose value may be typed."""


_OPTION_MARKS = "(default) if no tick; [default] [on] compared; -on- barred"
_KNOB_MARKS = "(default) if no tick; [default] [on] compared"
_VARIANT_MARKS = "[x] compared; [ ] unticked; [-] left out by a rule"
MARKS = {
    "options": _OPTION_MARKS,
    NEW: _OPTION_MARKS,
    "arrays": f"{_KNOB_MARKS}; [-] not here",
    "settings": _KNOB_MARKS,
    "words": "[x] compared; [ ] unticked",
    "variants": _VARIANT_MARKS,
    START: _VARIANT_MARKS,
}
"""Legend of a list, by kind of section."""


def workload_lines(plan: PlanFile) -> tuple[Line, ...]:
    """Return a line for each workload, in their order."""
    return tuple(
        Line(
            f"load {number}",
            f"{number + 1}. {load.name}",
            value=load.kind.value,
            about=(workload_words(load),),
        )
        for number, load in enumerate(plan.workloads)
    )


def workload_words(load: Workload) -> str:
    """Return what a workload does, in a sentence."""
    parts = (
        workload_title(load).removeprefix(f"{load.name}: "),
        f"files of '{load.of}'" if load.of else "",
        "from a cold cache" if load.cold else "",
        *(f"{name} = {value}" for name, value in load.settings),
        *(f"requires {one.words}" for one in load.require),
    )
    return ", ".join(filter(None, parts)) + "."


def run_lines(plan: PlanFile, power: PowerAnswer | None = None) -> tuple[Line, ...]:
    """Return a line for each key at the top of a plan file and below [after]; with the rounds what the plan can find."""
    found = {"repeats": (power_words(power),)} if power is not None else {}
    return tuple(
        Line(
            name,
            _SHOWN.get(name, name.removeprefix("after.")),
            value=text,
            about=(*found.get(name, ()), RUN[name].help),
            chips=() if name in TYPED else tuple(Chip(choice, choice == text) for choice in RUN[name].kind.choices),
        )
        for name, text in run_texts(plan).items()
    )


def rounds_told(power: PowerAnswer) -> tuple[str, ...]:
    """Return what is to be known of a number of rounds as it is typed, in short lines."""
    first, last = LOOKS[0], LOOKS[-1]
    decides = (DECIDES_LITTLE,) if decides_little(power) else ()
    return (
        "A number, which + and - step, or the word auto.",
        f"auto: {last} rounds at most; ends from round {first} on, once all is decided.",
        "",
        *power_lines(power),
        *decides,
    )


def run_texts(plan: PlanFile) -> dict[str, str]:
    """Return the keys of a run with their values as they are typed."""
    return {
        name: _text_of(key.kind.toml(keys.value_of(plan.after if key in keys.AFTER else plan, key)))
        for name, key in RUN.items()
    }


def typed_run_value(name: str, text: str) -> object:
    """Return typed text as a plan file would have it; what is no number stays text, for the reader to refuse."""
    return RUN[name].kind.typed(text)


_WORKLOAD = {key.name: key for key in keys.WORKLOAD}


@dataclass(frozen=True, slots=True)
class FormField:
    """One line of the form."""

    key: str
    hint: str
    text: str
    is_wide: bool = False
    """True if it takes the whole line, and its hint the next one."""


def form_fields(table: Mapping[str, object]) -> tuple[FormField, ...]:
    """Return the fields of a workload's kind, and of whatever else its table changes."""
    kind = WorkloadKind(str(table["kind"]))
    return tuple(
        FormField(name, key.hint, _typed_as(key, table.get(name, "")))
        for name, key in _WORKLOAD.items()
        if name != "kind" and (kind in key.kinds or table.get(name, "") not in ("", key.kind.toml(key.default)))
    )


def table_of(kind: str, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the table of typed texts, without the empty ones."""
    said = {key: _WORKLOAD[key].kind.typed(text.strip()) for key, text in texts.items() if text.strip()}
    return {"kind": kind, **said}


def complaints(tables: Sequence[Mapping[str, object]], number: int, shown: Sequence[str]) -> tuple[str, str]:
    """Return the key to which the plan reader's complaint belongs, and its words; both empty where it has none.

    What concerns another workload, or a key that the form hasn't, is said of the first field.
    """
    try:
        checked_workloads(tables)
    except FsconsoleError as error:
        path, said = _complaint(error)
        place, _, name = path.partition(".")
        other = int(place.removeprefix("workload[").rstrip("]")) if place else number
        name = name.partition(".")[0] if other == number else ""
        lead = "" if other == number else f"workload {other + 1}: "
        return name if name in shown else shown[0], lead + said
    return "", ""


def _complaint(error: FsconsoleError) -> tuple[str, str]:
    """Return the key that an error of the plan reader is about, as a path in the plan file, and its words."""
    if isinstance(error, PlanBadValue):
        return error.key, f"{error.why}: {error.wanted}"
    if isinstance(error, OptionRefused):
        return error.key, f"'{error.word}': {error.why}; allowed: {error.nearest}"
    if isinstance(error, PlanUnknownKey):
        return error.key, f"unknown key {error.key.rpartition('.')[2]}. {error.nearest}"
    if isinstance(error, UnknownFilesystem):
        return "", f"there is no filesystem '{error.name}'. {error.nearest}"
    return "", str(error)


def _typed_as(key: keys.Key, value: object) -> str:
    """Return a value as it is typed: words as a shell has them, since some hold commas and blanks."""
    if key.kind.of_text is kinds.words_typed and isinstance(value, list):
        return shlex.join(map(str, cast("list[object]", value)))
    return _text_of(value)


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if isinstance(value, dict):
        # A limit has a comparator of its own.
        pairs = ((name, str(each)) for name, each in cast("dict[str, object]", value).items())
        return ", ".join(f"{name}{' ' if each[:1] in ('<', '>') else '='}{each}" for name, each in pairs)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


ADD = "add"
"""Key of the line that adds one."""


def words_lines(draft: Draft) -> tuple[Line, ...]:
    """Return a line for each, and one to add another."""
    own = (
        Line(
            f"words {number}",
            variant_words(variant),
            Mark.OFF if number in draft.off_variants else Mark.ON,
            about=variant_about(variant),
            wraps=True,
        )
        for number, variant in enumerate(draft.plan.variants)
    )
    told = "A variant by mkfs's and mount's own words, checked against the catalog as they are typed (enter)."
    return (*own, Line(ADD, "(add one)", about=(told,)))


def words_fields(variant: VariantText, catalog: Catalog) -> tuple[FormField, ...]:
    """Return the form of one."""
    names = ", ".join(catalog.names)
    return tuple(
        FormField(
            key.name,
            key.hint.replace("{names}", names),
            getattr(variant, key.attributes[0]),
            is_wide=True,
        )
        for key in keys.VARIANT
    )


def variant_of(texts: Mapping[str, str], number: int, catalog: Catalog) -> VariantText:
    """Return the variant of typed texts. Raises PlanBadValue, UnknownFilesystem, OptionRefused."""
    said = {key: text for key, text in texts.items() if text}
    return read_variant(Table(PLACE, f"variant[{number}]", {**said, "type": texts["type"].strip()}), catalog)


def words_complaint(texts: Mapping[str, str], number: int, catalog: Catalog) -> tuple[str, str]:
    """Return the field with which something is wrong, and what the plan reader says of it; both empty where nothing is."""
    try:
        variant_of(texts, number, catalog)
    except FsconsoleError as error:
        path, said = _complaint(error)
        name = path.rpartition(".")[2]
        return name if any(name == each.name for each in keys.VARIANT) else "type", said
    return "", ""
