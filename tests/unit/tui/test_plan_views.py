"""What the Plan screen shows, as values."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.filesystem import Scope, Verdict
from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanUnwritable
from fsconsole.model.answers import CatalogAnswer, OptionAnswer
from fsconsole.model.wire import from_plain
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan import draft as drafts
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.keys import workload_toml
from fsconsole.plan.outcome import Outcome, ThisMachine, this_machine, work_out
from fsconsole.plan.planfile import TargetSpec, with_rate
from fsconsole.show import plan as view
from fsconsole.show import plan_forms, plan_options
from fsconsole.show.lines import Chip, Line, LineRows, Mark, told_rows
from fsconsole.text import GIB, MIB, cells_of, printable
from fsconsole.tui import planfiles
from tests.unit.plan.examples import DESIGN, parse
from tests.unit.plan.test_writer import workloads

CATALOG = load_catalog()
EXT4 = CATALOG.get("ext4")
HERE = ThisMachine("6.18.0")


def outcome(draft: Draft, *disks: TargetSpec) -> Outcome:
    return work_out(draft.plan_file, disks, CATALOG, kernel="6.18.0")


NAMES = st.text(max_size=60)
LINES = st.lists(
    st.builds(
        Line,
        key=st.text(max_size=3),
        name=NAMES,
        mark=st.sampled_from(Mark),
        value=NAMES,
        is_heading=st.booleans(),
        wraps=st.booleans(),
        chips=st.lists(st.builds(Chip, NAMES, st.booleans()), max_size=3).map(tuple),
    ),
    max_size=5,
)


@given(LINES, st.integers(30, 120))
def test_no_line_is_wider_than_its_list_and_none_holds_what_steers_a_terminal(lines: list[Line], width: int) -> None:
    rows = LineRows(lines, width)
    for text in map(rows.text, range(len(lines))):
        assert all(cells_of(part) <= width and printable(part) == part for part in text)


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=200),
    st.integers(30, 90),
)
def test_a_name_that_wraps_loses_nothing(name: str, width: int) -> None:
    parts = LineRows([Line("a", name, Mark.ON, "left out", wraps=True)], width).text(0)
    assert name in "".join(parts).replace(" ", "").replace("leftout", "").replace("[x]", "") or "..." in "".join(parts)


def test_totals_are_what_the_plan_says_of_itself_what_was_assumed_or_why_there_is_none() -> None:
    disk = TargetSpec("/dev/loop7", 100 * GIB)
    first, second = view.totals(outcome(new_draft(), disk), (disk,), (), 80)
    assert first == "2 variants, 10 cells; about 55.1 GiB to write, about 2 min 31 s"
    assert second == "on /dev/loop7 (100.0 GiB), at 500 MB/s (assumed)"
    measured = with_rate(disk, 20e6)
    assert view.totals(outcome(new_draft(), measured), (disk,), (), 80)[1] == (
        "on /dev/loop7 (100.0 GiB), at 20.0 MB/s (as its last run measured)"
    )
    # Which device it is goes before how fast it is.
    assert view.totals(outcome(new_draft(), measured), (disk,), (), 40)[1] == "on /dev/loop7 (100.0 GiB)"
    # Without a device nobody knows how much is written.
    assert view.totals(outcome(new_draft()), (), (), 80) == (
        "2 variants, 10 cells; about 2 min 13 s, at 500 MB/s (assumed)",
        "No device is ticked: 1 leads to them. How much is written depends on it.",
    )
    assert view.totals(None, (), (), 80)[0] == "counting ..."
    listed = "".join(f'[[variant]]\ntype = "{name}"\n' for name in ("ext4", "xfs"))
    loads = '[[workload]]\nkind = "create"\nfile_size = "6GiB"\nblock_size = "1MiB"\n'
    loads += '[[workload]]\nkind = "mix"\nfile_size = "4KiB"\nblock_size = "4KiB"\nduration = "90s"\nweights = { create = 1 }\n'
    timed = parse(f"schema = 1\nrepeats = 5\n{listed}{loads}")
    counts, lasts = "2 variants, 10 cells; 68.5 GiB to write and 15 min of", "loads, about 17 min 57 s"
    assert view.totals(outcome(Draft(timed), disk), (disk,), (), 80)[0] == f"{counts} {lasts}"
    assert view.totals(outcome(Draft(timed), disk), (disk,), (), 120)[0] == f"{counts} timed {lasts}"
    reading = view.totals(outcome(new_draft()), (), (), 80, ["/dev/loop0"])
    assert reading == ("counting ...", "Reading /dev/loop0 ...")
    variants = "".join(f'[[variant]]\ntype="{name}"\nlabel="a"\n' for name in ("ext4", "xfs"))
    bad = parse(f'schema = 1\n{variants}[[workload]]\nkind="create"\nfile_size=4096\nblock_size=4096\n')
    first, second = view.totals(outcome(Draft(bad)), (), (), 80)
    assert "two variants have it" in first
    assert second.startswith("Wanted:")


def test_the_name_of_a_plan_is_followed_by_as_many_variants_as_there_is_room_for() -> None:
    draft = drafts.with_values(new_draft(), 0, Scope.MOUNT, "delalloc", ("on", "off"))
    names = view.row_names(outcome(draft))
    assert view.name_line(draft, "not saved", 80, names) == "New plan  (not saved): ext4 delalloc, ext4 nodelalloc, xfs"
    assert view.name_line(draft, "not saved", 50, names) == "New plan  (not saved): ext4 delalloc and 2 more"
    assert view.name_line(draft, "", 20, names) == "New plan"
    titled = replace(draft, plan=replace(draft.plan, title="database: 16 KiB random, O_DIRECT and fsync"))
    assert view.name_line(titled, "", 32, ()) == "database: 16 KiB random..."
    # What the title says already isn't said again.
    made = replace(draft, plan=replace(new_draft().plan_file, path="/tmp/mine.toml"))
    told = "ext4, xfs: large files  (/tmp/mine.toml)"
    assert view.name_line(made, "", 80, ("ext4", "xfs")) == told
    assert view.name_line(made, "", 80, ("ext4 delalloc", "xfs")) == f"{told}: ext4 delalloc, xfs"
    shared = ("all ext4: data=writeback",)
    assert view.name_line(made, "", 80, ("ext4", "xfs"), shared) == f"{told}; all ext4: data=writeback"
    assert view.name_line(made, "", 60, ("ext4", "xfs"), shared) == told
    for width, told in (
        (80, "New plan: ext4 delalloc, ext4 nodelalloc, xfs; all ext4: data=writeback"),
        (70, "New plan: ext4 delalloc and 2 more; all ext4: data=writeback"),
        (50, "New plan: ext4 delalloc, ext4 nodelalloc, xfs"),
    ):
        assert view.name_line(draft, "", width, names, shared) == told


def test_every_filesystem_is_listed_with_the_variants_that_each_of_its_lists_comes_to() -> None:
    def listed(draft: Draft) -> list[tuple[str, Mark, str]]:
        lines = view.section_lines(draft, draft, outcome(draft), CATALOG, HERE, with_variants=True)
        return [(line.name, line.mark, line.value) for line in lines]

    draft = drafts.with_values(drafts.doubled_checklist(new_draft(), 0), 2, Scope.MOUNT, "delalloc", ("on", "off"))
    assert listed(draft)[3:7] == [
        *(("ext4", Mark.ON, "1"), ("ext4 (2)", Mark.ON, "2")),
        *(("xfs", Mark.ON, "1"), ("btrfs", Mark.OFF, "")),
    ]
    assert listed(draft)[-6:] == [
        *(("Custom", Mark.NONE, ""), ("Workloads", Mark.NONE, "1"), ("Arrays", Mark.NONE, "")),
        *(("Settings", Mark.NONE, ""), ("Rounds +", Mark.NONE, "5"), ("Variants", Mark.NONE, "4")),
    ]
    # What is unticked keeps its place, and its name.
    assert listed(drafts.dropped_checklist(draft, 0))[3:5] == [("ext4", Mark.OFF, ""), ("ext4 (2)", Mark.ON, "2")]


def test_every_option_has_a_line_of_its_own_and_about_ten_come_first() -> None:
    for filesystem in CATALOG.filesystems:
        none = drafts.Checklist(filesystem.name)
        lines = plan_options.option_lines(none, filesystem, HERE)
        assert len({line.key for line in lines}) == len(lines)
        options = [line for line in lines if not line.is_heading]
        assert len(options) == len(filesystem.options)
        for line in options:
            assert line.about, line
            option = plan_options.option_of(filesystem, line.key)
            barred = not plan_options.taken_values(filesystem, option, HERE)
            assert line.is_faint == barred == all(chip.is_barred for chip in line.chips[1:]), line
        heading, *common, more = plan_options.common_lines(none, filesystem, HERE)
        assert heading.name == lines[0].name == f"Common options of {filesystem.name}"
        assert common == options[: len(common)]
        assert 8 <= len(common) <= 10
        assert more.name.startswith(f"{len(options) - len(common)} more options: / finds")


def test_what_is_told_of_a_filesystem_and_of_an_option_has_room_at_80x24() -> None:
    # Beside the list of filesystems are 60 columns; three rows are always there, up to six where they are needed.
    room, usual, most, any_number = 60, 3, 6, 99
    draft, old = new_draft(), ThisMachine("6.12.0")
    sections = view.section_lines(draft, draft, outcome(draft), CATALOG, old, with_variants=True)
    assert {len(told_rows(line, room, any_number)) for line in sections if line.about} <= set(range(1, usual + 1))
    for filesystem in CATALOG.filesystems:
        none = drafts.Checklist(filesystem.name)
        for line in plan_options.option_lines(none, filesystem, HERE):
            assert told_rows(line, room, most) == told_rows(line, room, any_number), line.key
        for line in plan_options.common_lines(none, filesystem, old):
            assert len(told_rows(line, room, any_number)) <= usual, line.key


def test_what_is_told_of_a_line_begins_with_its_warning_and_has_a_mark_where_its_end_is_missing() -> None:
    line = Line("data", "data", about=("how file data is journaled.", "Since Linux 2.6."), warning="left out")
    whole = [("left out", "warning"), ("how file data is", ""), ("journaled.", ""), ("Since Linux 2.6.", "")]
    assert [(row.text, row.tone) for row in told_rows(line, 20, 4)] == whole
    assert [row.text for row in told_rows(line, 20, 3)] == ["left out", "how file data is", "journaled. ..."]
    assert [row.text for row in told_rows(line, 17, 2)] == ["left out", "how file data..."]
    assert [row.text for row in told_rows(line, 20, 1)] == ["left out ..."]


def test_an_option_that_is_set_is_among_the_common_ones() -> None:
    draft = drafts.with_values(new_draft(), 0, Scope.MKFS, "uninit_bg", ("off",))
    shown = plan_options.common_lines(draft.plan.checklists[0], EXT4, HERE)
    assert shown[-2].key == "mkfs uninit_bg"
    assert [chip.value for chip in shown[-2].chips if chip.is_on] == ["off"]


def test_chips_take_further_rows_where_there_is_no_room_and_tell_their_state_without_colours() -> None:
    chips = (Chip("default"), Chip("on", is_on=True), Chip("no", is_barred=True), Chip("x" * 40))
    rows = LineRows([Line("a", "some_option", chips=chips), Line("b", "c")], 40)
    assert rows.text(0) == ("some_option   default  [on] -no-", f"{'':16}{'x' * 10}...{'x' * 10} ")
    for number, text in enumerate((">default", ">[on]", ">-no-")):
        assert [text for text, tone in rows.spans(0, 0, number) if tone == "cursor"] == [text]
        # What stands before the mark of a value that isn't ticked is blank.
        line = "".join(text for text, _ in rows.spans(0, 0, number))
        assert line == rows.text(0)[0].replace(f" {text[1:]}", text, 1)
    found = [rows.chip_at(0, 0, x) for x in (0, 14, 23, 30, 39)]
    assert found == [None, 0, 1, 2, None]
    assert [rows.chip_at(0, 1, x) for x in (13, 14)] == [None, 3]
    assert rows.chip_at(1, 0, 3) is None


def test_what_no_variant_can_have_says_why_at_the_value_at_the_filesystem_and_in_the_totals() -> None:
    draft = drafts.with_values(new_draft(), 0, Scope.MOUNT, "journal_async_commit", ("on",))
    draft = drafts.with_values(draft, 0, Scope.MOUNT, "commit", ("60", "600"))
    found = outcome(draft, small := TargetSpec("/dev/loop7", 256 * MIB))
    why = "journal_async_commit needs data=writeback or data=journal"
    shown = plan_options.common_lines(draft.plan.checklists[0], EXT4, HERE, plan_options.made_by(draft, found, 0))
    told = {line.name: (line.warning, [chip.value for chip in line.chips if chip.is_out]) for line in shown}
    assert told["journal_async_commit"] == (f"on: left out: {why}; J goes to data", ["on"])
    assert told["commit"] == ("", [])
    lines = view.section_lines(draft, draft, found, CATALOG, HERE, with_variants=True)
    sections = {line.name: (line.value, line.warning) for line in lines}
    assert sections["ext4"] == ("0!", f"2 left out: {why}.")
    assert sections["xfs"] == ("1!", "1 can't run: xfs needs at least 300.0 MiB, /dev/loop7 has 256.0 MiB.")
    assert view.totals(found, (small,), (), 80)[0].startswith("1 variant (2 left out), 5 cells (5 can't run); ")
    assert (
        view.warning_line(found, 300)
        == f"2 left out: {why}; 5 can't run: xfs needs at least 300.0 MiB, /dev/loop7 has 256.0 MiB"
    )
    # Where both don't fit, the first is told whole.
    assert view.warning_line(found, 80) == f"2 left out: {why}"
    # With the default beside it, one of each is left.
    beside = drafts.with_values(draft, 0, Scope.MOUNT, "journal_async_commit", ("default", "on"))
    assert view.totals(outcome(beside), (), (), 80)[0].startswith("3 variants (2 left out), 15 cells; ")


@pytest.mark.parametrize(
    ("option", "value", "to"),
    [
        (("journal_async_commit", Scope.MOUNT), "on", "mount data=writeback"),
        (("cluster_size", Scope.MKFS), "65536", "mkfs bigalloc=on"),
        (("commit", Scope.MOUNT), "60", "mkfs journal=off"),
    ],
)
def test_a_left_out_value_leads_to_the_option_that_it_needs_or_that_excludes_it(
    option: tuple[str, Scope], value: str, to: str
) -> None:
    name, scope = option
    draft = drafts.with_values(new_draft(), 0, scope, name, (value,))
    if to == "mkfs journal=off":
        draft = drafts.with_values(draft, 0, Scope.MKFS, "journal", ("off",))
    made = plan_options.made_by(draft, outcome(draft), 0)
    found = EXT4.option(name, scope)
    assert found is not None
    way = plan_options.way_of(draft.plan.checklists[0], EXT4, found, made)
    assert f"{way.key}={way.value}" == to
    # One that is compared leads nowhere.
    assert plan_options.way_of(new_draft().plan.checklists[0], EXT4, found, ()) == plan_options.Way()


def test_why_variants_are_left_out_fits_the_totals_of_80_columns_whole_for_every_rule() -> None:
    for filesystem in CATALOG.filesystems:
        for rule in filesystem.rules:
            assert cells_of(f"9 left out: {rule.why}") <= 80, rule.why


def test_of_values_that_come_to_the_same_one_is_offered_and_one_of_a_plan_file_is_kept() -> None:
    btrfs = CATALOG.get("btrfs")

    def chips(*values: str) -> list[str]:
        checklist = drafts.Checklist("btrfs", mount=(("compress", values),) if values else ())
        lines = plan_options.common_lines(checklist, btrfs, HERE)
        return [chip.value for line in lines if line.name == "compress" for chip in line.chips]

    assert chips() == ["default", "no", "zlib", "zlib:9", "lzo", "zstd", "zstd:1", "zstd:9", "zstd:15"]
    assert "none" in chips("none")


def test_what_a_kernel_refuses_is_barred_with_its_words() -> None:
    lines = {line.name: line for line in plan_options.option_lines(drafts.Checklist("ext4"), EXT4, HERE)}
    assert all(chip.is_barred for chip in lines["mballoc"].chips[1:])
    assert "Unknown parameter 'nomballoc'" in plan_options.why_barred(lines["mballoc"], "off")
    xfs = CATALOG.get("xfs")
    crc = xfs.option("crc", Scope.MKFS)
    assert crc is not None
    assert plan_options.taken_values(xfs, crc, HERE) == ("on",)


def test_what_was_tried_here_counts_more_than_what_is_declared() -> None:
    options = (("mballoc", ("off", "taken", "")), ("data", ("journal", "refused", "no")))
    entry = from_plain(
        CatalogAnswer,
        dict.fromkeys(CatalogAnswer.__struct_fields__, "")
        | {"filesystem": "ext4", "kernel": "in the kernel", "probed": True, "tools": [], "rules": []}
        | {
            "options": [
                dict.fromkeys(OptionAnswer.__struct_fields__, "")
                | {"name": name, "kind": "mount", "values": [], "words": [], "old_names": []}
                | {"refusals": {}, "without_effect": False}
                | {"probe": [dict(zip(("value", "verdict", "words"), answer, strict=True))]}
                for name, answer in options
            ]
        },
    )
    here = this_machine("6.18.0", [entry])
    data, mballoc = (EXT4.option(name, Scope.MOUNT) for name in ("data", "mballoc"))
    assert data is not None
    assert mballoc is not None
    assert plan_options.taken_values(EXT4, data, here) == ("ordered", "writeback")
    assert plan_options.taken_values(EXT4, mballoc, here) == ("off",)
    assert here.answers(EXT4, data)[0].verdict is Verdict.REFUSED
    assert here.tried == {"ext4"}


def test_rows_say_whether_they_run_are_left_out_or_were_unticked() -> None:
    draft = drafts.with_values(new_draft(), 0, Scope.MOUNT, "data", ("ordered", "journal"))
    draft = drafts.with_values(draft, 0, Scope.MOUNT, "delalloc", ("on", "off"))
    draft = drafts.toggled_combination(draft, 0, (("data", "ordered"), ("delalloc", "off")))
    rows = view.row_lines(draft, outcome(draft))
    assert [(row.line.mark, row.line.value) for row in rows] == [
        (Mark.ON, ""),
        (Mark.OFF, ""),
        (Mark.BARRED, "left out"),
        (Mark.ON, ""),
        (Mark.ON, ""),
    ]
    assert rows[2].line.about[0] == "Left out: can't mount with both data=journal and delalloc."
    assert rows[4].number == 1
    # Variants in words can be unticked, and stay in the list.
    draft = drafts.toggled_variant(Draft(parse(DESIGN)), 0)
    (row,) = [row for row in view.row_lines(draft, outcome(draft)) if not row.of_checklist]
    assert (row.line.name, row.line.mark) == ("xfs, striped", Mark.OFF)


@given(workloads())
def test_a_form_gives_back_the_workload_that_it_was_filled_with(loads) -> None:
    tables = [workload_toml(load) for load in loads]
    for number, load in enumerate(loads):
        texts = {field.key: field.text for field in plan_forms.form_fields(tables[number])}
        if any("," in name or name != name.strip() for name in (load.name, load.of)):
            continue
        again = [*tables[:number], plan_forms.table_of(load.kind.value, texts), *tables[number + 1 :]]
        assert drafts.checked_workloads(again)[number] == load


def test_a_form_gives_back_commands_with_commas_lines_and_quotes_and_several_sources() -> None:
    argv = ["python3", "-c", "import os, sys\nprint('a', \"b\")", "", "a b", "-x,y", "\\n"]
    for table in (
        {"kind": "command", "argv": argv, "sources": ["/usr", "/srv/a b"]},
        {"kind": "copy", "sources": ["/usr", "/etc"], "at_most": "1MiB"},
    ):
        (load,) = drafts.checked_workloads([table])
        texts = {field.key: field.text for field in plan_forms.form_fields(workload_toml(load))}
        assert drafts.checked_workloads([plan_forms.table_of(load.kind.value, texts)]) == (load,)


def test_a_form_has_the_keys_of_its_kind_and_others_only_where_they_are_not_as_by_default() -> None:
    (read,) = drafts.checked_workloads([*drafts.workload_tables(new_draft()), {"kind": "read"}])[1:]
    table = workload_toml(read)
    foreign = {"data", "directories", "fsync", "sync_call", "weights"}
    assert not foreign & {field.key for field in plan_forms.form_fields(table)}
    assert "fsync" in {field.key for field in plan_forms.form_fields(table | {"fsync": 4})}


def test_what_is_wrong_is_said_of_its_field_in_the_reader_s_words() -> None:
    draft = new_draft()
    for kind, key, text, words in (
        (WorkloadKind.CREATE, "threads", "4, many", "not a valid value"),
        (WorkloadKind.CREATE, "file_size", "1XB", "must be a size"),
        (WorkloadKind.APPEND, "file_size", "", "required key is missing"),
        (WorkloadKind.CREATE, "block_size", "2GiB", "is too large"),
        (WorkloadKind.CREATE, "directories", "many", "not a valid value"),
        (WorkloadKind.CREATE, "data", "1.5", "out of bounds"),
        (WorkloadKind.CREATE, "direct", "maybe", "must be true or false"),
        (WorkloadKind.CREATE, "with", "colour=red", "unknown key colour"),
        (WorkloadKind.READ, "of", "nobody", "no create of that name"),
        (WorkloadKind.READ, "duration", "soon", "must be a duration"),
        (WorkloadKind.MIX, "weights", "paint=1", "not an operation of a mix"),
        (WorkloadKind.MIX, "weights", "read", "must be a table"),
    ):
        begun = drafts.start_of(kind, draft.plan.workloads)
        texts = {field.key: field.text for field in plan_forms.form_fields(begun)} | {key: text}
        tables = [*drafts.workload_tables(draft), plan_forms.table_of(kind.value, texts)]
        field, said = plan_forms.complaints(tables, 1, list(texts))
        assert field == key, (kind, text)
        assert words in said


def test_what_a_change_does_to_another_workload_is_said_too() -> None:
    draft = new_draft()
    tables = [*drafts.workload_tables(draft), {"kind": "read", "of": "large files"}]
    tables[0]["name"] = "other"
    field, said = plan_forms.complaints(tables, 0, ["name", "threads"])
    assert field == "name"
    assert said.startswith("workload 2: no create of that name")


def test_a_workload_is_told_in_a_sentence() -> None:
    (load,) = new_draft().plan.workloads
    assert plan_forms.workload_words(load) == "create files by 4 threads in writes of 64KiB, random data, size auto."


def test_a_file_is_saved_with_the_rights_of_the_one_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    digest = planfiles.save(str(link), "new", planfiles.digest_of(str(link)))
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert link.is_symlink()
    assert planfiles.digest_of(str(path)) == digest
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["a.toml", "link.toml"]


def test_what_is_no_plain_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "none" / "a.toml", Path("a\0b")):
        with pytest.raises(PlanUnwritable):
            planfiles.save(str(path), "text", "")


def test_paths_are_completed_as_far_as_there_is_one_way(tmp_path: Path) -> None:
    for name in ("plan-one.toml", "plan-two.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    assert planfiles.completed(f"{tmp_path}/pl") == f"{tmp_path}/plan-"
    assert planfiles.completed(f"{tmp_path}/plan-o") == f"{tmp_path}/plan-one.toml"
    assert planfiles.completed(f"{tmp_path}/s") == f"{tmp_path}/sub/"
    for nothing in (f"{tmp_path}/no", "/nonexistent/x", "a\0b"):
        assert planfiles.completed(nothing) == nothing


def test_a_factor_is_shown_so_that_taking_it_as_it_stands_changes_nothing() -> None:
    for factor in ("0.12345678901", "1", "0.25"):
        draft = drafts.with_key(new_draft(), "scale", float(factor))
        text = plan_forms.run_texts(draft.plan)["scale"]
        assert text == factor
        assert drafts.with_key(draft, "scale", plan_forms.typed_run_value("scale", text)) == draft
