"""A draft keeps all that a plan file says, whatever is ticked and unticked on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.catalog.filesystem import NOTHING_KNOWN, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.read import list_configs, parse_plan, read_plan
from fsconsole.plan.rows import list_candidates
from tests.unit.plan.examples import DESIGN
from tests.unit.plan.test_writer import PLANS

CATALOG = load_catalog()


def rows(plan: PlanFile) -> list[str]:
    found = list_candidates(plan, CATALOG, "6.18.0", NOTHING_KNOWN)
    return [candidate.name_without() for candidate in found if candidate.is_row]


def compared() -> Draft:
    draft = drafts.with_values(new_draft(), 0, Scope.MOUNT, "data", ("ordered", "writeback"))
    return drafts.with_values(draft, 0, Scope.MKFS, "inode_size", ("256", "512"))


@given(PLANS)
def test_any_plan_file_comes_out_of_a_draft_as_it_went_in(plan: PlanFile) -> None:
    assert parse_plan(Draft(plan).text, "plan.toml") == plan


def test_a_shipped_plan_keeps_its_comments_where_nobody_changed_it_and_else_all_but_the_change() -> None:
    plans = [(read_plan(path), path.read_text()) for path in list_configs()]
    for plan, text in (*plans, (parse_plan(DESIGN, "plan.toml"), None)):
        assert text is None or Draft(plan).text == text
        draft = drafts.with_key(Draft(plan), "repeats", 7)
        assert parse_plan(draft.text, "plan.toml") == replace(plan, repeats=7, is_auto=False)


@settings(max_examples=30)
@given(PLANS, st.data())
def test_whatever_is_ticked_reads_back_as_it_was_ticked(plan: PlanFile, data: st.DataObject) -> None:
    draft = Draft(plan)
    for _ in range(data.draw(st.integers(1, 6))):
        act = data.draw(st.sampled_from(["filesystem", "variant", "option", "double"]))
        if act == "filesystem":
            draft = drafts.toggled_filesystem(draft, data.draw(st.sampled_from(CATALOG.names)))
        elif act == "variant":
            draft = drafts.toggled_variant(draft, data.draw(st.sampled_from(range(len(plan.variants)))))
        elif draft.plan.checklists:
            number = data.draw(st.sampled_from(range(len(draft.plan.checklists))))
            if act == "double":
                draft = drafts.doubled_checklist(draft, number)
                continue
            filesystem = CATALOG.get(draft.plan.checklists[number].filesystem)
            option = data.draw(st.sampled_from(filesystem.options))
            values = data.draw(st.lists(st.sampled_from(option.values_to_try), unique=True).map(tuple))
            draft = drafts.with_values(draft, number, option.scope, option.name, values)
            assert drafts.values_of(draft.plan.checklists[number], option.scope, option.name) == values
    wanted = draft.plan_file
    if wanted.checklists or wanted.variants or wanted.raw:
        assert parse_plan(draft.text, "plan.toml") == wanted


def test_the_first_draft_compares_two_filesystems_and_can_be_read() -> None:
    plan = parse_plan(new_draft().text, "plan.toml")
    assert rows(plan) == ["ext4", "xfs"]
    assert plan.repeats == 5
    assert plan.after.check


def test_a_filesystem_that_is_ticked_again_has_its_options_back() -> None:
    draft = compared()
    off = drafts.toggled_filesystem(draft, "ext4")
    assert [checklist.filesystem for checklist in off.plan_file.checklists] == ["xfs"]
    assert drafts.toggled_filesystem(off, "ext4").plan_file == draft.plan_file


def test_a_combination_is_left_out_alone_and_comes_back_alone() -> None:
    draft = compared()
    everything = rows(draft.plan_file)
    values = (("inode_size", "256"), ("data", "writeback"))
    without = drafts.toggled_combination(draft, 0, values)
    assert len(rows(without.plan_file)) == len(everything) - 1
    assert parse_plan(without.text, "plan.toml") == without.plan_file
    assert rows(drafts.toggled_combination(without, 0, values).plan_file) == everything


def test_one_row_of_a_wide_exclusion_comes_back_without_the_others() -> None:
    draft = compared()
    wide = replace(draft.plan.checklists[0], exclude=((("data", "writeback"),),))
    draft = replace(draft, plan=replace(draft.plan, checklists=(wide, draft.plan.checklists[1])))
    assert len(rows(draft.plan_file)) == 3
    back = drafts.toggled_combination(draft, 0, (("inode_size", "256"), ("data", "writeback")))
    assert len(rows(back.plan_file)) == 4
    assert not any("512" in row and "writeback" in row for row in rows(back.plan_file))


def test_the_only_combination_of_a_checklist_unticks_it_and_is_ticked_again() -> None:
    draft = drafts.toggled_combination(new_draft(), 0, ())
    assert rows(draft.plan_file) == ["xfs"]
    # The only one that is left out is taken in again.
    draft = drafts.with_values(new_draft(), 0, Scope.MKFS, "block_size", ("1024", "4096"))
    out = drafts.toggled_combination(draft, 0, (("block_size", "4096"),))
    alone = drafts.with_values(out, 0, Scope.MKFS, "block_size", ("4096",))
    again = drafts.toggled_combination(alone, 0, (("block_size", "4096"),))
    assert again.is_ticked("ext4")
    assert again.plan.checklists[0].exclude == ()


def test_values_that_are_gone_take_their_exclusions_with_them() -> None:
    draft = drafts.toggled_combination(compared(), 0, (("inode_size", "256"), ("data", "writeback")))
    draft = drafts.with_values(draft, 0, Scope.MOUNT, "data", ("ordered",))
    assert draft.plan.checklists[0].exclude == ()
    parse_plan(draft.text, "plan.toml")


def test_no_workload_is_taken_that_the_plan_reader_refuses() -> None:
    draft = new_draft()
    reads = drafts.with_workloads(draft, [*drafts.workload_tables(draft), {"kind": "read"}])
    with pytest.raises(PlanBadValue, match="no create comes before it"):
        drafts.removed_workload(reads, 0)
    with pytest.raises(PlanBadValue, match="no create comes before it"):
        drafts.moved_workload(reads, 1, -1)
    kinds = [load.kind.value for load in drafts.doubled_workload(reads, 0).plan.workloads]
    assert kinds == ["create", "create", "read"]


def test_every_kind_that_is_offered_can_be_added_behind_a_create() -> None:
    draft = new_draft()
    for kind, _, _ in drafts.STARTS:
        begun = drafts.start_of(kind, draft.plan.workloads)
        added = drafts.with_workloads(draft, [*drafts.workload_tables(draft), begun])
        parse_plan(added.text, "plan.toml")


def test_a_key_takes_what_the_plan_reader_takes_also_while_nothing_is_ticked() -> None:
    for key, value, why in (
        ("repeats", 0, "at least 1"),
        ("scale", 2.0, "out of bounds"),
        ("order", "random", "not a valid value"),
    ):
        with pytest.raises(PlanBadValue, match=why):
            drafts.with_key(new_draft(), key, value)
    draft = drafts.toggled_filesystem(drafts.toggled_filesystem(new_draft(), "ext4"), "xfs")
    draft = drafts.with_key(drafts.with_key(draft, "after.check", False), "seed", 9)
    assert (draft.plan.after.check, draft.plan.seed) == (False, 9)
    assert len(draft.plan.checklists) == 2


def test_settings_are_lists_and_one_limit_is_not_given_twice() -> None:
    draft = drafts.with_setting(new_draft(), "read_ahead", ("128KiB", "2MiB"))
    draft = drafts.with_setting(draft, "dirty_ratio", ("20",))
    assert draft.plan.settings == (("read_ahead", ("128KiB", "2MiB")), ("dirty_ratio", ("20",)))
    with pytest.raises(PlanBadValue, match="one limit"):
        drafts.with_setting(draft, "dirty_bytes", ("1GiB",))
    assert drafts.with_setting(draft, "read_ahead", ()).plan.settings == (("dirty_ratio", ("20",)),)
