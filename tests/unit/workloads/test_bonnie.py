"""bonnie++'s command line, and its csv as five versions have printed it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.bonnie import IN_KIB, BonnieTest
from fsconsole.model.metrics import BONNIE_RATES, Metric
from fsconsole.text import GIB, MIB
from fsconsole.workloads.bonnie import command_of, measurements, parse, too_quick

DATA = Path(__file__).parents[2] / "data" / "bonnie"


def recorded(name: str) -> str:
    """Return recorded output."""
    return (DATA / name).read_text()


@pytest.mark.parametrize(
    ("name", "metric", "value"),
    [
        ("1.03c.csv", Metric.WRITE, 31046 * 1024),
        ("1.03c.csv", Metric("bonnie_seq_create"), 25847),
        ("1.96.csv", Metric.READ, 2738115 * 1024),
        ("1.96.csv", Metric("bonnie_rewrite_latency"), 13267.0),
        ("1.96-files-alone.csv", Metric("bonnie_ran_del"), 1266),
        ("1.96-files-alone.csv", Metric("bonnie_ran_del_latency"), 9627.0),
        ("1.97.csv", Metric("bonnie_seeks"), 8210),
        ("1.97.csv", Metric("bonnie_seeks_cpu"), 150),
        ("2.00a-wsl.csv", Metric("bonnie_putc"), 540 * 1024),
        ("2.00a-wsl.csv", Metric("bonnie_ran_del_latency"), 3.156),
        ("2.00a-with-sizes.csv", Metric("bonnie_ran_create"), 3520),
        ("2.00a-files-alone.csv", Metric("bonnie_seq_create_cpu"), 99),
    ],
)
def test_each_versions_csv_gives_the_figure_at_its_place(name: str, metric: Metric, value: float) -> None:
    """Formats differ in number and place of fields."""
    figures = {one.metric: one.value for one in measurements(parse(recorded(name)))}
    assert figures[metric] == pytest.approx(value)


def test_the_lines_of_2009_give_what_their_author_has_in_his_table() -> None:
    """His table's columns: block output, block input, seeks, create and delete in order and at random."""
    columns = (
        BonnieTest.PUT_BLOCK, BonnieTest.GET_BLOCK, BonnieTest.SEEKS, BonnieTest.SEQ_CREATE, BonnieTest.RAN_CREATE,
        BonnieTest.SEQ_DELETE, BonnieTest.RAN_DELETE,
    )  # fmt: skip
    printed = {
        "ext2----": (244750, 252522, 389.2, 29986, 30054, 184274, 69779),
        "ext4obar": (167028, 255534, 502.1, 28018, 28885, 68956, 6053),
        "xfs--nob": (240840, 259223, 277.0, 6475, 6420, 19987, 7799),
    }
    reports = {report.machine: report for report in map(parse, recorded("1.03-lowe-2009.csv").splitlines())}
    for name, expected in printed.items():
        rates = {one.test: one.rate for one in reports[name].results}
        assert reports[name].size == "8G:32k"
        assert reports[name].files == "256/256"
        for test, value in zip(columns, expected, strict=True):
            assert rates[test] == value * (1024 if test in IN_KIB else 1)
    assert too_quick(reports["ext2----"]) == (BonnieTest.SEQ_STAT,)


def test_what_was_too_quick_to_tell_is_named_and_has_no_rate() -> None:
    """+++++ is no figure, and not the same as a test that was not done."""
    report = parse(recorded("2.00a-data-alone.csv"))
    figures = {one.metric for one in measurements(report)}
    assert too_quick(report) == (BonnieTest.PUT_BLOCK, BonnieTest.REWRITE, BonnieTest.GET_BLOCK, BonnieTest.SEEKS)
    assert figures == {
        Metric("bonnie_put_block_latency"), Metric("bonnie_rewrite_latency"), Metric("bonnie_get_block_latency"),
        Metric("bonnie_seeks_latency"),
    }  # fmt: skip


@pytest.mark.parametrize("broken", ["", "Writing intelligently...done", "a," * 30, "1.98," + "," * 40])
def test_output_of_no_known_version_is_refused(broken: str) -> None:
    """A figure from the wrong field would look like any other."""
    with pytest.raises(GeneratorFailed):
        parse(broken)


@given(st.lists(st.sampled_from(["+++++", "+++", "12", "3.5", "", "7us", "x", "-1", "1.98", "2.00a"]), max_size=60))
def test_any_line_is_read_or_refused(fields: list[str]) -> None:
    """No other error leaves the parser."""
    try:
        report = parse(",".join(fields))
    except GeneratorFailed:
        return
    assert all(one.value >= 0 for one in measurements(report))


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    """As above, with what no bonnie++ prints."""
    try:
        parse(text)
    except GeneratorFailed:
        return


def _command(data_bytes: int, files: int = 0, *, is_direct: bool = False) -> tuple[str, ...]:
    return command_of(
        "/tree/b", data_bytes=data_bytes, block_bytes=32768, files=files, file_sizes=(0, 4096), directories=4,
        copies=1, memory_bytes=2 * GIB, seed=2**62 + 5, is_direct=is_direct,
    )  # fmt: skip


def test_data_of_twice_the_ram_is_asked_for_as_it_is() -> None:
    """As root it must be told -u; the RAM it finds itself."""
    words = " ".join(_command(8 * GIB))
    assert "-u 0:0" in words
    assert "-s 8192:32768 -n 0 " in words
    assert " -r " not in words
    assert "-z 5" in words


def test_less_data_than_twice_the_ram_turns_off_what_would_refuse_it() -> None:
    """A smaller -r would refuse many files: 262144 "in 8 MiB of RAM"."""
    words = " ".join(_command(64 * MIB, 16 * 1024))
    assert "-s 64:32768 -n 16:4096:0:4 " in words
    assert words.endswith("-r 0")


def test_direct_calls_leave_out_single_bytes() -> None:
    """Single bytes can't be written with O_DIRECT: bonnie++ ends with an error."""
    assert _command(8 * GIB, is_direct=True)[-2:] == ("-D", "-f")


def test_every_test_has_a_rate_of_its_own() -> None:
    """Two tests with one metric would overwrite each other."""
    assert len(set(BONNIE_RATES.values())) == len(BonnieTest)
