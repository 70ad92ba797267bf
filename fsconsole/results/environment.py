"""Environment of runs: machine, kernel, devices, tools, settings, workloads and variants, and the parts that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import sha256

from fsconsole.model.device import Identity
from fsconsole.model.plan import StepKind, Variant
from fsconsole.model.rounds import FREE_PAGE_REPORTING
from fsconsole.model.run import TOOL_FACT
from fsconsole.model.state import RunState
from fsconsole.model.wire import to_plain
from fsconsole.model.workload import Workload
from fsconsole.results.content import fact_words, in_cells
from fsconsole.text import printable, shorten_middle
from fsconsole.units import format_bytes, format_bytes_exact, instant

_ALIKE = 0.02
"""Share of RAM: what a kernel keeps for itself differs from version to version."""
_SEEDS = frozenset(
    {"name", "seed", "thread_counts", "block_sizes", "total_size_bytes", "of", "size", "sizing", "require"}
)
"""Fields of a workload that say nothing of its load."""


class Varied(str, Enum):
    """Differences between runs; the values are those of --vary, and their order is that of print."""

    HOST = "host"
    KERNEL = "kernel"
    DEVICE = "device"
    TOOLS = "tools"
    SETTINGS = "settings"
    WORKLOAD = "workload"
    VARIANT = "variant"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which runs differ, with its value in each run: empty where a run has none. All printable."""

    kind: Varied | None
    """None: shown, and no obstacle."""
    name: str
    values: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        """False where the runs that have it agree: others did not record it."""
        return len(set(filter(None, self.values))) > 1


Facts = dict[tuple[Varied | None, str], str]
_VERSIONS = (Varied.TOOLS, "versions of mkfs")
"""Always told where a run knows none: then nobody can say that they are the same."""


def differences(states: Sequence[RunState]) -> tuple[Difference, ...]:
    """Return in what runs differ, in the order of Varied, what is no obstacle last."""
    every = [_facts(state, states[0]) for state in states]
    found = []
    for key in every[0]:
        # What a run hasn't at all, a workload or a variant, is no difference: its rows are left out.
        values = tuple(printable(facts[key]) for facts in every if key in facts)
        if len(values) == len(every) and (len(set(values)) > 1 or (key == _VERSIONS and "" in values)):
            found.append(Difference(key[0], printable(key[1]), values))
    order = list(Varied)
    return tuple(sorted(found, key=lambda one: order.index(one.kind) if one.kind else len(order)))


def _facts(state: RunState, first: RunState) -> Facts:
    request, plan = state.request, state.request.plan
    known, found = _recorded(state), Facts()
    found[Varied.HOST, "host"] = _joined(started.hostname for started in state.started)
    found[Varied.HOST, "CPUs"] = known.get("cpus", "")
    alike = abs(_memory(state) - _memory(first)) <= _ALIKE * _memory(first)
    found[Varied.HOST, "RAM"] = format_bytes(_memory(first if alike else state)) if _memory(state) else ""
    found[Varied.HOST, "free page reporting"] = known.get(FREE_PAGE_REPORTING, "off") if state.started else ""
    found[Varied.KERNEL, "kernel"] = _joined(started.kernel for started in state.started)
    for number, target in enumerate(request.targets):
        place = f"device {number + 1}" if len(request.targets) > 1 else "device"
        below = target.place
        found[Varied.DEVICE, place] = (
            _identity_words(target.identity) if below is None else f"{target.path}, {below.words}"
        )
        in_force = known | in_cells(state, target.path)
        for fact in ("read_ahead_bytes", "scheduler"):
            words, value = fact_words(fact, in_force.get(f"{fact} {target.path}", ""))
            found[Varied.SETTINGS, f"{words} of {place}"] = value
    arrays = dict.fromkeys(cell.array for cell in plan.cells if cell.array is not None)
    found[Varied.DEVICE, "array"] = "; ".join(_fields_words(array) for array in arrays) or "none"
    found[Varied.TOOLS, "fsconsole"] = _joined((request.version, *(started.version for started in state.started)))
    tools: Facts = {
        (Varied.TOOLS, name.removeprefix(TOOL_FACT)): known[name] for name in known if name.startswith(TOOL_FACT)
    }
    found |= {_VERSIONS: "recorded" if tools else "", **tools}
    limits = known | in_cells(state)
    for fact in ("dirty_limit", "dirty_background_limit"):
        found[Varied.SETTINGS, fact_words(fact, "")[0]] = limits.get(fact, "")
    found |= _workload_facts(state)
    variants = {cell.variant.label: cell.variant for cell in plan.cells if not cell.variant.is_raw}
    found |= {(Varied.VARIANT, label): _options(variant) for label, variant in variants.items()}
    found[Varied.PLAN, "order"] = plan.order.value
    for cell in plan.cells[:1]:
        found[Varied.PLAN, "equalise"] = cell.equalise.value
        aged = next((one.age for one in plan.cells if one.age is not None), None)
        found[Varied.PLAN, "age"] = aged.words if aged is not None else "new filesystems"
        found[Varied.PLAN, "after"] = _fields_words(cell.after)
    found[None, "started"] = instant(request.created_wall_ns)
    found[None, "boot"] = _joined(started.boot_id[:8] for started in state.started)
    raised = (*state.warnings, *(one for cell in state.cells for one in cell.warnings))
    found[None, "warnings"] = ", ".join(sorted({one.kind.words for one in raised}))
    found |= _effective(state)
    return found


def _recorded(state: RunState) -> dict[str, str]:
    """Return the facts that a run's engines have recorded, all values of each."""
    names = dict.fromkeys(name for started in state.started for name, _ in started.facts)
    every = [dict(started.facts) for started in state.started]
    return {name: _joined(facts[name] for facts in every if name in facts) for name in names}


def _memory(state: RunState) -> int:
    known = [dict(started.facts).get("memory_bytes", "") for started in state.started]
    return max((int(value) for value in known if value.isascii() and value.isdigit() and len(value) < 20), default=0)


def _joined(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, values)))


def _identity_words(identity: Identity) -> str:
    """Return who a device is across boots; its name where nothing else tells."""
    lasting, size_bytes, start_bytes, partition = identity.stable_key()
    kind = "scratch device " if identity.scratch_id and lasting == identity.scratch_id else ""
    start = f"from {format_bytes_exact(int(start_bytes))}" if start_bytes else ""
    return ", ".join(
        filter(None, (format_bytes(int(size_bytes)), f"{kind}{lasting or identity.name}", start, str(partition)))
    )


def _options(variant: Variant) -> str:
    """Return a variant's filesystem with all its words, also those that its label leaves out."""
    mount = f"-o {','.join(variant.mount_words)}" if variant.mount_words else ""
    return " ".join(filter(None, (variant.filesystem, *variant.mkfs_words, *variant.tune_words, mount)))


@lru_cache(maxsize=256)
def load_signature(load: Workload) -> tuple[tuple[str, str], ...]:
    """Return what a load is, field by field, without its name, its seed, and what a pilot has sized."""
    sized = load.sizing.chooses.value if load.sizing is not None else ""
    fields = to_plain(load)
    items = fields.items() if isinstance(fields, dict) else ()
    return tuple((name, _value_words(name, value)) for name, value in items if name not in _SEEDS and name != sized)


def _workload_facts(state: RunState) -> Facts:
    """Return the fields of each workload, with all values that its cells have."""
    found: dict[tuple[Varied | None, str], dict[str, None]] = {}
    for loads in dict.fromkeys(cell.workloads for cell in state.request.plan.cells):
        for number, load in enumerate(loads):
            place = f"workload {number + 1}"
            found.setdefault((Varied.WORKLOAD, place), {})[load.name] = None
            for name, value in load_signature(load):
                words = name.removesuffix("_bytes").replace("_", " ")
                kind = Varied.SETTINGS if name == "settings" else Varied.WORKLOAD
                found.setdefault((kind, f"{words} of {place}"), {})[value] = None
            if load.sizing is not None:
                field = load.sizing.chooses.value
                words = f"{field.removesuffix('_bytes').replace('_', ' ')} of {place}, by its pilot"
                found.setdefault((None, words), {})[_value_words(field, getattr(load, field))] = None
    for cell, known in zip(state.request.plan.cells, state.cells, strict=False):
        for step in known.steps:
            of = cell.steps[step.number].workload if step.number < len(cell.steps) else None
            if step.kind is StepKind.WARM and step.verdict and of is not None:
                found.setdefault((Varied.WORKLOAD, f"sources of workload {of + 1}, read"), {})[step.verdict] = None
    return {key: ", ".join(value or "none" for value in values) for key, values in found.items()}


def _fields_words(record: object) -> str:
    fields = to_plain(record)
    items: Mapping[str, object] = fields if isinstance(fields, dict) else {}
    words = ((name.removesuffix("_bytes"), _value_words(name, value)) for name, value in items.items())
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in words if value)


def _value_words(name: str, value: object) -> str:
    """Return a field of a record in words; empty for nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_bytes"):
        return format_bytes_exact(value) if value else ""
    if isinstance(value, dict):
        return " ".join(_value_words("", inner) for inner in value.values() if inner)
    if isinstance(value, (list, tuple)):
        return ", ".join("=".join(map(str, pair)) if isinstance(pair, list) else str(pair) for pair in value)
    if name == "job" and value:
        text = str(value)
        # Two long jobs may differ where they are cut.
        return (
            f"{shorten_middle(' '.join(text.split()), _LONGEST_JOB)} (SHA-256 {sha256(text.encode()).hexdigest()[:12]})"
        )
    return str(value) if value else ""


_LONGEST_JOB = 120


def _effective(state: RunState) -> Facts:
    """Return the features and mount options that were read back, of one cell of each variant."""
    found = Facts()
    seen: set[str] = set()
    for planned, cell in zip(state.request.plan.cells, state.cells, strict=True):
        label = planned.variant.label
        if cell.features and label not in seen:
            seen.add(label)
            found |= {(None, f"{label}: {one.name} ({one.scope})"): one.value for one in cell.features}
    return found


def groups_of(values: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each value with the names of those that have it: ("6.1.0", "A, B")."""
    for value in dict.fromkeys(values):
        yield value, ", ".join(name for name, own in zip(names, values, strict=True) if own == value)
