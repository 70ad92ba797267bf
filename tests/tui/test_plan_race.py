"""A plan that is saved while somebody else saves the same file: asked about, and nobody's text is lost unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.widgets import Input

from fsconsole.tui import planfiles
from tests.tui.harness import Scripted, console
from tests.tui.waiting import shows


@pytest.mark.parametrize(("answer", "kept"), [("n", "theirs"), ("y", "schema = 1")])
def test_what_somebody_saved_meanwhile_is_replaced_only_after_a_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, kept: str
) -> None:
    path = tmp_path / "plan.toml"
    put = planfiles._put

    def overtaken(draft: str, place: str, asked: str, expected: str) -> None:
        if not path.exists():
            path.write_text("theirs")
        put(draft, place, asked, expected)

    monkeypatch.setattr(planfiles, "_put", overtaken)

    async def drive() -> None:
        async with console(Scripted({"devices": "[]", "catalog": "[]"})).run_test(size=(80, 24)) as pilot:
            await pilot.press("2")
            await shows(pilot, "2 variants, 6 cells")
            await pilot.press("s")
            await shows(pilot, "Save the plan as")
            assert isinstance(pilot.app.focused, Input)
            pilot.app.focused.value = str(path)
            await pilot.press("enter")
            await shows(pilot, "Somebody else changed it while it was being saved.")
            assert path.read_text() == "theirs"
            await pilot.press(answer)
            if answer == "y":
                await shows(pilot, "Saved ")
            await shows(pilot, "2 variants, 6 cells")

    asyncio.run(drive())
    assert path.read_text().startswith(kept)
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]
