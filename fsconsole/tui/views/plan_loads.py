"""Workloads, settings and how a plan runs, as lines of lists."""

from __future__ import annotations

from collections.abc import Mapping

from fsconsole import units
from fsconsole.model.plan import DeleteWith, Equalise, Order
from fsconsole.model.workload import BUILT_IN, WorkloadKind
from fsconsole.plan.planfile import AUTO_REPEATS, PlanFile, ScaleKind, WorkloadPlan
from fsconsole.plan.settings import NAMES
from fsconsole.tui.views.lines import Line, Mark, mark_of

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
