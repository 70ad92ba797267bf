"""One contract for all JSON: each command's output fits its schema, and the page that explains it is current."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fastjsonschema
import pytest

from fsconsole.cli.answers import ANSWERS, LINES, SCHEMA, schema_of
from fsconsole.cli.viewer import json_lines
from fsconsole.errors import ExitCode
from fsconsole.journal.events import Batch, Cursor, JournalEntry
from tests.tui.recorded import imported
from tests.unit.cli import json_page
from tests.unit.cli.contract import checked
from tests.unit.cli.recorded import WHOLE, make_run, run_command, write
from tests.unit.house.source import CHECKOUT
from tests.unit.results import build

RUN = "20261121-081000-k7qf"
RECORDED = CHECKOUT / "tests" / "data" / "runs"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory with a run of two cells."""
    write(make_run(tmp_path / "runs"), WHOLE)
    return tmp_path / "runs"


def told(command: str, *words: str, code: int = 0) -> dict[str, object]:
    """Return the one document that a command printed."""
    done = run_command(*command.split(), *words, "--json")
    assert done.returncode == code, done.stderr
    (document,) = checked(command, done.stdout)
    return document


def test_commands_that_need_no_run_print_what_their_schema_says() -> None:
    told("catalog", "ext4")
    told("catalog", "--arrays")
    plan = told("plan", "demo")
    assert [cell["cell"] for cell in plan["cells"]] == list(range(1, 26))  # type: ignore[attr-defined]
    assert {"name": "demo", "title": plan["title"]} in told("plan", "--list")["plans"]  # type: ignore[operator]
    assert told("compare", "--list")["published"]
    assert told("devices")["devices"] is not None
    told("gauges", "--count", "1", "--hz", "10")
    checked("doctor", run_command("doctor", "--json").stdout)


def test_commands_on_runs_print_what_their_schema_says(runs: Path, tmp_path: Path) -> None:
    where = ("--runs", str(runs))
    assert told("runs", *where)["runs"][0]["outcome"] == "done"  # type: ignore[index]
    assert told("runs rename", RUN, "a title", *where)["title"] == "a title"
    shown = told("show", RUN, *where)
    assert [cell["outcome"] for cell in shown["cells"]] == ["done", "failed"]  # type: ignore[attr-defined]
    assert told("show", RUN, "2", *where)["cells"][0]["cell"] == 2  # type: ignore[index]
    results = told("results", *where)
    assert [cell["cell"] for cell in results["cells"]] == [1, 2]  # type: ignore[attr-defined]
    assert results["run"]["created"] == "2026-11-21T08:10:00.000Z"  # type: ignore[index]
    assert told("attach", *where)["event"] == "run_finished"
    packed = str(tmp_path / "packed.fsrun")
    assert told("export", RUN, packed, *where)["file"] == packed
    assert told("import", packed, "--runs", str(tmp_path / "others"))["run_id"] == RUN
    told("cleanup", *where)
    deleted = told("runs delete", RUN, "--yes", *where)
    assert (deleted["title"], deleted["file"], deleted["size_bytes"]) == (None, None, None)
    assert told("runs", *where)["runs"] == []


def test_cleanup_knows_a_run_by_its_name_a_prefix_or_latest_as_other_commands_do(tmp_path: Path) -> None:
    for name in (RUN, RUN[:8], "latest"):
        write(make_run(tmp_path / name), WHOLE[:4], finished=False)
        (one,) = told("cleanup", name, "--runs", str(tmp_path / name))["cleaned"]  # type: ignore[misc]
        assert one["run_id"] == RUN
    assert run_command("cleanup", "20991231", "--runs", str(tmp_path / RUN)).returncode == ExitCode.RUN_MISSING


def test_advice_and_comparisons_of_recorded_runs_print_what_their_schema_says(tmp_path: Path) -> None:
    for name in ("mail", "mail-later", "demo"):
        imported(name, tmp_path)
    where = ("--runs", str(tmp_path))
    told("advise", "demo", *where)
    told("results", "demo", "--all-pairs", *where)
    told("compare", "mail", "mail-later", *where)


def test_every_event_of_a_run_fits_the_schema_of_its_line() -> None:
    entries = tuple(JournalEntry(i, build.CREATED_NS + i * 10**6, i, seen) for i, seen in enumerate(WHOLE))
    lines = checked("run", "\n".join(json_lines(Batch(Cursor(), entries, (build.sample(),)))))
    assert [line["cell"] for line in lines if line["event"] == "cell_started"] == [1, 2]
    assert {line["schema"] for line in lines} == {SCHEMA}
    assert all(re.fullmatch(r"2026-11-21T08:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)


def test_a_document_that_lacks_a_key_or_has_one_too_many_does_not_fit() -> None:
    document = {"schema": SCHEMA, "cleaned": []}
    checked("cleanup", json.dumps(document))
    for wrong in ({"schema": SCHEMA}, document | {"more": 1}, document | {"schema": 2}):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            checked("cleanup", json.dumps(wrong))


def test_the_command_prints_the_schema_of_one_command_or_of_all() -> None:
    assert json.loads(run_command("schema", "runs", "delete").stdout) == schema_of("runs delete")
    everything = json.loads(run_command("schema").stdout)
    assert (everything["schema"], set(everything["commands"])) == (SCHEMA, set(ANSWERS))
    assert "prints no JSON" in run_command("schema", "nix").stderr


def test_a_run_has_one_name_in_all_documents() -> None:
    for command in ANSWERS:
        for part in schema_of(command)["$defs"].values():  # type: ignore[attr-defined]
            named = part.get("properties", {})
            assert "id" not in named, command
            # A run as an object, never its name.
            assert "$ref" in named.get("run", {"$ref": ""}), command


def test_cells_and_rows_are_lists_wherever_they_are_and_their_numbers_are_counts() -> None:
    for command in ANSWERS.keys() - LINES:
        for part in schema_of(command)["$defs"].values():  # type: ignore[attr-defined]
            for name in {"cells", "rows"} & set(part.get("properties", {})):
                assert part["properties"][name]["type"] == "array", (command, part)


def test_variants_and_loads_have_the_same_keys_in_a_plan_and_in_results() -> None:
    plan, results = (schema_of(command)["$defs"] for command in ("plan", "results"))
    for part in ("VariantAnswer", "WorkloadAnswer"):
        assert plan[part] == results[part]  # type: ignore[index]
    assert {"Variant", "Workload"}.isdisjoint(results)  # type: ignore[call-overload]


def test_no_document_has_nanoseconds_of_a_wall_clock_or_pairs() -> None:
    for command in ANSWERS:
        text = json.dumps(schema_of(command))
        assert "wall_ns" not in text, command
        assert "prefixItems" not in text, command


def test_the_page_about_json_is_current() -> None:
    assert (CHECKOUT / "docs" / "json.md").read_text() == json_page.page(), "python -m tests.unit.cli.json_page --write"
