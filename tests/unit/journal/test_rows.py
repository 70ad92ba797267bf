"""Every kind of observation, and samples, through a real journal and back."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsconsole.journal.events import KINDS, Cursor, event_row
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.samples import sample_row
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import (
    CellFinished,
    Observation,
    Outcome,
    StepFinished,
    WarningKind,
    WarningRaised,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.sample import CpuShares, NumberedCpu, Pressure, Sample, Temperature, Writeback


def values(hint: object) -> st.SearchStrategy[object]:
    """Return a strategy for any type that the model uses."""
    if get_origin(hint) in {Union, UnionType}:
        return st.one_of([values(kind) for kind in get_args(hint)])
    if get_origin(hint) is tuple:
        return tuples(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if is_dataclass(hint):
        return st.builds(hint, **{name: values(kind) for name, kind in get_type_hints(hint).items()})
    return {
        NoneType: st.none(),
        str: st.text(),
        bool: st.booleans(),
        int: st.integers(min_value=-(2**63), max_value=2**63 - 1),
        float: st.floats(-1e12, 1e12),
    }[hint]


def tuples(items: tuple[object, ...]) -> st.SearchStrategy[object]:
    if items[0] is NumberedCpu:
        cpus = st.lists(values(NumberedCpu), max_size=3, unique_by=lambda cpu: cpu.number)
        return cpus.map(lambda found: tuple(sorted(found, key=lambda cpu: cpu.number)))
    if items[-1] is Ellipsis:
        return st.lists(values(items[0]), max_size=3).map(tuple)
    return st.tuples(*[values(item) for item in items])


NOTHING_TOLD = (Pressure(), Temperature())
HALF_UNITS = {"interval_s": 0.5e-6, "latency_ms": 0.5e-3, "bytes_s": 256, "iops": 0.05}
"""Half of what a stored figure can differ by, by the end of its name; shares and depths: 0.005."""


def assert_kept(read: object, written: object, name: str = "") -> None:
    """Prove that a sample came back as it was, but for what rounding to the stored unit takes away."""
    if isinstance(written, float) and written is not None:
        half = next((half for end, half in HALF_UNITS.items() if name.endswith(end)), 0.005)
        assert abs(read - written) <= half + 1e-9 * abs(written), name
    elif isinstance(written, tuple):
        assert len(read) == len(written), name
        for one, other in zip(read, written, strict=True):
            assert_kept(one, other, name)
    elif is_dataclass(written) and written not in NOTHING_TOLD:
        for field in fields(written):
            assert_kept(getattr(read, field.name), getattr(written, field.name), field.name)
    else:
        assert read == (None if written in NOTHING_TOLD else written), name


def test_every_class_of_observation_has_its_own_kind() -> None:
    assert set(KINDS.values()) == set(get_args(Observation))
    assert KINDS["cell_finished"] is CellFinished


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    observations=st.lists(st.one_of([values(kind) for kind in KINDS.values()]), max_size=12),
    samples=st.lists(values(Sample), max_size=3),
)
def test_what_was_written_is_read_in_order(observations, samples, tmp_path_factory, make_request) -> None:
    folder = create_run(str(tmp_path_factory.mktemp("runs")), make_request())
    writer = JournalWriter(folder)
    for observation in observations:
        writer.record(observation, durable=False)
    for sample in samples:
        writer.sample(sample)
    writer.close(finished=True)
    batch = JournalReader(folder.journal).read_since(Cursor())
    assert list(batch.observations) == observations
    assert len(batch.samples) == len(samples)
    for read, sample in zip(batch.samples, samples, strict=True):
        assert_kept(read, sample)


def test_a_name_that_is_not_utf_8_is_stored_with_its_escape_visible(folder) -> None:
    writer = JournalWriter(folder)
    writer.record(WarningRaised(None, 1, WarningKind.DRIVER, "label a\udcffb", ""))
    writer.close(finished=True)
    (warning,) = JournalReader(folder.journal).read_since(Cursor()).observations
    assert warning.reason == "label a\\udcffb"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**64])
def test_a_figure_that_can_not_be_kept_is_refused_before_it_reaches_the_disk(value: float) -> None:
    finished = StepFinished(0, 1, 3, Outcome.DONE, 1.0, measurements=(Measurement(Metric.WRITE, value),))
    with pytest.raises(ValueError, match=r"JSON compliant|64 bits"):
        event_row(finished, 1, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_a_sample_with_a_figure_that_can_not_be_kept_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"infinite|NaN|64 bits"):
        sample_row(Sample(1, 1, value, None, "", CpuShares(*[0.0] * 7), (), Writeback(0, 0)))
