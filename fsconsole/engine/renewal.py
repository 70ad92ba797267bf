"""A run taken up again: its devices found, proved once more, and asked about anew where proof fails."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.answering import require_answer
from fsconsole.devices.consent import check_consent, consent_code
from fsconsole.devices.discovery import find_device
from fsconsole.devices.gate import GateContext, GateReport, inspect_device, require
from fsconsole.devices.identity import lasting_differences
from fsconsole.engine.proof import Prover
from fsconsole.engine.whereabouts import present_target
from fsconsole.errors import ConsentMissing, ConsentOutdated, DeviceChanged, RunLives
from fsconsole.journal.history import read_state
from fsconsole.journal.store import RunFolder
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.command import Executor
from fsconsole.model.observation import RequestRenewed
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import RunState
from fsconsole.plan.rebuild import moved_plan
from fsconsole.preflight.prepare import agreed_target, target_spec
from fsconsole.system.locks import FileLock


@dataclass(frozen=True, slots=True)
class Doubt:
    """A device that is not proved to be as it was agreed upon, with everything that is on it now."""

    target: Target
    report: GateReport
    why: DeviceChanged | ConsentMissing | ConsentOutdated


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a run would go on with: its request with the devices of now, and what has to be agreed to anew."""

    state: RunState
    """As the journal tells it, with the devices where they are now."""
    is_moved: bool
    doubts: tuple[Doubt, ...]

    @property
    def reports(self) -> tuple[GateReport, ...]:
        """What is on the devices that must be agreed to anew; a scratch device is asked about like any other."""
        return tuple(replace(doubt.report, needs_consent=True) for doubt in self.doubts)

    @property
    def consent(self) -> str:
        """The code that agrees to it; empty where nothing is asked, and where a device is refused."""
        refused = any(report.inspection.refusals for report in self.reports)
        return "" if refused else consent_code(self.reports)


def look_again(folder: RunFolder, executor: Executor) -> Renewal:
    """Return where a run's devices are now and what speaks against going on; their content stays as it is.

    Scratch devices are attached where a reboot has detached them. Raises DeviceChanged for a device that is gone
    or another one, DeviceSilent, and what inspect_device() and the journal's readers raise.
    """
    state = read_state(folder)
    request = _moved(state.request, tuple(present_target(t, executor) for t in state.request.targets))
    moved = replace(state, request=request)
    prover = Prover(executor, moved, folder.path, holds_lock=False)
    context = GateContext(executor, os.path.dirname(folder.path))
    doubts = []
    for target in request.targets:
        require_answer(target.path, target.identity.size_bytes, executor)
        try:
            prover.prove_target(target)
        except (DeviceChanged, ConsentMissing, ConsentOutdated) as why:
            doubts.append(_doubt(target, inspect_device(target.path, context), why))
    return Renewal(moved, request != state.request, tuple(doubts))


def _doubt(
    target: Target, report: GateReport, why: DeviceChanged | ConsentMissing | ConsentOutdated
) -> Doubt:
    """Return a doubt that consent can end. Raises why itself for another device: its figures would be too."""
    if lasting_differences(target.identity, report.identity):
        raise why
    return Doubt(target, report, why)


def renew(folder: RunFolder, renewal: Renewal, code: str) -> None:
    """Write down what the run goes on with, where anything has changed; code agrees to what the doubts show.

    Raises what is refused, ConsentOutdated where a code is needed and none is given, ConsentStale, RunLives.
    """
    for report in renewal.reports:
        require(report)
    run_id = renewal.state.request.run_id
    if renewal.doubts and not code:
        doubt = renewal.doubts[0]
        raise _asked(run_id, doubt)
    check_consent(code, renewal.reports)
    if renewal.doubts or renewal.is_moved:
        _write_down(folder, _agreed(renewal))


def _asked(run_id: str, doubt: Doubt) -> ConsentOutdated:
    if isinstance(doubt.why, ConsentOutdated):
        return doubt.why
    why = doubt.why.difference if isinstance(doubt.why, DeviceChanged) else "nobody has consented"
    return ConsentOutdated(run_id, doubt.target.path, why)


def _agreed(renewal: Renewal) -> RequestRenewed:
    attempt = len(renewal.state.started) + 1
    request = renewal.state.request
    anew = {
        doubt.target.path: replace(agreed_target(report, renewal.consent), agreed_attempt=attempt)
        for doubt, report in zip(renewal.doubts, renewal.reports, strict=True)
    }
    targets = tuple(anew.get(target.path, target) for target in request.targets)
    return RequestRenewed(attempt, replace(request, targets=targets))


def _write_down(folder: RunFolder, renewed: RequestRenewed) -> None:
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error
    with lock:
        journal = JournalWriter(folder)
        try:
            journal.record(renewed, durable=True)
        finally:
            journal.close(finished=True)


def _moved(request: RunRequest, present: tuple[Target, ...]) -> RunRequest:
    """Return the request with its devices as they are reached now."""
    pairs = tuple(zip(request.targets, present, strict=True))
    if all(target.path == now.path for target, now in pairs):
        return replace(request, targets=present)
    specs = {target.path: target_spec(find_device(now.path)) for target, now in pairs}
    plan = moved_plan(request.plan, specs, load_catalog(), request.run_id)
    return replace(request, targets=present, plan=plan)
