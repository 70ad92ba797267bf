"""Write rates of devices: the fastest load's median of the newest run on each, and nothing of other machines' runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.journal import rates
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.rates import measured_rates, rates_of
from fsconsole.journal.writer import record_all
from fsconsole.model.device import Identity
from fsconsole.model.events import RequestRenewed
from fsconsole.model.plan import ArraySpec, RateFrom
from fsconsole.model.state import RunState
from fsconsole.plan.expand import ROTATING_BYTES_PER_S, build_plan
from fsconsole.plan.planfile import TargetSpec, with_rate
from fsconsole.text import GIB
from tests.tui.recorded import imported, recorded
from tests.unit.plan.examples import parse
from tests.unit.results import build

PLAN = '[[filesystem]]\ntype = "ext4"\n[[workload]]\nkind = "create"\nfile_size = "1GiB"\n'
LOOP = Identity("loop7", "boot", 1799, 2 * GIB, scratch_id="scratch-1")


def test_a_device_has_the_median_rate_of_the_fastest_load_of_a_run_on_it() -> None:
    # ext4: 1.0, 1.02, 0.98; xfs: 0.8, 1.0, 1.3.
    rates = rates_of(build.repeated())
    assert rates == {LOOP.stable_key(): build.FIGURES[build.Metric.DURABLE]}


def test_members_of_arrays_and_what_nothing_lasting_identifies_have_no_rate() -> None:
    state = build.repeated()
    plan = state.request.plan
    arrays = tuple(replace(cell, array=ArraySpec("raid0")) for cell in plan.cells)
    assert rates_of(replace(state, request=replace(state.request, plan=replace(plan, cells=arrays)))) == {}
    (target,) = state.request.targets
    nobody = replace(target, fingerprint=replace(target.fingerprint, identity=replace(LOOP, scratch_id="")))
    assert rates_of(replace(state, request=replace(state.request, targets=(nobody,)))) == {}


def test_the_runs_of_a_directory_are_read_and_those_of_another_machine_are_not(tmp_path: Path) -> None:
    assert measured_rates(str(tmp_path / "nothing")) == {}
    state = read_state(recorded("grid", tmp_path))
    (identity,) = (target.identity for target in state.request.targets)
    own = rates_of(state)
    assert own.keys() == {identity.stable_key()}
    imported("demo", tmp_path)
    assert measured_rates(str(tmp_path)) == own
    assert measured_rates(str(tmp_path), [identity]) == own
    damaged = recorded("raw", tmp_path)
    Path(damaged.journal).write_bytes(b"no journal")
    assert measured_rates(str(tmp_path)) == own


def test_a_run_on_other_devices_is_not_read_and_one_whose_devices_were_renewed_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, read = {name: recorded(name, tmp_path) for name in ("grid", "raw")}, list[str]()

    def noted(folder: RunFolder) -> RunState:
        read.append(folder.name)
        return read_state(folder)

    monkeypatch.setattr(rates, "read_state", noted)
    other = replace(LOOP, scratch_id="another")
    assert measured_rates(str(tmp_path), [other]) == {}
    assert measured_rates(str(tmp_path), [replace(LOOP, scratch_id="")]) == {}
    assert read == []
    request = read_state(folders["grid"]).request
    (target,) = request.targets
    renewed = replace(target, fingerprint=replace(target.fingerprint, identity=other))
    record_all(folders["grid"], (RequestRenewed(2, replace(request, targets=(renewed,))),))
    assert measured_rates(str(tmp_path), [other]).keys() == {other.stable_key()}
    assert read == ["grid"]


def test_an_estimate_takes_the_measured_rate_of_the_slowest_device_and_says_so() -> None:
    def estimate_on(*targets: TargetSpec) -> tuple[float, RateFrom, float]:
        found = build_plan(parse(f"schema = 1\n{PLAN}"), targets, load_catalog(), run_id="r").estimate
        return found.assumed_bytes_per_s, found.rate_from, found.elapsed_s

    disk = TargetSpec("/dev/sdb", 100 * GIB)
    assumed, measured = estimate_on(disk), estimate_on(with_rate(disk, 20e6))
    assert (assumed[:2], measured[:2]) == ((500e6, RateFrom.ASSUMED), (20e6, RateFrom.RUN))
    assert measured[2] > 5 * assumed[2]
    assert with_rate(disk, 0.0) == disk
    rotating = TargetSpec("/dev/sdc", 100 * GIB, is_rotating=True)
    assert estimate_on(with_rate(disk, 400e6), rotating)[:2] == (ROTATING_BYTES_PER_S, RateFrom.ASSUMED)
    written = replace(disk, is_scratch=True, bytes_per_s=90e6)
    assert estimate_on(written)[:2] == (90e6, RateFrom.FILE)
