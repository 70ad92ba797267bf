"""Advice: scores computed by hand, the weights at which the second wins, and unsafe rows that say so."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import unsafe_words
from fsconsole.client.runs import look
from fsconsole.errors import Misused
from fsconsole.errors.runs import NothingToAdvise
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import RunState
from fsconsole.plan.requirements import parse_requirement
from fsconsole.results.advice import Safety, advise, parse_weights, speaks_for
from fsconsole.results.advice_text import Place, advice_json, advice_text, take_command
from fsconsole.results.choice import choose_row
from fsconsole.results.grid import build_grid
from fsconsole.results.summary import disturbed_count_words
from tests.tui.recorded import imported
from tests.unit.results import build

LONG = {Metric.WRITTEN: 1e13, Metric.LAST_DONE: 1e4}
UNJOURNALED = Variant("ext4 ^has_journal", "ext4", mkfs_words=("-O", "^has_journal"))
PLACE = Place("the-run")
STEADY = (1.0, 1.01, 0.99)


def run_of(
    factors: Mapping[Variant, Mapping[Metric, float]], noise: Sequence[float] = STEADY, most_check_s: str = ""
) -> RunState:
    """Return a run of three rounds; factors multiply a durable throughput of 100 MB/s and a check of 10 s."""
    require = (parse_requirement(Metric.CHECK, f"<= {most_check_s}"),) if most_check_s else ()
    load = replace(build.LARGE_FILES, require=require)
    cells, states = [], []
    for variant, of in factors.items():
        for repeat, shake in enumerate(noise, start=1):
            index = len(cells)
            cells.append(replace(build.cell(index, variant, repeat=repeat), workloads=(load,)))
            own = shake if variant is not build.EXT4 else 1.0
            durable, check = 1e8 * own * of.get(Metric.DURABLE, 1.0), 10.0 * of.get(Metric.CHECK, 1.0)
            states.append(build.done(index, more={**LONG, Metric.DURABLE: durable, Metric.CHECK: check}))
    return build.run(cells, states)


def unsafe_of(variant: Variant) -> tuple[str, ...]:
    return unsafe_words(load_catalog().get(variant.filesystem), variant)


def safety_of(variant: Variant) -> Safety:
    return Safety(unsafe_of(variant))


def test_the_score_is_the_weighted_geometric_mean_and_the_turning_weight_is_as_computed_by_hand() -> None:
    # xfs: twice the throughput, twice the time of the check: at 3 to 1 it scores 2 ** ((3 - 1) / 4).
    state = run_of({build.EXT4: {}, build.XFS: {Metric.DURABLE: 2.0, Metric.CHECK: 2.0}}, (1.0, 1.0, 1.0))
    grid = build_grid(state)
    found = advise(state, grid, safety_of, parse_weights("durable=3,check=1"))
    (best,) = found.best
    assert best.candidate.title == "xfs"
    assert best.candidate.mean == pytest.approx(2**0.5)
    assert found.turns == ("durable below 1 (now 3)", "check above 3 (now 1)")
    assert found.deciding == (("durable", pytest.approx(1.0)),)
    text = advice_text(state, grid, found, PLACE)
    assert "2.00 times the durable throughput" in " ".join(text.split())
    assert "check takes 2.00 times the time" in " ".join(text.split())
    # A share of the lead is no size of it.
    assert "The lead of xfs over ext4 data=ordered in score comes from durable alone." in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert json.loads(advice_json(state, grid, found, PLACE))["best"][0]["row"] == "xfs"
    heavier = advise(state, grid, safety_of, parse_weights("durable=3,check=4"))
    assert [one.candidate.title for one in heavier.best] == [build.EXT4.label]


def test_an_undecided_score_names_the_columns_that_are_decided_and_contradicts_no_verdict_of_a_recorded_run(
    tmp_path: Path,
) -> None:
    state = look(imported("demo", tmp_path)).state
    grid = build_grid(state)
    found = advise(state, grid, safety_of)
    text = " ".join(advice_text(state, grid, found, PLACE).split())
    assert "be excluded" not in text
    said = "the sum is not decided, although durable (buffered files) is. In no column decidedly better than ext4."
    assert f"* ext4 nodelalloc: scores 16 % below the baseline; {said}" in text
    for row in found.best:
        decided = [term.words for term, pair in row.parts if speaks_for(term, pair) is not None]
        own = text.partition(f"* {row.candidate.title}: ")[2].partition(".")[0]
        assert row.overall is None or not decided or (", undecided" not in own and all(one in own for one in decided))


def test_what_is_not_decided_excludes_no_row() -> None:
    state = run_of({build.EXT4: {}, build.XFS: {Metric.DURABLE: 1.1}}, (0.5, 1.9, 1.0))
    found = advise(state, build_grid(state), safety_of, parse_weights("durable=1"))
    assert len(found.best) == 2
    assert not found.others


def faster_but_checked_slowly() -> RunState:
    """Return a run in which xfs is decidedly faster than the baseline ext4, which scores more, but not decidedly."""
    check_s = {Metric.CHECK: (10.0, 30.0, 40.0)}
    cells, states = [], []
    for repeat, slow_s in enumerate(check_s[Metric.CHECK], start=1):
        for variant, durable, check in ((build.EXT4, 1e8, 10.0), (build.XFS, 1.2e8 + repeat, slow_s)):
            index = len(cells)
            cells.append(build.cell(index, variant, repeat=repeat))
            states.append(build.done(index, more={**LONG, Metric.DURABLE: durable, Metric.CHECK: check}))
    return build.run(cells, states)


def test_of_tied_scores_the_row_that_a_verdict_calls_faster_stands_before_the_baseline_and_is_the_one_to_take() -> None:
    state = faster_but_checked_slowly()
    grid = build_grid(state)
    found = advise(state, grid, safety_of)
    assert [one.candidate.title for one in found.best] == ["xfs", build.EXT4.label]
    assert found.best[0].candidate.mean < found.best[1].candidate.mean
    text = " ".join(advice_text(state, grid, found, PLACE).split())
    assert text.count("Undecided which is best: xfs, ext4 data=ordered.") == 1
    assert " below the baseline; the sum is not decided, although durable is; before it by its decided columns" in text
    assert "* ext4 data=ordered: the baseline; no score here is decidedly above or below its own" in text
    assert (
        "Next: take xfs, by what is decided column by column, though ext4 data=ordered may score more; by the score"
        in text
    )
    assert text.endswith(
        "it takes more than 30 rounds to decide it): fsconsole apply-kit the-run xfs --for DEVICE --at MOUNTPOINT DIR"
    )
    answer = json.loads(advice_json(state, grid, found, Place("the-run", "/srv/my runs")))
    assert (
        answer["take_command"]
        == "fsconsole apply-kit the-run xfs --runs '/srv/my runs' --for DEVICE --at MOUNTPOINT DIR"
    )
    assert (answer["take"], answer["take_why"].partition(",")[0]) == ("xfs", "take xfs")


def test_the_row_to_take_is_safe_where_one_is_and_else_said_to_be_unsafe() -> None:
    twice = {Metric.DURABLE: 2.0}
    for factors, said in (
        ({build.EXT4: {}, UNJOURNALED: twice}, "take ext4 data=ordered, the best row with nothing unsafe, damaged or failed; ext4 ^has"),
        ({replace(UNJOURNALED, mkfs_words=("-O", "^has_journal", "-I", "128")): {}, UNJOURNALED: twice}, "that is left, if"),
        ({build.EXT4: {}, build.XFS: twice}, "take xfs, the only row that is left:"),
    ):  # fmt: skip
        state = run_of(factors)
        grid = build_grid(state)
        text = " ".join(advice_text(state, grid, advise(state, grid, safety_of), PLACE).split())
        assert said in text.rpartition("Next: ")[2]


def test_the_command_names_the_row_as_apply_kit_finds_it() -> None:
    quoted = replace(build.XFS, label="xfs's own")
    states = (
        run_of({build.EXT4: {}, quoted: {Metric.DURABLE: 2.0}}),
        # The second has the name that the first is told by.
        run_of({build.XFS: {Metric.DURABLE: 2.0}, replace(build.EXT4, label="xfs"): {}}),
    )
    for state in states:
        grid = build_grid(state)
        found = advise(state, grid, safety_of)
        _, _, run, row, *rest = shlex.split(" ".join(take_command(state, found, PLACE)))
        assert found.take is not None
        assert choose_row(state, row).variant == found.take.candidate.variant
        assert (run, rest) == ("the-run", ["--for", "DEVICE", "--at", "MOUNTPOINT", "DIR"])


def test_an_unsafe_row_never_stands_first_without_saying_so() -> None:
    state = run_of({build.EXT4: {}, UNJOURNALED: {Metric.DURABLE: 3.0}})
    grid = build_grid(state)
    text = advice_text(state, grid, advise(state, grid, safety_of), PLACE)
    assert "*  ext4 ^has_journal (UNSAFE)" in text
    assert "UNSAFE: no journal" in text


def test_of_an_unsafe_row_every_sentence_that_puts_it_first_says_so() -> None:
    state = run_of({build.EXT4: {}, UNJOURNALED: {Metric.DURABLE: 3.0}, build.XFS: {Metric.DURABLE: 2.0}})
    grid = build_grid(state)
    text = " ".join(advice_text(state, grid, advise(state, grid, safety_of, parse_weights("durable=1")), PLACE).split())
    assert text.count("Decidedly behind ext4 ^has_journal (UNSAFE).") == 2
    slower = run_of({build.EXT4: {}, UNJOURNALED: {Metric.DURABLE: 0.5}})
    text = advice_text(slower, grid, advise(slower, build_grid(slower), safety_of, parse_weights("durable=1")), PLACE)
    assert "No weight of one column alone puts ext4 ^has_journal (UNSAFE) first." in " ".join(text.split())


def test_a_row_that_misses_a_limit_is_neither_first_nor_second_and_excludes_no_other() -> None:
    factors = {
        build.EXT4: {},
        build.XFS: {Metric.DURABLE: 4.0, Metric.CHECK: 5.0},
        UNJOURNALED: {Metric.DURABLE: 2.0, Metric.CHECK: 1.5},
    }
    state = run_of(factors, most_check_s="20s")
    grid = build_grid(state)
    found = advise(state, grid, safety_of, parse_weights("durable=3,check=1"))
    assert [one.candidate.title for one in found.best] == ["ext4 ^has_journal"]
    assert [one.candidate.title for one in found.others] == ["xfs", build.EXT4.label]
    assert [one.candidate.title for one in found.leading] == ["ext4 ^has_journal", build.EXT4.label]
    # 3 ln 2 - ln 1.5 = 0 where durable weighs ln 1.5 / ln 2.
    assert found.turns == ("durable below 0.58 (now 3)", "check above 5.1 (now 1)")
    text = " ".join(advice_text(state, grid, found, PLACE).split())
    assert "misses check" in text
    assert "Decidedly behind xfs" not in text
    every = advise(state := run_of(factors, most_check_s="1s"), build_grid(state), safety_of)
    assert (every.best, every.leading, every.turns, every.deciding) == ((), (), (), ())
    assert "No row can be advised" in (text := advice_text(state, grid, every, PLACE))
    assert json.loads(advice_json(state, grid, every, PLACE))["next"] == "nothing"
    assert "first" not in text


def of_times(
    check: Mapping[Variant, Sequence[float]], durable: Mapping[Variant, Sequence[float]], **more: object
) -> RunState:
    """Return a run of rounds with these checks in seconds and durable rates, all cells with the warnings in more."""
    cells, states = [], []
    for variant, seconds in check.items():
        for repeat, one in enumerate(seconds, start=1):
            figures = {**LONG, Metric.DURABLE: durable[variant][repeat - 1], Metric.CHECK: one}
            kinds: Sequence[WarningKind] = more.get("warnings", ())  # type: ignore[assignment]
            warnings = tuple(build.warning(len(cells), kind) for kind in kinds)
            states.append(build.done(len(cells), more=figures, warnings=warnings))
            cells.append(build.cell(len(cells), variant, repeat=repeat))
    return build.run(cells, states)


def test_a_figure_too_short_to_believe_decides_no_score_unless_only_such_are_weighed() -> None:
    flat = {build.EXT4: (1e8, 1e8, 1e8), build.XFS: (1e8, 1e8, 1e8)}
    state = of_times({build.EXT4: (0.014, 0.014, 0.014), build.XFS: (0.030, 0.030, 0.030)}, flat)
    grid = build_grid(state)
    found = advise(state, grid, safety_of, parse_weights("durable=3,check=1"))
    assert len(found.best) == 2
    assert "Left out of the score, as shorter than 0.1 s: check." in " ".join(
        advice_text(state, grid, found, PLACE).split()
    )
    alone = advise(state, grid, safety_of, parse_weights("check=1"))
    assert [one.candidate.title for one in alone.best] == [build.EXT4.label]
    assert "Only short figures decide: check" in " ".join(alone.notes)


def test_a_sum_that_is_decided_while_no_column_is_excludes_no_row_and_says_where_it_leans() -> None:
    # Each column scatters, the sum of both hardly does.
    ext4 = {Metric.DURABLE: (1.0e8, 1.0e8, 1.0e8), Metric.CHECK: (10.0, 10.0, 10.0)}
    durable, check = (1.0e8, 0.8e8, 0.6e8), (14.0, 11.0, 8.4)
    state = of_times(
        {build.EXT4: ext4[Metric.CHECK], build.XFS: check},
        {build.EXT4: ext4[Metric.DURABLE], build.XFS: durable},
        warnings=(WarningKind.OTHERS_CPU,),
    )
    grid = build_grid(state)
    found = advise(state, grid, safety_of, parse_weights("durable=1,check=1"))
    assert [one.candidate.title for one in found.best] == [build.EXT4.label, "xfs"]
    text = " ".join(advice_text(state, grid, found, PLACE).split())
    assert "Only one is left" not in text
    assert "Decidedly behind" not in text
    assert f"The sum leans to {build.EXT4.label}, but no single column decides." in text
    assert "% below the baseline, but no single column decides." in text
    assert "no score here is decidedly" not in text
    assert "will do as well (the sum leans to one, but no single column decides)" in text
    assert "Disturbed: other CPU use in 6 of 6 cells. Run more rounds on a quiet machine" in text
    answer = json.loads(advice_json(state, grid, found, PLACE))
    assert answer["disturbed"].startswith("Disturbed: other CPU use")
    assert [row["leans_to"] for row in answer["best"]] == ["", build.EXT4.label]


def test_advice_says_what_disturbed_the_cells_from_the_share_on_at_which_results_point_to_it() -> None:
    rates = (1.0e8, 1.0e8, 1.0e8)
    state = of_times(
        {build.EXT4: (10.0, 10.0, 10.0), build.XFS: (20.0, 20.0, 20.0)}, {build.EXT4: rates, build.XFS: rates}
    )
    for count in range(len(state.cells) + 1):
        noted = [build.warning(at, WarningKind.OTHERS_CPU) for at in range(count)]
        cells = [replace(cell, warnings=tuple(one for one in noted if one.cell == cell.index)) for cell in state.cells]
        disturbed = replace(state, cells=tuple(cells))
        grid = build_grid(disturbed)
        found = advise(disturbed, grid, safety_of, parse_weights("durable=1,check=1"))
        text = advice_text(disturbed, grid, found, PLACE)
        is_said = "Disturbed: " in text
        # What to do next is to measure, not to take a row of what was disturbed.
        assert is_said is ("Next: run more rounds on a quiet machine. If it can't wait, take " in text)
        assert is_said is bool(disturbed_count_words(grid, len(cells))) is (count >= 2)
        answer = json.loads(advice_json(disturbed, grid, found, PLACE))
        assert answer["next"] == ("more rounds" if is_said else "take")


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (WarningKind.SHORT, "write more (file_size, files)"),
        (WarningKind.NOT_COMPARABLE, "run the plan on the disk that is meant"),
    ],
)
def test_advice_says_first_how_far_figures_reach_whose_cells_are_all_short_or_on_a_loop_device(
    kind: WarningKind, remedy: str
) -> None:
    rates = (1.0e8, 1.0e8, 1.0e8)
    times = {build.EXT4: (10.0, 10.0, 10.0), build.XFS: (20.0, 20.0, 20.0)}
    state = of_times(times, {build.EXT4: rates, build.XFS: rates}, warnings=(kind,))
    said = f"All 6 cells have the warning {kind.words}: {remedy} before you rely on this."
    for known, is_said in (
        (state, True),
        (replace(state, cells=(replace(state.cells[0], warnings=()), *state.cells[1:])), False),
    ):
        grid = build_grid(known)
        text = advice_text(known, grid, advise(known, grid, safety_of, parse_weights("durable=1,check=1")), PLACE)
        assert (said in " ".join(text.split())) is is_said
        assert not is_said or " ".join(text.split()).index(said) < " ".join(text.split()).index(" * ")


def test_where_several_columns_make_the_lead_each_has_its_share_of_it() -> None:
    state = run_of({build.EXT4: {}, build.XFS: {Metric.DURABLE: 2.0, Metric.CHECK: 0.5}}, (1.0, 1.0, 1.0))
    grid = build_grid(state)
    text = advice_text(state, grid, advise(state, grid, safety_of, parse_weights("durable=3,check=1")), PLACE)
    said = "The lead of xfs over ext4 data=ordered in score comes 75 % from durable, 25 % from check."
    assert said in " ".join(text.split())


def test_damage_found_by_a_check_stands_against_its_row() -> None:
    state = run_of({build.EXT4: {}, build.XFS: {}})
    states = [*state.cells[:-1], build.done(5, verdict="errors", more=LONG)]
    state = build.run(state.request.plan.cells, states)
    grid = build_grid(state)
    assert "a check found damage (errors)" in advice_text(
        state, grid, advise(state, grid, safety_of, parse_weights("durable=1")), PLACE
    )


def test_bad_weights_and_runs_that_decide_nothing_are_refused_in_words() -> None:
    for text in ("durable", "durable=-1", "durable=nan", "cpu=1", "durable=0"):
        with pytest.raises(Misused):
            parse_weights(text)
    with pytest.raises(NothingToAdvise):
        advise(build.demo(), build_grid(build.demo()), safety_of)


@pytest.mark.parametrize(
    ("variant", "why"),
    [
        (Variant("", "ext2"), "no journal"),
        (Variant("", "ext4", mount_words=("barrier=0",)), "no barriers"),
        (Variant("", "ext4", mount_words=("data=writeback",)), "data=writeback"),
        (Variant("", "xfs"), ""),
    ],
)
def test_the_catalog_declares_what_is_unsafe(variant: Variant, why: str) -> None:
    assert " ".join(unsafe_of(variant)).startswith(why)
    assert bool(unsafe_of(variant)) is bool(why)
