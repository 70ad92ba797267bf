"""Shipped recipes: each has its source with a date, a limit, a line on reading it, and fits what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Plan
from fsconsole.model.workload import SyncAt, SyncCall, WorkloadKind
from fsconsole.plan.expand import build_plan, require_runnable
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import find_config, list_configs, read_plan
from fsconsole.plan.shipped import is_recipe, is_shipped, shipped_title
from fsconsole.show.lines import LineRows
from fsconsole.show.shipped import shipped_lines, shipped_text
from fsconsole.text import GIB, MIB

RECIPES = [path for path in list_configs() if is_recipe(path)]


def planned(name: str, size_bytes: int) -> Plan:
    target = TargetSpec("/dev/loop3", size_bytes, is_scratch=True)
    return build_plan(read_plan(find_config(name)), (target,), load_catalog(), run_id="run", kernel="6.18.0")


def test_the_loads_that_people_ask_about_are_there() -> None:
    assert [path.stem for path in RECIPES] == [
        "backup", "containers", "database", "file-server", "mail", "million-files", "small-files", "video", "vm-images", "wal",
    ]  # fmt: skip


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_each_recipe_names_a_source_with_a_date_a_limit_and_how_to_read_it(path: Path) -> None:
    head = " ".join(line.lstrip("# ") for line in path.read_text().partition("schema = 1")[0].splitlines())
    source = head[head.index("Source: ") : head.index("Threshold: ")]
    assert re.search(r"\b(19|20)\d\d\b", source)
    assert "How to read it: " in head
    plan = read_plan(path)
    assert any(load.require for load in plan.workloads)
    assert plan.scale.kind.value == "fit"
    assert "ours" in head or "10 ms" in head or "Netflix" in head


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_each_recipe_can_be_run_on_8_gib(path: Path) -> None:
    plan = planned(path.stem, 8 * GIB)
    require_runnable(plan, str(path))
    assert {cell.unavailable for cell in plan.cells} == {""}


def test_the_log_is_etcds_fio_job() -> None:
    (log,) = read_plan(find_config("wal")).workloads
    assert (log.block_size_bytes, log.file_size_bytes // log.block_size_bytes) == (2300, 22 * MIB // 2300)
    assert (log.sync_at, log.fsync_every, log.sync_call) == (SyncAt.WRITES, 1, SyncCall.FDATASYNC)
    (limit,) = log.require
    assert (limit.column, limit.said) == ("fsync_p99", "<= 10ms")


def test_varmail_has_filebenchs_files_threads_and_operations() -> None:
    spool, mix = read_plan(find_config("mail")).workloads
    assert (spool.files, mix.thread_counts, mix.file_size_bytes) == (800, (16,), 16384)
    kinds = dict(mix.weights)
    assert kinds == {WorkloadKind.DELETE: 1, WorkloadKind.CREATE: 1, WorkloadKind.APPEND: 1, WorkloadKind.READ: 2}


def test_a_million_files_stay_a_million_or_the_device_is_refused() -> None:
    create = planned("million-files", 8 * GIB).cells[0].workloads[0]
    assert (create.files, create.file_size_bytes) == (1_000_000, 4096)
    small = {cell.unavailable for cell in planned("million-files", 4 * GIB).cells}
    assert all('keep = "files": even with files of 4 KiB the loads write 3.8 GiB' in why for why in small)


def test_the_list_of_plans_fits_80_columns_with_name_time_and_title_recipes_first() -> None:
    plans = {path: read_plan(path) for path in list_configs()}
    lines = list(shipped_text(plans, load_catalog(), 80))
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Recipes:"
    (wal,) = [line for line in lines if line.startswith("  wal ")]
    assert re.fullmatch(r"  wal +\d+ s  write-ahead log: appends, fdatasync", wal)
    assert lines.index("Studies and examples:") == len(RECIPES) + 1
    titles = {path: shipped_title(path) for path in plans}
    assert titles == {path: plan.title for path, plan in plans.items()}
    listed = shipped_lines(titles)
    # In the console, too, each is there whole.
    rows = LineRows(listed, 60)
    for place, line in enumerate(listed):
        assert "".join("".join(rows.text(place)).split()) == "".join(f"{line.name}{line.value}".split())
    names = [line.name for line in listed]
    assert names[:2] == ["Recipes", "backup"]
    assert "demo" in names[names.index("Studies and examples") :]
    assert is_shipped(str(RECIPES[0]))
    assert not is_shipped("/tmp/mail.toml")
