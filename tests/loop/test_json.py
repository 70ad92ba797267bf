"""JSON of commands that need a device fits their schema."""

from __future__ import annotations

from pathlib import Path

from tests.loop.runs import TINY_PLAN, fsconsole, written
from tests.unit.cli.contract import checked


def told(command: str, *words: str) -> list[dict[str, object]]:
    done = fsconsole(*command.split(), *words, "--json")
    assert done.returncode == 0, done.stderr
    return checked(command, done.stdout)


def test_scratch_devices_plans_and_runs_on_them_print_what_their_schema_says(tmp_path: Path) -> None:
    where, runs = ("--dir", str(tmp_path)), ("--runs", str(tmp_path / "runs"))
    (made,) = told("scratch create", "--size", "64MiB", *where)
    name = str(made["device"]).removeprefix("/dev/")
    try:
        assert name in str(told("scratch list", *where))
        assert told("scratch attach", str(made["path"])) == [made]
        told("devices", name)
        told("readtest", name, "--seconds", "0.1")
        plan = written(tmp_path, TINY_PLAN)
        told("plan", plan, "-d", name, *runs)
        events = told("run", plan, "-d", name, *runs)
        assert [one["cell"] for one in events if one.get("event") == "cell_finished"] == [1, 2]
        told("results", *runs)
        (shown,) = told("show", "latest", "1", *runs)
        assert any("mkfs" in str(one["file"]) for one in shown["outputs"])  # type: ignore[attr-defined]
    finally:
        (gone,) = told("scratch remove", str(made["scratch_id"]), "--yes", *where)
    assert gone["device"] == made["device"]
