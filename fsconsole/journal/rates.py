"""Write rates of devices, as past runs on them measured."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from statistics import median

from fsconsole.errors import FsconsoleError
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import list_runs_made_here
from fsconsole.model.device import Identity
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellStatus, RunState

DeviceKey = tuple[str | int, ...]
"""Identity.stable_key() of a device."""
_NEWEST = 10
"""Runs that are looked through: each takes up to 0.2 s to read."""


def measured_rates(runs_dir: str, wanted: Collection[Identity] = ()) -> dict[DeviceKey, float]:
    """Return the write rate of each device, in bytes/s, as the newest run of this machine on it measured.

    wanted: devices of which to know it, all where none is given. Runs that can't be read tell nothing.
    """
    keys, found = {identity.stable_key() for identity in wanted}, dict[DeviceKey, float]()
    lasting = {str(key[0]) for key in keys} - {""}
    with suppress(FsconsoleError):
        for folder in list_runs_made_here(runs_dir)[:_NEWEST]:
            if keys and keys <= found.keys():
                break
            with suppress(FsconsoleError):
                # Of a run on other devices the request alone is looked at, which takes a tenth of the time.
                if not keys or JournalReader(folder.journal).asks_for(lasting):
                    found = rates_of(read_state(folder)) | found
    return found


def rates_of(state: RunState) -> dict[DeviceKey, float]:
    """Return the rate of a run's fastest load on each device: the median of its rounds, its drain included.

    That of the fastest one, since what is planned is written in streams for the most part. Cells on
    arrays, and on devices without a lasting identity, are left out.
    """
    rates: dict[tuple[DeviceKey, str, int], list[float]] = {}
    keys = {target.path: target.identity.stable_key() for target in state.request.targets if target.place is None}
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        key = keys.get(planned.target, ("",))
        if cell.status is not CellStatus.DONE or planned.array is not None or not key[0]:
            continue
        for step in cell.steps:
            durable = [each.value for each in step.measurements if each.metric is Metric.DURABLE and each.value > 0]
            rates.setdefault((key, planned.variant.label, step.number), []).extend(durable)
    found: dict[DeviceKey, float] = {}
    for (key, _, _), values in rates.items():
        if values:
            found[key] = max(median(values), found.get(key, 0.0))
    return found
