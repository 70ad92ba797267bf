"""What stands around the table: which run it was, on which device, under which kernel, and when."""

from __future__ import annotations

from datetime import datetime, timezone

from fsconsole.analysis.status import cells_in_words
from fsconsole.model.array_words import arrays_in_words
from fsconsole.model.run import Target
from fsconsole.model.state import RunState
from fsconsole.plaintext import printable
from fsconsole.units import format_bytes

_MOST_ARRAYS = 6
UNITS_NOTE = "MB = 10^6 bytes, MiB = 2^20 bytes."


def heading(state: RunState, standing: str) -> tuple[str, ...]:
    """Return the run's title, where it has one, and its name and where it stands."""
    request = state.request
    place = f"Run {request.run_id}: {standing}. {cells_in_words(state)}."
    return tuple(printable(line) for line in (request.plan.title, place) if line.strip())


def facts(state: RunState) -> tuple[str, ...]:
    """Return devices, machine, date and program, a line each."""
    return (
        *(_target(target, _known(state)) for target in state.request.targets),
        *_arrays(state),
        *_machines(state),
        f"Begun {instant(state.request.created_wall_ns)} with fsconsole {printable(state.request.version)}.",
        *(f"Of the plan: {printable(note)}" for note in state.request.plan.notes),
    )


def instant(wall_ns: int) -> str:
    """Return a wall clock time as UTC to the minute: "2026-11-21 08:10 UTC"."""
    moment = datetime.fromtimestamp(wall_ns // 10**9, timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def fact_words(name: str, value: str) -> tuple[str, str]:
    """Return a fact of the machine as people say it: ("memory", "23.5 GiB") for ("memory_bytes", "25276502016")."""
    kind, _, of = name.partition(" ")
    if not kind.endswith("_bytes"):
        return f"{kind.replace('_', ' ')} {of}".strip(), value
    words = kind.removesuffix("_bytes").replace("_", " ")
    return f"{words} {of}".strip(), _bytes_in_words(value) or value


def _known(state: RunState) -> dict[str, str]:
    """Return what held as the first engine began, by name."""
    return dict(state.started[0].facts) if state.started else {}


def _target(target: Target, known: dict[str, str]) -> str:
    identity = target.identity
    kinds = (
        ("scratch device", identity.scratch_id),
        ("WWN", identity.wwn),
        ("serial", identity.serial),
    )
    named = [word if word == "scratch device" else f"{word} {value}" for word, value in kinds if value]
    read_ahead = _bytes_in_words(known.get(f"read_ahead_bytes {target.path}", ""))
    scheduler = known.get(f"scheduler {target.path}", "")
    settings = (("read-ahead", read_ahead), ("scheduler", scheduler))
    named += [f"{word} {value}" for word, value in settings if value]
    return printable(f"Device {target.path}: {', '.join([format_bytes(identity.size_bytes), *named])}.")


def _arrays(state: RunState) -> tuple[str, ...]:
    """Return what the devices were made into, where they were; of many arrays only the first."""
    told = sorted(words for words, _ in arrays_in_words(state.request.plan.cells))
    if not told:
        return ()
    shown, others = told[:_MOST_ARRAYS], len(told) - _MOST_ARRAYS
    more = [f"and {others} more"] if others > 0 else []
    return (printable(f"Together, an array made in each cell: {'; '.join((*shown, *more))}."),)


def _bytes_in_words(figure: str) -> str:
    """Return a fact that counts bytes in words; a fact from elsewhere may hold anything."""
    is_figure = figure.isascii() and figure.isdigit() and len(figure) < 20
    return format_bytes(int(figure)) if is_figure else ""


def _machines(state: RunState) -> tuple[str, ...]:
    """Return the machine of each engine that worked on the run; more than one line where they differ."""
    lines = []
    for started in state.started:
        known = dict(started.facts)
        parts = [f"Kernel {started.kernel} on {started.hostname}"]
        if "cpus" in known:
            parts.append(f"{known['cpus']} CPUs")
        memory = _bytes_in_words(known.get("memory_bytes", ""))
        if memory:
            parts.append(f"{memory} RAM")
        limits = (("dirty limit", "dirty_limit"), ("background", "dirty_background_limit"))
        parts += [f"{word} {known[fact]}" for word, fact in limits if fact in known]
        lines.append(printable(", ".join(parts) + "."))
    return tuple(dict.fromkeys(lines))
