"""Plan files through the Plan screen: nothing that a file says is dropped, whether the screen can edit it or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.plan.read import list_configs, read_plan
from tests.tui.at_plan import Hand, at_plan
from tests.unit.plan.examples import DESIGN


async def open_file(hand: Hand, path: Path) -> None:
    await hand.keys("o", "tab")
    await hand.type(str(path))
    await hand.keys("enter")
    await hand.until(lambda: hand.screen.draft.plan.path == str(path))


async def save_as(hand: Hand, path: Path) -> None:
    await hand.keys("s")
    await hand.sees("Save the plan as")
    await hand.type(str(path))
    await hand.keys("enter")
    await hand.until(lambda: path.exists() and hand.screen.draft.plan.path == str(path))


@pytest.mark.parametrize("path", list_configs(), ids=lambda path: path.stem)
def test_every_shipped_plan_is_opened_and_saved_as_it_was(path: Path, tmp_path: Path) -> None:
    async def work(hand: Hand) -> None:
        await open_file(hand, path)
        await save_as(hand, tmp_path / "again.toml")
        assert (tmp_path / "again.toml").read_text() == path.read_text()

    at_plan(work)


@pytest.mark.parametrize("source", [*(path.read_text() for path in list_configs()), DESIGN])
def test_what_the_screen_can_t_edit_is_kept_when_something_else_is_changed(
    source: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(source)
    plan = read_plan(path)

    async def work(hand: Hand) -> None:
        await open_file(hand, path)
        await hand.go_to("run")
        await hand.look_at("raw")
        await hand.keys("space")
        await hand.until(lambda: hand.screen.draft.plan.raw != plan.raw)
        await save_as(hand, tmp_path / "again.toml")
        assert read_plan(tmp_path / "again.toml") == replace(plan, raw=not plan.raw)

    at_plan(work)
