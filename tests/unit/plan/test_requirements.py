"""Limits of a workload's figures, as a plan file or a form has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import ExitCode
from fsconsole.errors.targets import BadQuantity, PlanBadValue
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.thresholds import LARGEST_MS, Comparator
from fsconsole.plan.draft import checked_workloads
from fsconsole.plan.requirements import parse_requirement
from fsconsole.show.plan_forms import form_fields, table_of, workload_words
from tests.unit.plan.examples import SMALLEST, parse

KINDS = {
    "create": 'fsync = "each-file"',
    "append": 'file_size = "1MiB"',
    "read": "",
    "mix": 'weights = { read = 3, random-write = 1 }\nfile_size = "1MiB"\nfiles = 8',
    "stat": "",
}


def plan_with(require: str, kind: str = "create", keys: str | None = None) -> str:
    after = KINDS[kind] if keys is None else keys
    load = "" if kind == "create" else f'\n[[workload]]\nkind = "{kind}"\n'
    return f"{SMALLEST}{load}{after}\nrequire = {{ {require} }}\n"


@pytest.mark.parametrize(
    ("metric", "said", "value"),
    [
        (Metric.FSYNC_P99, "<= 10ms", 10.0),
        (Metric.FSYNC_P99, "<=0.57 ms", 0.57),
        (Metric.LATENCY_P50, ">= 250us", 0.25),
        (Metric.LATENCY_MAX, "<= 1.5s", 1500.0),
        (Metric.DURABLE, ">= 800MB/s", 800e6),
        (Metric.READ, ">= 100 MiB/s", 100 * 2**20),
        (Metric.WRITTEN, "<= 64MiB", 64 * 2**20),
        (Metric.DRAIN, "<= 2min", 120.0),
        (Metric.CPU, "<= 12.5 %", 12.5),
        (Metric.OPS_PER_S, ">= 5000/s", 5000.0),
        (Metric.FILES_PER_S, ">= 5000 1/s", 5000.0),
        (Metric.EXTENTS_MEAN, "<= 1.05", 1.05),
    ],
)
def test_a_limit_is_read_in_its_metrics_base_unit(metric: Metric, said: str, value: float) -> None:
    one = parse_requirement(metric, said)
    assert one.value == pytest.approx(value, rel=1e-12)
    assert one.comparator is (Comparator.AT_MOST if said.startswith("<") else Comparator.AT_LEAST)
    assert parse_requirement(metric, one.said) == one


def test_a_latencys_edge_is_the_last_nanosecond_that_the_limit_allows() -> None:
    for said, edge_ns in (("<= 10ms", 10_000_000), ("<= 0.57ms", 570_000), ("<= 0.1us", 100), ("<= 1.5us", 1500)):
        assert parse_requirement(Metric.FSYNC_P99, said).edge_ns == edge_ns


ONE_OF_EACH_UNIT = list({metric.unit: metric for metric in Metric}.values())


@given(
    st.sampled_from(ONE_OF_EACH_UNIT),
    st.one_of(st.text(max_size=12), st.from_regex(r"\A[<>]=? ?[0-9.]{0,400} ?[a-zA-Z%/]{0,4}\Z")),
)
def test_any_other_text_is_refused_or_is_a_finite_limit(metric: Metric, said: str) -> None:
    try:
        one = parse_requirement(metric, said)
    except BadQuantity:
        return
    assert 0 <= one.value <= 1e18
    assert metric.unit is not Unit.MILLISECONDS or one.edge_ns <= LARGEST_MS * 1e6 < 2**63


REFUSED = (
    ('durable = "800MB/s"', "create", "<= or >= before it"),
    ('durable = "> 800MB/s"', "create", "<= or >= before it"),
    ('durable = "== 800MB/s"', "create", "<= or >= before it"),
    ("durable = 800", "create", "must be text"),
    ('durable = ">= 800"', "create", "a number with its unit"),
    ('durable = ">= 800/s"', "create", "a number with its unit"),
    ('durable = ">= 800MB"', "create", "a number with its unit"),
    ('fsync_p99 = "<= 10"', "create", "a number with its unit"),
    ('fsync_p99 = "<= 10parsecs"', "create", "a number with its unit"),
    ('cpu = "<= 10ms"', "create", "a number with its unit"),
    ('"extents/file" = "<= 2ms"', "create", "a number without a unit"),
    ('fsync_p98 = "<= 10ms"', "create", "no such column"),
    ('fsync_p99 = "<= 10ms", "fsync p99" = "<= 9ms"', "create", "has a limit already"),
    ('check = "<= 10s"', "create", "a load of kind create has no 'check'"),
    ('read = ">= 1MB/s"', "create", "a load of kind create has no 'read'"),
    ('durable = ">= 1MB/s"', "read", "a load of kind read has no 'durable'"),
    ('fsync_p99 = "<= 10ms"', "append", "a load of kind append without fsync has no 'fsync_p99'"),
    ('latency_p99 = "<= 10ms"', "mix", "a load of kind mix without fsync has no 'latency_p99'"),
    ('stat_p99 = "<= 10ms"', "mix", "has no 'stat_p99'"),
    ('write = ">= 1MB/s"', "stat", "a load of kind stat has no 'write'"),
)


@pytest.mark.parametrize(("require", "kind", "why"), REFUSED)
def test_what_is_no_limit_or_no_column_of_the_kind_is_a_bad_value_with_what_is_wanted(
    require: str, kind: str, why: str
) -> None:
    with pytest.raises(PlanBadValue) as caught:
        parse(plan_with(require, kind))
    assert caught.value.exit_code is ExitCode.PLAN_BAD_VALUE
    assert why in str(caught.value)
    assert "require" in caught.value.key
    assert caught.value.wanted


def test_nearest_names_are_those_that_the_kind_has() -> None:
    with pytest.raises(PlanBadValue) as caught:
        parse(plan_with('fsync_p99 = "<= 10ms"', "read"))
    assert "latency_p99" in caught.value.hint
    with pytest.raises(PlanBadValue) as caught:
        parse(plan_with('fsink_p99 = "<= 10ms"'))
    assert "fsync p99" in caught.value.hint
    with pytest.raises(PlanBadValue) as caught:
        parse(plan_with('durable = ">= 800Mb/s"'))
    assert "800MB/s (units: MB/s, " in caught.value.hint


@pytest.mark.parametrize(
    ("require", "kind"),
    [
        ('fsync_p99 = "<= 10ms", durable = ">= 800MB/s", extents/file = "<= 2"'.replace("extents/file", '"extents/file"'), "create"),
        ('"Read p99" = "<= 10ms", random-write_ops_per_s = ">= 100/s"', "mix"),
        ('latency_p99 = "<= 10ms", read = ">= 1MB/s"', "read"),
        ('latency_p95 = "<= 10us", ops_per_s = ">= 100/s"', "stat"),
    ],
)  # fmt: skip
def test_each_kind_takes_the_columns_that_it_has_by_either_name(require: str, kind: str) -> None:
    loads = parse(plan_with(require, kind)).workloads
    assert len(loads[-1].require) == require.count("=") - require.count(">=") - require.count("<=")


def test_writers_that_share_processes_have_no_high_percentile_to_limit() -> None:
    many = SMALLEST.replace("threads = 4", "threads = [4, 129]") + 'require = { latency_p99 = "<= 10ms" }\n'
    with pytest.raises(PlanBadValue, match="with over 128 threads has no 'latency_p99'"):
        parse(many)


def test_a_form_shows_limits_as_they_are_typed() -> None:
    table = {"kind": "create", "fsync": "each-file", "require": {"fsync_p99": "<= 10ms", "durable": ">= 800MB/s"}}
    shown = {field.key: field.text for field in form_fields(table)}
    assert shown["require"] == "fsync_p99 <= 10ms, durable >= 800MB/s"
    typed = table_of("create", {"fsync": "each-file", "require": shown["require"]})
    assert typed == table
    (load,) = checked_workloads([typed])
    assert workload_words(load).endswith("requires fsync_p99 <= 10ms, requires durable >= 800MB/s.")
    with pytest.raises(PlanBadValue):
        checked_workloads([table_of("create", {"require": "fsync_p99 10ms"})])
