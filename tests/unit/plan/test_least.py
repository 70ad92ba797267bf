"""The least size of a device for a plan is where its own cells stop being refused."""

from __future__ import annotations

import pytest

from fsconsole.catalog.filesystem import NOTHING_KNOWN
from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Plan
from fsconsole.plan.draft import new_draft
from fsconsole.plan.expand import build_plan
from fsconsole.plan.least import least_bytes
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.read import list_configs, parse_plan, read_plan
from fsconsole.text import GIB, MIB

HEAD = 'schema = 1\ntitle = "t"\n[[filesystem]]\ntype = "ext4"\n'


def least(plan_file: PlanFile) -> int:
    return least_bytes(plan_file, load_catalog(), kernel="6.12", known=NOTHING_KNOWN, memory_bytes=8 * GIB)


def planned(plan_file: PlanFile, size_bytes: int) -> Plan:
    target = TargetSpec("/dev/loop7", size_bytes, is_scratch=True)
    return build_plan(plan_file, [target], load_catalog(), run_id="r", kernel="6.12", memory_bytes=8 * GIB)


@pytest.mark.parametrize("name", ["million-files", "small-files", "containers", "mail"])
def test_on_the_least_size_the_plan_is_not_refused_and_on_a_mib_less_it_is(name: str) -> None:
    plan_file = read_plan(next(path for path in list_configs() if path.stem == name))
    size_bytes = least(plan_file)
    assert size_bytes % MIB == 0 < size_bytes
    assert not any(cell.unavailable for cell in planned(plan_file, size_bytes).cells)
    assert any(cell.unavailable for cell in planned(plan_file, size_bytes - MIB).cells)


def test_the_new_plan_needs_what_its_largest_filesystem_does() -> None:
    assert least(new_draft().plan_file) == load_catalog().get("xfs").min_bytes


@pytest.mark.parametrize(
    "text",
    [
        # No variant, one that needs several devices, and one that would be worked out for long.
        'schema = 1\ntitle = "t"\n[[workload]]\nkind = "create"\nfile_size = "1MiB"\n',
        HEAD + '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n[[array]]\nlevel = "raid5"\nmembers = 3\n',
        HEAD + 'mount = { commit = ["' + '", "'.join(map(str, range(1, 250))) + '"] }\n'
        '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n',
    ],
)
def test_where_no_size_is_known_to_be_enough_it_is_nothing(text: str) -> None:
    assert least(parse_plan(text, "plan.toml", needs_rows=False)) == 0
