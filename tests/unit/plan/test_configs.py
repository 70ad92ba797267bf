"""The shipped plans are found, and each can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanMissing
from fsconsole.plan.expand import build_plan, require_runnable
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.read import find_config, list_configs, parse_plan, read_plan, resolve_plan
from fsconsole.text import GIB, KIB, MIB

SCRATCH = TargetSpec("/dev/loop3", 2 * GIB, is_scratch=True, backing_file="/srv/scratch.img")
FOUR = tuple(replace(SCRATCH, path=f"/dev/loop{number}") for number in range(3, 7))


@pytest.mark.parametrize("path", list_configs(), ids=lambda path: path.stem)
def test_every_shipped_plan_can_be_run_on_scratch_devices(path: Path) -> None:
    plan_file = read_plan(path)
    targets = FOUR if plan_file.arrays else FOUR[:1]
    plan = build_plan(plan_file, targets, load_catalog(), run_id="run", kernel="6.18.0")
    require_runnable(plan, str(path))
    assert plan.title


def test_the_plan_of_arrays_compares_raid5_with_raid10_over_chunks_and_all_of_it_can_run() -> None:
    plan = build_plan(read_plan(find_config("whatif-arrays")), FOUR, load_catalog(), run_id="run")
    arrays = {(cell.array.level, cell.array.chunk_bytes) for cell in plan.cells if cell.array}
    assert arrays == {(level, size * KIB) for level in ("raid5", "raid10") for size in (64, 512)}
    assert {cell.unavailable for cell in plan.cells} == {""}
    assert {cell.members for cell in plan.cells} == {tuple(target.path for target in FOUR)}
    assert len(plan.cells) == 24


def test_what_is_commented_out_in_the_plan_of_arrays_is_a_plan_too() -> None:
    text = find_config("whatif-arrays").read_text()
    commented = text[text.index("# [[array]]") : text.index("[[filesystem]]")].splitlines()
    knobs = [line.removeprefix("# ") for line in commented]
    axes = parse_plan("\n".join((text, *knobs)), "whatif-arrays").arrays
    assert axes[1].stripe_cache_sizes == (256, 4096)
    assert axes[1].consistency_policies == ("resync", "ppl")
    members = parse_plan(text.replace("# members", "members"), "whatif-arrays").arrays[0].members
    assert members == (4, 6)


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
