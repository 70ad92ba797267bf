"""Small runs whose plan requires figures, by their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.events import Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import LatencySeen
from fsconsole.model.load import Beyond
from fsconsole.model.timed import Timed
from fsconsole.show.cell import latency_title
from tests.loop.runs import carry_out, fsconsole

pytestmark = pytest.mark.root

PLAN = """
schema = 1
repeats = 3
equalise = "none"
variant = [VARIANTS]
workload = [{ kind = "create", files = 100, file_size = "4KiB", block_size = "4KiB", fsync = "each-file", require = { REQUIRE } }]
after = { check = false, delete = "none" }
"""
EXT4, FAILING = '{ type = "ext4" }', '{ type = "ext4", mkfs = "-b 1024 -I 2048", label = "failing" }'
ANSWERS = {
    ExitCode.OK: {"yes"},
    ExitCode.REQUIREMENTS_MISSED: {"yes", "no"},
    ExitCode.REQUIREMENTS_UNDECIDED: {"yes", "undecided"},
    ExitCode.CELLS_FAILED: {"yes", "undecided"},
}
MET = 'durable = ">= 1kB/s", fsync_p50 = "<= 10s"'


@pytest.mark.parametrize(
    ("require", "variants", "ending"),
    [
        pytest.param(MET, EXT4, (ExitCode.OK, "", "yes"), marks=pytest.mark.soak),
        (f'{MET}, write = ">= 900GB/s"', EXT4, (ExitCode.REQUIREMENTS_MISSED, "No row meets", "no")),
        pytest.param(
            f'{MET}, fsync_p99 = "<= 10s"',
            EXT4,
            (ExitCode.REQUIREMENTS_UNDECIDED, "No row certainly", "undecided"),
            marks=pytest.mark.soak,
        ),
        (MET, f"{EXT4}, {FAILING}", (ExitCode.CELLS_FAILED, "3 of 6 cells failed", "yes")),
    ],
)
def test_run_and_results_end_with_the_code_of_what_the_plan_requires(
    tmp_path: Path, device: str, require: str, variants: str, ending: tuple[ExitCode, str, str]
) -> None:
    code, said, answer = ending
    done, folder = carry_out(PLAN.replace("VARIANTS", variants).replace("REQUIRE", require), device, tmp_path)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    again = fsconsole("results", folder.name, "--runs", str(tmp_path / "runs"), "--format", "json")
    assert (again.returncode, said in again.stderr) == (code, True), again.stderr
    told = json.loads(again.stdout)
    answers = {one["answer"] for block in told["blocks"] for row in block["rows"] for one in row["requirements"]}
    assert answers == ANSWERS[code]
    assert told["requirements"] == {"answer": answer, "met_by": ["ext4"] if answer == "yes" else []}
    timed = [
        one for one in JournalReader(folder.journal).read_since(Cursor()).observations if isinstance(one, LatencySeen)
    ]
    counted = [one for one in timed if one.operation is Timed.FSYNC]
    assert [one.beyond for one in counted] == [(Beyond(10 * 10**9, 0),)] * 3
    assert latency_title(counted[0], read_state(folder).cells[0]).endswith(", 0 over the limit of 10000 ms")
