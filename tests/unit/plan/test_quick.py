"""Plans from a few words: the grammar of rows, and what fits into a time."""

from __future__ import annotations

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Plan
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.quick import fitted, quick_plan, row_table
from fsconsole.plan.read import list_configs, parse_plan
from fsconsole.plan.shipped import is_recipe
from fsconsole.text import GIB

LOADS = ["streams", *(path.stem for path in list_configs() if is_recipe(path))]


def expand(plan_file: PlanFile) -> Plan:
    target = TargetSpec("/dev/loop3", 8 * GIB, is_scratch=True)
    return build_plan(plan_file, (target,), load_catalog(), run_id="run", kernel="6.18.0")


def test_a_word_is_a_filesystem_with_mount_options_and_mkfs_words() -> None:
    assert row_table("ext4") == {"type": "ext4"}
    assert row_table("ext4:data=writeback,nodelalloc") == {"type": "ext4", "mount": "data=writeback,nodelalloc"}
    assert row_table("xfs@-m reflink=0") == {"type": "xfs", "mkfs": "-m reflink=0"}
    assert row_table("xfs:noatime@-d su=64k,sw=4") == {"type": "xfs", "mount": "noatime", "mkfs": "-d su=64k,sw=4"}


@pytest.mark.parametrize("word", ["", "ext5", ":noatime", "ext4:nonsense", "xfs@-d name=/dev/sda"])
def test_a_row_that_the_plan_reader_refuses_is_refused(word: str) -> None:
    with pytest.raises(FsconsoleError):
        quick_plan([word])


@pytest.mark.parametrize("load", LOADS)
def test_each_load_is_a_plan_that_reads_back_from_its_own_text(load: str) -> None:
    plan = quick_plan(["ext4", "xfs@-m reflink=0"], load)
    assert parse_plan(plan_to_toml(plan), "again") == plan
    assert not any(each.require for each in plan.workloads)


def test_more_time_gives_more_rounds_less_time_shorter_loads_and_too_little_is_said() -> None:
    plan = quick_plan(["ext4", "xfs"])
    long, short, none = (fitted(plan, budget_s, expand) for budget_s in (36000, 200, 1))
    assert (long.plan.repeats, long.plan_file.load_time_s) == (12, 10)
    assert short.plan.estimate.elapsed_s <= 200
    assert short.plan_file.load_time_s < 10
    assert none.plan.repeats == 3
    assert any("does not fit in 1 s" in note for note in none.notes)
    assert any("too short to tell rows apart" in note for note in none.notes)
