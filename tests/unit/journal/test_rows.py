"""Every kind of observation, and samples, through a real journal and back."""

from __future__ import annotations

import sqlite3
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsconsole.journal.events import KINDS, Cursor, event_row
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.samples import CPU_PLACES, DEVICE_IDENTITY, DEVICE_PLACES, PLACES, sample_row
from fsconsole.journal.schema import TABLES, create_tables
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import Observation, Outcome, StepFinished, WarningKind, WarningRaised
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.sample import DeviceRates, NumberedCpu, Pressure, Sample


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


NOTHING_TOLD = Pressure()
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
    elif is_dataclass(written) and written != NOTHING_TOLD:
        for field in fields(written):
            assert_kept(getattr(read, field.name), getattr(written, field.name), field.name)
    else:
        assert read == (None if written == NOTHING_TOLD else written), name


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create_tables(connection)
    yield connection
    connection.close()


def test_every_class_of_observation_has_its_own_kind() -> None:
    assert {kind.record for kind in KINDS.values()} == set(get_args(Observation))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_field_of_an_observation_has_its_column(kind, journal) -> None:
    stored = {row[1] for row in journal.execute(f"PRAGMA table_info({kind.name})")} - {"event"}
    stored |= {"attempt", "cell", "step"} & {field.name for field in fields(kind.record)}
    if kind.child is not None:
        stored.add(kind.child.field)
        rows = {row[1] for row in journal.execute(f"PRAGMA table_info({kind.child.table})")}
        assert rows == {"event", "position", *kind.child.columns}
    assert stored == {field.name for field in fields(kind.record)}


def test_every_field_of_a_sample_has_its_column(journal) -> None:
    stored = {row[1] for row in journal.execute("PRAGMA table_info(sample)")}
    assert stored == {"id"} | {place.column for place in PLACES}
    devices = {row[1] for row in journal.execute("PRAGMA table_info(sample_device)")}
    assert devices == {"sample", "device"} | {place.column for place in DEVICE_PLACES}
    identities = {row[1] for row in journal.execute("PRAGMA table_info(gauged_device)")}
    assert identities == {"id", "position", *DEVICE_IDENTITY}
    assert {place.field for place in DEVICE_PLACES} | {*DEVICE_IDENTITY} == {
        field.name for field in fields(DeviceRates)
    }
    cpus = {row[1] for row in journal.execute("PRAGMA table_info(sample_cpu)")}
    assert cpus == {"sample", "cpu"} | {place.column for place in CPU_PLACES}


def test_no_table_is_left_without_rows_that_fill_it() -> None:
    named = {statement.split()[2] for statement in TABLES}
    filled = {kind.name for kind in KINDS.values() if kind.columns}
    assert named == filled | {
        "run", "event", "measurement", "latency_bucket", "sample", "sample_cpu", "sample_device", "gauged_device",
    }  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    observations=st.lists(st.one_of([values(kind.record) for kind in KINDS.values()]), max_size=12),
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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63])
def test_a_figure_that_can_not_be_kept_is_refused_before_it_reaches_the_disk(value: float) -> None:
    finished = StepFinished(0, 1, 3, Outcome.DONE, 1.0, measurements=(Measurement(Metric.WRITE, value),))
    with pytest.raises(ValueError, match=r"no figure|64 bits"):
        event_row(finished, 1, 1)


@settings(max_examples=20)
@given(values(Sample))
def test_a_sample_has_a_row_for_every_cpu_and_device(sample: Sample) -> None:
    row = sample_row(sample)
    assert (len(row.cpus), len(row.devices)) == (len(sample.per_cpu), len(sample.devices))
