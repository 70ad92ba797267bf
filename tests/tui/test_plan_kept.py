"""The draft of a plan outlives its console, whichever way that ends."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from fsconsole.plan.draft import new_draft
from fsconsole.tui.planfiles import kept_draft
from fsconsole.tui.screens.plan_edited import kept_words
from tests.conftest import wait_until
from tests.tui.at_plan import at_plan
from tests.tui.harness import picture
from tests.tui.on_a_pty import read_until, terminal


async def test_a_draft_is_there_again_after_the_console_was_left_and_gone_once_it_is_saved(tmp_path: Path) -> None:
    async with at_plan(state=tmp_path) as hand:
        await hand.keys("right", "right", "enter", "right", "enter")
        await hand.settled()
        await hand.filesystem("xfs")
        # The last tick is not counted yet when the console is left.
    async with at_plan(state=tmp_path) as hand:
        seen = await hand.sees("New plan  (not saved, kept ", ": ext4 delalloc")
        assert re.search(r"kept \d{4}-\d\d-\d\d \d\d:\d\d UTC\)", seen)
        assert hand.screen.draft.checklists == (0,)
        assert hand.screen.draft.plan.checklists[1].filesystem == "xfs"
        await hand.filesystem("xfs")
        saved = hand.screen.draft
        await hand.begin()
    async with at_plan(state=tmp_path) as hand:
        assert "not saved" not in picture(hand.pilot)
        assert not hand.screen.edited.is_changed
        assert hand.screen.draft != saved


def test_a_draft_says_that_it_is_of_a_console_with_other_runs() -> None:
    kept = kept_draft(new_draft(), new_draft(), "", "/srv/runs")
    assert kept_words(kept, "/srv/runs").endswith(" UTC")
    assert kept_words(kept, "/var/runs").endswith(" UTC with runs in /srv/runs")


async def test_a_console_that_is_killed_leaves_what_was_ticked_before(tmp_path: Path) -> None:
    environ = {"TERM": "linux", "XDG_STATE_HOME": str(tmp_path)}
    words = ("--runs", str(tmp_path / "runs"))
    with terminal(environ, *words, end=signal.SIGKILL) as master:
        read_until(master, b"Devices")
        os.write(master, b"2")
        read_until(master, b"Variants")
        # Only ext4: xfs is unticked.
        os.write(master, b"O")
        read_until(master, b"not saved")
        wait_until((tmp_path / "fsconsole/draft-1.json").exists, "a kept draft")
    async with at_plan(state=tmp_path) as again:
        await again.sees("New plan  (not saved, kept ", "[x] ext4", "[ ] xfs")
        await again.sees("n, then New plan, starts another.")


async def test_where_a_draft_can_t_be_kept_it_says_so_and_why(tmp_path: Path) -> None:
    (tmp_path / "fsconsole").write_text("")
    async with at_plan(state=tmp_path) as hand:
        await hand.sees("The draft of the plan can't be kept in", "file exists", "Save the plan before you quit")
        await hand.keys("space")
        await hand.settled()
        # It is lost with this console: q asks.
        await hand.until(lambda: "file exists" in hand.screen.session.unsaved)


async def test_whoever_leaves_a_changed_plan_reads_that_it_is_kept_and_where_it_comes_back(tmp_path: Path) -> None:
    for keys, told in (
        (("q",), []),
        (("space", "q"), ["The changed plan", "kept", "next `fsconsole`", "Plan screen (2)"]),
    ):
        async with at_plan(state=tmp_path) as hand:
            said: list[str] = []
            hand.pilot.app.exit = lambda *_, message=None, said=said, **__: said.append(str(message or ""))
            # Not waited for: what is ticked last is kept too.
            await hand.keys(*keys)
            await hand.until(lambda said=said: said)
            assert all(words in said[0] for words in told), said
            assert bool(said[0]) == bool(told)
    async with at_plan(state=tmp_path) as hand:
        await hand.sees("not saved, kept")
