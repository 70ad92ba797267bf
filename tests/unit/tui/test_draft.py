"""A draft keeps all that a plan file says, whatever is ticked and unticked on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.catalog.filesystem import DEFAULT, NOTHING_KNOWN, Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.read import find_config, list_configs, parse_plan, read_plan
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
            draft = drafts.with_filesystem(draft, data.draw(st.sampled_from(CATALOG.names)))
            draft = drafts.toggled_checklist(draft, data.draw(st.sampled_from(range(len(draft.plan.checklists)))))
        elif act == "variant":
            draft = drafts.toggled_variant(draft, data.draw(st.sampled_from(range(len(plan.variants)))))
        elif draft.plan.checklists:
            number = data.draw(st.sampled_from(range(len(draft.plan.checklists))))
            if act == "double":
                draft = drafts.doubled_checklist(draft, number)
                continue
            filesystem = CATALOG.get(draft.plan.checklists[number].filesystem)
            option = data.draw(st.sampled_from(filesystem.options))
            values = data.draw(st.lists(st.sampled_from((DEFAULT, *option.values_to_try)), unique=True).map(tuple))
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
    off = drafts.toggled_checklist(draft, 0)
    assert [checklist.filesystem for checklist in off.plan_file.checklists] == ["xfs"]
    assert drafts.toggled_checklist(off, 0).plan_file == draft.plan_file


def test_a_second_list_of_options_is_removed_and_the_only_one_of_a_filesystem_unticked() -> None:
    draft = drafts.toggled_checklist(drafts.doubled_checklist(compared(), 0), 1)
    without = drafts.removed_checklist(draft, 0)
    assert [each.filesystem for each in without.plan.checklists] == ["xfs", "ext4"]
    assert without.off_checklists == {0}
    alone = drafts.removed_checklist(without, 1)
    assert (alone.plan.checklists, alone.off_checklists) == (without.plan.checklists, {0, 1})


def test_the_default_is_a_value_that_gives_the_tools_no_word_and_is_compared_with_others() -> None:
    draft = drafts.with_values(new_draft(), 0, Scope.MOUNT, "delalloc", (DEFAULT, "off"))
    assert rows(parse_plan(draft.text, "plan.toml")) == ["ext4", "ext4 nodelalloc", "xfs"]
    out = drafts.toggled_combination(draft, 0, (("delalloc", DEFAULT),))
    assert rows(parse_plan(out.text, "plan.toml")) == ["ext4 nodelalloc", "xfs"]
    # Where it is a word of the kernel's, it is that word.
    own = drafts.with_values(drafts.with_filesystem(new_draft(), "f2fs"), 2, Scope.MOUNT, "alloc_mode", (DEFAULT,))
    assert rows(own.plan_file)[2] == "f2fs alloc_mode=default"


def test_variants_in_words_open_as_ticks_where_the_same_rows_in_the_same_place_come_of_them() -> None:
    for path in list_configs():
        plan = read_plan(path)
        draft = drafts.opened(plan, CATALOG)
        assert draft.text == path.read_text()
        ticked, told = ([sorted(row.split()) for row in rows(each)] for each in (draft.plan, plan))
        assert (ticked[0], sorted(ticked)) == (told[0], sorted(told)), path
        if path.stem in ("demo", "wal"):
            assert draft.plan.variants == ()
        # A label of its own, and what a publication printed, have no tick.
        kept = [variant for variant in plan.variants if variant.label or variant.as_printed or variant.tune]
        assert set(kept) <= set(draft.plan.variants), path
    (ext4, *_) = drafts.opened(read_plan(find_config("demo")), CATALOG).plan.checklists
    assert ext4.mount == (("delalloc", (DEFAULT, "off")),)


def test_variants_that_are_not_all_combinations_open_with_the_others_left_out() -> None:
    words = ("nodelalloc,commit=60", "data=writeback", "")
    texts = "".join(f'[[variant]]\ntype = "ext4"\nmkfs = "-I 512"\nmount = "{each}"\n' for each in words)
    plan = parse_plan(f'schema = 1\n{texts}[[workload]]\nkind = "create"\nfile_size = "1MiB"\n', "plan.toml")
    draft = drafts.opened(plan, CATALOG)
    assert draft.plan.variants == ()
    ends = ("commit=60 nodelalloc", "", "data=writeback")
    assert rows(draft.plan) == [f"ext4 -I 512 {end}".strip() for end in ends]
    assert len(draft.plan.checklists[0].exclude) == 5


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
    assert "ext4" in again.filesystems
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
    draft = drafts.toggled_checklist(drafts.toggled_checklist(new_draft(), 0), 1)
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


def test_a_plan_without_a_title_is_called_after_its_filesystems_and_loads_once_it_runs_or_is_saved() -> None:
    assert parse_plan(new_draft().text, "").title == "ext4, xfs: large files"
    # The text of a file stays as it was read.
    text = new_draft().text.replace("ext4, xfs: large files", "New plan")
    assert Draft(parse_plan(text, "")).text == text
    named = drafts.with_key(new_draft(), "title", "mine")
    assert parse_plan(named.text, "").title == "mine"


def test_a_title_that_was_made_of_what_is_compared_follows_it_and_one_that_was_given_stays() -> None:
    of_run = Draft(parse_plan(new_draft().text, ""))
    draft = drafts.with_filesystem(of_run, "btrfs")
    for changed, title in (
        (of_run, "ext4, xfs: large files"),
        (draft, "ext4, xfs, btrfs: large files"),
        (drafts.toggled_checklist(draft, 0), "xfs, btrfs: large files"),
        (drafts.only_checklist(draft, 2), "btrfs: large files"),
        (drafts.with_key(of_run, "repeats", 7), "ext4, xfs: large files"),
        (drafts.with_filesystem(drafts.with_key(of_run, "title", "mine"), "btrfs"), "mine"),
    ):
        assert (changed.title, parse_plan(changed.text, "").title) == (title, title)
    assert new_draft().title == "New plan"
