"""Plans from a few words: the grammar of rows, and what fits into a time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import decoded
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ToolMissing
from fsconsole.errors.targets import PlanBadValue
from fsconsole.journal.past import read_state
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.plan import Equalise, Plan
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan, require_runnable
from fsconsole.plan.planfile import PlanFile, TargetSpec
from fsconsole.plan.power import power_of
from fsconsole.plan.quick import PLACE, Pace, fitted, naming_words, pace_of, quick_plan, row_table
from fsconsole.plan.read import list_configs, parse_plan
from fsconsole.plan.shipped import is_recipe
from fsconsole.preflight.sources import with_sources
from fsconsole.show.plan_text import plan_lines, short_plan_lines
from fsconsole.system.run import find_program
from fsconsole.text import GIB, MIB
from tests.tui.offers import document, target
from tests.tui.recorded import imported

SCRATCH = decoded(
    PlanAnswer,
    json.dumps(document(target("/dev/loop3", scratch=True, loss="nothing") | {"size_bytes": 8 * GIB})),
    "plan",
).targets
LOADS = ["streams", *(path.stem for path in list_configs() if is_recipe(path))]


def expand(plan_file: PlanFile, size_bytes: int = 8 * GIB) -> Plan:
    target = TargetSpec("/dev/loop3", size_bytes, is_scratch=True)
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


def test_a_row_is_named_with_the_options_that_not_all_of_its_filesystem_have() -> None:
    for words, labels in (
        (["ext4", "xfs@-m reflink=0"], {"ext4", "xfs reflink=0"}),
        (["ext4:noatime", "ext4:noatime,nodelalloc"], {"ext4", "ext4 nodelalloc"}),
    ):
        assert {cell.variant.label for cell in expand(quick_plan(words)).cells} == labels


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
    assert any("Does not fit in 1 s" in note for note in none.notes)
    assert any("too short to tell close rows apart" in note for note in none.notes)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["ext4", "ext4"], '"ext4"'),
        (["xfs", "ext4:noatime,nodelalloc", "ext4:nodelalloc,noatime"], '"ext4:noatime,nodelalloc"'),
    ],
)
def test_the_same_row_twice_is_an_error_that_names_the_first(words: list[str], names: str) -> None:
    with pytest.raises(PlanBadValue, match=f"row {len(words)} .*the same as {names}"):
        quick_plan(words)


def test_rounds_and_loads_follow_the_times_of_the_last_run() -> None:
    plan = quick_plan(["ext4", "xfs"])
    slow, quick = (fitted(plan, 300, expand, Pace(rest_s, 1.0)) for rest_s in (20.0, 0.5))
    assert slow.lasts_s <= 300
    assert quick.lasts_s <= 300
    assert quick.plan.repeats * quick.plan_file.load_time_s > 2 * slow.plan.repeats * slow.plan_file.load_time_s
    assert "by the last run of this load here" in quick.notes[0]
    assert "a guess" in fitted(plan, 300, expand).notes[0]


def test_a_runs_own_plan_lasts_by_its_pace_as_long_as_the_run_did(tmp_path: Path) -> None:
    state = read_state(imported("demo", tmp_path))
    pace = pace_of(state)
    assert pace is not None
    took_s = sum(step.elapsed_s for cell in state.cells for step in cell.steps)
    assert took_s < pace.lasts_s(state.request.plan) < 1.5 * took_s
    assert pace_of(replace(state, cells=())) is None


def test_ext4_with_too_few_inodes_for_small_files_is_told_beforehand() -> None:
    """The commands' files count too: untar, git and git clone make four times those of the tree."""
    plan = quick_plan(["ext4", "xfs", "ext4@-N 120000"], "small-files")
    told = {cell.variant.label: cell.unavailable for cell in expand(plan, 600 * MIB).cells}
    assert [label for label, why in told.items() if why] == ["ext4"]
    assert "need 101,8" in told["ext4"]
    assert not any(cell.unavailable for cell in expand(plan, 8 * GIB).cells)


def test_a_program_that_a_recipe_needs_is_missed_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tar", "sh"):
        (tmp_path / name).symlink_to(find_program(name))
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(ToolMissing, match="git"):
        with_sources(quick_plan(["ext4"], "small-files"))


@pytest.mark.parametrize("load", LOADS)
def test_the_plan_is_told_in_20_lines_of_80_columns(load: str) -> None:
    rows = ["ext4", "xfs", "ext4:data=writeback,nodelalloc", "xfs@-m reflink=0"]
    found = fitted(quick_plan(rows, load), 300, expand)
    lines = told(found.plan, (*found.notes, *found.plan.notes))
    assert len(lines) <= 20, lines
    assert max(map(len, lines)) <= 80


def told(plan: Plan, notes: tuple[str, ...] = (), *, goes_on: bool = False) -> list[str]:
    power = power_of(plan, 0.1)
    return list(short_plan_lines(plan, SCRATCH, "", power, notes=notes, width=80, goes_on=goes_on))


def test_nothing_was_touched_is_said_only_where_the_command_ends() -> None:
    plan = expand(quick_plan(["ext4", "xfs"]))
    assert told(plan)[-1] == "Nothing was touched."
    assert "touched" not in " ".join(told(plan, goes_on=True))


def test_what_zeroing_writes_is_told_apart_from_the_loads() -> None:
    plan = expand(quick_plan(["ext4", "xfs"], rounds=4))
    text = " ".join(told(plan))
    assert "(64.0 GiB of it to zero the device before each cell)" in text
    assert plan.estimate.bytes_to_write > 64 * GIB
    long = " ".join(plan_lines(plan, SCRATCH, "", every=False, width=200))
    assert "(64.0 GiB of it to zero the device before each cell); about" in long
    unzeroed = expand(replace(quick_plan(["ext4", "xfs"]), equalise=Equalise.NONE))
    assert "of it" not in " ".join(told(unzeroed))


def test_a_scratch_devices_own_rate_stands_for_the_guess() -> None:
    plan = quick_plan(["ext4", "xfs"])

    def at(bytes_per_s: float) -> Callable[[PlanFile], Plan]:
        target = TargetSpec("/dev/loop3", 8 * GIB, is_scratch=True, bytes_per_s=bytes_per_s)
        return lambda one: build_plan(one, (target,), load_catalog(), run_id="run", kernel="6.18.0")

    guessed, fast, slow = (fitted(plan, 300, at(rate)) for rate in (0, 4e9, 5e7))
    assert fast.plan.repeats > guessed.plan.repeats
    assert slow.plan_file.load_time_s < guessed.plan_file.load_time_s
    assert "at 4000 MB/s, as the scratch file was written" in fast.notes[0]
    assert "a guess" in guessed.notes[0]


def test_rounds_are_chosen_and_then_only_sizes_are_fitted() -> None:
    plan = quick_plan(["ext4", "xfs"], rounds=4)
    assert plan.repeats == 4
    for budget_s in (36000, 200, 1):
        assert fitted(plan, budget_s, expand, rounds=4).plan.repeats == 4
    whole, short = (fitted(plan, budget_s, expand, rounds=4).plan_file.load_time_s for budget_s in (36000, 200))
    assert short < whole == plan.load_time_s


@pytest.mark.parametrize(
    ("words", "load", "numbers", "said"),
    [
        (["ext4", "xfs@-m nonsense=1"], "streams", {}, 'quick: row 2 "xfs@-m nonsense=1", mkfs: '),
        (["ext4:nonsense"], "mail", {}, 'quick: row 1 "ext4:nonsense", mount: '),
        (["ext5"], "streams", {}, 'quick: row 1 "ext5", type: '),
        (["ext4"], "streams", {"rounds": 5000}, "quick: --rounds = 5000: "),
        (["ext4"], "streams", {"threads": 10**6}, "quick: --threads = 1000000: "),
        (["ext5", "ext4:nonsense"], "streams", {}, 'quick: row 2 "ext4:nonsense", mount: '),
    ],
)
def test_an_error_names_the_word_of_the_command_line_not_a_plan_that_nobody_saw(
    words: list[str], load: str, numbers: dict[str, int], said: str
) -> None:
    with pytest.raises(FsconsoleError) as told, naming_words(words, load):
        quick_plan(words, load, **numbers)
    sentences = [str(one) for one in told.value.each]
    assert any(one.startswith(said) for one in sentences), sentences
    assert not any(re.search(r":\d+:|variant\[|workload\[", one) for one in sentences)


def test_rows_of_which_none_can_run_are_named_as_they_were_given() -> None:
    words = ["xfs", "btrfs"]
    plan = expand(quick_plan(words), 8 * MIB)
    with (
        pytest.raises(PlanBadValue, match="quick: rows = xfs, btrfs: no cell of this plan can be run"),
        naming_words(words, "streams"),
    ):
        require_runnable(plan, PLACE)


def test_threads_are_those_of_each_load_and_a_load_that_takes_none_is_an_error() -> None:
    assert [load.threads for load in quick_plan(["ext4"], threads=7).workloads] == [7, 7]
    with pytest.raises(PlanBadValue, match="--threads = 8: 'tar' of small-files is a program") as told:
        quick_plan(["ext4"], "small-files", threads=8)
    assert "--save FILE" in told.value.hint


def test_the_difference_that_the_rounds_of_a_time_can_find_is_told_and_more_time_finds_less() -> None:
    told = []
    for budget_s in (36000, 200):
        found = fitted(quick_plan(["ext4", "xfs"]), budget_s, expand)
        lines = short_plan_lines(found.plan, (), "", power_of(found.plan, 0.05), notes=found.notes, width=200)
        (line,) = [line for line in lines if line.startswith("finds ")]
        assert "last run here" in line
        told.append([int(share) for share in re.findall(r"(\d+) % (?:at|where rounds vary by) (?:5|10) %", line)])
    # 3 rounds find with the same chance only what is over four times larger than what 12 find.
    assert told == [[6, 13, 6], [26, 59, 26]]


def test_less_than_the_size_that_was_asked_for_is_said() -> None:
    (note,) = expand(quick_plan(["ext4"], size_bytes=16 * GIB)).notes
    assert "16.0 GiB -> " in note


def test_a_load_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(PlanBadValue, match="there is no load of that name") as told:
        quick_plan(["ext4"], "nope")
    assert "streams" in told.value.hint
    assert "small-files" in told.value.hint
