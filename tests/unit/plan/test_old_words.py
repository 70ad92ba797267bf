"""The words of older papers: read under today's names, with a note, and kept as they were printed."""

from __future__ import annotations

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Plan
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import NO_DEVICE
from fsconsole.plan.read import parse_plan
from fsconsole.plan.write import plan_to_toml
from fsconsole.show.plan_text import plan_lines

WORKLOAD = '[[workload]]\nkind = "create"\nthreads = 1\nfile_size = "1MiB"\n'
OF_2008 = """
schema = 1
[[variant]]
type = "ext4"
mkfs = "-I 256 -O ^flex_bg,uninit_groups,^metadata_csum,^64bit"
mount = "data=writeback"
as_printed = "-I 256 -O uninit_groups, data=writeback"
[[variant]]
type = "ext4"
mkfs = "-I 256 -O ^flex_bg,^uninit_bg,^metadata_csum,^64bit"
mount = "data=writeback,nomballoc"
as_printed = "-I 256, data=writeback,nomballoc"
"""


def build(text: str) -> Plan:
    plan_file = parse_plan(text + WORKLOAD, "plan.toml")
    return build_plan(plan_file, (NO_DEVICE,), load_catalog(), run_id="r", kernel="6.18.1")


def test_old_words_are_shown_under_todays_names_with_a_note_each() -> None:
    plan = build(OF_2008)
    assert plan.notes == ("uninit_groups is read as uninit_bg",)
    words = {
        word for cell in plan.cells for word in " ".join(cell.variant.mkfs_words).replace(",", " ").split()
    }
    assert "uninit_bg" in words
    assert "uninit_groups" not in words


def test_an_old_name_in_a_checklist_has_its_note_too() -> None:
    plan = build('schema = 1\n[[filesystem]]\ntype = "ext4"\nmkfs = { uninit_groups = ["on", "off"] }\n')
    assert plan.notes == ("uninit_groups is read as uninit_bg",)
    assert len(plan.cells) == 2


def test_todays_names_need_no_note() -> None:
    assert build('schema = 1\n[[variant]]\ntype = "ext4"\nmkfs = "-O uninit_bg"\n').notes == ()


def test_what_2008_had_and_today_has_not_is_listed_with_the_kernels_words() -> None:
    base, nomballoc = sorted(build(OF_2008).cells, key=lambda cell: cell.unavailable)
    assert base.unavailable == ""
    assert "ext4: Unknown parameter 'nomballoc'" in nomballoc.unavailable
    assert "last taken by Linux 2.6.27" in nomballoc.unavailable


def test_the_papers_own_words_are_kept_and_shown() -> None:
    plan = build(OF_2008)
    assert {cell.variant.as_printed for cell in plan.cells} == {
        "-I 256 -O uninit_groups, data=writeback",
        "-I 256, data=writeback,nomballoc",
    }
    shown = "\n".join(plan_lines(plan, (), "", every=False, width=80))
    assert "as printed: -I 256 -O uninit_groups, data=writeback" in shown
    plan_file = parse_plan(OF_2008 + WORKLOAD, "plan.toml")
    assert parse_plan(plan_to_toml(plan_file), "again.toml") == plan_file
