"""What a plan says of the arrays that it makes, to people and to programs."""

from __future__ import annotations

from fsconsole.cli.plan_show import plan_answer
from fsconsole.model.plan import ArraySpec, Plan
from fsconsole.show.plan_text import plan_lines, renewal_lines
from fsconsole.text import KIB
from tests.unit.results import build
from tests.unit.results.test_arrays import MEMBERS, RAID5, RAID10, on_array


def lines_of(plan: Plan) -> list[str]:
    return list(plan_lines(plan, (), "", every=False, width=80))


def plan_of(*specs: ArraySpec) -> Plan:
    return build.request([on_array(number, spec) for number, spec in enumerate(specs)]).plan


def test_every_array_is_told_once_with_its_members() -> None:
    lines = list(renewal_lines(plan_of(RAID5, RAID10, RAID5), (), "resume", width=80))
    named = " ".join(MEMBERS)
    text = " ".join(" ".join(lines).split())
    assert text.count(f"raid5 64KiB, 4 members, assume-clean: {named}") == 1
    assert text.count(f"raid10 64KiB, 4 members, assume-clean: {named}") == 1
    assert max(map(len, lines)) <= 80


def test_members_are_named_with_devices_alone_and_cells_have_a_column_for_their_arrays() -> None:
    lines = lines_of(plan_of(RAID5, RAID10))
    assert "  raid5 64KiB, assume-clean" in lines
    assert MEMBERS[0] not in " ".join(lines)
    lines = lines_of(plan_of(RAID5, ArraySpec("raid5", 512 * KIB)))
    assert "  1  ext4 data=ordered  raid5 64KiB   assume-clean" in lines
    assert "  2  ext4 data=ordered  raid5 512KiB" in lines
    plan = build.request([build.cell(0)]).plan
    assert not any("rray" in line for line in lines_of(plan))
    assert plan_answer(plan, (), "").arrays == ()


def test_programs_are_told_of_each_array_and_of_the_members_of_each_cell() -> None:
    told = plan_answer(plan_of(RAID5, RAID10), (), "")
    assert [(array.words, array.members) for array in told.arrays] == [
        (f"{level} 64KiB, 4 members, assume-clean", MEMBERS) for level in ("raid5", "raid10")
    ]
    assert told.cells[0].members == MEMBERS
    assert told.cells[0].array == RAID5
