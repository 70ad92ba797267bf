"""Options that would have no effect are refused, devices are known without /dev/, and a plan that can't run is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.cli.app import by_path
from fsconsole.errors import ExitCode
from tests.unit.cli.recorded import WHOLE, make_run, run_command, write

IDLE = [
    ("plan --list demo", "PLAN has no effect with --list"),
    ("plan --list -d sdb", "--device has no effect with --list"),
    ("plan demo --cell 1", "--cell goes with --json only"),
    ("plan demo --json --commands", "--commands has no effect with --json"),
    ("run demo -D /tmp --consent x", "--consent has no effect with --directory"),
    ("resume --show --detach", "--detach has no effect with --show"),
    ("results --format csv --sort write", "--sort has no effect with --format csv but for --summary"),
    ("results --spreadsheet", "--spreadsheet goes with --format csv only"),
    ("results --json --format md", "--json and --format md exclude each other"),
    ("compare --list latest", "RUN has no effect with --list"),
    ("compare a b --spreadsheet", "--spreadsheet goes with --format csv only"),
    ("catalog ext4 --arrays", "FS has no effect with --arrays"),
    ("catalog --arrays --probe", "--probe has no effect with --arrays"),
    ("runs --json rename a b", "--json has no effect with a command behind it"),
]


def test_an_option_without_effect_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(make_run(tmp_path), WHOLE)
    monkeypatch.setenv("FSCONSOLE_RUNS", str(tmp_path))
    for line, sentence in IDLE:
        done = run_command(*line.split())
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, ""), line
        assert done.stderr.startswith(f"fsconsole: {sentence}.\n"), done.stderr


def test_a_device_is_named_with_or_without_its_directory() -> None:
    assert by_path("loop0") == "/dev/loop0"
    assert by_path(["sdb", "/dev/sdc", "./sdd"]) == ["/dev/sdb", "/dev/sdc", "./sdd"]
    for words in (("devices", "nosuch0"), ("plan", "demo", "-d", "nosuch0"), ("gauges", "-d", "nosuch0")):
        done = run_command(*words)
        assert done.returncode == ExitCode.DEVICE_MISSING
        assert done.stderr.startswith("fsconsole: There is no /dev/nosuch0.\n")


UNAVAILABLE = """
schema = 1
title = "none"
[[variant]]
type = "ext4"
mount = "nomballoc"
[[workload]]
kind = "create"
file_size = "1MiB"
"""


def test_a_plan_of_which_nothing_can_run_is_shown_and_is_an_error(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(UNAVAILABLE)
    done = run_command("plan", str(plan))
    assert done.stdout.startswith("none\n")
    assert done.returncode == ExitCode.PLAN_BAD_VALUE
    assert done.stderr.startswith(f"fsconsole: {plan}: no cell of this plan can be run: ")
    assert run_command("plan", str(plan), "--json").returncode == ExitCode.PLAN_BAD_VALUE
    plan.write_text(
        UNAVAILABLE.replace('[[variant]]\ntype = "ext4"\nmount = "nomballoc"\n', "").replace("1MiB", "64TiB")
    )
    for words in ((), ("--json",)):
        assert run_command("plan", str(plan), "-D", str(tmp_path), *words).returncode == ExitCode.PLAN_BAD_VALUE


def test_csv_is_as_measured_and_has_apostrophes_for_a_spreadsheet_alone(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, WHOLE)
    words = ("results", "--format", "csv", "--runs", str(tmp_path))
    assert "'" not in run_command(*words).stdout
    assert run_command(*words, "--spreadsheet").returncode == 0
