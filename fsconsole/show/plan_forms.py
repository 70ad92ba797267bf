"""Workloads, settings and how a plan runs, as lines of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from fsconsole import units
from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.tables import Table
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import OptionRefused, PlanBadValue, PlanUnknownKey, UnknownFilesystem
from fsconsole.model.plan import DeleteWith, Equalise, Order
from fsconsole.model.workload import BUILT_IN, OPERATIONS, WorkloadKind
from fsconsole.plan.draft import PLACE, Draft, checked_workloads
from fsconsole.plan.planfile import AUTO_REPEATS, PlanFile, ScaleKind, VariantText, WorkloadPlan
from fsconsole.plan.read import read_variant
from fsconsole.plan.settings import NAMES
from fsconsole.show.lines import Line, Mark, mark_of
from fsconsole.show.plan import variant_words

SETTINGS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "read_ahead": (
        "What the kernel reads ahead of a file's reader, of the disk or array.",
        ("128KiB", "2MiB"),
    ),
    "scheduler": ("Who orders the requests of a disk.", ("none", "mq-deadline", "bfq", "kyber")),
    "nr_requests": ("How many requests may wait at a disk.", ("64", "256")),
    "dirty_bytes": ("Dirty memory at which writers must wait, of the whole machine.", ("256MiB", "1GiB")),
    "dirty_background_bytes": ("Dirty memory at which writing back begins.", ("64MiB", "256MiB")),
    "dirty_ratio": ("As dirty_bytes, in per cent of the memory that could be had.", ("20", "40")),
    "dirty_background_ratio": ("As dirty_background_bytes, in per cent.", ("5", "10")),
    "stripe_cache_size": ("Pages per disk that an md array of level 4, 5 or 6 keeps.", ("256", "4096")),
}
"""What a plan may set, with values to begin with."""

_ABOUT_RUN = {
    "title": ("What the run is called in lists and grids.",),
    "repeats": ("How often each cell is done: 3 or more show how far figures scatter.",),
    "order": ("shuffled: drift of the machine favours no variant; interleaved: one repeat after the other.",),
    "seed": ("The same seed gives the same order, the same sizes and draws.",),
    "scale": ("fit: files shrink so that they take 60 % of the smallest target; or a factor such as 0.25.",),
    "equalise": ("What every target goes through before each cell, so that none finds a fresher one.",),
    "raw": ("Adds rows without a filesystem: what the device itself can do.",),
    "after.check": ("A forced full check of the unmounted filesystem at the end of each cell.",),
    "after.crash": ("Shut down without flushing, and time the recovery: not run by this version.",),
    "after.delete": ("How the files are removed, which is timed.",),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "order": tuple(order.value for order in Order),
    "scale": (ScaleKind.NONE.value, ScaleKind.FIT.value),
    "equalise": tuple(equalise.value for equalise in Equalise),
    "after.delete": tuple(delete.value for delete in DeleteWith),
}
_FLAGS = ("raw", "after.check", "after.crash")
_MOST_COUNTS = 8
"""More numbers of threads are not listed in a sentence."""
TYPED = ("title", "repeats", "seed", "scale")
"""Keys whose value may be typed."""


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


def workload_words(load: WorkloadPlan) -> str:
    """Return what a workload does, in a sentence."""
    parts = [
        f"{_threads(load)}: {load.kind.value}",
        f"{load.files:,} files" if load.files else "",
        f"of {_sizes(load)}" if load.file_size_bytes else "",
        f"in blocks of {units.format_bytes_exact(load.block_size_bytes)}" if _moves(load) else "",
        f"of '{load.of}'" if load.of else "",
        f"at most {units.format_bytes(load.limit_bytes)}" if load.limit_bytes else "",
        f"for {units.format_seconds(load.duration_s)}" if load.duration_s else "",
    ]
    flags = [word for word, is_so in (("from a cold cache", load.cold), ("direct", load.direct)) if is_so]
    own = [f"{name} = {value}" for name, value in load.settings]
    return ", ".join((" ".join(filter(None, parts)), *flags, *own)) + "."


def setting_lines(plan: PlanFile) -> tuple[Line, ...]:
    """Return a line for each setting that a plan may vary."""
    given = dict(plan.settings)
    return tuple(_setting(name, given.get(name, ())) for name in NAMES)


def next_setting(name: str, now: tuple[str, ...]) -> tuple[str, ...]:
    """Return what follows when a setting is ticked once more."""
    known = SETTINGS[name][1]
    if not now:
        return known[:1]
    return known if len(now) == 1 else ()


def run_lines(plan: PlanFile) -> tuple[Line, ...]:
    """Return a line for each key at the top of a plan file and below [after]."""
    return tuple(
        Line(
            key,
            key.removeprefix("after."),
            (Mark.ON if text == "yes" else Mark.OFF) if key in _FLAGS else Mark.NONE,
            "" if key in _FLAGS else text,
            _ABOUT_RUN[key],
        )
        for key, text in run_texts(plan).items()
    )


def run_texts(plan: PlanFile) -> dict[str, str]:
    """Return the keys of a run with their values as they are typed."""
    is_factor = plan.scale.kind is ScaleKind.FACTOR
    factor = str(plan.scale.factor).removesuffix(".0") if is_factor else plan.scale.kind.value
    return {
        "title": plan.title,
        "repeats": "auto" if plan.repeats == AUTO_REPEATS else str(plan.repeats),
        "order": plan.order.value,
        "seed": str(plan.seed),
        "scale": factor,
        "equalise": plan.equalise.value,
        "raw": _yes(is_so=plan.raw),
        "after.check": _yes(is_so=plan.after.check),
        "after.crash": _yes(is_so=plan.after.crash),
        "after.delete": plan.after.delete.value,
    }


def next_run_value(plan: PlanFile, key: str) -> object:
    """Return what follows when a key is ticked once more; None for one whose value is typed."""
    now = run_texts(plan)[key]
    if key in _FLAGS:
        return now == "no"
    choices = _CHOICES.get(key, ())
    if not choices:
        return None
    return choices[(choices.index(now) + 1) % len(choices)] if now in choices else choices[0]


def typed_run_value(key: str, text: str) -> object:
    """Return typed text as a plan file would have it; what is no number stays text, for the reader to refuse."""
    if key == "title":
        return text
    return number_of(text)


def number_of(text: str) -> object:
    """Return text as the number that it is, whole or not; else the text."""
    word = text.strip()
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word


def _setting(name: str, values: tuple[str, ...]) -> Line:
    about, known = SETTINGS[name]
    told = (about, f"Such as {', '.join(known)}; enter for values of your own.")
    return Line(name, name, mark_of(len(values)), ", ".join(values), told)


def _threads(load: WorkloadPlan) -> str:
    if len(load.threads) > _MOST_COUNTS:
        return f"{len(load.threads):,} numbers of threads from {min(load.threads)} to {max(load.threads)}"
    counts = " or ".join(map(str, load.threads))
    return f"{counts} thread{'' if load.threads == (1,) else 's'}"


def _sizes(load: WorkloadPlan) -> str:
    largest = f" to {units.format_bytes_exact(load.file_size_max_bytes)}" if load.file_size_max_bytes else ""
    return f"{units.format_bytes_exact(load.file_size_bytes)}{largest}"


def _moves(load: WorkloadPlan) -> bool:
    return load.kind in BUILT_IN - {WorkloadKind.STAT, WorkloadKind.DELETE}


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else "no"


# The form of one workload: which keys its kind has, their units, and typed text as a plan file has it.

_PLAN_FORM_FLAGS = ("cold", "direct")
_LISTS = ("threads",)
_SIZES = ("block_size", "bytes", "file_size")
_NUMBERS = ("files", "fsync_every")
_MAPS = ("weights", "with")
_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE} | {WorkloadKind.MIX}
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE, WorkloadKind.MIX})
_MAKING = frozenset({WorkloadKind.CREATE, WorkloadKind.MIX})
_HINTS = {
    "name": "in the grid",
    "of": "the create whose files it uses",
    "threads": "a number; 1, 16: both are compared",
    "files": "in all; empty: by itself",
    "file_size": "1GiB, or a range: 4KiB, 64KiB",
    "block_size": "of each call: 64KiB",
    "directories": "one, per-thread, or files in each",
    "data": "random, zero, or share of zeros: 0.5",
    "direct": "yes or no: O_DIRECT",
    "fsync_every": "writes of a thread; empty: never",
    "bytes": "limit: 10GiB",
    "duration": "limit: 60s, 10min",
    "end": "between-operations or at-once",
    "weights": "read=3, create=1",
    "cold": "yes or no: unmount and drop caches",
    "with": "settings of its own: read_ahead=4MiB",
}


@dataclass(frozen=True, slots=True)
class FormField:
    """One line of the form."""

    key: str
    hint: str
    text: str
    is_wide: bool = False
    """Whether it takes the whole line, and its hint the next one."""


def form_fields(table: Mapping[str, object]) -> tuple[FormField, ...]:
    """Return the fields of a workload's kind, and of whatever else its table names."""
    kind = WorkloadKind(str(table["kind"]))
    return tuple(
        FormField(key, hint, _text_of(table.get(key, "")))
        for key, hint in _HINTS.items()
        if _has(kind, key) or table.get(key)
    )


def table_of(kind: str, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the table that typed texts come to; what is empty is not said."""
    said = {key: _value_of(key, text.strip()) for key, text in texts.items() if text.strip()}
    return {"kind": kind, **said}


def complaints(tables: Sequence[Mapping[str, object]], number: int, shown: Sequence[str]) -> tuple[str, str]:
    """Return the key to which the plan reader's complaint belongs, and its words; both empty where it has none.

    What concerns another workload, or a key that the form hasn't, is said of the first field.
    """
    try:
        checked_workloads(tables)
    except PlanBadValue as error:
        return _field_of(error.key, number, shown), _other(error.key, number) + f"{error.why}: {error.wanted}"
    except PlanUnknownKey as error:
        return _field_of(
            error.key, number, shown
        ), f"there is no {error.key.rpartition('.')[2]}: {error.nearest}"
    except FsconsoleError as error:
        return shown[0], str(error)
    return "", ""


def _field_of(key: str, number: int, shown: Sequence[str]) -> str:
    parts = key.split(".")
    found = parts[1] if parts[0] == f"workload[{number}]" and len(parts) > 1 else ""
    return found if found in shown else shown[0]


def _other(key: str, number: int) -> str:
    place = key.split(".", maxsplit=1)[0]
    if place == f"workload[{number}]":
        return ""
    return f"workload {int(place.removeprefix('workload[').rstrip(']')) + 1}: "


def _has(kind: WorkloadKind, key: str) -> bool:
    if key in ("directories", "data"):
        return kind in _MAKING or (key == "data" and kind in _WRITING)
    if key in ("file_size", "block_size", "direct", "bytes"):
        return kind in _MOVING
    if key == "fsync_every":
        return kind in _WRITING
    if key == "weights":
        return kind is WorkloadKind.MIX
    return key != "of" or kind is not WorkloadKind.CREATE


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in cast("dict[str, object]", value).items())
    return str(value)


def _value_of(key: str, text: str) -> object:
    """Return text in the kind that its key has; what is no such thing stays text, for the reader to refuse."""
    if key in _PLAN_FORM_FLAGS:
        return {"yes": True, "no": False}.get(text, text)
    if key in _LISTS:
        return [number_of(word) for word in text.split(",")]
    if key in _SIZES:
        words = [word.strip() for word in text.split(",")]
        return words if len(words) > 1 else words[0]
    if key in _MAPS:
        return _map_of(key, text)
    if key in _NUMBERS or key in ("directories", "data"):
        return number_of(text)
    return text


def _map_of(key: str, text: str) -> object:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in pairs):
        return text
    return {name.strip(): number_of(value) if key == "weights" else value.strip() for name, _, value in pairs}


# Variants in the tools' own words: as lines, as a form, and typed text as the plan reader takes it.

ADD = "add"
"""Key of the line that adds one."""
_PLAN_WORDS_HINTS = {
    "type": "filesystem: {names}",
    "mkfs": "as mkfs takes them: -b 4096 -O ^flex_bg (no device)",
    "mount": "as mount -o takes them: noatime,nodelalloc",
    "tune": "as tune2fs takes them, between mkfs and mount; ext filesystems only",
    "label": "its name in lists and grids; empty: made from what differs",
    "as_printed": "the words of a publication that these stand for; empty: none",
}


def words_lines(draft: Draft) -> tuple[Line, ...]:
    """Return a line for each, and one to add another."""
    own = (
        Line(
            f"words {number}",
            variant_words(variant),
            Mark.OFF if number in draft.off_variants else Mark.ON,
            about=_about(variant),
            wraps=True,
        )
        for number, variant in enumerate(draft.plan.variants)
    )
    told = "A variant by mkfs's and mount's own words, checked against the catalog as they are typed (enter)."
    return (*own, Line(ADD, "(add one)", about=(told,)))


def words_fields(variant: VariantText, catalog: Catalog) -> tuple[FormField, ...]:
    """Return the form of one."""
    texts = {
        "type": variant.filesystem,
        **{key: str(getattr(variant, key)) for key in list(_PLAN_WORDS_HINTS)[1:]},
    }
    names = ", ".join(catalog.names)
    return tuple(
        FormField(key, hint.replace("{names}", names), texts[key], is_wide=True)
        for key, hint in _PLAN_WORDS_HINTS.items()
    )


def variant_of(texts: Mapping[str, str], number: int, catalog: Catalog) -> VariantText:
    """Return the variant that typed texts come to. Raises PlanBadValue, UnknownFilesystem, OptionRefused."""
    said = {key: text for key, text in texts.items() if text}
    return read_variant(Table(PLACE, f"variant[{number}]", {**said, "type": texts["type"].strip()}), catalog)


def words_complaint(texts: Mapping[str, str], number: int, catalog: Catalog) -> tuple[str, str]:
    """Return the field with which something is wrong, and what the plan reader says of it; both empty where nothing is."""
    try:
        variant_of(texts, number, catalog)
    except UnknownFilesystem as error:
        return "type", f"there is no filesystem '{error.name}'; nearest first: {error.nearest}"
    except OptionRefused as error:
        return _field(error.key), f"'{error.word}': {error.why}; nearest first: {error.nearest}"
    except PlanBadValue as error:
        return _field(error.key), f"{error.why}: {error.wanted}"
    except FsconsoleError as error:
        return "type", str(error)
    return "", ""


def _field(key: str) -> str:
    name = key.rpartition(".")[2]
    return name if name in _PLAN_WORDS_HINTS else "type"


def _about(variant: VariantText) -> tuple[str, ...]:
    rare = (("tune", variant.tune), ("as printed:", variant.as_printed))
    return (
        f"{variant.filesystem}: mkfs {variant.mkfs or '(as it comes)'}",
        f"mount {variant.mount or '(as it comes)'}",
        *(f"{name} {text}" for name, text in rare if text),
    )
