"""What the gauges show while a load runs: the device, dirty pages and CPUs, of programs as of the built-in generator."""

from __future__ import annotations

from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.plan import StepKind


def assert_gauged(folder: RunFolder, number: int) -> None:
    """Prove that a program, which is a load of a run's only cell, was sampled while it wrote, and told no bytes of its own."""
    state = read_state(folder)
    (cell,), (planned,) = state.cells, state.request.plan.cells
    (step,) = (
        one for one in cell.steps if one.kind is StepKind.WORKLOAD and planned.steps[one.number].workload == number
    )
    begin_ns = step.started_monotonic_ns
    samples = [
        one
        for one in JournalReader(folder.journal).read_since(Cursor()).samples
        if begin_ns < one.monotonic_ns < begin_ns + step.elapsed_s * 1e9 and one.step == "workload"
    ]
    assert samples
    assert any(target.write_bytes_s > 0 for one in samples for target in one.targets)
    assert any(one.writeback.pending_bytes > 0 for one in samples)
    assert all(one.cpu.busy > 0 for one in samples)
    assert {one.load for one in samples} == {None}
