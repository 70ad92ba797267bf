"""`fsconsole compare` on the command line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fsconsole.cli.compare import labelled
from fsconsole.errors import ExitCode, Misused
from fsconsole.errors.runs import RunsDiffer
from fsconsole.journal.importing import import_run
from fsconsole.journal.store import create_run
from fsconsole.model import events
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import RunState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.publications import find_publication
from fsconsole.results.environment import Varied
from tests.unit.cli.recorded import CELL_DONE, STARTED, WHOLE, make_run, run_command, write
from tests.unit.results import build
from tests.unit.results.test_curves import over_threads

KERNELS = Path(__file__).parents[2] / "data/kernels"


def test_two_runs_are_compared_and_a_difference_is_refused_with_the_option_to_give(tmp_path: Path) -> None:
    write(make_run(tmp_path, "r1"), WHOLE)
    write(make_run(tmp_path, "r2"), (replace(STARTED, kernel="6.19.0"), *WHOLE[1:]))
    runs = ("--runs", str(tmp_path))
    refused = run_command("compare", "r1", "r2", *runs)
    assert (refused.returncode, refused.stdout) == (ExitCode.USAGE, "")
    sentence, hint = refused.stderr.splitlines()
    assert sentence == "fsconsole: These runs differ in kernel (A 6.18.0; B 6.19.0)."
    assert "--vary kernel;" in hint
    done = run_command("compare", "r1", "r2", "--vary", "kernel", *runs)
    assert (done.returncode, done.stderr) == (0, "")
    assert "varied: kernel (A 6.18.0; B 6.19.0)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    (tmp_path / "r1").rename(tmp_path / "under-another-name")
    write(make_run(tmp_path, "r1"), WHOLE)
    same = run_command("compare", "r1", "under-another-name", *runs)
    assert same.stderr.startswith("fsconsole: Run under-another-name is given twice.")
    beside = run_command("compare", "r1", "lowe-2009", *runs)
    assert beside.returncode == 0
    assert "create rand" in beside.stdout


def test_published_tables_are_listed_with_source_and_date_at_80_columns() -> None:
    done = run_command("compare", "--list")
    assert done.returncode == 0
    names = ("bull-2008-patched", "bull-2008-unpatched", "chinner-2012", "lowe-2009", "peiffer-2005-before")
    assert all(f"\n{name} (" in f"\n{done.stdout}" for name in names)
    assert all(date in done.stdout for date in ("2008-05", "2009-07-31", "2005-04-11", "2012"))
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        ((), "Name at least two runs", "fsconsole runs"),
        (("r1", "r1"), "Run r1 is given twice", "compare --help"),
        (("r1",), "There is nothing to compare: all runs are on one side", "compare --list"),
        (("r1", "bull-2009"), "There is no published table 'bull-2009'", "Did you mean bull-2008"),
        (("r1", "r1,lowe-2009"), "Run r1 is given twice", "compare --help"),
        (
            ("lowe-2009,r1", "r1"),
            "'lowe-2009' is a published table and can't share a side with others",
            "compare --help",
        ),
        (("r1", "r9"), "There is no run 'r9'", "fsconsole runs"),
        (("r1", ","), "',' names no run", "compare --help"),
        (("r1", "r2", "--vary", "kernl"), "--vary takes host, kernel, .*, not 'kernl'", "Did you mean kernel"),
        (("r1", "--curves", "--format", "csv"), "--format does not go with --curves", "compare --help"),
        (("r1", "--svg", "x.svg"), "--svg goes with --curves", "compare --help"),
        (("r1", "--curves"), "There is no curve to draw: no axis has 3 or more numbers", "threads = "),
        (("r1", "lowe-2009", "--columns", "durabel"), "There is no column 'durabel'", "Did you mean durable"),
    ],
)
def test_what_can_t_be_compared_is_told_in_one_sentence_and_one_hint(
    tmp_path: Path, words: tuple[str, ...], sentence: str, hint: str
) -> None:
    write(make_run(tmp_path, "r1"), WHOLE)
    done = run_command("compare", *words, "--runs", str(tmp_path))
    said, advice = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (ExitCode.RUN_MISSING if "r9" in words else ExitCode.USAGE, "")
    assert re.match(f"fsconsole: {sentence}", said), said
    assert hint in advice


def write_run_over_threads(runs_dir: Path, run_id: str, kernel: str, rate: float) -> None:
    """A run with one cell for each of 1, 2 and 4 threads."""
    loads = [replace(build.LARGE_FILES, threads=threads, files=threads) for threads in (1, 2, 4)]
    cells = [replace(build.cell(index), workloads=(load,)) for index, load in enumerate(loads)]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id=run_id))
    done = [
        replace(one, cell=index, measurements=(Measurement(one.measurements[0].metric, rate * (index + 1)),))
        if isinstance(one, events.StepFinished)
        else replace(one, cell=index)
        for index in range(len(cells))
        for one in CELL_DONE
        if not isinstance(one, events.WarningRaised)
    ]
    write(folder, (replace(STARTED, kernel=kernel), *done, events.RunFinished(events.Outcome.DONE)))


def test_curves_of_two_runs_are_printed_in_80_columns_and_written_as_svg_each_named_by_its_kernel(
    tmp_path: Path,
) -> None:
    for name, kernel, rate in (("r1", "6.1.0", 100e6), ("r2", "6.18.0", 150e6)):
        write_run_over_threads(tmp_path, name, kernel, rate)
    words = ("compare", "r1", "r2", "--runs", str(tmp_path), "--curves", "--columns", "write")
    done = run_command(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "write, MB/s, over threads" in done.stdout
    assert "a ext4 data=ordered, 6.1.0    b ext4 data=ordered, 6.18.0" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    svg = tmp_path / "curves.svg"
    done = run_command(*words, "--svg", str(svg))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Written: {svg}\n")
    said = "".join(ElementTree.parse(svg).getroot().itertext())  # noqa: S314 (it is our own)
    assert "6.1.0" in said
    assert "6.18.0" in said
    assert run_command(*words, "--svg", str(svg)).returncode == ExitCode.EXPORT_FAILED, "a file that is there stays"


def test_curves_of_runs_of_two_real_kernels_stand_in_one_drawing(tmp_path: Path) -> None:
    names = [import_run(str(file), str(tmp_path)).name for file in sorted(KERNELS.glob("threads-*.fsrun"))]
    assert len(names) == 2
    vary = ("--vary", "host,kernel,device")
    words = ("compare", *names, "--runs", str(tmp_path), *vary, "--curves", "--columns", "write")
    done = run_command(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^ *a ext4, 6\.1\.\S+ +b ext4, 6\.12\.\S+$", done.stdout, re.MULTILINE), done.stdout
    for letter in "ab":
        # Its three points, and the legend.
        assert len(re.findall(rf"(?<![a-z]){letter}(?![a-z])", done.stdout)) == 4, done.stdout
    svg = tmp_path / "curves.svg"
    assert run_command(*words, "--svg", str(svg)).returncode == 0
    said = "".join(ElementTree.parse(svg).getroot().itertext())  # noqa: S314 (it is our own)
    assert "ext4, 6.1." in said
    assert "ext4, 6.12." in said


def run_over_threads(run_id: str, kernel: str) -> RunState:
    state = over_threads()
    request = replace(state.request, run_id=run_id)
    return replace(state, request=request, started=(replace(state.started[0], kernel=kernel),))


def test_curves_name_runs_by_their_kernels_and_by_their_names_where_two_have_the_same() -> None:
    old, new, again = (run_over_threads(*names) for names in (("r1", "6.1.0"), ("r2", "6.18.0"), ("r3", "6.18.0")))
    assert [label for label, _ in labelled([[old], [new]], ())] == ["6.1.0", "6.18.0"]
    assert [label for label, _ in labelled([[old, new], [again]], ())] == ["6.1.0", "6.18.0 r2", "6.18.0 r3"]
    with pytest.raises(Misused, match="bull-2008 is a published table"):
        labelled([[old], find_publication("bull-2008")], ())
    elsewhere = replace(new, started=(replace(new.started[0], hostname="other"),))
    with pytest.raises(RunsDiffer, match="host"):
        labelled([[old], [elsewhere]], ())
    assert labelled([[old], [elsewhere]], (Varied.HOST,))


CP = Workload("cp", WorkloadKind.COPY, 1, 0, 0, 2**20, sources=("/usr",), copy_with="-r")


def write_copies(runs_dir: Path, run_id: str, kernel: str, seconds: dict[Metric, float]) -> None:
    """A run of three copies and their deletes, in rounds, with the same times in each."""
    cells = [replace(build.cell(index, repeat=index + 1), workloads=(CP,)) for index in range(3)]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id=run_id))
    told = [Measurement(metric, value) for metric, value in seconds.items()]
    of_cp, of_rm = (tuple(one for one in told if ("delete" in one.metric) == is_rm) for is_rm in (False, True))
    steps = ((2, StepKind.WORKLOAD, of_cp), (3, StepKind.DRAIN, ()), (6, StepKind.DELETE, of_rm))
    done = [
        one
        for cell in range(3)
        for one in (
            events.CellStarted(cell, 1),
            *(
                each
                for number, kind, figures in steps
                for each in (
                    events.StepStarted(cell, 1, number, kind, kind.value),
                    events.StepFinished(cell, 1, number, events.Outcome.DONE, 1.0, measurements=figures),
                )
            ),
            events.CellFinished(cell, 1, events.Outcome.DONE),
        )
    ]
    write(folder, (replace(STARTED, kernel=kernel), *done, events.RunFinished(events.Outcome.DONE)))


def test_copies_before_and_after_have_their_changes_in_per_cent_as_peiffer_printed_them(tmp_path: Path) -> None:
    before = {Metric.USER: 0.5, Metric.SYSTEM: 20.0, Metric.REAL: 200.0, Metric.DELETE_USER: 0.04,
              Metric.DELETE_SYSTEM: 4.0, Metric.DELETE: 5.0}  # fmt: skip
    by = {Metric.USER: 1.02, Metric.SYSTEM: 1.0067, Metric.REAL: 0.97, Metric.DELETE_USER: 1.25,
          Metric.DELETE_SYSTEM: 1.0058, Metric.DELETE: 0.9}  # fmt: skip
    write_copies(tmp_path, "r1", "2.6.11", before)
    write_copies(tmp_path, "r2", "2.6.12", {metric: value * by[metric] for metric, value in before.items()})
    done = run_command("compare", "r1", "r2", "--vary", "kernel", "--runs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    tables = {part.split(maxsplit=1)[0]: part for part in done.stdout.split("\n\n")}
    columns = {"cp:": ("real", "user", "sys"), "filesystem:": ("delete user", "delete sys")}
    changes = {"cp:": "194 -3.00 0.510 +2.00 20.1 +0.67", "filesystem:": "0.050 +25.0 4.02 +0.58"}
    for name, words in columns.items():
        title, heads, units, _, *rows = tables[name].splitlines()
        assert title == f"{name} other figures, no verdicts"
        assert re.split(r"\s{2,}", heads.strip())[1:] == [*words]
        assert units.split() == ["s,", "%"] * len(words)
        assert " ".join(rows[1].split()) == f"B {changes[name]}"
    # With a verdict, and its interval: his was the clock's time alone.
    assert "4.50  -10 [-10..-10]" in done.stdout
