"""Why rounds: a device that slows down favours whoever comes first, unless each round has every variant."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order, Variant
from fsconsole.model.verdicts import Verdict
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.text import GIB
from tests.bench import drift
from tests.unit.house.source import CHECKOUT
from tests.unit.plan.examples import build
from tests.unit.results.build import FIGURES, cell, done, run


def test_figures_of_the_page_are_those_of_the_simulation() -> None:
    page = (CHECKOUT / "docs" / "why-rounds.md").read_text()
    assert drift.text() in page, drift.text()


def test_the_simulation_orders_cells_as_plans_do() -> None:
    for order in drift.ORDERS:
        plan = build(
            f"""
            schema = 1
            seed = 7
            repeats = {drift.REPEATS}
            order = "{order.value}"
            variant = [
                {{ type = "ext4" }}, {{ type = "ext4", mount = "data=writeback" }}, {{ type = "xfs" }}, {{ type = "btrfs" }},
            ]
            workload = [{{ kind = "create", file_size = "1MiB" }}]
            """
        )
        kinds = [("ext4", ()), ("ext4", ("data=writeback",)), ("xfs", ()), ("btrfs", ())]
        cells = [(kinds.index((cell.variant.filesystem, cell.variant.mount_words)), cell.repeat) for cell in plan.cells]
        assert cells == drift.places(order, 7), order


def test_drift_tells_equal_variants_apart_as_listed_and_not_in_rounds() -> None:
    assert any(drift.signs(Order.AS_LISTED, drift.SHOWN))
    for order in drift.ORDERS:
        for seed in range(20):
            words = [one.verdict for one in drift.verdicts(order, seed)]
            told = [{-1: Verdict.SLOWER, 1: Verdict.FASTER}.get(sign) for sign in drift.signs(order, seed)]
            assert [word if word in (Verdict.SLOWER, Verdict.FASTER) else None for word in words] == told


def test_a_run_with_injected_drift_has_no_verdicts_as_listed_and_no_wrong_ones_in_rounds() -> None:
    notes, words = {}, {}
    for order in drift.ORDERS:
        cells = [
            cell(index, Variant(drift.VARIANTS[variant], "ext4", mount_words=(f"commit={variant + 5}",)), repeat=repeat)
            for index, (variant, repeat) in enumerate(drift.places(order, drift.SHOWN))
        ]
        rates = drift.measured(order, drift.SHOWN)
        states = [
            done(
                index,
                factors={Metric.DURABLE: rates[variant][repeat].value / FIGURES[Metric.DURABLE]},
                more={Metric.WRITTEN: 64 * GIB},
            )
            for index, (variant, repeat) in enumerate(drift.places(order, drift.SHOWN))
        ]
        state = run(cells, states)
        plan = replace(state.request.plan, order=order, baseline=drift.VARIANTS[0])
        state = replace(state, request=replace(state.request, plan=plan))
        block = next(one for one in blocks_of(state, build_grid(state)) if one.kind is BlockKind.LOAD)
        notes[order] = " ".join(block.notes)
        words[order] = {row.compared.verdict for row in block.rows if row.compared is not None}
    assert notes[Order.AS_LISTED].startswith("No verdicts:")
    assert words[Order.AS_LISTED] == set()
    assert words[Order.ROUNDS] == {Verdict.SAME, Verdict.UNDECIDED}
