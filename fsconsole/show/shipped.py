"""The shipped plans by name: recipes, then studies and examples; as text and as lines of a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fsconsole import units
from fsconsole.catalog.filesystem import Catalog
from fsconsole.plan.expand import FLASH_BYTES_PER_S, build_plan
from fsconsole.plan.planfile import NO_DEVICE, PlanFile
from fsconsole.plan.shipped import is_recipe
from fsconsole.show.lines import Line
from fsconsole.text import hanging, printable

_TIME_WIDTH = 11
_GROUPS = (("Recipes", True), ("Studies and examples", False))


def shipped_text(plans: Mapping[Path, PlanFile], catalog: Catalog, width: int) -> Iterator[str]:
    """Yield name, estimated time and title of each plan; no line takes more than width cells."""
    for heading, wanted in _GROUPS:
        yield f"{heading}:"
        own = {path.stem: plan for path, plan in plans.items() if is_recipe(path) is wanted}
        margin = max(map(len, own), default=0)
        for name, plan in own.items():
            built = build_plan(plan, (NO_DEVICE,), catalog, run_id="list")
            lasts = units.format_guess(built.estimate.elapsed_s)
            yield from hanging(f"  {name:<{margin}} {lasts:>{_TIME_WIDTH}}  ", printable(plan.title), width)
    rate = units.format_rate(FLASH_BYTES_PER_S)
    said = f"Times: est. for all rounds on a disk of {rate} with room for all; what commands take is not in them."
    yield from hanging("", said, width)


def shipped_lines(titles: Mapping[Path, str]) -> list[Line]:
    """Return a line for each plan with its title, under the heading of its group."""
    lines = []
    for heading, wanted in _GROUPS:
        own = {path: title for path, title in titles.items() if is_recipe(path) is wanted}
        lines += [Line(f"group {heading}", heading, is_heading=True)] if own else []
        lines += [Line(path.stem, path.stem, value=title, wraps=True) for path, title in own.items()]
    return lines
