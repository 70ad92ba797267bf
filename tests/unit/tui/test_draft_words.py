"""Variants in the tools' words come out of a draft as they were typed, and leave all else as it was."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.plan.draft import Draft, doubled_variant, removed_variant, toggled_variant, with_variant
from fsconsole.plan.planfile import PlanFile, VariantText
from fsconsole.plan.read import parse_plan
from fsconsole.show.plan_forms import variant_of, words_complaint, words_fields
from tests.unit.plan.test_writer import PLANS

CATALOG = load_catalog()


def typed(variant: VariantText) -> dict[str, str]:
    return {field.key: field.text for field in words_fields(variant, CATALOG)}


@given(PLANS)
def test_the_form_of_a_variant_gives_back_what_the_plan_file_said(plan: PlanFile) -> None:
    for number, variant in enumerate(plan.variants):
        assert words_complaint(typed(variant), number, CATALOG) == ("", "")
        assert variant_of(typed(variant), number, CATALOG) == variant


@settings(max_examples=30)
@given(PLANS, st.data())
def test_whatever_is_added_changed_and_removed_reads_back(plan: PlanFile, data: st.DataObject) -> None:
    draft, wanted = Draft(plan), [*plan.variants]
    another = VariantText("xfs", "-d su=64k,sw=4", "noatime", label="mine")
    for _ in range(data.draw(st.integers(1, 5))):
        number = data.draw(st.integers(0, len(wanted)))
        act = data.draw(st.sampled_from(["put", "double", "remove"]))
        if act == "put":
            draft = with_variant(draft, number, another)
            wanted[number : number + 1] = [another]
        elif number < len(wanted) and act == "double":
            draft = doubled_variant(draft, number)
            wanted.append(replace(wanted[number], label=""))
        elif number < len(wanted):
            draft = removed_variant(draft, number)
            del wanted[number]
    expected = replace(plan, variants=tuple(wanted))
    assert draft.plan_file == expected
    if expected.checklists or expected.variants or expected.raw:
        assert parse_plan(draft.text, "plan.toml") == expected


def test_what_was_unticked_stays_so_when_one_before_it_goes() -> None:
    variants = tuple(VariantText("ext4", label=name) for name in "abc")
    plan = replace(Draft(parse_plan(_PLAN, "p")).plan, variants=variants)
    draft = removed_variant(toggled_variant(Draft(plan), 2), 0)
    assert [variant.label for variant in draft.plan.variants] == ["b", "c"]
    assert draft.variants == (0,)


def test_what_is_wrong_is_said_of_its_field_with_the_nearest_word() -> None:
    for texts, key, words in (
        ({"type": "ext5"}, "type", "there is no filesystem 'ext5'. Did you mean "),
        ({"type": ""}, "type", "there is no filesystem ''"),
        ({"mkfs": "-O flex_gb"}, "mkfs", "'flex_gb': -O has no such feature on the list; allowed: flex_bg"),
        ({"mkfs": "/dev/sdb"}, "mkfs", "a second device or a path"),
        ({"mount": "dta=ordered"}, "mount", "'dta=ordered': it is not on the list; allowed: data"),
        ({"mount": "data=journal,delalloc"}, "mount", "data=journal"),
        ({"type": "xfs", "tune": "-c 20"}, "tune", "'-c'"),
        ({"label": "x" * 5000}, "label", "is too long"),
    ):
        found, said = words_complaint({"type": "ext4", **texts}, 0, CATALOG)
        assert found == key, texts
        assert words in said


_PLAN = 'schema = 1\nraw = true\n[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'
