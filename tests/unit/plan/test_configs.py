"""The shipped plans are found, and each can be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import PlanMissing
from fsconsole.plan.configs import find_config, list_configs, resolve_plan
from fsconsole.plan.expand import build_plan, require_runnable
from fsconsole.plan.reader import read_plan
from fsconsole.plan.target import TargetSpec
from fsconsole.units import GIB, MIB

SCRATCH = TargetSpec("/dev/loop3", 2 * GIB, is_scratch=True, backing_file="/srv/scratch.img")


@pytest.mark.parametrize("path", list_configs(), ids=lambda path: path.stem)
def test_every_shipped_plan_can_be_run_on_a_scratch_device(path: Path) -> None:
    plan = build_plan(read_plan(path), (SCRATCH,), load_catalog(), run_id="run", kernel="6.18.0")
    require_runnable(plan, str(path))
    assert plan.title


def test_the_demo_compares_four_variants_with_16_writers_in_600_to_800_mb_each() -> None:
    plan = build_plan(read_plan(find_config("demo")), (SCRATCH,), load_catalog(), run_id="run")
    assert {cell.variant.label for cell in plan.cells} == {
        "ext4 data=ordered",
        "ext4 data=writeback nodelalloc",
        "xfs",
        "btrfs",
    }
    for cell in plan.cells:
        assert cell.unavailable == ""
        (workload,) = cell.workloads
        assert workload.threads == 16
        assert 600e6 < workload.total_bytes < 800e6
    assert plan.notes == ()


def test_the_demo_shrinks_to_a_small_device() -> None:
    small = TargetSpec("/dev/loop3", 400 * MIB)
    plan = build_plan(read_plan(find_config("demo")), (small,), load_catalog(), run_id="run")
    assert all(not cell.unavailable for cell in plan.cells)
    assert plan.cells[0].workloads[0].total_bytes < 240 * MIB


def test_a_shipped_plan_is_found_by_its_name_and_a_file_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_config("demo") == find_config("demo.toml") == resolve_plan("demo")
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    assert resolve_plan("demo") == find_config("demo")
    Path("mine.toml").write_text("")
    assert resolve_plan("mine.toml") == Path("mine.toml")


@pytest.mark.parametrize("name", ["dmo", "", "../demo", "/etc", "a\0b", "x" * 5000])
def test_a_name_that_is_nothing_is_an_error_that_names_the_shipped_plans(name: str) -> None:
    with pytest.raises(PlanMissing) as caught:
        resolve_plan(name)
    assert str(caught.value).isprintable()
